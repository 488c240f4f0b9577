"""Rounds over a fake target: whoever drafts, the same text comes out, and the same law."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import SamplingSettings
from engine.decoding import Decoder
from engine.numerics.dice import Dice
from engine.numerics.sampling import make_law
from engine.proposers.neural import NeuralProposer
from engine.records import ChatTurn, Role
from engine.session import Session
from engine.speculation import Speculation
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows
from tests.fakes.dice import every_outcome
from tests.fakes.drafter import guesses, random_logits
from tests.fakes.proposers import RandomProposer, drafting, neural_proposer
from tests.fakes.target import END, PIECES, FakeTarget, says

GREEDY = SamplingSettings(temperature=0)
TURNS = (ChatTurn(Role.USER, "Say it."),)
PROMPT = "assistant\n"
TEXT = "the thing in the inn, then nothing; the theme: haha — thé 🙂 end"

MakeProposer = Callable[[FakeTarget], NeuralProposer | RandomProposer]
PROPOSERS: dict[str, MakeProposer] = {
    "neural, always right": lambda target: neural_proposer(target.vocabulary, guesses(TEXT)),
    "neural, without merging": lambda target: neural_proposer(target.vocabulary, guesses(TEXT), merge=False),
    "neural, wrong from the middle on": lambda target: neural_proposer(target.vocabulary, guesses(TEXT[:30] + "xyz")),
    "neural, always wrong": lambda target: neural_proposer(target.vocabulary, random_logits(0)),
    "neural, with a short memory": lambda target: neural_proposer(target.vocabulary, guesses(TEXT), max_held=40),
    "random": lambda target: RandomProposer(len(target.vocabulary.pieces)),
}


def write(target: FakeTarget, speculation: Speculation | None, max_tokens: int | None = None) -> list[int]:
    session = Session(target)
    rows = session.read(target.tokenize(PROMPT), StopSignal())
    decoder = Decoder(target, session, GREEDY, TURNS, speculation)
    written: list[int] = []
    for tokens in decoder.rounds(rows, StopSignal(), max_tokens=max_tokens):
        written += tokens
        assert target.held == session.tokens
        num_pending = len(target.tokenize(PROMPT)) + len(written) - len(session.tokens)
        assert session.tokens == [*target.tokenize(PROMPT), *written][: len(session.tokens)]
        assert num_pending == 1 or written[-1] == END
        if END in tokens or (max_tokens is not None and len(written) >= max_tokens):
            break
    return written


@pytest.mark.parametrize("make_proposer", PROPOSERS.values(), ids=PROPOSERS.keys())
def test_whoever_drafts_the_greedy_text_is_the_targets_own(make_proposer: MakeProposer) -> None:
    plain = write(FakeTarget(says(TEXT)), None)
    assert b"".join(PIECES[token] for token in plain[:-1]).decode() == TEXT
    target = FakeTarget(says(TEXT))
    speculation = drafting(make_proposer(target))
    assert write(target, speculation) == plain
    target.roll_back(0)
    assert write(target, speculation) == plain  # also with what was learned


@pytest.mark.parametrize("make_proposer", PROPOSERS.values(), ids=PROPOSERS.keys())
def test_no_draft_goes_beyond_the_length_that_was_asked_for(make_proposer: MakeProposer) -> None:
    plain = write(FakeTarget(says(TEXT)), None)
    for max_tokens in (1, 2, 7):
        target = FakeTarget(says(TEXT))
        written = write(target, drafting(make_proposer(target), length=7), max_tokens)
        assert written == plain[:max_tokens]


def test_a_reply_that_fills_the_context_ends_there() -> None:
    target = FakeTarget(says(TEXT), context_size=24)
    speculation = drafting(neural_proposer(target.vocabulary, guesses(TEXT)), length=7)
    plain = write(FakeTarget(says(TEXT), context_size=24), None)
    assert write(target, speculation) == plain


def test_good_drafts_save_passes() -> None:
    target = FakeTarget(says(TEXT))
    session = Session(target)
    rows = session.read(target.tokenize(PROMPT), StopSignal())
    decoder = Decoder(target, session, GREEDY, TURNS, drafting(neural_proposer(target.vocabulary, guesses(TEXT))))
    written = list(chain.from_iterable(decoder.rounds(rows, StopSignal())))
    figures = decoder.figures
    assert written[-1] == END
    assert figures.num_rounds < len(written) / 3
    assert figures.num_written == len(written) - 1  # the first was drawn from the prompt's logits
    assert figures.num_written == figures.num_accepted + figures.num_rounds
    assert figures.by_proposer["drafter"].num_accepted == figures.num_accepted
    assert sum(figures.passes.values()) == figures.num_rounds


class SmallTarget(FakeTarget):
    """Few tokens have a chance; which, and how great, depends on what was written before."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._likely = [*b"theing", 256, 257]

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        super().evaluate(tokens, num_rows, stop)
        first = len(self.held) - num_rows + 1
        return np.stack([self.logits(self.held[:length]) for length in range(first, len(self.held) + 1)])

    def logits(self, held: Sequence[int]) -> np.ndarray:
        row = np.full(len(PIECES), -np.inf, np.float32)
        chosen = np.random.default_rng([self._seed, *held]).permutation(self._likely)[:4]
        row[chosen] = np.random.default_rng([self._seed + 1, *held]).standard_normal(4) * 2
        return row


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), merge=st.booleans(), length=st.integers(1, 3))
def test_sampled_text_follows_the_targets_law_exactly(seed: int, merge: bool, length: int) -> None:
    """The whole way: drafter, translation, rounds. Summed over every draft and every throw of the dice."""
    sampling = SamplingSettings(temperature=0.8, top_k=3, top_p=1, min_p=0)
    num_tokens = 3

    def run(dice: Dice) -> tuple[int, ...]:
        target = SmallTarget(seed)
        speculation = drafting(neural_proposer(target.vocabulary, random_logits(seed, b"theing"), merge), length)
        session = Session(target)
        rows = session.read([*b"a"], StopSignal())
        decoder = Decoder(target, session, sampling, TURNS, speculation, dice)
        written: list[int] = []
        for tokens in decoder.rounds(rows, StopSignal(), max_tokens=num_tokens):
            written += tokens
            if len(written) >= num_tokens:
                break
        return tuple(written[:num_tokens])

    out: dict[tuple[int, ...], float] = defaultdict(float)
    for weight, written in every_outcome(run):
        out[written] += weight
    target = SmallTarget(seed)
    truth: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(num_tokens):
        longer: dict[tuple[int, ...], float] = {}
        for written, weight in truth.items():
            law = make_law(target.logits([*b"a", *written]), sampling, ())
            for token, probability in zip(law.ids.tolist(), law.probabilities.tolist(), strict=True):
                longer[(*written, token)] = weight * probability
        truth = longer
    assert sum(out.values()) == pytest.approx(1, abs=1e-9)
    assert 0.5 * sum(abs(out[key] - truth.get(key, 0.0)) for key in out.keys() | truth.keys()) < 1e-9
