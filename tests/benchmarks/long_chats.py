"""What the drafter reads of a long chat, and how good its guesses are there.

    python -m tests.benchmarks.long_chats REPLIES.jsonl [--vocabulary VOCAB.gguf] [--torch] [--tokens 6000] [--reread]

Recorded questions and replies (lines as for `tests.benchmarks.draw`) become one scripted chat of so many tokens of the
target. The starter drafts: with `--vocabulary`, for a target of that vocabulary, else for one that has its own. It is
asked before every third token of every reply, for a draft of one. `--reread`: as a drafter that cannot move what it
holds.

Prints for each reply its tokens and those of the question, of the target, and what is new in its prompt, in tokens of
the drafter; the drafter's tokens that it read at once, the most that one round read, and the seconds these took. Then
how often the first guess was right, before and after the chat outgrew the drafter, and what reading a token takes: as
the draft policy learned it, and as measured. The bar: no reply has it read more than what is new, in either vocabulary,
and 64.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine import EngineConfig
from engine.speculation.drafter.choice import starter_drafter, starter_in_torch
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.vocabulary import VocabularyFile, load_vocabulary
from engine.speculation.numerics.draft import NO_DRAFT, Verdict
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.costly import Always, GoingRate
from engine.speculation.proposers.costs import StepCosts
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.supply import open_drafting
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role

_SLACK = 64  # tokens that a reply may have it read beyond what is new
_GREEDY = SamplingSettings(temperature=0)
_LONGEST = 400  # tokens of a reply
_EVERY = 3  # of these, one is guessed


@dataclass(frozen=True, slots=True)
class Read:
    """What one reply had the drafter read."""

    num_new: int  # tokens of the target: of the question and the reply
    num_own: int  # of the drafter: of the reply before and the question
    num_read: int
    most: int  # of these, in one round
    seconds: float


class LongChat:
    def __init__(self, proposer: DrafterProposer, vocabulary: VocabularyFile) -> None:
        self._proposer = proposer
        self._vocabulary = vocabulary
        self._turns: tuple[ChatTurn, ...] = ()
        self._num_own = 0  # of the drafter's tokens, in the last prompt
        self.num_tokens = 0  # of the target
        self.costs = StepCosts(FixedCosts({1: 1.0}), proposer.measure_cost())
        self.right: list[tuple[bool, bool]] = []  # of each guess: whether the chat fits the drafter, and it was right

    def reply(self, question: str, answer: str) -> Read:
        proposer, tokenize = self._proposer, self._vocabulary.tokenize
        self._turns = (*self._turns, ChatTurn(Role.USER, question))
        texts = [turn.text for turn in self._turns]
        prompt = [token for text in texts for token in tokenize(text + "\n\n")]
        written = tokenize(answer)[:_LONGEST]
        answer = b"".join(self._vocabulary.vocabulary.pieces[token] for token in written).decode(errors="ignore")
        context = Context(self._turns, prompt, written[0], len(prompt), _GREEDY, RandomDice(0))
        own = len(proposer._prompt_of(context))
        fits = own + len(written) < proposer._drafter.max_held * 3 / 4
        worth, num_read, most, seconds = GoingRate(FixedCosts({1: 1.0}), 1.0, always=Always(1, 1)), 0, 0, 0.0
        for place, (token, following) in enumerate(pairwise(written)):
            if place % _EVERY == 0:
                draft = proposer.propose(replace(context, pending=token), 1, worth)
                self.costs.learn(draft)
                num_read, seconds = num_read + draft.num_read, seconds + draft.reading_s
                most = max(most, draft.num_read)
                self.right.append((fits, draft.tokens[:1] == (following,)))
                proposer.observe(Verdict(NO_DRAFT, 0, (following,)))
            prompt.append(token)
        proposer.end_reply()
        self._turns = (*self._turns, ChatTurn(Role.ASSISTANT, answer))
        new, num_own, self._num_own = len(prompt) - self.num_tokens, own - self._num_own, own
        self.num_tokens = len(prompt)
        return Read(new, num_own, num_read, most, seconds)

    def share_right(self, fits: bool) -> str:
        found = [is_right for it_fits, is_right in self.right if it_fits == fits]
        return f"{sum(found) / len(found):.3f} of {len(found):,}" if found else "none"


def recorded(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text("utf-8").splitlines():
        found: dict[str, Any] = json.loads(line)
        yield found["prompt"], found["response"]


def play(proposer: DrafterProposer, vocabulary: VocabularyFile, pairs: Iterator[tuple[str, str]], length: int) -> None:
    chat, reads = LongChat(proposer, vocabulary), list[Read]()
    while chat.num_tokens < length:
        read = chat.reply(*next(pairs))
        reads.append(read)
        print(
            f"{chat.num_tokens:6,} tokens: {read.num_new:4} new ({read.num_own:4} of the drafter's), "
            f"{read.num_read:5,} read in {read.seconds:5.2f} s, at most {read.most:5,} at once",
            flush=True,
        )
    print(_summary(chat, reads))


def _summary(chat: LongChat, reads: Sequence[Read]) -> str:
    num_over = sum(read.num_read > max(read.num_new, read.num_own) + _SLACK for read in reads)
    num_read, seconds = sum(read.num_read for read in reads), sum(read.seconds for read in reads)
    learned, measured = chat.costs.read_s, seconds / max(1, num_read)
    return (
        f"{len(reads)} replies, {num_over} above the bar; {num_read:,} tokens read in {seconds:.1f} s\n"
        f"first guesses right: {chat.share_right(True)} while the chat fits, {chat.share_right(False)} later\n"
        f"reading a token: {1000 * learned:.2f} ms as learned, {1000 * measured:.2f} as measured"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--torch", action="store_true", help="torch runs the starter, not llama.cpp")
    parser.add_argument("--tokens", type=int, default=6000)
    parser.add_argument("--reread", action="store_true")
    asked = parser.parse_args()
    vocabulary = load_vocabulary(asked.vocabulary or starter_path())
    source = starter_in_torch() if asked.torch else starter_drafter()
    with tempfile.TemporaryDirectory() as folder:
        drafting = open_drafting(EngineConfig(data_dir=Path(folder)), source, vocabulary.vocabulary)
        assert isinstance(drafting.proposer, DrafterProposer)
        if asked.reread:
            type(drafting.proposer._drafter).can_drop = property(lambda _drafter: False)  # type: ignore[assignment]
        play(drafting.proposer, vocabulary, recorded(asked.replies), asked.tokens)
    vocabulary.close()


if __name__ == "__main__":
    main()
