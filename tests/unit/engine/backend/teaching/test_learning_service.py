"""The service with a real store, a small real drafter, and somebody who waits now and then."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.backend.storage import Repository
from engine.backend.teaching import learning_service, pupil
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.learning_time import LearningTime
from engine.speculation.drafter.adapter import Adapter
from engine.speculation.drafter.choice import folder_source
from engine.speculation.learning.judge import Evidence, Ruling, Score
from engine.speculation.learning.learner import InUse, Learner, Trial
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.drafting import Drafting
from engine.speculation.proposers.teachable import TeachableDrafting, open_teachable
from engine.values.config import LearningSettings, OwnSampling, SpeculationSettings
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import StoreUnusable
from engine.values.events import DrafterLearned, Event, LearnedGrew, LearningChanged
from engine.values.learned import CandidateRecord, Exercise, Gain, Learned, NgramRecord
from engine.values.replies import ReplyStatistics, StopReason
from tests.unit.engine.speculation.learning.made import TARGET, drafter_folder
from tests.unit.engine.speculation.learning.test_learner import FOXES, QUICK, TURNS, reply

PATIENCE_S = 20.0
ALWAYS = LearningSettings(share=1.0)


class Home:
    """A store, a drafter, and the service between them, as after a start of the app."""

    def __init__(
        self, folder: Path, drafting: TeachableDrafting, settings: LearningSettings, on_battery: bool = False
    ) -> None:
        self.repository = Repository.open(folder)
        self.drafting = drafting
        self.events: list[Event] = []
        self.told: list[LearningChanged] = []
        self.num_scored = 0
        self.on_battery = on_battery
        self.service = LearningService(lambda: self.repository, settings, self._hear, lambda: self.on_battery)
        self._heard = threading.Condition()

    def _hear(self, event: Event) -> None:
        with self._heard:
            if isinstance(event, LearningChanged):
                self.told.append(event)
            elif isinstance(event, LearnedGrew):
                self.num_scored += 1
            else:
                self.events.append(event)
            self._heard.notify_all()

    def hears(self, num_events: int) -> bool:
        with self._heard:
            return self._heard.wait_for(lambda: len(self.events) >= num_events, PATIENCE_S)

    def is_told(self, last: LearningChanged) -> bool:
        with self._heard:
            return self._heard.wait_for(lambda: self.told[-1:] == [last], PATIENCE_S)

    def talk(self, texts: list[bytes]) -> list[Message]:
        said = []
        for text in texts:
            chat = self.repository.create_conversation("chat", "")
            prompt = self.repository.add_message(chat.id, None, Role.USER, "Hi")
            message = self.repository.add_message(chat.id, prompt.id, Role.ASSISTANT, text.decode())
            self.service.take(message, TURNS, reply(text), TARGET)
            said.append(message)
        return said

    def close(self) -> None:
        self.service.close()
        assert self.service.join(PATIENCE_S)
        self.repository.close()


OpenDrafting = Callable[[], TeachableDrafting]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drafter_folder(tmp_path_factory.mktemp("drafter"))


@pytest.fixture
def drafting(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenDrafting:
    """The same one as often as wanted, as after so many starts."""

    def make_learner(drafting: TeachableDrafting, **known: Any) -> Learner:
        return original(drafting, QUICK, **known)

    original = TeachableDrafting.make_learner
    monkeypatch.setattr(TeachableDrafting, "make_learner", make_learner)
    monkeypatch.setattr(learning_service, "_LOOK_AGAIN_S", 0.05)
    settings, source = SpeculationSettings(device="cpu"), replace(folder_source(folder), trusted=True)
    return lambda: open_teachable(settings, source, tmp_path / "maps", TARGET, None)


@pytest.fixture
def homes(tmp_path: Path, drafting: OpenDrafting) -> Iterator[Callable[..., Home]]:
    made: list[Home] = []

    def make(settings: LearningSettings = ALWAYS, on_battery: bool = False) -> Home:
        for home in made:
            home.close()
        made[:] = [Home(tmp_path / "data", drafting(), settings, on_battery)]
        return made[0]

    yield make
    for home in made:
        home.close()


@pytest.fixture
def begun_with(monkeypatch: pytest.MonkeyPatch) -> list[Adapter | None]:
    """The adapters from which learning went on."""
    begun: list[Adapter | None] = []
    make_learner = TeachableDrafting.make_learner

    def watched(drafting: TeachableDrafting, **known: Any) -> Learner:
        begun.append(known.get("adapter"))
        return make_learner(drafting, **known)

    monkeypatch.setattr(TeachableDrafting, "make_learner", watched)
    return begun


def used(home: Home) -> bool:
    """Whether the drafter has another adapter than it came with."""
    proposer = home.drafting.proposer
    assert isinstance(proposer, DrafterProposer)
    return proposer._drafter.refresh()


def test_what_was_learned_is_used_kept_and_gone_on_from_after_a_restart(
    homes: Callable[..., Home], begun_with: list[Adapter | None]
) -> None:
    home = homes()
    home.service.open(home.drafting)
    assert home.service.wants_distributions
    assert not used(home)
    home.talk(FOXES)
    assert home.hears(1)
    assert isinstance(home.events[0], DrafterLearned)
    assert home.num_scored > 1, "each reply is told, from the first on"
    assert used(home)
    pair = (home.drafting.target_fingerprint, home.drafting.drafter_fingerprint)

    again = homes()
    assert sum(day.seconds for day in again.repository.read_history().learning) > 0
    kept = again.repository.published_adapter(*pair)
    assert kept is not None
    begun_with.clear()
    again.service.open(again.drafting)
    assert used(again), "before anything is learned"
    assert again.events == [DrafterLearned(kept.number, kept.num_learned)]
    again.talk(FOXES[:3])
    while again.service._pupil is None or again.service._has_work:
        time.sleep(0.02)
    assert kept.num_learned <= again.service._pupil._num_learned <= len(FOXES) + 3, "each counts once"
    (used_now,) = (each for each in again.repository.list_adapters(*pair) if each.is_published)
    assert used_now.num_replies <= len(FOXES) + 3, "what it brings is measured on each reply once"
    assert used_now.num_replies == 0 or used_now.after > used_now.before, (
        "none came since the last publication, or it helps"
    )
    benefit = again.repository.summarize_learned().benefits[pair].whole
    assert benefit.gain > 0
    assert used_now.num_replies <= benefit.num_replies < len(FOXES) + 3, "of each that came while one was in use"
    assert again.repository.candidate(*pair) is not None
    (adapter,) = begun_with
    assert adapter is not None
    assert torch.equal(adapter.parts["0.qkv"].up, again.drafting.read_adapter(kept.weights).parts["0.qkv"].up)


def test_replies_that_nobody_had_time_for_are_learned_from_after_a_restart(homes: Callable[..., Home]) -> None:
    home = homes(on_battery=True)
    home.service.open(home.drafting)
    home.talk(FOXES)
    again = homes()
    assert again.events == []
    again.service.open(again.drafting)
    assert again.hears(1)


def test_nothing_is_learned_on_battery_unless_that_is_wanted(homes: Callable[..., Home]) -> None:
    home = homes(on_battery=True)
    home.service.open(home.drafting)
    home.talk(FOXES)
    time.sleep(0.3)
    assert home.service._pupil is None
    home.service.change(LearningSettings(share=1.0, on_battery=True))
    assert home.hears(1)


def test_nothing_is_learned_while_it_is_switched_off(homes: Callable[..., Home]) -> None:
    home = homes(LearningSettings(enabled=False))
    home.service.open(home.drafting)
    assert not home.service.wants_distributions
    home.talk(FOXES)
    time.sleep(0.2)
    assert home.service._pupil is None
    home.service.change(ALWAYS)
    assert home.service.wants_distributions
    assert home.hears(1)


def test_a_change_holds_in_the_middle_of_a_rest_and_of_a_step(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes(LearningSettings(share=0.05))
    steps: list[float] = []
    given_up = threading.Event()

    def work(_learner: Learner, check: Callable[[], None]) -> None:
        steps.append(time.monotonic())
        if len(steps) == 1:
            time.sleep(1.0)  # and then it rests for 19 times as long
            return
        try:
            while True:
                check()
                time.sleep(0.01)
        finally:
            given_up.set()

    monkeypatch.setattr(Learner, "work", work)
    home.service.open(home.drafting)
    home.talk(FOXES)
    while not steps:
        time.sleep(0.01)
    time.sleep(0.3)
    assert len(steps) == 1, "it rests"
    home.service.change(ALWAYS)
    while len(steps) == 1:
        time.sleep(0.01)
    assert steps[1] - steps[0] < 10
    home.service.change(LearningSettings(enabled=False))
    assert given_up.wait(PATIENCE_S)


def test_who_waits_comes_first(homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch) -> None:
    home = homes()
    steps: list[float] = []
    work = Learner.work
    step_s = 0.05  # as a drafter of some size takes

    def watched(learner: Learner, check: Callable[[], None]) -> object:
        steps.append(time.monotonic())
        time.sleep(step_s)
        return work(learner, check)

    monkeypatch.setattr(Learner, "work", watched)
    home.service.open(home.drafting)
    home.talk(FOXES[:12])
    while not steps:
        time.sleep(0.01)
    with home.service.pause():
        time.sleep(0.2)
        begun = len(steps)
        time.sleep(0.3)
        assert len(steps) == begun
        assert home.service._pupil is not None
        assert home.service._pupil.has_work
    step_s = 0.0
    home.talk(FOXES)
    assert home.hears(1)
    assert len(steps) > begun


def test_learning_is_announced_and_rests_while_it_is_held(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes()
    working, held = threading.Event(), threading.Event()

    def work(_learner: Learner, check: Callable[[], None]) -> None:
        working.set()
        while not held.is_set():
            check()
            time.sleep(0.001)

    monkeypatch.setattr(Learner, "work", work)
    home.service.open(home.drafting)
    assert home.told == [], "there is nothing to learn from yet"
    source, proposer = home.drafting.source, home.drafting.proposer
    home.service.open(Drafting(source, "", TARGET, proposer, None))
    home.service.open(home.drafting)
    assert home.told == [LearningChanged(False, can_learn=False), LearningChanged(False)]
    home.talk(FOXES[:3])
    assert home.is_told(LearningChanged(is_learning=True))
    assert working.wait(PATIENCE_S)
    with home.service.pause():
        assert home.is_told(LearningChanged(is_learning=False)), "somebody waits for a reply"
    assert home.is_told(LearningChanged(is_learning=True))
    home.service.hold(True)
    assert home.is_told(LearningChanged(is_learning=False, is_paused=True))
    with home.service.pause():
        home.talk(FOXES[3:4])
    time.sleep(0.1)
    working.clear()
    time.sleep(0.1)
    assert not working.is_set()
    assert home.told[-1].is_paused, "a reply does not end it"
    home.service.hold(False)
    assert working.wait(PATIENCE_S)
    assert home.is_told(LearningChanged(is_learning=True))


def test_the_learner_rests_once_where_there_is_nothing_to_learn(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: queue.Queue[Learner] = queue.Queue()
    monkeypatch.setattr(learning_service, "_REST_AFTER_S", 0.0)

    def rest(learner: Learner) -> None:
        rested.put(learner)

    monkeypatch.setattr(Learner, "rest", rest)
    home = homes()
    home.service.open(home.drafting)
    for text in FOXES[:2]:
        home.talk([text])
        learner = rested.get(timeout=PATIENCE_S)
        assert not learner.has_work
        time.sleep(0.2)  # it looks again every 0.05 s
        assert rested.empty()


def test_a_pause_is_told_before_the_step_has_noticed(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes()
    working, over = threading.Event(), threading.Event()

    def work(_self: Learner, _check: Callable[[], None]) -> None:
        working.set()
        over.wait(PATIENCE_S)

    monkeypatch.setattr(Learner, "work", work)
    home.service.open(home.drafting)
    home.talk(FOXES[:3])
    assert working.wait(PATIENCE_S)
    with home.service.pause():
        assert home.told[-1] == LearningChanged(is_learning=False)
        over.set()


def test_a_deleted_conversation_teaches_nothing(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    with home.service.pause():
        (message,) = home.talk(FOXES[:1])
        home.service.forget(message.conversation_id)
    with home.service.pause():
        (known,) = home.talk(FOXES[1:2])
    while home.service._pupil is None or known.id not in home.service._pupil._learner._examples:
        time.sleep(0.01)
    home.service.forget(known.conversation_id)
    while home.service._pupil._learner._examples:
        time.sleep(0.01)


def test_a_damaged_adapter_is_no_reason_not_to_learn(homes: Callable[..., Home]) -> None:
    home = homes()
    pair = (home.drafting.target_fingerprint, home.drafting.drafter_fingerprint)
    home.repository.save_adapter(*pair, 1.0, 2.0, 5, 5, b"damaged")
    home.service.open(home.drafting)
    assert not used(home)
    home.talk(FOXES)
    home.talk(FOXES)
    assert home.hears(1)
    assert used(home)


class Panic(BaseException):
    """As Rust libraries raise it."""


@pytest.mark.parametrize("failure", [MemoryError, Panic])
def test_learning_that_fails_begins_again_with_the_next_reply(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    home = homes()
    work, failed = Learner.work, threading.Event()

    def fail(_learner: Learner, _check: Callable[[], None]) -> object:
        failed.set()
        raise failure

    monkeypatch.setattr(Learner, "work", fail)
    home.service.open(home.drafting)
    home.talk(FOXES[:1])
    assert failed.wait(PATIENCE_S)
    monkeypatch.setattr(Learner, "work", work)
    home.talk(FOXES)
    assert home.hears(1)


def test_another_drafter_takes_its_place(homes: Callable[..., Home], drafting: OpenDrafting) -> None:
    home = homes()
    home.service.open(home.drafting)
    home.talk(FOXES[:2])
    home.drafting = drafting()
    home.service.open(home.drafting)
    home.talk(FOXES)
    assert home.hears(1)
    assert used(home)


def test_it_can_be_closed_in_the_middle_and_before_it_began(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    home.talk(FOXES)
    began = time.monotonic()
    homes()  # closes the other one
    assert time.monotonic() - began < 5


def test_what_another_target_wrote_is_no_lesson_for_this_one(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    other = replace(TARGET, pieces=TARGET.pieces[::-1])
    chat = home.repository.create_conversation("chat", "")
    message = home.repository.add_message(chat.id, None, Role.ASSISTANT, "text")
    home.service.take(message, TURNS, reply(FOXES[0]), other)
    assert home.repository.load_lessons(home.drafting.target_fingerprint) == ()


def test_a_reply_that_repeated_itself_is_no_lesson(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    endless = ReplyStatistics(9, 9, 512, 0.1, 5.0, StopReason.STOPPED, 521, 1000, repeats=True)
    chat = home.repository.create_conversation("chat", "")
    for statistics in (endless, replace(endless, repeats=False)):
        message = home.repository.add_message(chat.id, None, Role.ASSISTANT, "text", statistics=statistics)
        home.service.take(message, TURNS, reply(FOXES[0]), TARGET)
    (lesson,) = home.repository.load_lessons(home.drafting.target_fingerprint)
    assert lesson.message_id == message.id


def test_a_reply_is_learned_from_as_it_was_asked_for_whatever_its_chat_is_told_meanwhile(
    homes: Callable[..., Home],
) -> None:
    home = homes(replace(ALWAYS, enabled=False))
    home.service.open(home.drafting)
    chat = home.repository.create_conversation("chat", "Be kind.")
    prompt = home.repository.add_message(chat.id, None, Role.USER, "Hi")
    home.repository.change_conversation(chat.id, "Be brief.", OwnSampling())  # while the reply was written
    message = home.repository.add_message(chat.id, prompt.id, Role.ASSISTANT, FOXES[0].decode())
    turns = (ChatTurn(Role.SYSTEM, "Be kind."), ChatTurn(Role.USER, "Hi"))
    home.service.take(message, turns, reply(FOXES[0]), TARGET)
    (lesson,) = home.repository.load_lessons(home.drafting.target_fingerprint)
    assert lesson.turns == turns


def test_between_two_targets_nothing_is_learned_and_who_learned_before_can_go_on(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    before = home.service.detach()
    assert not home.service.wants_distributions
    home.talk(FOXES[:2])
    assert home.repository.load_lessons(home.drafting.target_fingerprint) == ()
    home.service.reattach(before)
    home.talk(FOXES)
    assert home.hears(1)


def test_lessons_of_tokens_that_are_none_are_passed_over(homes: Callable[..., Home]) -> None:
    home = homes()
    broken = replace(reply(FOXES[0]), top_tokens=reply(FOXES[0]).top_tokens + len(TARGET))
    home.service.open(home.drafting)
    chat = home.repository.create_conversation("chat", "")
    message = home.repository.add_message(chat.id, None, Role.ASSISTANT, "text")
    home.service.take(message, TURNS, broken, TARGET)
    home.talk(FOXES)
    assert home.hears(1)


def test_what_is_forgotten_elsewhere_is_not_learned_again(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    with home.service.pause():
        home.talk(FOXES)
        home.repository.forget_learned()
    while home.service._pupil is None or home.service._has_work:
        time.sleep(0.02)
    assert home.events == []
    assert home.repository.list_adapters(home.drafting.target_fingerprint, home.drafting.drafter_fingerprint) == ()


def test_at_a_start_only_the_latest_lessons_are_work(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pupil, "_MAX_DUE", 1)
    home = homes(LearningSettings(enabled=False))
    home.service.open(home.drafting)
    home.talk(FOXES[:6])
    again = homes()
    again.service.open(again.drafting)
    while again.service._pupil is None or again.service._has_work:
        time.sleep(0.02)
    assert again.service._pupil._learner._num_read == 1 + QUICK.num_again
    assert len(again.service._pupil._learner._examples) > 1


def pair_of(home: Home) -> tuple[str, str]:
    return home.drafting.target_fingerprint, home.drafting.drafter_fingerprint


def keep_two_adapters(home: Home) -> list[int]:
    """Of which the second is in use; their numbers."""
    first, second = (home.drafting.make_learner().candidate for _ in range(2))
    with torch.no_grad():
        second.parts["0.qkv"].up.add_(0.01)
    return [
        home.repository.save_adapter(*pair_of(home), 1.0, gain, 5, 5, adapter.to_bytes()).number
        for gain, adapter in ((2.0, first), (3.0, second))
    ]


class HeldStep:
    """A learner's first step, which puts an adapter in use when it is let go. Later ones bring nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(Learner, "work", lambda learner, _check: self._work(learner))

    def _work(self, learner: Learner) -> None:
        if self.begun.is_set():
            time.sleep(0.01)
            return
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        learner._in_use = InUse(learner.candidate)


def test_a_locked_store_ends_no_learning_and_what_starts_over_is_used_no_more(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = homes(LearningSettings(enabled=False))
    home.service.open(home.drafting)
    (message,) = home.talk(FOXES[:1])
    (_, second) = keep_two_adapters(home)
    known = CandidateRecord(second, 1, 1, 1, Evidence().numbers, home.drafting.make_learner().candidate.to_bytes())
    home.repository.save_candidate(*pair_of(home), known)
    learner = pupil.Pupil(home.drafting, home.repository, home._hear, home.service.era, home.service.era.number)
    score = Score(message.conversation_id, 100, (50.0, 52.0, 55.0, 60.0), 3)

    def fail(*_what: object) -> None:
        raise StoreUnusable("It is locked.")

    with monkeypatch.context() as locked, caplog.at_level(logging.WARNING, "slipstream.learning"):
        locked.setattr(Repository, "note_trial", fail)
        learner._take_note(Trial(message.id, score, Ruling.KEPT, Gain(), Evidence().numbers))
    assert "It is locked." in caplog.text
    learner._take_note(Trial(message.id, score, Ruling.KEPT, Gain(), Evidence(usual=50.0).numbers))
    kept = home.repository.candidate(*pair_of(home))
    assert kept is not None
    assert kept.weights == known.weights
    assert (kept.scored_until, kept.capital) == (message.id, Evidence(usual=50.0).numbers)
    learner._learner._in_use = InUse()
    learner._use()
    assert home.drafting._adapter is None
    assert home.repository.published_adapter(*pair_of(home)) is None
    kept = home.repository.candidate(*pair_of(home))
    assert kept is not None
    assert kept.weights == b""


def test_what_is_learned_while_all_is_forgotten_is_not_published(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes()
    step = HeldStep(monkeypatch)
    home.service.open(home.drafting)
    home.talk(FOXES[:2])
    assert step.begun.wait(PATIENCE_S)
    with home.service.exchanging():
        home.repository.forget_learned()
        step.go_on.set()
        time.sleep(0.05)  # for a pupil that would publish meanwhile
    while home.service._pupil is None or home.service._pupil.era != home.service.era.number:
        time.sleep(0.01)
    assert home.repository.list_adapters(*pair_of(home)) == ()
    assert home.events == []
    assert not used(home)
    assert not home.service._has_work, "what was to be learned from is forgotten too"


def test_what_is_learned_while_a_profile_takes_the_place_of_it_is_not_published(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes()
    step = HeldStep(monkeypatch)
    home.service.open(home.drafting)
    home.talk(FOXES[:2])
    assert step.begun.wait(PATIENCE_S)
    with home.service.exchanging():
        home.repository.add_learned(Learned({}, {}, {}, ()), replace=True)
    step.go_on.set()
    while home.service._pupil is None or home.service._pupil.era != home.service.era.number:
        time.sleep(0.01)
    assert home.repository.list_adapters(*pair_of(home)) == ()
    assert home.drafting._adapter is None
    while not home.service._has_work:  # the replies to learn from stay with their chats
        time.sleep(0.01)


def test_what_is_being_published_when_all_is_forgotten_is_forgotten(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = homes()
    step = HeldStep(monkeypatch)
    saving, saved = threading.Event(), threading.Event()
    save_adapter = Repository.save_adapter

    def slowly(repository: Repository, *values: object) -> object:
        saving.set()
        assert saved.wait(PATIENCE_S)
        return save_adapter(repository, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(Repository, "save_adapter", slowly)
    home.service.open(home.drafting)
    home.talk(FOXES[:2])
    step.go_on.set()
    assert saving.wait(PATIENCE_S)
    threading.Timer(0.1, saved.set).start()
    with home.service.exchanging():  # waits for it
        assert saved.is_set()
        home.repository.forget_learned()
    assert home.repository.list_adapters(*pair_of(home)) == ()
    assert home.drafting._adapter is None


def test_an_earlier_adapter_is_used_at_once_and_learning_goes_on_from_it(
    homes: Callable[..., Home], begun_with: list[Adapter | None]
) -> None:
    home = homes()
    first, second = keep_two_adapters(home)
    home.service.open(home.drafting)
    assert used(home)
    for number, data in ((first, True), (second, True), (None, False)):
        with home.service.exchanging():
            home.repository.publish_adapter(*pair_of(home), number)
        assert used(home)
        assert (home.drafting._adapter is not None) == data
        while home.service._pupil is None or home.service._pupil.era != home.service.era.number:
            time.sleep(0.01)
        kept = home.repository.published_adapter(*pair_of(home))
        begun = begun_with[-1]
        assert (kept is None) == (begun is None)
        if kept is not None and begun is not None:
            assert begun.to_bytes() == kept.weights
    assert home.service.pair == pair_of(home)


def test_an_adapter_that_cannot_be_used_leaves_the_drafter_as_it_came(homes: Callable[..., Home]) -> None:
    home = homes()
    keep_two_adapters(home)
    home.service.open(home.drafting)
    with home.service.exchanging():
        home.repository.save_adapter(*pair_of(home), 1.0, 2.0, 5, 5, b"damaged")
    assert home.drafting._adapter is None
    home.talk(FOXES[:1])
    while not home.service._has_work:
        time.sleep(0.01)


def test_what_fails_half_way_is_taken_up_as_far_as_it_came(homes: Callable[..., Home]) -> None:
    home = homes()
    keep_two_adapters(home)
    home.service.open(home.drafting)

    def forget_on_a_full_disk() -> None:
        with home.service.exchanging():
            home.repository.forget_learned()
            raise StoreUnusable("The disk is full; free some space.")

    with pytest.raises(StoreUnusable):
        forget_on_a_full_disk()
    assert home.drafting._adapter is None


def test_another_target_begins_with_what_the_last_one_taught(homes: Callable[..., Home]) -> None:
    home = homes()
    target, drafter = pair_of(home)
    weights = home.drafting.make_learner().candidate.to_bytes()
    number = home.repository.save_adapter("another target", drafter, 1.0, 2.0, 5, 5, weights).number
    evidence = Evidence(num_tokens=6_000.0)
    known = CandidateRecord(number, 1, 1, 1, evidence.numbers, b"")
    home.repository.save_candidate("another target", drafter, known)
    home.service.open(home.drafting)
    assert not used(home)
    home.talk(FOXES[:1])
    assert home.hears(1)
    assert used(home)
    begun = home.repository.published_adapter(target, drafter)
    assert begun is not None
    assert begun.weights == weights
    stored = home.repository.candidate(target, drafter)
    assert stored is not None
    assert 2_000 <= Evidence.of(stored.capital).num_tokens < 2_100
    assert Evidence.of(stored.capital).strengths.strength < 1, "a little of it, until it has shown what it is worth"


def test_a_drafter_that_learned_nothing_yet_begins_with_what_other_targets_wrote(homes: Callable[..., Home]) -> None:
    home = homes()
    for text in FOXES[:8]:
        chat = home.repository.create_conversation("chat", "")
        prompt = home.repository.add_message(chat.id, None, Role.USER, "Hi")
        message = home.repository.add_message(chat.id, prompt.id, Role.ASSISTANT, text.decode())
        home.repository.save_lesson("another target", message.id, reply(text), 10)
    told = home.repository.load_text_lessons(home.drafting.target_fingerprint, 3)
    assert [lesson.text for lesson in told] == [text.decode() for text in FOXES[5:8]]
    assert told[-1].turns == TURNS
    assert home.repository.load_text_lessons("another target", 3) == ()
    home.service.open(home.drafting)
    assert home.hears(1)
    assert used(home), "before any reply of its own"
    assert home.repository.published_adapter(*pair_of(home)) is not None


def test_what_was_read_of_many_self_distilled_replies_is_kept_now_and_then(
    homes: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pupil, "_MOST_UNSAVED", 2)
    home = homes(LearningSettings(enabled=False))
    for number, text in enumerate(FOXES[:5]):
        exercise = Exercise(None, None, TURNS, OwnSampling(), number)
        home.repository.save_self_distilled(TARGET.fingerprint, exercise, reply(text), 10_000)
    reader = pupil.Pupil(home.drafting, home.repository, home._hear, home.service.era, home.service.era.number)
    kept = set[bytes]()
    while reader.has_work:
        reader.work(lambda: None)
        candidate = home.repository.candidate(*pair_of(home))
        kept |= set() if candidate is None else {candidate.weights}
    assert home.repository.self_distilled_read(*pair_of(home)).num_unread == 0
    assert len(kept) == 2, "after two replies, and after four; one more may get lost"


def test_a_restored_conversation_teaches_again(homes: Callable[..., Home]) -> None:
    home = homes()
    home.service.open(home.drafting)
    (message, other) = home.talk(FOXES[1:3])

    def learns_from(*messages: Message) -> bool:
        pupil = home.service._pupil
        known = set() if pupil is None else {*pupil._learner._examples}
        return known == {message.id for message in messages}

    def wait_until_it_learns_from(*messages: Message) -> None:
        while not learns_from(*messages):
            time.sleep(0.01)

    wait_until_it_learns_from(message, other)
    for _ in range(2):
        home.repository.delete_conversations([message.conversation_id])
        home.service.forget(message.conversation_id)
        wait_until_it_learns_from(other)
        home.repository.restore_conversations([message.conversation_id])
        home.service.restore(message.conversation_id)
        wait_until_it_learns_from(message, other)
    while home.service._has_work:
        time.sleep(0.01)
    assert home.service._pupil is not None
    assert home.service._pupil._num_learned == 2, "a reply that came back counts once"


class Memory:
    """Implements `proposers.drafting.NgramMemory`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def load(self, target_fingerprint: str, drafter_fingerprint: str) -> tuple[NgramRecord, ...]:
        self.asked.append((target_fingerprint, drafter_fingerprint))
        return ()

    def save(self, *_what: object) -> None: ...


def test_ngrams_follow_what_is_exchanged_also_while_a_drafter_is_being_loaded(
    homes: Callable[..., Home], drafting: OpenDrafting
) -> None:
    home = homes()
    memory = Memory()
    service = LearningService(lambda: home.repository, ALWAYS, home._hear, ngrams=lambda: memory)
    try:
        service.open(home.drafting, service.era.number)
        assert memory.asked == []
        with service.exchanging():
            assert memory.asked == []
        assert len(memory.asked) == 1
        before = service.era.number
        service.detach()
        with service.exchanging():
            pass
        assert len(memory.asked) == 1, "nobody drafts"
        service.open(drafting(), before)
        assert len(memory.asked) == 2
    finally:
        service.close()
        assert service.join(PATIENCE_S)


def learned_s(repository: Repository) -> float:
    return sum(day.seconds for day in repository.read_history().learning)


def test_the_time_of_learning_is_stored_when_the_learner_rests(repository: Repository) -> None:
    learning_time = LearningTime(lambda: repository)
    learning_time.save()
    assert learned_s(repository) == 0.0
    with learning_time.running():
        pass
    with pytest.raises(ZeroDivisionError), learning_time.running():
        raise ZeroDivisionError
    learning_time.save(is_resting=False)
    assert learned_s(repository) == 0.0, "more is to come soon"
    learning_time.save()
    stored = learned_s(repository)
    assert stored > 0.0
    learning_time.save()
    assert learned_s(repository) == stored


def test_a_store_that_fails_is_told_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def open_repository() -> Repository:
        raise StoreUnusable("No room.")

    learning_time = LearningTime(open_repository)
    with learning_time.running():
        pass
    with caplog.at_level(logging.WARNING, "slipstream.learning"):
        learning_time.save()
    assert "No room." in caplog.text
