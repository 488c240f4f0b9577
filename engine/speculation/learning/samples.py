"""The samples that a drafter is trained on: conversations in its own tokens, and the target's distributions pushed down
onto them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import numpy as np
import numpy.typing as npt

from engine.speculation.drafter.interface import TurnVocabulary
from engine.speculation.model.interface import Vocabulary
from engine.speculation.numerics.translation import align
from engine.speculation.numerics.vocabulary_map import MAX_STRING, Strings
from engine.values.conversations import ChatTurn, Role

MAX_TOKENS = 512  # of a sample; the front of what comes before the reply is cut off …
_MAX_REPLY_TOKENS = 384  # … and a longer reply becomes several samples
_MOST_WINDOWS = 32  # of a reply
_LOOP_TOKENS = 12  # a reply that repeats so many tokens is in a loop
_LOOP_WEIGHT = 0.1
_NONE = -1

Places = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class CorpusLesson:
    line: int  # of its file, from 0 on
    turns: tuple[ChatTurn, ...]
    ids: Tokens  # of the whole conversation, in the target's tokens
    start: int  # of the reply in them

    @property
    def reply(self) -> Tokens:
        return self.ids[self.start :]


@dataclass(frozen=True, slots=True)
class Labels:
    """The target's distribution before each of the n tokens of a reply, as far as its k likeliest tokens go."""

    tokens: Tokens  # shape (n, k), the target's, likeliest first
    log_probabilities: npt.NDArray[np.float16]  # shape (n, k), at temperature 1

    def at(self, temperature: float) -> Labels:
        """The labels at another temperature above 0, as if there were no tokens beyond these."""
        logs = self.log_probabilities.astype(np.float32) / temperature
        logs -= logs.max(-1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
        return replace(self, log_probabilities=logs.astype(np.float16))


@dataclass(frozen=True, slots=True)
class Sample:
    tokens: Tokens  # shape (n,), the conversation in the drafter's tokens
    weights: npt.NDArray[np.float32]  # shape (n,), of predicting this token
    rows: npt.NDArray[np.int32]  # shape (n,), in the label table: the distribution before this token; -1: unknown
    reply_start: int


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Distributions over the drafter's tokens, without tokens that it cannot guess."""

    tokens: Tokens  # shape (rows, k), each once; 0 where there are fewer
    probabilities: npt.NDArray[np.float16]  # shape (rows, k); 0 where there are fewer

    @classmethod
    def of(cls, distributions: Sequence[Mapping[int, float]], width: int) -> LabelTable:
        """Distributions of at most `width` tokens each."""
        tokens = np.zeros((len(distributions), width), np.int32)
        probabilities = np.zeros((len(distributions), width), np.float16)
        for row, distribution in enumerate(distributions):
            tokens[row, : len(distribution)] = list(distribution)
            probabilities[row, : len(distribution)] = list(distribution.values())
        return cls(tokens, probabilities)

    @classmethod
    def joined(cls, tables: Iterable[LabelTable]) -> LabelTable:
        """Joins tables of one width, except for tables without rows."""
        filled = [table for table in tables if len(table.tokens)] or [cls.of((), 1)]
        return cls(
            np.concatenate([table.tokens for table in filled]),
            np.concatenate([table.probabilities for table in filled]),
        )


def whole_text(samples: Sequence[Sample]) -> Tokens:
    """The conversation that these samples of one reply were made from."""
    return np.concatenate([samples[0].tokens, *(each.tokens[each.reply_start :] for each in samples[1:])])


def join_samples(parts: Iterable[tuple[Sequence[Sample], LabelTable]]) -> tuple[list[Sample], LabelTable]:
    """The samples of all parts, with one table for all."""
    samples: list[Sample] = []
    tables: list[LabelTable] = []
    num_rows = 0
    for some, table in parts:
        for sample in some:
            rows = np.where(sample.rows == _NONE, _NONE, sample.rows + num_rows).astype(np.int32)
            samples.append(replace(sample, rows=rows))
        tables.append(table)
        num_rows += len(table.tokens)
    return samples, LabelTable.joined(tables)


class SampleMaker:
    """Turns lessons into samples for one target and one drafter: spells the conversation in the drafter's tokens, and
    pushes the target's distributions down onto them wherever tokens of both begin together."""

    def __init__(
        self,
        target: Vocabulary,
        tokenizer: TurnVocabulary,
        strings: Strings,
        default_systems: frozenset[str] = frozenset(),
    ) -> None:
        """`strings`: what the target's tokens are made of, shape (target vocabulary, any width), see `spellings`.
        `default_systems` are system prompts that targets add by themselves and a drafter does not get to see."""
        self._target = target
        self._tokenizer = tokenizer
        self._end = tokenizer.end
        self._default_systems = default_systems
        self._strings = strings.copy()
        if self._end is not None:
            self._strings[sorted(target.end_of_generation), 0] = self._end

    def make(self, lessons: Iterable[CorpusLesson], labels: Mapping[int, Labels]) -> tuple[list[Sample], LabelTable]:
        """Makes samples, of a long reply several of equal size, each with as much of what comes before as fits.
        `labels` are by line."""
        return join_samples(self._sample(lesson, labels.get(lesson.line)) for lesson in lessons)

    def visible(self, tokens: Tokens) -> npt.NDArray[np.bool_]:
        """Which of a reply's tokens a drafter gets to see: all but the target's own special tokens, and the end of the
        reply."""
        visible = ~np.isin(tokens, sorted(self._target.silent))
        visible[-1] |= int(tokens[-1]) in self._target.end_of_generation
        return visible

    def _sample(self, lesson: CorpusLesson, labels: Labels | None) -> tuple[list[Sample], LabelTable]:
        """The samples of one reply, in order; none for a reply that the drafter has no tokens for."""
        written: list[int] = lesson.reply.tolist()
        is_finished = written[-1] in self._target.end_of_generation
        said = written[:-1] if is_finished else written
        spelled = self._tokenizer.encode(b"".join(self._target.pieces[token] for token in said))
        if not spelled:
            return [], LabelTable.of((), 1)
        end = [self._end] if is_finished and self._end is not None else []
        whole = self._whole(lesson.turns, [*spelled, *end])
        reply: list[int] = whole.tokens[whole.reply_start :].tolist()
        table = LabelTable.of((), 1)
        if labels is not None:
            places, heads = self._shared_starts(said, spelled)
            if end:
                places, heads = np.append(places, len(spelled)), np.append(heads, len(said))
            known = (places < len(reply)) & np.isfinite(labels.log_probabilities[heads, 0])
            places, table = self._push_down(labels, places[known], heads[known], reply)
            whole.rows[places + whole.reply_start] = np.arange(len(places))
        return list(_windows(whole)), table

    def of_text(self, turns: Iterable[ChatTurn], text: str) -> list[Sample]:
        """The samples of a reply that is only known as text, in order, without distributions."""
        spelled = self._tokenizer.encode(text.encode()) or []
        end = [] if self._end is None else [self._end]
        return list(_windows(self._whole(turns, [*spelled, *end]))) if spelled else []

    def _whole(self, turns: Iterable[ChatTurn], reply: Sequence[int]) -> Sample:
        """One sample of any length, without distributions."""
        reply = reply[: _MOST_WINDOWS * _MAX_REPLY_TOKENS]
        seen = [turn for turn in turns if turn.role is not Role.SYSTEM or turn.text not in self._default_systems]
        prompt = self._tokenizer.encode_prompt(seen)[-MAX_TOKENS:]
        weights = np.concatenate([np.zeros(len(prompt)), loop_weights(reply)]).astype(np.float32)
        tokens = np.array([*prompt, *reply], np.int32)
        return Sample(tokens, weights, np.full(len(tokens), _NONE, np.int32), len(prompt))

    def _shared_starts(self, said: Sequence[int], spelled: Sequence[int]) -> tuple[Places, Places]:
        """The places, among the drafter's tokens and among the target's, where a token of both begins and the drafter's
        is the start of the other's string: the target's distribution there is a distribution over draft tokens."""
        if len(said) == len(spelled) and (self._strings[said, 0] == spelled).all():
            places = np.arange(len(said))
            return places, places
        pairs = []
        place = head = 0
        for targets, drafts in align(said, self._target.pieces, spelled, self._tokenizer.pieces):
            if self._strings[targets[0], 0] == drafts[0]:
                pairs.append((place, head))
            place += len(drafts)
            head += len(targets)
        places, heads = np.array(pairs, np.int64).reshape(-1, 2).T
        return places, heads

    def _push_down(
        self, labels: Labels, places: Places, heads: Places, reply: Sequence[int]
    ) -> tuple[Places, LabelTable]:
        """The distributions over draft tokens at these places and inside the tokens that begin there, with the places
        of all."""
        inner = dict(self._inner_distributions(labels, places, heads, reply))
        tables = [self._distributions(labels, heads), LabelTable.of([*inner.values()], labels.tokens.shape[1])]
        return np.append(places, np.array([*inner], np.int64)), LabelTable.joined(tables)

    def _distributions(self, labels: Labels, heads: Places) -> LabelTable:
        """The distributions over draft tokens before these tokens of the target."""
        firsts = self._strings[labels.tokens[heads], 0]
        known = firsts != _NONE
        probabilities = np.where(known, np.exp(labels.log_probabilities[heads].astype(np.float32)), 0)
        alike = firsts[:, :, None] == firsts[:, None, :]  # [distributions, k, k]: tokens that begin with the same one
        together = np.where(alike, probabilities[:, None, :], 0).sum(-1)
        is_first = alike.argmax(-1) == np.arange(firsts.shape[1])
        probabilities = np.where(is_first & known, together, 0)
        return LabelTable(np.where(probabilities > 0, firsts, 0).astype(np.int32), probabilities.astype(np.float16))

    def _inner_distributions(
        self, labels: Labels, places: Places, heads: Places, reply: Sequence[int]
    ) -> Iterator[tuple[int, dict[int, float]]]:
        """The places and distributions of the second, third, … draft token of a target token that is made of several,
        given those before: the children of a node of the trie, without the stop, which did not happen there."""
        borders = {*places.tolist(), len(reply)}
        for place, head in zip(places.tolist(), heads.tolist(), strict=True):
            if place + 1 in borders:
                continue
            strings = self._strings[labels.tokens[head]]
            probabilities = np.exp(labels.log_probabilities[head].astype(np.float32))
            for depth in range(1, strings.shape[1]):
                if place + depth in borders:
                    break
                alike = strings[:, depth - 1] == reply[place + depth - 1]
                strings, probabilities = strings[alike], probabilities[alike]
                distribution: defaultdict[int, float] = defaultdict(float)
                for token, probability in zip(strings[:, depth].tolist(), probabilities.tolist(), strict=True):
                    if token != _NONE:
                        distribution[token] += probability
                total = sum(distribution.values())
                if reply[place + depth] not in distribution or not total:
                    break
                yield place + depth, {token: mass / total for token, mass in distribution.items()}


def _windows(whole: Sample) -> Iterator[Sample]:
    """Parts of a conversation whose replies are the reply, one after the other."""
    length = len(whole.tokens) - whole.reply_start
    number = -(-length // _MAX_REPLY_TOKENS)
    borders = [whole.reply_start + length * place // number for place in range(number + 1)]
    for start, end in pairwise(borders):
        first = max(0, end - MAX_TOKENS)
        weights, rows = whole.weights[first:end].copy(), whole.rows[first:end].copy()
        weights[: start - first], rows[: start - first] = 0, _NONE
        yield Sample(whole.tokens[first:end], weights, rows, start - first)


def spellings(target: Vocabulary, tokenizer: TurnVocabulary, num_outputs: int) -> Strings:
    """The drafter's tokens that each token of the target is made of, as far as it can guess them, padded with -1."""
    strings = np.full((len(target), MAX_STRING), _NONE, np.int32)
    for token, string in enumerate(tokenizer.encode_many(list(target.pieces))):
        if string and token not in target.special:
            guessable = list(takewhile(lambda each: each < num_outputs, string[:MAX_STRING]))
            strings[token, : len(guessable)] = guessable
    return strings


def loop_weights(reply: Sequence[int]) -> list[float]:
    """Weights of tokens, small for those that continue a loop: a target in a loop is easily guessed, and teaches
    nothing."""
    seen: set[tuple[int, ...]] = set()
    weights = []
    for place in range(len(reply)):
        recent = tuple(reply[max(0, place - _LOOP_TOKENS) : place])
        weights.append(_LOOP_WEIGHT if len(recent) == _LOOP_TOKENS and recent in seen else 1.0)
        seen.add(recent)
    return weights
