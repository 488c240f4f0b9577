"""What the user wants goes before what a program has asked for, which goes on afterwards as if nothing had been."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import llama_cpp  # noqa: F401, no plain tests
import pytest

from engine.backend.precedence import Precedence
from engine.speculation.model.interface import FloatRows
from engine.threads import Engine
from engine.values.asked import Answered, Asked
from engine.values.comparison import Comparison, ComparisonOrder
from engine.values.config import EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.events import ReplyFinished, TargetInfo, TargetReady
from engine.values.orders import ReplyOrder, Send
from engine.values.owner import Owner
from engine.values.replies import StopReason
from engine.values.requests import Call, Door, Request, ignore
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue, Settled
from tests.fakes.target import END, FakeTarget

SETTINGS = ReplySettings(SamplingSettings(temperature=1.0, seed=5))
LETTERS = b"abcdef"
_LENGTH = 60  # tokens of the program's reply
_PROGRAM, _USER = "Tell me all of it.", "Hi"


class Rambler(FakeTarget):
    """Tells a program one of many texts, by its dice and by all that it holds, and the user a short one."""

    def __init__(self) -> None:
        super().__init__(context_size=512)
        self.saves = True
        self.num_passes = 0
        self.at: dict[int, Callable[[], object]] = {}  # by number of the pass
        self.on_evaluate = self._passes

    def _passes(self) -> None:
        self.num_passes += 1
        self.at.pop(self.num_passes, lambda: None)()

    def save(self) -> list[int] | None:
        return super().save() if self.saves else None

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        num_before = len(self.held)
        rows = super().evaluate(tokens, num_rows, stop)
        for row in range(num_rows):
            held = self.held[: num_before + len(tokens) - num_rows + row + 1]
            rows[row] = 0
            said = bytes(token for token in held if token < 256).rpartition(b"\n")[2]
            if len(said) >= (_LENGTH if b"all of it" in bytes(token for token in held if token < 256) else 3):
                rows[row, END] = 60
            else:
                rows[row, list(LETTERS)] = [30 + (sum(held) * letter % 7) / 4 for letter in LETTERS]
        return rows


class Asking:
    """An engine with that target, and a program that asks it."""

    def __init__(self, folder: Path, target: Rambler) -> None:
        (folder / "fake.gguf").write_bytes(b"GGUF")
        self.path, self.target, self.events = str(folder / "fake.gguf"), target, EventQueue()
        self.engine = Engine(EngineConfig(folder / "data", SpeculationSettings(drafter="none")), self.events)
        self.engine.ask(self.engine.target.load, LoadOrder(self.path))
        self.events.wait_for(TargetReady)
        self.asked: Request[Answered]
        self.expected = ""  # by the program, of its reply

    def say(self, order: ReplyOrder) -> None:
        """The user wants a reply."""
        self.engine.ask(self.engine.chat.answer, order)

    def ask(self, **at: Callable[[], object] | ReplyOrder) -> None:
        """A program asks; `at`: what happens in which pass, counted from here."""
        for key, happens in at.items():
            then = partial(self.say, happens) if isinstance(happens, ReplyOrder) else happens
            self.target.at[self.target.num_passes + int(key.removeprefix("pass_"))] = then
        asked = Asked((ChatTurn(Role.USER, _PROGRAM),), expected=self.expected)
        self.asked = self.events.ask(
            self.engine, self.engine.answering.answer, asked, SETTINGS, False, Owner("a program")
        )

    def ended(self) -> Answered:
        self.events.seen.clear()
        self.events.wait_for(Settled)
        return self.asked.result()

    @property
    def came_between(self) -> list[type]:
        return [type(each) for each in self.events.seen if isinstance(each, ReplyFinished | TargetReady)]


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    target = Rambler()
    monkeypatch.setattr("engine.loading.load_target", lambda *_: target)
    found = Asking(tmp_path, target)
    yield found
    assert found.engine.close()


@pytest.mark.parametrize("saves", [True, False])
@pytest.mark.parametrize("place", [1, 3, 12, 13, 40], ids=lambda place: f"in pass {place}")
def test_a_programs_reply_gives_way_and_is_what_it_would_have_been(asking: Asking, place: int, saves: bool) -> None:
    asking.ask()
    alone = asking.ended()
    assert len(alone.text) == _LENGTH
    asking.target.saves = saves
    asking.ask(**{f"pass_{place}": Send(_USER, None, ReplySettings())})
    again = asking.ended()
    assert asking.came_between == [ReplyFinished]
    assert (again.text, again.failure) == (alone.text, "")
    assert again.statistics.reply_s < 60
    assert again.statistics.evaluated_tokens <= alone.statistics.evaluated_tokens, "nor is it told how much was read"


def test_several_prompts_go_first_one_after_the_other(asking: Asking) -> None:
    asking.ask()
    alone = asking.ended()
    asking.ask(
        pass_14=Send(_USER, None, ReplySettings()),
        pass_16=Send(_USER, None, ReplySettings()),
        pass_60=Send(_USER, None, ReplySettings()),
    )
    again = asking.ended()
    assert asking.came_between == [ReplyFinished] * 3
    assert again.text == alone.text


def test_a_chat_beside_a_long_reply_is_not_read_again_at_each_turn(asking: Asking) -> None:
    asking.ask()
    alone = asking.ended()
    first = Send(_USER * 20, None, ReplySettings())
    then = Send(_USER, 1, ReplySettings())
    asking.ask(pass_14=first, pass_30=then, pass_45=then)
    again = asking.ended()
    assert again.text == alone.text, "the program goes on as before"
    told = [each.message.statistics for each in asking.events.seen if isinstance(each, ReplyFinished)]
    read = [(each.evaluated_tokens, each.prompt_tokens) for each in told if each is not None]
    assert len(read) == 3
    assert read[0][0] == read[0][1] > 40
    for (_, before), (num_read, num_all) in pairwise(read):
        assert num_read <= num_all - before, "only what is new"


def test_the_user_does_not_wait_for_the_tokens_of_a_prediction(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenize, passes = asking.target.tokenize, list[int]()  # before each piece of the prediction

    def tokenize_slowly(text: str) -> list[int]:
        if len(text) < 1_000:
            return tokenize(text)
        passes.append(asking.target.num_passes)
        if len(passes) == 2:
            asking.say(Send(_USER, None, ReplySettings()))
        return [LETTERS[0]]

    monkeypatch.setattr(asking.target, "tokenize", tokenize_slowly)
    asking.expected = "ab " * 10_000
    asking.ask()
    asking.ended()
    assert asking.came_between == [ReplyFinished]
    assert passes[0] == passes[1] < passes[2] == passes[3]


def test_a_comparison_of_the_user_goes_first_too(asking: Asking) -> None:
    compared: list[Request[Comparison]] = []
    order = ComparisonOrder(_USER, None, SETTINGS, 4)
    asking.ask(pass_20=lambda: compared.append(asking.engine.ask(asking.engine.trials.compare, order)))
    ended = asking.ended()
    assert compared[0].future.done(), "before the program's reply"
    assert compared[0].result().plain
    assert len(ended.text) == _LENGTH


@pytest.mark.parametrize("loads", [True, False])
def test_a_reply_whose_model_is_changed_ends_with_a_sentence(asking: Asking, loads: bool) -> None:
    target, changes = asking.engine.target, list[Request[TargetInfo] | Request[None]]()

    def change() -> None:
        ask = asking.engine.ask
        changes.append(ask(target.load, LoadOrder(asking.path)) if loads else ask(target.use_drafter, "none"))

    asking.ask(pass_30=change)
    ended = asking.ended()
    assert ended.failure.endswith("ask again in a moment.")
    assert 0 < len(ended.text) < _LENGTH
    changes[0].result(60)


def test_a_program_that_leaves_while_it_waits_is_not_answered_any_further(asking: Asking) -> None:
    asking.ask(pass_20=Send(_USER, None, ReplySettings()), pass_24=lambda: asking.asked.stop())  # noqa: PLW0108
    ended = asking.ended()
    assert asking.came_between == [ReplyFinished]
    assert ended.statistics.stop_reason is StopReason.STOPPED
    assert len(ended.text) < _LENGTH


def test_a_prompt_that_comes_while_one_looks_who_waits_is_not_missed() -> None:
    waiting: dict[StopSignal, Call] = {}

    def look() -> dict[StopSignal, Call]:
        seen = dict(waiting)
        if not waiting:
            waiting[call.request.signal] = call
            precedence.note(call)
        return seen

    call = Call(Door("chat", object).answer, (), {}, Request[None](StopSignal()), ignore)
    precedence = Precedence(look, lambda _stop: None)
    assert [precedence.is_due for _ in range(2)][-1]
