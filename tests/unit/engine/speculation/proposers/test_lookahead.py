from __future__ import annotations

from dataclasses import replace

import pytest

from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict
from engine.speculation.numerics.draft_length import USUAL_LENGTH, FixedCosts
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Proposer
from engine.speculation.proposers.lookahead import LookaheadProposer, Window
from engine.values.config import SamplingSettings
from engine.values.stop_signal import StopSignal
from tests.fakes.proposers import FREE, FakeRecall, Generous, choosing
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.proposers.bench import TURNS, context_of

WRONG = (7, 8, 9)


def next_token(held: list[int]) -> int:
    """After 7 always 50, after 8 always 51 and so on; else it counts up."""
    return held[-1] + 43 if held[-1] in WRONG else (held[-1] + 1) % 256


def verdicts(*proposers: Proposer) -> list[Verdict]:
    """Of the first rounds of a reply."""
    target = FakeTarget(lambda held: next_token([*held]))
    session = Session(target)
    rows = session.read([60, 61], StopSignal())
    decoder = Decoder(target, session, SamplingSettings(temperature=0), TURNS, choosing(*proposers))
    found = []
    for _tokens in decoder.rounds(rows, StopSignal(), max_tokens=9):
        found.append(decoder.verdict)
    return found[1:]


def test_a_pass_tells_what_the_target_wants_behind_a_rejected_token_where_somebody_looks() -> None:
    recall = FakeRecall(WRONG, (0.9, 0.9, 0.9))
    (first, *_) = verdicts(recall, LookaheadProposer())
    assert first.draft.tokens == WRONG
    assert first.num_accepted == 0
    assert first.wanted == ((0, 50), (1, 51), (2, 52))
    (first, *_) = verdicts(recall)
    assert first.draft.tokens == WRONG
    assert first.wanted == ()


def test_what_the_target_wanted_where_it_was_not_written_is_guessed_when_the_text_comes_there() -> None:
    proposer = LookaheadProposer()
    assert proposer.propose(context_of([20, 21]), 4, Generous()) is NO_DRAFT
    draft = Draft((30, 31), chances=(0.5, 0.5), proposer="recall")
    proposer.observe(Verdict(draft, 0, (22,), wanted=((0, 40), (1, 41))))
    assert proposer.propose(context_of([20, 21, 22, 30]), 4, Generous()).tokens == (40,)
    assert proposer.propose(context_of([20, 21, 22, 30, 31]), 4, Generous()).tokens == (41,)


def test_longer_contexts_say_more_and_what_was_seen_again_more_than_what_was_seen_once() -> None:
    once = LookaheadProposer().propose(context_of([5, 6, 7, 8, 5, 6, 7]), 2, Generous())
    again = LookaheadProposer().propose(context_of([5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7]), 2, Generous())
    short = LookaheadProposer().propose(context_of([5, 6, 7, 8, 9, 7]), 1, Generous())
    assert once.tokens == again.tokens == (8, 5)
    assert short.tokens == (8,)
    assert short.chances[0] < once.chances[0] < again.chances[0]


def test_chances_follow_what_becomes_of_guesses_whoever_drafted() -> None:
    proposer = LookaheadProposer()
    reply = [5, 6]
    chances: list[float] = []
    for _ in range(40):
        reply += [7, 5, 6]
        guess = proposer.propose(context_of(reply), 1, Generous())
        chances += guess.chances
        assert guess.tokens == (7,)
        proposer.observe(Verdict(NO_DRAFT, 0, (99,)))
    assert chances[-1] < chances[0] / 2


def test_nothing_is_kept_from_one_reply_to_the_next() -> None:
    proposer = LookaheadProposer()
    proposer.propose(context_of([5, 6, 7, 8, 5, 6]), 2, Generous())
    proposer.end_reply()
    assert proposer.propose(context_of([5, 6]), 2, Generous()) is NO_DRAFT
    proposer.propose(context_of([5, 6, 7, 8, 5, 6]), 2, Generous())
    assert proposer.propose(context_of([5, 6], (*TURNS, *TURNS)), 2, Generous()) is NO_DRAFT


@pytest.mark.parametrize("ahead", [(), (6,), (6, 7)])
def test_it_goes_on_behind_the_draft_of_another(ahead: tuple[int, ...]) -> None:
    proposer = LookaheadProposer()
    context = context_of([5, 6, 7, 8, 9, 5])
    proposer.propose(context, 2, Generous())
    following = proposer.follow(replace(context, ahead=ahead), 1)
    assert following.tokens == ((6, 7, 8)[len(ahead)],)


def test_a_window_stands_beside_the_draft_and_is_refined_by_what_the_target_wants() -> None:
    fill = iter(range(100, 200))
    window = Window(fill.__next__)  # levels 100 … 105, 106 … 111, 112 … 117
    draft = window.added_to(Draft((100, 7), chances=(0.5, 0.5), proposer="recall"), 2, "lookahead")
    assert draft.tokens == (100, 7, 106, 112, 101, 107, 113), "a column that begins as the draft does shares its token"
    assert draft.parents == (-1, 0, 0, 2, 0, 4, 5)
    assert draft.line(6) == (100, 101, 107, 113)
    assert draft.parts == (("recall", 2), ("lookahead", 5))
    assert sum(draft.reached) == 0.75

    window.refine({3: 50, 6: 51}, 1)
    again = window.added_to(NO_DRAFT, 2, "lookahead")
    assert again.tokens == (106, 112, 50, 107, 113, 51)
    window.refine({}, 3)  # two tokens more than a level
    assert window.added_to(NO_DRAFT, 1, "lookahead").tokens[0] == 114


def test_a_window_is_drawn_where_rows_cost_nothing_and_not_where_they_do() -> None:
    def drawn(costs: FixedCosts) -> list[int]:
        policy = DraftPolicy(costs, [LookaheadProposer()])
        target = FakeTarget(lambda held: next_token([*held]), max_tokens=64, max_branches=8)
        session = Session(target)
        rows = session.read([60, 61], StopSignal())
        decoder = Decoder(target, session, SamplingSettings(temperature=0), TURNS, Speculation(policy))
        tokens = [token for new in decoder.rounds(rows, StopSignal(), max_tokens=40) for token in new][:40]
        assert tokens == [*range(62, 102)]
        return [num_rows for num_rows in decoder.figures.passes if num_rows > USUAL_LENGTH]

    assert drawn(FREE)
    assert not drawn(FixedCosts({1: 1.0, 64: 1.0 + 63 * 0.05}))
