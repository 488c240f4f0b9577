"""Self-distillation with a real store, fake targets and a drafter that only takes lessons."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.backend.storage import Repository
from engine.backend.teaching import learning_service
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.self_distillation import CONTEXT_SIZE, TargetAtHand, num_slots
from engine.speculation.drafter.adapter import Adapter
from engine.speculation.learning.learner import InUse
from engine.speculation.model.interface import ParallelTarget, Target
from engine.speculation.numerics.draft_length import FixedCosts
from engine.values.config import LearningSettings, OwnSampling, ReplySettings, SamplingSettings
from engine.values.conversations import Role
from engine.values.errors import TargetUnusable
from engine.values.events import DrafterLearned, Event, LearningChanged, ReplyFinished
from engine.values.learned import VerifiedReply
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.parallel_target import FakeParallelTarget, RowAfter, babbles, surely
from tests.fakes.target import END, PIECES, FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk

PATIENCE_S = 30.0
GREEDY = ReplySettings(SamplingSettings(temperature=0))
LULL_S = 200.0
VOCABULARY = FakeTarget().vocabulary


class Taught:
    """Stands where a drafter that learns and its learner do: notes what it is given."""

    num_weights = 1
    has_work = False
    in_use = InUse()
    candidate = Adapter({})
    numbers = ()

    def __init__(self) -> None:
        self.vocabulary = VOCABULARY
        self.target_fingerprint = VOCABULARY.fingerprint
        self.pair = (VOCABULARY.fingerprint, "drafter")
        self.taken: list[tuple[int, bool]] = []
        self.num_rests = 0
        self._changed = threading.Condition()

    def has(self, number: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.taken) == number, PATIENCE_S)

    @property
    def teachable(self) -> Taught:
        return self

    def make_learner(self, *, adapter: object, **_known: object) -> Taught:
        assert adapter is None
        return self

    def use(self, adapter: object) -> None:
        assert adapter is None

    def take(
        self, number: int, _conversation: int, _turns: object, reply: VerifiedReply, is_new: bool, _is_scored: bool
    ) -> None:
        assert number > 0 or reply.temperature > 0
        with self._changed:
            self.taken.append((number, is_new))
            self._changed.notify_all()

    def rest(self) -> None:
        self.num_rests += 1

    def forget(self, numbers: list[int]) -> None:
        with self._changed:
            self.taken = [each for each in self.taken if each[0] not in numbers]
            self._changed.notify_all()


class Home(Desk):
    """A chat whose target answers it again, and a clock that goes on when it is told to."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.now_s = 0.0
        self.is_on_battery = False
        self.hour = 12
        self.taught: Any = Taught()
        self.opened: list[FakeParallelTarget] = []
        self.on_pass: Callable[[], None] = lambda: None
        self.row_after: RowAfter = babbles
        self.trouble: Exception | None = None
        self.heard: list[Event] = []
        self._news = threading.Condition()
        super().__init__(
            repository,
            folder,
            LearningService(
                lambda: repository,
                LearningSettings(share=1.0),
                self._hear,
                lambda: self.is_on_battery,
                open_beside=self._open_beside,
                clock=lambda: self.now_s,
                hour=lambda: self.hour,
            ),
        )

    def _hear(self, event: Event) -> None:
        with self._news:
            self.heard.append(event)
            self._news.notify_all()

    def _open_beside(self, target: Target, num_slots: int, context_size: int) -> ParallelTarget:
        assert self.target.local is not None
        assert target is self.target.local.target
        if self.trouble is not None:
            self.opened.append(FakeParallelTarget())
            raise self.trouble
        opened = FakeParallelTarget(self.row_after, num_slots=num_slots, context_size=context_size)
        opened.on_evaluate = self.on_pass
        self.opened.append(opened)
        return opened

    def start(self) -> None:
        self.load(LoadOrder(self.add("fake", FakeTarget(says("Hello."), max_tokens=64))))
        self.learning.open(self.taught)

    def say(self, text: str, conversation_id: int | None = None) -> ReplyFinished:
        self.do(Send(text, conversation_id, GREEDY))
        (event,) = self.told(ReplyFinished)
        assert isinstance(event, ReplyFinished)
        return event

    def wait(self, seconds: float = LULL_S) -> None:
        self.now_s += seconds
        with self.learning._changed:
            self.learning._changed.notify_all()

    def hears(self, is_self_distilling: bool, times: int = 1) -> bool:
        def is_heard() -> bool:
            told = [event for event in self.heard if isinstance(event, LearningChanged)]
            begun = sum(
                after.is_self_distilling and not before.is_self_distilling
                for before, after in pairwise([LearningChanged(is_learning=False), *told])
            )
            return begun >= times and (is_self_distilling or not told[-1].is_self_distilling)

        with self._news:
            return self._news.wait_for(is_heard, PATIENCE_S)

    def keeps(self, least: int) -> bool:
        """Lets time pass until so many are kept: a lull only counts from when the service has heard of the last
        reply."""
        end = time.monotonic() + PATIENCE_S
        while self.num_kept < least and time.monotonic() < end:
            self.wait()
            time.sleep(0.05)
        return self.num_kept >= least

    @property
    def num_kept(self) -> int:
        return len(self.repository.load_self_distilled(VOCABULARY.fingerprint, 1000))

    def close(self) -> None:
        self.learning.close()
        assert self.learning.join(PATIENCE_S)


@pytest.fixture
def home(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(learning_service, "_LOOK_AGAIN_S", 0.02)
    home = Home(repository, tmp_path)
    yield home
    home.close()


def test_while_nobody_waits_earlier_prompts_are_answered_again_and_nothing_shows_it(home: Home) -> None:
    home.start()
    first = home.say("Hi there").message
    home.do(Send("incognito", None, GREEDY, incognito=True))
    number = first.conversation_id
    before = home.repository.open_conversation(number), replace(home.repository.read_history(), learning=())
    statistics = home.repository.summarize_learned().statistics
    recalled = home.repository.load_recall(VOCABULARY.fingerprint, 10**6)
    assert home.target.local is not None
    target = home.target.local.target
    assert isinstance(target, FakeTarget)
    held = [*target.held]

    home.wait()
    assert home.hears(False)
    assert home.num_kept == 4, "so many answers to one prompt, and none to one that is incognito"
    assert home.taught.has(5)
    assert [is_new for number, is_new in home.taught.taken if number < 0] == [True] * 4
    assert home.taught.num_rests == 1, "both would take memory"
    (opened,) = home.opened
    assert opened.is_closed
    assert (opened.num_slots, opened.limits.context_size) == (4, CONTEXT_SIZE)
    home.wait()
    assert not home.learning._may_self_distil, "there is nothing left"

    after = home.repository.open_conversation(number), replace(home.repository.read_history(), learning=())
    assert after == before
    summary = home.repository.summarize_learned()
    assert (summary.statistics, summary.self_distilled) == (statistics, {VOCABULARY.fingerprint: 4})
    assert all(
        mine.message_id == other.message_id and (mine.tokens == other.tokens).all()
        for mine, other in zip(home.repository.load_recall(VOCABULARY.fingerprint, 10**6), recalled, strict=True)
    )
    assert not [event for event in home.heard if not isinstance(event, LearningChanged | DrafterLearned)]
    assert target.held == held, "the chat stays warm"
    home.do(Send("And again", number, GREEDY))
    assert home.keeps(8)


def test_a_chat_goes_on_from_what_the_target_holds(home: Home) -> None:
    home.start()
    first = home.say("Hi there").message
    assert home.target.local is not None
    assert isinstance(home.target.local.target, FakeTarget)
    held = len(home.target.local.target.held)
    home.wait()
    assert home.hears(False)
    statistics = home.say("Why?", first.conversation_id).message.statistics
    assert statistics is not None
    assert statistics.evaluated_tokens == statistics.prompt_tokens - held


Interrupt = Callable[[Home], object]


def switch_off(home: Home) -> None:
    home.learning.change(LearningSettings(self_distils=False))


def stop_learning(home: Home) -> None:
    home.learning.change(LearningSettings(enabled=False))


def send(home: Home) -> None:
    with home.learning.pause():
        assert home.learning._self_distillation._stop is None or home.learning._self_distillation._stop.is_set()


def switch_target(home: Home) -> None:
    with home.learning.pause():
        home.learning.end_self_distillation()


def unplug(home: Home) -> None:
    home.is_on_battery = True
    home.now_s += 2


@pytest.mark.parametrize(
    "interrupt",
    [
        send,
        switch_off,
        stop_learning,
        switch_target,
        unplug,
        lambda home: home.learning.hold(True),
        lambda home: home.learning.detach(),
        lambda home: home.learning.self_distil_with(None),
        lambda home: home.learning.forget(1),
        lambda home: home.learning.close(),
    ],
)
def test_it_gives_way_at_once(home: Home, interrupt: Interrupt) -> None:
    began, go_on = threading.Event(), threading.Event()
    home.row_after = surely(lambda tokens: ord("a") + len(tokens) % 20)
    home.start()
    home.say("Hi there")
    num_passes = iter(range(10**6))

    def on_pass() -> None:
        if next(num_passes) == 20:
            began.set()
            assert go_on.wait(PATIENCE_S)

    home.on_pass = on_pass
    home.wait()
    assert began.wait(PATIENCE_S)
    (opened,) = home.opened
    signal = home.learning._self_distillation._stop
    assert signal is not None
    thread = threading.Thread(target=interrupt, args=(home,))  # some wait until it has ended
    thread.start()
    if interrupt is not unplug:
        while not signal.is_set():
            assert thread.is_alive() or signal.is_set()
    else:
        thread.join(PATIENCE_S)
    go_on.set()
    thread.join(PATIENCE_S)
    with home.learning._changed:
        assert home.learning._changed.wait_for(lambda: not home.learning._self_distillation.is_under_way, PATIENCE_S)
    assert opened.is_closed
    assert opened.num_passes <= 22
    if interrupt is unplug:
        assert home.num_kept == 2, "nobody waits"
    if interrupt is send:
        assert home.num_kept == 0, "what somebody wants to store comes first"
        home.wait()
        assert home.hears(False, times=2)
        assert home.num_kept == 2
        assert len(home.repository.load_self_distilled(VOCABULARY.fingerprint, 9)[0].reply.tokens) >= 16


def test_a_target_may_leave_before_it_has_begun(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home.start()
    home.say("Hi there")

    def leave() -> None:
        thread = threading.Thread(target=home.learning.self_distil_with, args=(None,))
        thread.start()
        while home.learning._self_distillation.at_hand is not None:
            assert thread.is_alive()

    monkeypatch.setattr(home.learning, "_give_back", leave)
    home.wait()
    assert home.hears(False)
    assert home.num_kept == 0
    assert not caplog.records


def test_the_budget_of_an_hour_is_kept(home: Home) -> None:
    home.start()
    for number in range(40):
        home.say(f"Tell me {number}")
    home.learning.change(LearningSettings(self_distillation_minutes=2))
    began = home.now_s

    def on_pass() -> None:
        signal = home.learning._self_distillation._stop
        home.now_s += 5 if signal is not None and not signal.is_set() else 0

    home.on_pass = on_pass
    home.wait()
    assert home.hears(False)
    assert 120 <= home.now_s - began - LULL_S <= 125
    home.wait(3600 - 120 - 10)
    assert not home.learning._may_self_distil
    home.wait(60)
    assert home.hears(True, times=2)


def test_nothing_is_self_distilled_where_that_is_not_wanted(home: Home) -> None:
    home.start()
    home.wait()
    assert not home.learning._may_self_distil, "the target has written no reply yet"
    home.is_on_battery = True
    home.say("Hi there")
    assert not home.learning._may_self_distil, "the next prompt may come"
    home.wait()
    assert not home.learning._may_self_distil, "on battery"
    for settings in (LearningSettings(enabled=False), LearningSettings(self_distils=False, on_battery=True)):
        home.learning.change(settings)
        assert not home.learning._may_self_distil
    home.learning.hold(True)
    home.learning.change(LearningSettings(on_battery=True))
    assert not home.learning._may_self_distil
    other = FakeTarget(more_pieces=(b"other",))
    home.learning.self_distil_with(TargetAtHand(other, SamplingSettings, lambda: None))
    home.learning.hold(False)
    assert not home.learning._may_self_distil, "the drafter is for another vocabulary"
    assert home.opened == []


def test_where_there_is_no_memory_it_is_tried_again_after_the_next_reply(home: Home) -> None:
    home.trouble = TargetUnusable("There is no memory.")
    home.start()
    first = home.say("Hi there").message
    home.wait()
    assert home.hears(False)
    home.wait()
    assert not home.learning._may_self_distil
    home.trouble = None
    home.heard.clear()  # it may have been tried more than once
    home.say("Why?", first.conversation_id)
    assert home.keeps(1)


def test_what_was_forgotten_meanwhile_is_not_stored(home: Home) -> None:
    home.start()
    deleted = home.say("Delete me").message
    kept = home.say("Keep me").message
    num_passes = iter(range(10**6))

    def delete() -> None:
        if next(num_passes) == 10:
            home.repository.delete_conversations([deleted.conversation_id])

    home.on_pass = delete
    home.wait()
    assert home.hears(False)
    found = {lesson.conversation_id for lesson in home.repository.load_self_distilled(VOCABULARY.fingerprint, 100)}
    assert found == {kept.conversation_id}


def test_the_learner_has_it_after_a_restart_and_until_its_chat_is_deleted(home: Home) -> None:
    home.start()
    number = home.say("Hi there").message.conversation_id
    home.say("Another chat")
    home.wait()
    assert home.hears(False)
    while home.repository.self_distilled_read(*home.taught.pair).until > -8:
        time.sleep(0.01)
    again: Any = Taught()
    service = LearningService(lambda: home.repository, LearningSettings(share=1.0), home._hear, lambda: False)
    service.open(again)
    assert again.has(10)
    assert again.taken[:8] == [(-each, False) for each in range(1, 9)], "before replies to the same prompts"
    home.repository.delete_conversations([number])
    service.forget(number)
    assert again.has(5)
    service.close()
    assert service.join(PATIENCE_S)


def test_prompts_are_sampled_as_their_chat_and_never_greedily(home: Home) -> None:
    home.row_after = lambda tokens: np.where(np.arange(len(PIECES)) == END, -np.inf, babbles(tokens))  # none is short
    home.start()
    home.say("Hi there")
    chat = home.repository.create_conversation("own", "", sampling=OwnSampling(temperature=0.3, max_tokens=5))
    prompt = home.repository.add_message(chat.id, None, Role.USER, "Short, please")
    home.repository.add_message(chat.id, prompt.id, Role.ASSISTANT, "Yes.")
    long = home.repository.create_conversation("long", "")
    home.repository.add_message(long.id, None, Role.USER, "word " * CONTEXT_SIZE)
    home.wait()
    assert home.hears(False)
    distilled = home.repository.load_self_distilled(VOCABULARY.fingerprint, 100)
    lengths = {lesson.conversation_id: len(lesson.reply.tokens) for lesson in distilled}
    assert long.id not in lengths
    assert lengths[chat.id] <= 5
    greedy = [lesson.reply.tokens.tolist() for lesson in distilled if lesson.conversation_id == 1]
    assert len({tuple(tokens) for tokens in greedy}) > 1


def test_as_many_side_by_side_as_pay() -> None:
    assert num_slots(None) == 4
    assert num_slots(FixedCosts({1: 1.0, 16: 1.0})) == 8, "every sequence is free"
    assert num_slots(FixedCosts({1: 1.0, 16: 16.0})) == 2, "none is"
    assert num_slots(FixedCosts({1: 1.0, 4: 1.0, 5: 2.0, 16: 4.0})) == 4
