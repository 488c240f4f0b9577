"""What recall costs, with a million tokens and with ten thousand.

    python -m tests.benchmarks.recall [--tokens 1000000 10000] [--seed 1]

Makes a store of messages of 250 tokens in a temporary folder and loads recall as a start of the app does. Words follow
Zipf's distribution. Half of the text is new, the other half are passages of 10 to 60 tokens that come up again, in this
chat or others, some more often than others, in whole or in part. Then chats of 2,000 tokens, made in the same way,
continue round by round; each round asks for a draft and adds some of the tokens that follow.

Prints for each store: seconds from the file (which the system still has in memory) to the indexes; the memory that they
hold, and the most while they are made; microseconds of `RecallProposer.propose` in a round; the share of rounds in
which something was found, and the microseconds of these alone; microseconds of a chat's first round, which reads it.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from engine.backend.storage import Repository
from engine.speculation.numerics.draft import Verdict, common_prefix_length
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.recall import MOST_TOKENS, RecallProposer, RecallTexts
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from tests.fakes.proposers import Generous

VOCABULARY = "7a" * 32
NUM_WORDS = 49_152
NUM_PASSAGES = 3_000
TOKENS_PER_MESSAGE = 250
MESSAGES_PER_CONVERSATION = 10
CHAT_TOKENS = 2_000
NUM_CHATS = 8
ROUNDS_PER_CHAT = 250
MOST_PER_ROUND = 4  # tokens that a round adds
LOAD_BAR_S = 0.3
MEMORY_BAR_MB = 64.0
PROPOSE_BAR_US = 50.0


class Speaker:
    """Writes tokens: new ones, and passages that occur elsewhere too."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._words = _zipf(NUM_WORDS)
        self._favourites = _zipf(NUM_PASSAGES)
        self._passages = [self._new(int(size)) for size in self._random.integers(10, 61, NUM_PASSAGES)]

    def say(self, num_tokens: int) -> list[int]:
        said: list[int] = []
        while len(said) < num_tokens:
            if self._random.random() < 0.5:
                said += self._new(int(self._random.integers(10, 61)))
            else:
                passage = self._passages[int(self._random.choice(NUM_PASSAGES, p=self._favourites))]
                start = int(self._random.integers(0, len(passage) // 2))  # not always from its beginning
                said += passage[start:]
        return said[:num_tokens]

    def _new(self, num_tokens: int) -> list[int]:
        tokens: list[int] = self._random.choice(NUM_WORDS, num_tokens, p=self._words).tolist()
        return tokens


def _zipf(size: int) -> npt.NDArray[np.float64]:
    weights = 1 / (np.arange(size) + 2.7)
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Rounds:
    """Microseconds of each proposal."""

    all_us: npt.NDArray[np.float64]  # shape (rounds,), without the first of each chat
    found_us: npt.NDArray[np.float64]  # of these, where something was found
    first_us: npt.NDArray[np.float64]  # shape (chats,)
    num_right: int  # rounds whose first draft token was right


def keep(folder: Path, speaker: Speaker, num_tokens: int) -> None:
    repository = Repository.open(folder)
    num_messages = num_tokens // TOKENS_PER_MESSAGE
    text = "about as long as its tokens are. " * 30
    for _ in range(0, num_messages, MESSAGES_PER_CONVERSATION):
        conversation_id = repository.create_conversation("chat", "").id
        tokens: dict[int, list[int]] = {}
        parent_id: int | None = None
        for _ in range(MESSAGES_PER_CONVERSATION):
            parent_id = repository.add_message(conversation_id, parent_id, Role.USER, text).id
            tokens[parent_id] = speaker.say(TOKENS_PER_MESSAGE)
        repository.save_recall(VOCABULARY, tokens)
    repository.close()


def load(folder: Path) -> tuple[RecallTexts, float]:
    """Recall, and the seconds to load it; the file is open already, as it is when a target has been loaded."""
    repository = Repository.open(folder)
    began = perf_counter()
    recalled = RecallTexts(repository.load_recall(VOCABULARY, MOST_TOKENS))
    seconds = perf_counter() - began
    repository.close()
    return recalled, seconds


def held_and_peak_mb(folder: Path) -> tuple[float, float]:
    tracemalloc.start()
    recalled, _ = load(folder)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recalled.num_tokens
    return held / 2**20, peak / 2**20


def propose(recalled: RecallTexts, speaker: Speaker, seed: int) -> Rounds:
    rounds_us: list[float] = []
    found_us: list[float] = []
    first_us: list[float] = []
    num_right = 0
    lookup = RecallProposer(lambda _owner: recalled.indexes)
    for context, following in _contexts(speaker, seed):
        is_first = context.reply_start == len(context.tokens)
        began = perf_counter()
        draft = lookup.propose(context, MAX_LENGTH, Generous())
        spent_us = (perf_counter() - began) * 1e6
        if is_first:
            first_us.append(spent_us)
        else:
            rounds_us.append(spent_us)
            num_right += draft.tokens[:1] == following[:1]
            if draft.tokens:
                found_us.append(spent_us)
        num_accepted = common_prefix_length(draft.tokens, following[:-1])
        lookup.observe(Verdict(draft, num_accepted, following[: num_accepted + 1]))
    return Rounds(np.array(rounds_us), np.array(found_us), np.array(first_us), num_right)


def _contexts(speaker: Speaker, seed: int) -> Iterator[tuple[Context, tuple[int, ...]]]:
    """The context of a proposer, and the tokens that follow."""
    random = np.random.default_rng(seed)
    dice, sampling = RandomDice(seed), SamplingSettings()
    for _ in range(NUM_CHATS):
        turns = (ChatTurn(Role.USER, "the chat so far"),)
        said = speaker.say(CHAT_TOKENS + ROUNDS_PER_CHAT * MOST_PER_ROUND + MAX_LENGTH)
        place = CHAT_TOKENS - 1
        for _ in range(ROUNDS_PER_CHAT):
            context = Context(turns, said[:place], said[place], CHAT_TOKENS - 1, sampling, dice)
            yield context, tuple(said[place + 1 : place + 1 + MAX_LENGTH])
            place += int(random.integers(1, MOST_PER_ROUND + 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[MOST_TOKENS, 10_000])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    is_within = True
    for num_tokens in options.tokens:
        speaker = Speaker(options.seed)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            keep(folder, speaker, num_tokens)
            loads_s = sorted(load(folder)[1] for _ in range(5))
            held_mb, peak_mb = held_and_peak_mb(folder)
            recalled, _ = load(folder)
        rounds = propose(recalled, speaker, options.seed)
        median_us, most_us, nearly_all_us = np.percentile(rounds.all_us, [50, 90, 99])
        num_rounds, num_found = len(rounds.all_us), len(rounds.found_us)
        print(f"{recalled.num_tokens:,} tokens recalled")
        print(f"  loaded:          {loads_s[2]:8.3f} s   ({loads_s[0]:.3f} … {loads_s[-1]:.3f}; bar {LOAD_BAR_S} s)")
        print(f"  memory:          {held_mb:8.1f} MB  (at most {peak_mb:.1f} meanwhile; bar {MEMORY_BAR_MB:.0f} MB)")
        print(f"  a draft, median: {median_us:8.1f} µs  (bar {PROPOSE_BAR_US:.0f} µs)")
        print(f"  90 / 99 percent: {most_us:8.1f} / {nearly_all_us:.1f} µs")
        print(
            f"  found something: {num_found / num_rounds:8.0%} of {num_rounds:,} rounds; "
            f"their median {np.median(rounds.found_us):.1f} µs; first guess right in {rounds.num_right / num_found:.0%}"
        )
        print(f"  first of a chat: {np.median(rounds.first_us):8.1f} µs  (reads {CHAT_TOKENS:,} tokens)")
        is_within &= loads_s[2] < LOAD_BAR_S and held_mb < MEMORY_BAR_MB and median_us < PROPOSE_BAR_US
    return 0 if is_within else 1


if __name__ == "__main__":
    raise SystemExit(main())
