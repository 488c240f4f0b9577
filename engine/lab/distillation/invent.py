"""Lets a target write its own corpus: conversations side by side, in shards that a later run resumes from."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from engine.lab.distillation.corpus import NUM_LIKELIEST
from engine.lab.distillation.progress import InventProgress
from engine.lab.distillation.shards import LabelledConversation, ShardOrigin, Shards
from engine.speculation.learning.samples import Labels
from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.interface import FloatRow, ParallelTarget
from engine.speculation.numerics.likeliest import likeliest
from engine.speculation.numerics.sampling import Dice, RandomDice, make_distribution
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import PromptTooLong, TemplateFailed

_SHARD_SIZE = 64  # conversations, which a sudden end can cost
_PROGRESS_S = 0.5  # between two reports

# How conversations begin: the first words of a user's turn by kind, each kind's share, and system prompts.
_BEGINNINGS = json.loads(files("resources").joinpath("seeds.json").read_text("utf-8"))
SHARES: dict[str, float] = {kind: each["share"] for kind, each in _BEGINNINGS["kinds"].items()}
SEEDS: dict[str, list[str]] = {kind: each["seeds"] for kind, each in _BEGINNINGS["kinds"].items()}
SYSTEM_PROMPTS: list[str] = _BEGINNINGS["system_prompts"]
_NO_SYSTEM_PROMPT_SHARE = 0.5
_ONE_PARAGRAPH = frozenset({"chat", "maths", "lists", "translation"})  # what a target adds there is not the request
_MAX_USER_TOKENS = 96
_MAX_REPLY_TOKENS = 384
_USER_TEMPERATURES = (0.8, 1.0)  # from, to
_REPLY_TEMPERATURES = (0.0, 0.7, 0.0, 1.0)  # by number, so that every other reply is greedy
_LOOP_TOKENS = 12  # a reply that writes the same 12 tokens …
_LOOP_TIMES = 3  # … three times is in a loop
_SENTINEL = "Slipstream7f3aSentinel"  # one word, so that no template changes it
_END_OF_PARAGRAPH = re.compile(rb"[.?!][\"')]*(?=\s*\n\s*\n)")
_TO_SENTENCE_END = re.compile(r".*[.?!…。？！][\"'”’)\]]*(?=\s|$)", re.DOTALL)
_FENCE = "```"
_BARE_NUMBER = re.compile(r"\s*\n\s*\d+[.)]$")  # a list's next item, of which there is only the number
_TOO_LONG = "The chat template inside this model leaves no room for a conversation; choose a bigger context size."


def invent(
    target: ParallelTarget,
    template: ChatTemplate,
    folder: Path,
    num_conversations: int,
    seed: int,
    on_progress: Callable[[InventProgress], None],
) -> None:
    """Writes the conversations 0 … num_conversations - 1 into `folder`, except those that are there already.

    Each depends on its number, the seed and the target only; llama.cpp may round differently next to other sequences,
    so that a resumed run can differ where two tokens are almost tied. An exception or a kill costs the unfinished
    conversations and at most a shard, Ctrl+C only the unfinished ones. Only one run at a time may write into a folder.

    Raises FileUnusable when the folder holds another corpus or cannot be written, TemplateFailed, PromptTooLong,
    TargetUnusable and what the target raises.
    """
    shards = Shards(folder, ShardOrigin(target.description.name, target.vocabulary.fingerprint, seed))
    missing = [number for number in range(num_conversations) if number not in shards.numbers]
    progress = _Progress(num_conversations, num_conversations - len(missing), on_progress)
    inventor = Inventor(target, template, seed)
    finished: list[LabelledConversation] = []
    try:
        for conversation in _write_side_by_side(target, inventor, missing, progress):
            finished.append(conversation)
            if len(finished) == _SHARD_SIZE:
                shard, finished = finished, []  # before it is written: Ctrl+C afterwards must not write it again
                shards.add(shard)
    except KeyboardInterrupt:
        shards.add(finished)
        raise
    shards.add(finished)
    progress.report()


def _write_side_by_side(
    target: ParallelTarget, inventor: Inventor, numbers: list[int], progress: _Progress
) -> Iterator[LabelledConversation]:
    """Yields conversations as they end. When one ends, the next takes its slot."""
    waiting = iter(numbers)
    running: dict[int, Generator[ReadingStep, FloatRow, LabelledConversation]] = {}  # by slot
    steps: dict[int, ReadingStep] = {}

    def begin(slot: int) -> None:
        for number in waiting:
            running[slot] = inventor.converse(number)
            steps[slot] = next(running[slot])
            return

    for slot in range(target.num_slots):
        target.drop(slot)
        begin(slot)
    while steps:
        for slot, step in steps.items():
            if step.begins:
                target.drop(slot)
        rows = target.evaluate({slot: step.tokens for slot, step in steps.items()})
        ended: list[LabelledConversation] = []
        for slot, row in rows.items():
            try:
                steps[slot] = running[slot].send(row)
            except StopIteration as end:
                ended.append(end.value)
                del steps[slot]
                begin(slot)
        progress.note(len(rows), len(ended))
        yield from ended


class _Progress:
    def __init__(self, num_conversations: int, num_done: int, on_progress: Callable[[InventProgress], None]) -> None:
        self._num_conversations = num_conversations
        self._num_done = num_done
        self._on_progress = on_progress
        self._num_tokens = 0
        self._start = self._reported = time.monotonic()

    def note(self, num_tokens: int, num_done: int) -> None:
        """Notes one pass: every row became a token."""
        self._num_tokens += num_tokens
        self._num_done += num_done
        if time.monotonic() - self._reported >= _PROGRESS_S:
            self.report()

    def report(self) -> None:
        self._reported = time.monotonic()
        seconds = self._reported - self._start
        self._on_progress(InventProgress(self._num_done, self._num_conversations, self._num_tokens, seconds))


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """The tokens that the target must read before it can say what comes next."""

    tokens: list[int]
    begins: bool  # a new sequence, instead of going on with the one so far


@dataclass(frozen=True, slots=True)
class _Idea:
    kind: str
    seed: str  # the first words of the user's turn
    system: str | None
    user_temperature: float
    reply_temperature: float


class Inventor:
    """Writes conversations with one target; they differ by their numbers only.

    A conversation is a generator: it yields what is to be read and is sent the row of logits that follows, which it
    leaves alone after its next `yield`. The same number, seed and rows make the same conversation.
    """

    def __init__(self, target: ParallelTarget, template: ChatTemplate, seed: int) -> None:
        self._target = target
        self._vocabulary = target.vocabulary
        self._template = template
        self._seed = seed

    def converse(self, number: int) -> Generator[ReadingStep, FloatRow, LabelledConversation]:
        """Raises TemplateFailed, PromptTooLong and TargetUnusable."""
        random = np.random.default_rng((self._seed, number))
        idea = _think_of(number, random)
        dice = RandomDice(int(random.integers(2**63)))
        system = [] if idea.system is None else [ChatTurn(Role.SYSTEM, idea.system)]
        prompt = yield from self._write_prompt(idea, system, dice)
        prompt += f"\n{_FENCE}" if prompt.count(_FENCE) % 2 else ""  # code that was begun ends
        turns = (*system, ChatTurn(Role.USER, prompt))
        tokens = self._tokens(self._template.render(turns))
        reply, looped, labels = yield from self._write_reply(tokens, idea, dice)
        ids = (*tokens, *reply)
        return LabelledConversation(number, idea.kind, idea.reply_temperature, turns, ids, len(tokens), looped, labels)

    def _write_prompt(self, idea: _Idea, system: list[ChatTurn], dice: Dice) -> Generator[ReadingStep, FloatRow, str]:
        """The user's turn, from its seed to where the target ends it, or to a sentence's end before its limit."""
        opening, marker = _open_turn(self._template, system)
        distribution_of = SamplingSettings(temperature=idea.user_temperature)
        tokens = self._tokens(opening + idea.seed)
        data = idea.seed.encode()
        row = yield ReadingStep(tokens, begins=True)
        for _ in range(min(_MAX_USER_TOKENS, self._target.limits.context_size - len(tokens))):
            token = make_distribution(row, distribution_of, ()).draw(dice)
            if token in self._vocabulary.silent:
                return _text(data)
            data += self._vocabulary.pieces[token]
            if marker and marker in data:
                return _text(data[: data.index(marker)])
            paragraph = _END_OF_PARAGRAPH.search(data) if idea.kind in _ONE_PARAGRAPH else None
            if paragraph:
                return _text(data[: paragraph.end()])
            row = yield ReadingStep([token], begins=False)
        return _cut(_text(data))

    def _write_reply(
        self, prompt: list[int], idea: _Idea, dice: Dice
    ) -> Generator[ReadingStep, FloatRow, tuple[list[int], bool, Labels]]:
        """The tokens of the reply, including the end if the target wrote one; whether it looped; the target's
        distributions."""
        room = min(_MAX_REPLY_TOKENS, self._target.limits.context_size - len(prompt))
        distribution_of = SamplingSettings(temperature=idea.reply_temperature)
        reply: list[int] = []
        labels, ends = [], self._vocabulary.end_of_generation
        loops = _LoopWatch()
        step = ReadingStep(prompt, begins=True)
        looped = False
        while len(reply) < room and not looped and ends.isdisjoint(reply[-1:]):
            row = yield step
            token = make_distribution(row, distribution_of, ()).draw(dice)
            labels.append(likeliest(row, NUM_LIKELIEST))
            reply.append(token)
            looped = loops.is_loop(reply)
            step = ReadingStep([token], begins=False)
        tokens, logs = zip(*labels, strict=True)
        return reply, looped, Labels(np.stack(tokens), np.stack(logs))

    def _tokens(self, text: str) -> list[int]:
        tokens = self._vocabulary.with_begin(self._target.tokenize(text))
        if len(tokens) >= self._target.limits.context_size:
            raise PromptTooLong(_TOO_LONG)
        return tokens


class _LoopWatch:
    """Counts how often the last few tokens of a reply were written in it before, without overlaps."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], tuple[int, int]] = {}  # times, and where the last time ended

    def is_loop(self, reply: list[int]) -> bool:
        """True if the reply is in a loop; must be called after each token."""
        recent, place = tuple(reply[-_LOOP_TOKENS:]), len(reply)
        times, end = self._seen.get(recent, (0, 0))
        if len(recent) == _LOOP_TOKENS and place - _LOOP_TOKENS >= end:
            self._seen[recent] = (times + 1, place)
            return times + 1 == _LOOP_TIMES
        return False


def _think_of(number: int, random: np.random.Generator) -> _Idea:
    kind = str(random.choice(list(SHARES), p=list(SHARES.values())))
    system = None if random.random() < _NO_SYSTEM_PROMPT_SHARE else SYSTEM_PROMPTS[random.integers(len(SYSTEM_PROMPTS))]
    return _Idea(
        kind=kind,
        seed=SEEDS[kind][random.integers(len(SEEDS[kind]))],
        system=system,
        user_temperature=random.uniform(*_USER_TEMPERATURES),
        reply_temperature=_REPLY_TEMPERATURES[number % len(_REPLY_TEMPERATURES)],
    )


def _open_turn(template: ChatTemplate, system: list[ChatTurn]) -> tuple[str, bytes]:
    """The text before the user's in any template, and the first word after it (a text, because some templates separate
    turns by ordinary words). Raises TemplateFailed."""
    before, found, after = template.render([*system, ChatTurn(Role.USER, _SENTINEL)]).partition(_SENTINEL)
    if not found:
        raise TemplateFailed("The chat template inside this model leaves out what the user says; choose another model.")
    return before, next(iter(after.split()), "").encode()


def _cut(text: str) -> str:
    """The text up to the last end of a sentence, or of a line of code, or of a word if there is none."""
    if text.count(_FENCE) % 2:
        return text.rsplit("\n", 1)[0]
    sentences = _TO_SENTENCE_END.match(text)
    if sentences is None:
        return text.rsplit(maxsplit=1)[0]
    return _BARE_NUMBER.sub("", sentences.group())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()
