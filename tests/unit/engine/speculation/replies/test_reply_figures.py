"""What a reply tells about itself while it is written, and what is kept of that: speed, and who thought of what."""

from __future__ import annotations

from itertools import product

import pytest

from engine.speculation.decoding.speculation import Speculation
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.catalogue import DRAFTER
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.replies import StopReason, TextKind
from engine.values.speed import Hindrance
from engine.values.stop_signal import StopSignal
from tests.fakes.drafter import guesses
from tests.fakes.listener import RecordingReply
from tests.fakes.machine import Machine, TimedTarget
from tests.fakes.proposers import FakeRecall, FakeSlow, choosing, drafting, neural_proposer
from tests.fakes.target import FakeTarget, failing, says
from tests.unit.engine.speculation.replies.test_text import spelled

TURNS = [ChatTurn(Role.USER, "Say it.")]
GREEDY = SamplingSettings(temperature=0)


@pytest.fixture(autouse=True)
def figures_of_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.replies.run._FIGURES_S", 0.0)


def write(
    target: FakeTarget,
    speculation: Speculation | None,
    stop_strings: tuple[str, ...] = (),
    max_tokens: int | None = None,
) -> tuple[Reply, RecordingReply]:
    writer, listener = ReplyWriter(target, speculation), RecordingReply()
    settings = ReplySettings(GREEDY, max_tokens, stop_strings=stop_strings)
    return writer.write(writer.prepare(TURNS), settings, StopSignal(), listener), listener


def live(listener: RecordingReply) -> str:
    return "".join(map(spelled, listener.origins))


def recalling(*texts: str) -> Speculation:
    index = [SuffixIndex([[*text.encode()] for text in texts])]
    return choosing(RecallProposer(lambda _owner: index))


@pytest.mark.parametrize("guess", ["".join(signs) for signs in product("bx", repeat=4)])
def test_only_guesses_that_stood_are_those_of_who_guessed(guess: str) -> None:
    """All ways in which four guesses, made anew every round, may be right or wrong of a reply of one letter."""
    reply, listener = write(
        FakeTarget(says("b" * 12)), choosing(FakeRecall([*guess.encode()], (0.9,) * 4)), max_tokens=12
    )
    expected, stood = "t", len(guess) - len(guess.lstrip("b"))
    while len(expected) < 12:
        length = min(stood, 12 - len(expected) - 1)  # the last one is never drafted: a pass brings one anyway
        expected += "r" * length + "t"
    assert spelled(reply.statistics.origins) == live(listener) == expected
    (recall,) = reply.statistics.proposers
    assert recall.key == "recall"
    assert recall.num_accepted == expected.count("r") == reply.statistics.num_accepted
    assert recall.num_drafted == reply.statistics.num_drafted


def test_whichever_branch_stood_its_tokens_are_those_of_who_guessed() -> None:
    recall = FakeRecall([*b"xyab"], (0.4, 0.5, 0.5, 0.9))
    recall.parents = (-1, 0, -1, 2)  # xy or ab
    reply, listener = write(FakeTarget(says("?" + "abc" * 4), max_branches=2), choosing(recall))
    assert reply.text == "?" + "abc" * 4
    assert spelled(reply.statistics.origins) == live(listener) == "t" + "rrt" * 4
    (figures,) = reply.statistics.proposers
    assert (figures.num_accepted, figures.num_drafted) == (8, 20)
    plain, _ = write(FakeTarget(says("?" + "abc" * 4)), choosing(recall))
    assert (plain.text, plain.statistics.num_accepted) == (reply.text, 0)


TEXT = "the thing in the inn, then nothing; the theme: haha — thé 🙂 end"


def test_what_two_guessed_one_after_the_other_is_told_apart() -> None:
    target = FakeTarget(says(TEXT))
    index = [SuffixIndex([[*TEXT[20:40].encode()]])]
    speculation = choosing(RecallProposer(lambda _owner: index), neural_proposer(target.vocabulary, guesses(TEXT)))
    reply, listener = write(target, speculation)
    told = spelled(reply.statistics.origins)
    assert reply.text == TEXT
    assert told == live(listener)
    assert len(told) == len(TEXT)
    assert {"t", "d", "r"} == set(told)
    assert [counts.key for counts in reply.statistics.proposers] == ["drafter", "recall"]
    assert sum(counts.num_accepted for counts in reply.statistics.proposers) == reply.statistics.num_accepted
    assert sum(counts.num_drafted for counts in reply.statistics.proposers) == reply.statistics.num_drafted


@pytest.mark.parametrize("stop_strings", [(), ("nothing",), ("; the", "ing;"), (" end",)])
@pytest.mark.parametrize("draft_length", [0, 3, 7])
def test_runs_are_as_long_as_the_text(stop_strings: tuple[str, ...], draft_length: int) -> None:
    target = FakeTarget(says(TEXT))
    drafter = neural_proposer(target.vocabulary, guesses(TEXT))
    reply, listener = write(target, drafting(drafter, draft_length) if draft_length else None, stop_strings)
    assert live(listener) == spelled(reply.statistics.origins)
    assert len(live(listener)) == len(reply.text)
    assert "".join(listener.pieces) == reply.text
    if stop_strings:
        assert reply.statistics.stop_reason is StopReason.STOP_STRING
    if not draft_length:
        assert set(live(listener)) == {"t"}


def test_a_reply_that_fails_keeps_the_origins_of_what_there_is() -> None:
    target = FakeTarget(says("Hello"))
    target.on_evaluate = failing(4)
    reply, _ = write(target, None)
    assert len(spelled(reply.statistics.origins)) == len(reply.text) > 0


def test_figures_grow_with_the_reply_and_end_as_its_statistics() -> None:
    reply, listener = write(FakeTarget(says("ha " * 20)), recalling("ha " * 9))
    counts = [(figures.num_tokens, figures.num_rounds, figures.num_drafted) for figures in listener.figures]
    assert counts == sorted(counts)
    last, statistics = listener.figures[-1], reply.statistics
    assert (last.num_tokens, last.num_rounds) == (statistics.reply_tokens, statistics.num_rounds)
    assert (last.num_drafted, last.num_accepted) == (statistics.num_drafted, statistics.num_accepted)
    assert statistics.num_accepted > 10
    assert statistics.draft_s > 0
    assert statistics.check_s > 0
    assert statistics.draft_s + statistics.check_s < statistics.reply_s
    assert len(listener.pieces) < statistics.reply_tokens, "a round is told at once"


def test_the_kind_of_a_reply_is_kept() -> None:
    assert write(FakeTarget(says("- a\n- b\n- c\n")), None)[0].statistics.kind is TextKind.LISTS


def plainly() -> Speculation:
    """Recall that never knows anything, so that all rounds are plain ones."""
    speculation = Speculation(DraftPolicy(FixedCosts({1: 1.0, 16: 1.0}), [FakeRecall()]))
    speculation.expect([FakeSlow], Supplies(FakeTarget()))
    return speculation


def test_without_speculation_nothing_is_compared() -> None:
    for speculation in (None, Speculation.off("Because.")):
        reply, listener = write(FakeTarget(says("b" * 60)), speculation)
        assert listener.figures[-1].hindrance is reply.statistics.hindrance is Hindrance.OFF
        assert listener.figures[-1].verdict.ratio is None
        assert reply.statistics.verdict.ratio is None
        assert reply.statistics.ratio == 0


def test_by_counts_a_reply_is_as_fast_as_its_passes_are_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes over one and two tokens, with a change of rows between them, on a machine that hiccups once."""
    machine = Machine.running(monkeypatch, {1: 2.0, 2: 2.5, 16: 9.0}, change_s=0.1)
    target, passes = TimedTarget(machine, "b" * 60), iter(range(1000))

    def hiccup() -> None:
        machine.now_s += 60.0 * (next(passes) == 30)

    target.on_evaluate = hiccup
    reply, listener = write(target, Speculation(DraftPolicy(machine.costs, [FakeRecall([ord("x")], (0.9,))])))
    assert {*reply.figures.passes} == {1, 2}
    assert 0 < reply.figures.num_changes <= 2 * reply.figures.passes[2]
    assert reply.statistics.ratio == pytest.approx(machine.ratio(reply.figures), rel=0.02)
    assert reply.statistics.speedup == reply.statistics.ratio
    told, kept = listener.figures[-1].ratio, reply.statistics
    assert told == pytest.approx(kept.ratio, rel=0.02), "the same while it is written and when it is kept"
    assert kept.verdict.ratio == pytest.approx(kept.ratio, rel=0.011), "and when it is shown"
    assert write(FakeTarget(says("b" * 40)), choosing(FakeRecall()))[0].statistics.ratio == 1.0


def test_figures_stay_for_a_moment_since_nobody_reads_that_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.replies.run._FIGURES_S", 3600.0)
    reply, listener = write(FakeTarget(says("b" * 60)), None)
    assert {figures.num_tokens for figures in listener.figures} == {1}
    assert reply.statistics.reply_tokens == 60


def test_while_the_drafter_is_being_loaded_that_is_the_reason_and_its_tokens_are_not_in_the_mean() -> None:
    speculation, target = plainly(), FakeTarget(says("b" * 200))
    passes = iter(range(1000))
    target.on_evaluate = lambda: speculation.give_up(DRAFTER, "There is none.") if next(passes) == 100 else None
    reply, listener = write(target, speculation)
    reasons = [figures.hindrance for figures in listener.figures]
    place = reasons.index(Hindrance.NOTHING)
    assert 80 < place < 130
    assert {*reasons[:place]} == {Hindrance.LOADING}
    assert {*reasons[place:]} == {Hindrance.NOTHING} == {reply.statistics.hindrance}
