"""Rounds over a fake target: whoever drafts, the same text comes out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pytest

from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.interface import LogitRow
from engine.speculation.model.interface import Interrupted
from engine.speculation.numerics.draft import Draft
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.interface import Context, Worth
from engine.speculation.proposers.lookahead import LookaheadProposer
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.origins import Origin
from engine.values.stop_signal import StopSignal
from tests.fakes.drafter import Logits, guesses, random_logits
from tests.fakes.proposers import RandomProposer, choosing, drafting, neural_proposer
from tests.fakes.target import END, PIECES, FakeTarget, says

GREEDY = SamplingSettings(temperature=0)
TURNS = (ChatTurn(Role.USER, "Say it."),)
PROMPT = "assistant\n"
TEXT = "the thing in the inn, then nothing; the theme: haha — thé 🙂 end"

Speculate = Callable[[FakeTarget], Speculation]


def recalling(*texts: str) -> RecallProposer:
    """As if these had been said in earlier chats, byte by byte."""
    kept = [SuffixIndex([[*text.encode()] for text in texts])]
    return RecallProposer(lambda _owner: kept)


def neural(target: FakeTarget, text: str = TEXT, logits: Logits | None = None, merge: bool = True) -> TranslatedDrafter:
    return neural_proposer(target.vocabulary, logits or guesses(text), merge)


def at_random(target: FakeTarget, is_free: bool = False) -> RandomProposer:
    return RandomProposer(len(target.vocabulary.pieces), is_free=is_free)


DRAFTING: dict[str, Speculate] = {
    "neural, always right": lambda target: drafting(neural(target), length=7),
    "neural, without merging": lambda target: drafting(neural(target, merge=False), length=7),
    "neural, wrong from the middle on": lambda target: drafting(neural(target, TEXT[:30] + "xyz"), length=7),
    "neural, always wrong": lambda target: drafting(neural(target, logits=random_logits(0)), length=7),
    "neural, with a short memory": lambda target: drafting(
        neural_proposer(target.vocabulary, guesses(TEXT), max_held=40), length=7
    ),
    "neural, as far as it pays": lambda target: choosing(neural(target)),
    "random": lambda target: drafting(at_random(target), length=7),
    "recall of this reply": lambda _target: choosing(RecallProposer()),
    "recall, always right": lambda _target: choosing(recalling(TEXT)),
    "recall, often wrong": lambda _target: choosing(recalling(TEXT.replace("the", "thx"), TEXT[::-1])),
    "recall, then neural": lambda target: choosing(recalling(TEXT[5:11], TEXT[20:40]), neural(target)),
    "recall, often wrong, then neural": lambda target: choosing(recalling(TEXT.replace(" ", " th")), neural(target)),
    "recall, then random": lambda target: choosing(recalling(TEXT), at_random(target)),
    "lookahead": lambda _target: choosing(LookaheadProposer()),
    "random, then lookahead": lambda target: choosing(at_random(target, is_free=True), LookaheadProposer()),
    "random, then neural": lambda target: choosing(at_random(target, is_free=True), neural(target)),
}
whoever_drafts = pytest.mark.parametrize("speculate", DRAFTING.values(), ids=DRAFTING.keys())


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


@whoever_drafts
def test_whoever_drafts_the_greedy_text_is_the_targets_own(speculate: Speculate) -> None:
    plain = write(FakeTarget(says(TEXT)), None)
    assert b"".join(PIECES[token] for token in plain[:-1]).decode() == TEXT
    target = FakeTarget(says(TEXT))
    speculation = speculate(target)
    assert write(target, speculation) == plain
    target.roll_back(0)
    assert write(target, speculation) == plain  # also with what was learned


@whoever_drafts
def test_no_draft_goes_beyond_the_length_that_was_asked_for(speculate: Speculate) -> None:
    plain = write(FakeTarget(says(TEXT)), None)
    for max_tokens in (1, 2, 7):
        target = FakeTarget(says(TEXT))
        written = write(target, speculate(target), max_tokens)
        assert written == plain[:max_tokens]


def test_a_reply_that_fills_the_context_ends_there() -> None:
    target = FakeTarget(says(TEXT), context_size=24)
    speculation = drafting(neural(target), length=7)
    plain = write(FakeTarget(says(TEXT), context_size=24), None)
    assert write(target, speculation) == plain


def figures_of(speculate: Speculate) -> DecodingFigures:
    target = FakeTarget(says(TEXT))
    session = Session(target)
    rows = session.read(target.tokenize(PROMPT), StopSignal())
    decoder = Decoder(target, session, GREEDY, TURNS, speculate(target))
    assert [*chain.from_iterable(decoder.rounds(rows, StopSignal()))] == [*TEXT.encode(), END]
    return decoder.figures


def test_good_drafts_save_passes() -> None:
    figures = figures_of(lambda target: drafting(neural(target)))
    num_tokens = len(TEXT.encode()) + 1
    assert figures.num_rounds < num_tokens / 3
    assert figures.num_written == num_tokens - 1  # the first was drawn from the prompt's logits
    assert figures.num_written == figures.num_accepted + figures.num_rounds
    assert figures.by_proposer["drafter"].num_accepted == figures.num_accepted
    assert sum(figures.passes.values()) == figures.num_rounds


def test_what_one_guessed_and_another_went_on_from_stands_together() -> None:
    """Recall knows most of the text, the drafter all of it, but it is not as sure."""
    pieces = [TEXT[place : place + 20] for place in range(0, len(TEXT), 22)]

    def unsure(held: Sequence[int]) -> LogitRow:
        return guesses(TEXT)(held) * np.float32(0.2)

    figures = figures_of(lambda target: choosing(recalling(*pieces), neural(target, logits=unsure)))
    alone = figures_of(lambda _target: choosing(recalling(*pieces)))
    both = figures.by_proposer
    assert both["recall"].num_accepted > 5
    assert both["drafter"].num_accepted > 5
    assert both["recall"].num_accepted + both["drafter"].num_accepted == figures.num_accepted
    assert both["recall"].num_rounds + both["drafter"].num_rounds > figures.num_rounds, "in the same rounds"
    assert figures.num_rounds < alone.num_rounds


class FailingLater(RandomProposer):
    """The third time it is asked."""

    num_asked = 0

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self.num_asked += 1
        if self.num_asked > 2:
            raise ZeroDivisionError
        return super().propose(context, limit, worth)


def test_one_that_fails_on_the_way_costs_no_token(caplog: pytest.LogCaptureFixture) -> None:
    plain = write(FakeTarget(says(TEXT)), None)
    for are_free in ([True], [False], [True, False]):
        proposers = [FailingLater(9, is_free=is_free) for is_free in are_free]
        proposers[0].origin = Origin("another", "Another", "", "")
        with caplog.at_level(logging.CRITICAL):
            assert write(FakeTarget(says(TEXT)), choosing(*proposers)) == plain


class ForgettingTarget(FakeTarget):
    """Seems able to roll back, and is not: the first time it matters it holds nothing."""

    def roll_back(self, num_kept: int) -> bool:
        if num_kept in (0, len(self.held)):
            return super().roll_back(num_kept)
        self.held.clear()
        return False


def wrong(target: FakeTarget) -> Speculation:
    return drafting(neural(target, logits=random_logits(0)), length=4)


def test_where_a_draft_cannot_be_taken_back_the_text_is_read_again_and_nothing_is_drafted_any_more() -> None:
    target = ForgettingTarget(says(TEXT), max_tokens=8)
    session = Session(target)
    speculation = wrong(target)
    told: list[bool] = []
    speculation._on_changed = lambda now: told.append(now.can_draft)
    prompt = target.tokenize("user\nPlease.\n" + PROMPT)
    rows = session.read(prompt, StopSignal())
    decoder = Decoder(target, session, GREEDY, TURNS, speculation)
    written: list[int] = []
    for tokens in decoder.rounds(rows, StopSignal()):
        written += tokens
        assert session.tokens == [*prompt, *written][: len(session.tokens)]
    assert written == [*TEXT.encode(), END]
    assert target.held == session.tokens == [*prompt, *written[:-1]]
    assert len(decoder.figures.by_proposer) == 1
    assert decoder.figures.by_proposer["drafter"].num_rounds == 1
    assert speculation.state.startswith("No speed-up: this model cannot roll back")
    speculation.join(at_random(target))
    assert not speculation.is_drafting
    assert told == [False]


def test_reading_again_can_be_stopped_and_what_was_read_stays_known() -> None:
    target, stop = ForgettingTarget(says(TEXT), max_tokens=8), StopSignal()
    session = Session(target)
    prompt = target.tokenize("user\nPlease.\n" + PROMPT)
    rows = session.read(prompt, stop)
    rounds = Decoder(target, session, GREEDY, TURNS, wrong(target)).rounds(rows, stop)
    next(rounds), next(rounds)
    assert target.held == []
    num_passes = iter(range(100))
    target.on_evaluate = lambda: stop.set() if next(num_passes) == 1 else None
    with pytest.raises(Interrupted):
        next(rounds)
    assert target.held == session.tokens == prompt[:8]
    assert session.read(prompt, StopSignal()).argmax() == TEXT.encode()[0]
    assert target.held == session.tokens == prompt


def test_after_a_lost_reply_the_next_prompt_is_read_from_its_beginning() -> None:
    target = ForgettingTarget(says(TEXT))
    session = Session(target)
    prompt = target.tokenize(PROMPT)
    rows = session.read(prompt, StopSignal())
    rounds = Decoder(target, session, GREEDY, TURNS, wrong(target)).rounds(rows, StopSignal())
    next(rounds), next(rounds)
    assert target.held == []
    told: list[tuple[int, int]] = []
    session.read(prompt, StopSignal(), lambda evaluated, total: told.append((evaluated, total)))
    assert target.held == session.tokens == prompt
    assert told[-1] == (len(prompt), len(prompt))


@whoever_drafts
def test_no_draft_is_longer_than_can_be_taken_back(speculate: Speculate) -> None:
    target = FakeTarget(says(TEXT), max_rollback=2)
    assert write(target, speculate(target)) == [*TEXT.encode(), END]
