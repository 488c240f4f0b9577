from __future__ import annotations

from pathlib import Path

import pytest

from engine.lab.measuring.modes import ReplayMode, SimulatedMode, WriterMode
from engine.lab.measuring.order import PASS_S, SimulatedCosts
from engine.lab.measuring.prompts import BenchQuestion
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.body import BodyTarget
from engine.speculation.model.interface import Interrupted
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TargetUnusable
from engine.values.origins import Origin
from engine.values.stop_signal import StopSignal
from tests.fakes.clock import FakeClock
from tests.fakes.proposers import FakeSlow, drafting
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.speculation.model.llama.test_trace import FakeVocabulary

GREEDY = SamplingSettings(temperature=0)
TURNS = (ChatTurn(Role.USER, "Hi"),)


class Foreteller(Proposer):
    """Two tokens of the reply, in three steps, the second of them wrong on request. Reads 20 tokens of the prompt."""

    origin = Origin("foreteller", "Foreteller", "", "")
    continues = True

    def __init__(self, reply: bytes, wrong_second: bool) -> None:
        self._reply = reply
        self._wrong_second = wrong_second

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        place = len(context.tokens) + 1 - context.reply_start + len(context.ahead)
        guess = [*self._reply[place : place + min(2, limit)]]
        if not guess:
            return NO_DRAFT
        if self._wrong_second:
            guess[1:] = [0] * len(guess[1:])
        chances, num_read = (0.9,) * len(guess), 20 if len(context.tokens) == context.reply_start else 0
        return Draft(tuple(guess), chances=chances, num_steps=3, proposer=self.origin.key, num_read=num_read)

    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        return 1


def replay_mode(speculation: Speculation | None, max_tokens: int, costs: SimulatedCosts) -> SimulatedMode:
    trace = TraceTarget(FakeVocabulary(), Path("fake-vocab.gguf"))
    return SimulatedMode(ReplayMode(trace, trace, ReplySettings(GREEDY, max_tokens), speculation), costs)


def test_a_recorded_reply_costs_one_pass_for_each_token_but_the_first_and_one_for_its_end() -> None:
    mode = replay_mode(None, 128, SimulatedCosts())
    answer = mode.answer(BenchQuestion("a", "", TURNS, "abcd"), StopSignal())
    assert (answer.text, answer.tokens) == ("abcd", tuple(b"abcd"))
    assert answer.figures.num_written == 4
    assert answer.wall_s == pytest.approx(4 * PASS_S)
    assert answer.figures.target_s == pytest.approx(4 * PASS_S)
    assert answer.own_s is not None


@pytest.mark.parametrize(
    ("wrong_second", "passes", "wall"),
    [
        # Seven tokens, one of them with the prompt. Each round writes three: 3 + 3, then one pass for the end.
        (False, {3: 2, 1: 1}, 2 * 1.5 + 1 + 2 * 3 * 0.1),
        # Each round writes two: 2 + 2 + 2, then one pass for the end.
        (True, {3: 3, 1: 1}, 3 * 1.5 + 1 + 3 * 3 * 0.1),
    ],
)
def test_drafts_cost_their_steps_and_longer_passes(wrong_second: bool, passes: dict[int, int], wall: float) -> None:
    speculation = drafting(Foreteller(b"abcdefg", wrong_second), length=2)
    mode = replay_mode(speculation, 128, SimulatedCosts(0.1, (1.0, 1.2, 1.5)))
    answer = mode.answer(BenchQuestion("a", "", TURNS, "abcdefg"), StopSignal())
    assert answer.text == "abcdefg"
    assert answer.figures.passes == passes
    assert answer.wall_s == pytest.approx(wall * PASS_S)
    assert (answer.figures.translate_s, answer.figures.accept_s) == (0.0, 0.0)
    # The drafter's reading is told apart: 20 tokens at a tenth of a step each.
    assert answer.drafter_prompt_s == answer.uncounted_s == pytest.approx(20 * 0.1 * 0.1 * PASS_S)


def test_a_step_may_cost_what_it_really_took() -> None:
    drafter = FakeSlow(0.5, step_s=0.25)
    drafter.reading_s = 3.0
    mode = replay_mode(drafting(drafter, length=1), 128, SimulatedCosts(step=None))
    answer = mode.answer(BenchQuestion("a", "", TURNS, "abcd"), StopSignal())
    num_steps = answer.figures.num_steps - 1  # the reading is one of them
    assert num_steps >= 3
    assert answer.figures.draft_s == pytest.approx(num_steps * 0.25)
    assert answer.wall_s == pytest.approx(num_steps * 0.25 + answer.figures.target_s)
    assert answer.uncounted_s == 3.0


def test_a_replay_ends_at_its_length() -> None:
    speculation = drafting(Foreteller(b"abcdefg", wrong_second=False), length=2)
    mode = replay_mode(speculation, 5, SimulatedCosts())
    answer = mode.answer(BenchQuestion("a", "", TURNS, "abcdefg"), StopSignal())
    assert answer.text == "abcde"
    assert answer.figures.num_written == 4


def test_every_replay_begins_anew() -> None:
    mode = replay_mode(None, 128, SimulatedCosts())
    texts = [mode.answer(BenchQuestion("a", "", TURNS, text), StopSignal()).text for text in ("one", "two", "one")]
    assert texts == ["one", "two", "one"]


def test_with_a_body_a_replay_takes_the_bodys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    trace = TraceTarget(FakeVocabulary(), Path("fake-vocab.gguf"))
    body = FakeTarget(context_size=512, max_tokens=256)
    body.on_evaluate = lambda: clock.spend(0.25)
    mode = ReplayMode(trace, BodyTarget(trace, body), ReplySettings(GREEDY, 128), None)
    for _ in range(2):
        answer = mode.answer(BenchQuestion("a", "", TURNS, "abcd"), StopSignal())
        assert answer.text == "abcd"
        assert (answer.prompt_s, answer.wall_s) == (0.25, 4 * 0.25)
        assert answer.figures.pass_s == {1: 1.0}
        assert answer.own_s is None


def test_a_replay_keeps_its_prompt_within_the_bodys_context() -> None:
    trace = TraceTarget(FakeVocabulary(), Path("fake-vocab.gguf"))
    target = BodyTarget(trace, FakeTarget(context_size=200, max_tokens=64))
    turns = (ChatTurn(Role.USER, "long " * 100),)
    answer = ReplayMode(trace, target, ReplySettings(GREEDY, 128), None).answer(
        BenchQuestion("a", "", turns, "abcd"), StopSignal()
    )
    assert answer.text == "abcd"
    assert 100 < len(answer.prompt) < 200


def test_what_a_replay_taught_is_told_to_the_proposers() -> None:
    proposer = FakeSlow(0.5)
    trace = TraceTarget(FakeVocabulary(), Path("fake-vocab.gguf"))
    mode = ReplayMode(trace, trace, ReplySettings(GREEDY, 128), drafting(proposer))
    mode.answer(BenchQuestion("a", "", TURNS, "abcd"), StopSignal())
    assert proposer.num_replies == 1


def test_a_writers_answer_has_its_text_tokens_and_figures() -> None:
    mode = WriterMode(FakeTarget(says("yes")), ReplySettings(GREEDY), None)
    first = mode.answer(BenchQuestion("a", "", TURNS), StopSignal())
    again = mode.answer(BenchQuestion("b", "", TURNS), StopSignal())
    assert (first.text, first.tokens) == ("yes", tuple(b"yes"))
    assert again.tokens == first.tokens
    assert first.figures.num_written == 3
    assert 0 < first.figures.target_s < first.wall_s
    assert first.own_s is None


def test_an_answer_reads_its_whole_prompt_again() -> None:
    target = FakeTarget(says("yes"))
    mode = WriterMode(target, ReplySettings(GREEDY), None)
    mode.answer(BenchQuestion("a", "", TURNS), StopSignal())
    evaluated = target.num_evaluated
    mode.answer(BenchQuestion("a", "", TURNS), StopSignal())
    assert target.num_evaluated == 2 * evaluated


def test_a_stop_interrupts_and_a_failure_is_raised() -> None:
    stop = StopSignal()
    stop.set()
    target = FakeTarget(says("yes"))
    mode = WriterMode(target, ReplySettings(GREEDY), None)
    with pytest.raises(Interrupted):
        mode.answer(BenchQuestion("a", "", TURNS), stop)

    def fail() -> None:
        raise TargetUnusable("Broken.")

    target.on_evaluate = fail
    with pytest.raises(TargetUnusable, match="Broken"):
        mode.answer(BenchQuestion("a", "", TURNS), StopSignal())
