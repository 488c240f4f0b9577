"""The service with a real store and a fake target."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest

from engine.backend.chats.answering import Answering
from engine.backend.chats.asking import Asking
from engine.backend.chats.calling import Calling
from engine.backend.chats.chat_service import ChatService
from engine.backend.chats.embedding import Embedding, Embeds
from engine.backend.chats.message_keeper import MessageKeeper, ReplyToKeep
from engine.backend.chats.open_chats import OpenChats
from engine.backend.chats.prompt_cache_keeper import PromptCacheKeeper
from engine.backend.chats.remembering import Remembering
from engine.backend.chats.target_in_use import TargetInUse
from engine.backend.chats.trials import Trials
from engine.backend.chats.upkeep import Upkeep
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.backend.remote.targets import RemoteTargets
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.replies.reopening import UnkeptPart
from engine.values.asked import Answered, Asked
from engine.values.config import (
    LearningSettings,
    PromptCacheSettings,
    ReplySettings,
    SamplingSettings,
    TargetOptions,
    TargetSettings,
)
from engine.values.conversations import ConversationSummary, Role
from engine.values.errors import (
    Cancelled,
    ConversationMissing,
    NotPossible,
    PromptTooLong,
    TargetMissing,
    TargetUnusable,
    TemplateFailed,
)
from engine.values.events import (
    ConversationChanged,
    Event,
    LearnedGrew,
    PromptStored,
    ReplyFinished,
    SpeculationChanged,
    TargetLoading,
    TargetReady,
    ToolAsked,
)
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import Regenerate, ReplyOrder, Send
from engine.values.owner import Owner
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.replies import StopReason
from engine.values.requests import Request
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder, TargetSource
from engine.values.tools import Permission
from tests.fakes.keyring import FakeKeyring
from tests.fakes.precedence import NOBODY
from tests.fakes.proposers import FREE, FakeRecall, FakeSlow
from tests.fakes.seer import Seer, picture
from tests.fakes.target import PIECES, FakeTarget, failing, says
from tests.fakes.tool_host import WEATHER, FakeToolHost

_E = TypeVar("_E")
GREEDY = ReplySettings(SamplingSettings(temperature=0))


class Desk:
    """A service, what it told and asked of others, and the targets it was given."""

    def __init__(self, repository: Repository, folder: Path, learning: LearningService | None = None) -> None:
        self.repository = repository
        self.recall = Recall(repository)
        self.events: list[Event | ReplySoFar] = []
        self.wanted: list[str] = []  # what the services asked of others
        self.drafts_from_recall = False
        self.speculation: Speculation | None = None
        self.targets: dict[str, FakeTarget | Exception] = {}
        self.trusted: dict[str, bool] = {}
        self.settings: list[TargetSettings] = []  # that targets were loaded with
        self.on_load: Callable[[], None] = lambda: None
        self._folder = folder
        self.learning = learning or LearningService(lambda: repository, LearningSettings(), self.events.append)
        shared = repository, self.recall, self.learning
        heard = self.events.append, partial(self.wanted.append, "catch_up")
        self.prompt_cache = PromptCache(repository.data_dir, PromptCacheSettings())
        write_all = partial(self.wanted.append, "write_all")
        self.cache_keeper = PromptCacheKeeper(self.prompt_cache, write_all, self._next_part)
        self.keyring = FakeKeyring()
        self.servers = Servers(repository.data_dir, Keys(lambda: self.keyring))
        remote = RemoteTargets(self.servers)
        self.target = TargetInUse(*shared, self._load, self._speculate, *heard, self.prompt_cache, remote)
        self.parts: list[ReplyToKeep] = []  # of replies that grow
        self.retries: list[None] = []  # what the keeper wanted to be tried again
        self.keeper = MessageKeeper(repository, self.events.append, lambda: self.retries.append(None))
        self.asking = Asking()
        self.host = FakeToolHost(emit=self.events.append)
        self.host.use([WEATHER])
        self.answer: Callable[[ToolAsked], Permission | None] = lambda _asked: Permission.ONCE
        calling = Calling(repository, self.keeper, lambda: self.host, self.asking, self._hear)
        remembering = Remembering(repository, self.keeper, self.events.append)
        self.answering = Answering(self.recall, self.learning, self.target, self.keeper, remembering, NOBODY, *heard)
        self.embedding = Embedding(self._load_embedder, NOBODY)
        chats = OpenChats(repository, self.keeper, self.target)
        self.service = ChatService(
            repository,
            self.recall,
            self.learning,
            self.target,
            self.keeper,
            chats,
            self.cache_keeper,
            calling,
            self.parts.append,
            *heard,
        )
        self.trials = Trials(repository, self.recall, self.target, chats, self.cache_keeper)
        self.upkeep = Upkeep(self.recall, self.target, self.cache_keeper, *heard)

    def _next_part(self) -> Request[UnkeptPart | None]:
        request = Request[UnkeptPart | None](StopSignal())
        request.future.set_result(self.upkeep.next_part())
        return request

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, ToolAsked) and (answer := self.answer(event)) is not None:
            self.asking.answer(event.call.id, answer)

    def add(self, name: str, target: FakeTarget | Exception) -> str:
        path = self._folder / f"{name}.gguf"
        path.write_bytes(b"GGUF" + name.encode())
        self.targets[str(path)] = target
        return str(path)

    def _load_embedder(self, path: Path, _stop: StopSignal) -> Embeds:
        raise AssertionError(f"nobody asked for embeddings of {path}")

    def _load(
        self, file: TargetSource, settings: TargetSettings, on_progress: Callable[[float], None], _stop: StopSignal
    ) -> Target:
        self.trusted[file.name] = file.trusted
        self.settings.append(settings)
        target = self.targets[str(file.path)]
        if isinstance(target, Exception):
            raise target
        self.on_load()
        on_progress(0.5)
        on_progress(0.501)
        return target

    def _speculate(self, target: Target, stop: StopSignal, drafter: str, _identity: str) -> Speculation:
        if stop.is_set():
            raise Interrupted
        if self.speculation is not None:
            return self.speculation
        if self.drafts_from_recall:
            speculation = Speculation(DraftPolicy(FREE, [RecallProposer(self.recall.indexes)]))
            speculation.expect([FakeSlow], Supplies(target))
            return speculation
        return Speculation.off(f"Nothing drafts in this test, {drafter} either.")

    def told(self, kind: type[_E]) -> list[_E]:
        return [event for event in self.events if isinstance(event, kind)]

    def do(self, order: ReplyOrder, stop: StopSignal | None = None) -> None:
        self.events.clear()
        self.service.answer(order, stop or StopSignal(), self.events.append)

    def reply_to(
        self,
        asked: Asked,
        settings: ReplySettings = GREEDY,
        is_remembered: bool = False,
        owner: Owner = Owner("somebody"),  # noqa: B008
    ) -> Answered:
        """What a program is answered."""
        self.events.clear()
        return self.answering.answer(asked, settings, is_remembered, owner, progress=self.events.append)

    @property
    def replies(self) -> list[ReplySoFar]:
        """Each reply of the last answer, as it was in the end."""
        told = self.told(ReplySoFar)
        return [before for before, each in pairwise(told) if before.prompt_id != each.prompt_id] + told[-1:]

    def load(self, order: LoadOrder, stop: StopSignal | None = None) -> None:
        self.events.clear()
        self.target.load(order, stop or StopSignal())

    def use_drafter(self, drafter: str, stop: StopSignal | None = None) -> None:
        self.events.clear()
        self.target.use_drafter(drafter, stop or StopSignal())

    def remembered(self, target: FakeTarget) -> list[str]:
        """What the store knows in this target's tokens, oldest first."""
        vocabulary = target.vocabulary
        texts = self.repository.load_recall(vocabulary.fingerprint, 10**9)
        return [b"".join(vocabulary.pieces[token] for token in text.tokens).decode() for text in texts]


@pytest.fixture
def talking(desk: Desk) -> Desk:
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("Hello.")))))
    return desk


def finished(desk: Desk) -> ReplyFinished:
    (event,) = desk.told(ReplyFinished)
    assert isinstance(event, ReplyFinished)
    return event


def test_loading_tells_its_progress_in_whole_percents_and_remembers_the_target(desk: Desk) -> None:
    path = desk.add("fake", FakeTarget())
    desk.load(LoadOrder(path))
    assert desk.told(TargetLoading) == [TargetLoading("fake", 0.0), TargetLoading("fake", 0.5)]
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.name == "fake"
    assert ready.target.notice == ("This model has no chat template; that of ChatML is used, whose marks it knows.")
    (record,) = desk.repository.list_targets()
    assert str(record.path) == path


def test_a_target_that_was_not_taught_to_answer_is_said_to(desk: Desk) -> None:
    target = FakeTarget()
    target.vocabulary = replace(target.vocabulary, pieces=tuple(b"" if b"im_" in each else each for each in PIECES))
    desk.load(LoadOrder(desk.add("base", target)))
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.notice == "This model has no chat template: it goes on with your text instead of answering it."
    assert ready.target.completes


def test_a_chat_template_that_the_user_chose_is_used_in_place_of_the_models_own(desk: Desk) -> None:
    target = FakeTarget(chat_template="{{ messages[0].content }}!")
    path = desk.add("fake", target)
    desk.load(LoadOrder(path))
    desk.repository.change_target_options(Path(path), TargetOptions(chat_template="Q: {{ messages[0].content }} A:"))
    desk.load(LoadOrder(path))
    desk.do(Send("Hi", None, GREEDY))
    assert b"".join(PIECES[token] for token in target.held).startswith(b"Q: Hi A:")


def test_a_chosen_chat_template_that_cannot_be_used_says_where_to_mend_it(desk: Desk) -> None:
    path = desk.add("fake", FakeTarget())
    desk.load(LoadOrder(path))
    desk.repository.change_target_options(Path(path), TargetOptions(chat_template="{{ raise_exception('no') }}"))
    with pytest.raises(
        TemplateFailed, match=r"you chose cannot be used \(no\); choose another one on the model's page"
    ):
        desk.load(LoadOrder(path))


def test_a_target_that_cannot_roll_back_is_said_to(desk: Desk) -> None:
    desk.load(LoadOrder(desk.add("mamba", FakeTarget(can_roll_back=False, chat_template="{{ messages }}"))))
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.notice.startswith("This model cannot roll back what it has read")


def test_how_little_a_target_can_take_back_is_said(desk: Desk) -> None:
    desk.load(LoadOrder(desk.add("lfm2", FakeTarget(max_rollback=7, chat_template="{{ messages }}"))))
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.notice.startswith("This model can roll back only the last 7 tokens")


def test_only_a_file_that_was_loaded_before_and_kept_its_size_is_trusted(desk: Desk) -> None:
    path = desk.add("fake", FakeTarget())
    desk.load(LoadOrder(path))
    assert desk.trusted["fake"] is False
    desk.load(LoadOrder("fake"))  # by its name now
    assert desk.trusted["fake"] is True
    Path(path).write_bytes(b"GGUF and more")
    desk.load(LoadOrder(path))
    assert desk.trusted["fake"] is False


@pytest.mark.parametrize(
    "broken",
    [TargetUnusable("fake2 is damaged."), FakeTarget(chat_template="{{ raise_exception('no') }}")],
)
def test_a_target_that_fails_to_load_leaves_the_one_in_use(talking: Desk, broken: FakeTarget | Exception) -> None:
    with pytest.raises((TargetUnusable, TemplateFailed)):
        talking.load(LoadOrder(talking.add("broken", broken)))
    if isinstance(broken, FakeTarget):
        assert broken.closed
    talking.do(Send("Hi", None, GREEDY))
    assert finished(talking).message.text == "Hello."


def test_a_cancelled_loading_changes_nothing_though_the_file_was_read(talking: Desk) -> None:
    late = FakeTarget(says("Late."))
    path = talking.add("late", late)
    stop = StopSignal()
    talking.on_load = stop.set
    with pytest.raises(Cancelled, match=r"^Loading .* was cancelled"):
        talking.load(LoadOrder(path), stop)  # after the last progress was told
    assert late.closed
    talking.do(Send("Hi", None, GREEDY))
    assert finished(talking).message.text == "Hello."


def test_switching_closes_the_old_target(talking: Desk) -> None:
    old = talking.targets[str(talking._folder / "fake.gguf")]
    talking.load(LoadOrder(talking.add("other", FakeTarget(says("Bonjour.")))))
    assert isinstance(old, FakeTarget)
    assert old.closed
    talking.do(Send("Hi", None, GREEDY))
    assert finished(talking).message.text == "Bonjour."


def test_a_missing_file_is_named(desk: Desk) -> None:
    with pytest.raises(TargetMissing, match=r"no model file .*nowhere\.gguf"):
        desk.load(LoadOrder("/nowhere.gguf"))
    path = desk.add("gone", FakeTarget())
    desk.load(LoadOrder(path))
    Path(path).unlink()
    with pytest.raises(TargetMissing, match="The file of gone is gone"):
        desk.load(LoadOrder("gone"))


def told_ready(desk: Desk) -> TargetReady:
    (event,) = desk.told(TargetReady)
    assert isinstance(event, TargetReady)
    return event


def test_the_first_prompt_begins_a_conversation_named_after_it(talking: Desk) -> None:
    talking.do(Send("What is\nthe " + "very " * 20 + "end?", None, GREEDY, system_prompt="Be kind."))
    kinds = [type(event) for event in talking.events]
    assert kinds[:3] == [ConversationChanged, PromptStored, ReplySoFar]
    assert kinds[-2:] == [ReplyFinished, ConversationChanged]
    (summary,) = talking.repository.list_conversations()
    assert summary.title.startswith("What is the very very")
    assert len(summary.title) <= 61
    conversation = talking.repository.open_conversation(summary.id)
    assert [(message.role, message.text) for message in conversation.messages][1:] == [(Role.ASSISTANT, "Hello.")]
    assert conversation.system_prompt == "Be kind."


def test_the_statistics_of_a_reply_are_kept_with_it(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    message = finished(talking).message
    kept = talking.repository.open_conversation(message.conversation_id).messages[-1]
    assert kept == message
    assert kept.statistics is not None
    assert kept.statistics.reply_tokens == len("Hello.")
    assert kept.statistics.stop_reason is StopReason.END


def test_a_second_turn_continues_the_conversation(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    talking.do(Send("And?", conversation_id, GREEDY))
    assert len(talking.repository.open_conversation(conversation_id).messages) == 4
    statistics = finished(talking).message.statistics
    assert statistics is not None
    assert statistics.evaluated_tokens < statistics.prompt_tokens


def test_regenerating_leaves_the_old_reply_as_a_branch(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    first = finished(talking).message
    talking.do(Regenerate(first.conversation_id, GREEDY))
    second = finished(talking).message
    assert second.parent_id == first.parent_id
    assert second.id != first.id
    assert talking.repository.open_conversation(first.conversation_id).messages[-1] == second


def test_an_unanswered_prompt_is_answered_by_regenerating(talking: Desk) -> None:
    summary = talking.repository.create_conversation("t", "")
    prompt = talking.repository.add_message(summary.id, None, Role.USER, "Hi")
    talking.do(Regenerate(summary.id, GREEDY))
    assert finished(talking).message.parent_id == prompt.id


def test_what_cannot_be_answered_is_not_kept(talking: Desk) -> None:
    with pytest.raises(PromptTooLong):
        talking.do(Send("x" * 5000, None, GREEDY))
    assert talking.repository.list_conversations() == ()
    assert talking.events == []


def test_without_a_target_nothing_is_kept(desk: Desk) -> None:
    with pytest.raises(NotPossible, match="No model is loaded yet"):
        desk.do(Send("Hi", None, GREEDY))
    assert desk.repository.list_conversations() == ()


def test_a_deleted_conversation_is_refused_and_an_empty_one_cannot_be_regenerated(talking: Desk) -> None:
    summary = talking.repository.create_conversation("t", "")
    with pytest.raises(ConversationMissing, match="nothing to answer"):
        talking.do(Regenerate(summary.id, GREEDY))
    talking.repository.delete_conversations([summary.id])
    with pytest.raises(ConversationMissing):
        talking.do(Send("Hi", summary.id, GREEDY))


def test_of_a_reply_whose_conversation_is_forgotten_meanwhile_nothing_is_kept(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    forgotten: list[ConversationSummary] = []

    def forget() -> None:
        if not forgotten:
            forgotten.append(talking.repository.forget_conversation(conversation_id))

    target.on_evaluate = forget
    talking.wanted.clear()
    with pytest.raises(ConversationMissing):
        talking.do(Regenerate(conversation_id, GREEDY))
    assert forgotten
    assert talking.repository.list_conversations() == ()
    assert talking.wanted == [], "nor remembered or learned from"


def test_a_reply_is_kept_though_its_conversation_was_deleted_meanwhile(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)

    def delete() -> None:
        talking.repository.delete_conversations([conversation_id])

    target.on_evaluate = delete
    talking.do(Send("And?", conversation_id, GREEDY))
    talking.repository.restore_conversations([conversation_id])
    assert len(talking.repository.open_conversation(conversation_id).messages) == 4


def test_a_stopped_reply_is_kept_as_far_as_it_came(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    target.next_token = lambda _tokens: ord("a")
    stop = StopSignal()
    passes = iter(range(100))
    target.on_evaluate = lambda: stop.set() if next(passes) == 10 else None
    talking.do(Send("Hi", None, GREEDY), stop)
    message = finished(talking).message
    assert message.statistics is not None
    assert message.statistics.stop_reason is StopReason.STOPPED
    assert talking.repository.open_conversation(message.conversation_id).messages[-1].text == message.text != ""


def test_a_failed_reply_is_kept_and_the_failure_told(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    target.on_evaluate = failing(4)
    with pytest.raises(RuntimeError, match="backend"):
        talking.do(Send("Hi", None, GREEDY))
    message = finished(talking).message
    assert message.statistics is not None
    assert message.statistics.stop_reason is StopReason.FAILED


def test_another_drafter_is_used_at_once_and_for_the_next_target(talking: Desk) -> None:
    talking.do(Send("Hi", None, GREEDY))
    conversation_id = finished(talking).message.conversation_id
    talking.use_drafter("somebody/tiny")
    sentence = "Nothing drafts in this test, somebody/tiny either."
    assert talking.events == [SpeculationChanged("fake", sentence, False, can_draft=False)]
    talking.do(Send("And?", conversation_id, GREEDY))
    statistics = finished(talking).message.statistics
    assert statistics is not None
    assert statistics.evaluated_tokens == statistics.prompt_tokens  # what the target held was given up
    talking.load(LoadOrder("fake"))
    (ready,) = talking.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert ready.target.speculation == sentence


def test_a_drafter_chosen_before_any_target_waits_for_it(desk: Desk) -> None:
    desk.use_drafter("somebody/tiny")
    assert desk.events == []
    desk.load(LoadOrder(desk.add("fake", FakeTarget())))
    (ready,) = desk.told(TargetReady)
    assert isinstance(ready, TargetReady)
    assert "somebody/tiny" in ready.target.speculation


def test_replies_go_on_when_a_change_of_drafter_was_interrupted(talking: Desk) -> None:
    stop = StopSignal()
    stop.set()
    talking.use_drafter("somebody/tiny", stop)
    talking.do(Send("Hi", None, GREEDY))
    assert finished(talking).message.text == "Hello."


def test_prompt_and_reply_are_remembered_in_the_tokens_of_the_target(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    talking.do(Send("Say the word", None, GREEDY))
    assert talking.remembered(target) == ["Say the word", "Hello."]
    conversation_id = finished(talking).message.conversation_id
    target.next_token = says("the end")  # byte by byte; one who reads it would take "the " as one token
    talking.do(Regenerate(conversation_id, GREEDY))
    assert talking.remembered(target) == ["Say the word", "Hello.", "the end"]
    assert talking.repository.load_recall(target.vocabulary.fingerprint, 1000)[-1].tokens.tolist() == list(b"the end")


def test_a_reply_that_was_stopped_or_failed_is_remembered_as_far_as_it_came(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    target.on_evaluate = failing(4)
    with pytest.raises(RuntimeError, match="backend"):
        talking.do(Send("Hi", None, GREEDY))
    assert talking.remembered(target) == ["Hi", finished(talking).message.text]


def test_what_was_said_in_one_conversation_is_drafted_in_the_next(desk: Desk) -> None:
    desk.drafts_from_recall = True
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("0123456789ABCDEFGHIJKL")))))
    num_accepted = []
    for prompt in ("First.", "Second."):
        desk.do(Send(prompt, None, GREEDY))
        statistics = finished(desk).message.statistics
        assert statistics is not None
        num_accepted.append(statistics.num_accepted)
    assert num_accepted[0] == 0
    assert num_accepted[1] > 11


def test_a_loaded_target_is_to_remember_more(desk: Desk) -> None:
    desk.load(LoadOrder(desk.add("fake", FakeTarget())))
    assert desk.wanted == ["catch_up"]


def test_a_target_that_fails_to_load_leaves_the_memory_of_the_one_in_use(talking: Desk) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    talking.wanted.clear()
    broken = FakeTarget(chat_template="{{ raise_exception('no') }}", more_pieces=(b"Hello",))
    with pytest.raises(TemplateFailed):
        talking.load(LoadOrder(talking.add("broken", broken)))
    assert talking.wanted == []
    talking.do(Send("Hi", None, GREEDY))
    assert talking.remembered(target) == ["Hi", "Hello."]
    assert talking.remembered(broken) == []


def test_without_a_target_there_is_nothing_to_remember(desk: Desk) -> None:
    desk.upkeep.catch_up()
    assert desk.wanted == []
    assert desk.events == []


def test_another_targets_chats_are_remembered_little_by_little_until_there_are_no_more(talking: Desk) -> None:
    for number in range(10):
        talking.do(Send(f"Prompt {number}", None, GREEDY))
    new = FakeTarget(says("Bonjour."), more_pieces=(b"Hello", b"Prompt "))
    talking.wanted.clear()
    talking.load(LoadOrder(talking.add("new", new)))
    assert talking.remembered(new) == []
    num_slices = 0
    while talking.wanted:
        assert talking.wanted == ["catch_up"]
        talking.wanted.clear()
        before = talking.remembered(new)
        talking.events.clear()
        talking.upkeep.catch_up()
        assert talking.events == ([] if talking.wanted else [LearnedGrew()]), "once all of it can be reused"
        assert talking.remembered(new)[-len(before) :] == before or not before  # older ones join
        num_slices += 1
    assert num_slices > 2  # of eight messages at most, for twenty
    assert talking.remembered(new) == [text for number in range(10) for text in (f"Prompt {number}", "Hello.")]
    assert sum(index.num_tokens for index in talking.recall.indexes()) == 10 * len(new.tokenize("Prompt 0Hello."))
    talking.upkeep.catch_up()
    assert talking.wanted == []


def test_an_incognito_chat_goes_on_like_any_other_and_leaves_no_trace(talking: Desk, tmp_path: Path) -> None:
    target = talking.targets[str(talking._folder / "fake.gguf")]
    assert isinstance(target, FakeTarget)
    talking.wanted.clear()
    talking.do(Send("Quicksilver", None, GREEDY, incognito=True))
    conversation_id = finished(talking).message.conversation_id
    talking.do(Send("Zeppelin", conversation_id, GREEDY))
    talking.do(Regenerate(conversation_id, GREEDY))
    assert [message.text for message in talking.repository.open_conversation(conversation_id).messages] == [
        "Quicksilver",
        "Hello.",
        "Zeppelin",
        "Hello.",
    ]
    assert talking.remembered(target) == []
    assert not any(index.num_tokens for index in talking.recall.indexes())
    assert talking.wanted == []
    talking.repository.close()
    data = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert b"fake" in data
    assert b"Quicksilver" not in data
    assert b"Zeppelin" not in data


def test_a_slow_reply_is_told_in_the_log_with_what_made_it_slow(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    wrong = FakeRecall([ord("x")], (0.9,))
    desk.speculation = Speculation(DraftPolicy(FixedCosts({1: 1.0, 2: 1.25, 16: 4.0}), [wrong]))
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("Good day to you.")))))
    with caplog.at_level(logging.WARNING, "slipstream.chat"):
        desk.do(Send("Hi", None, GREEDY, incognito=True))
        assert caplog.text == "", "of an incognito chat there is no trace"
        desk.do(Send("Hi", None, GREEDY))
    message = finished(desk).message
    assert message.statistics is not None
    assert message.statistics.is_slow
    (line,) = caplog.messages
    assert line.startswith(
        f"reply {message.id} was slower than without drafts: {message.statistics.ratio:.3f} by counts"
    )
    assert f"recall 0 of {message.statistics.num_drafted}" in line
    wrong.tokens = ()
    caplog.clear()
    desk.do(Send("Hi", None, GREEDY))
    assert caplog.text == ""


def test_a_reply_that_repeats_itself_is_told_of_once_and_goes_on(desk: Desk) -> None:
    desk.load(LoadOrder(desk.add("fake", FakeTarget(says("and on " * 40)))))
    desk.do(Send("Hi", None, GREEDY))
    message = finished(desk).message
    (reply,) = desk.replies
    assert reply.repeats
    assert reply.conversation_id == message.conversation_id
    assert not desk.told(ReplySoFar)[9].repeats
    assert message.text == "and on " * 40
    opened = desk.repository.open_conversation(message.conversation_id).messages[-1]
    assert opened.statistics is not None
    assert opened.statistics.repeats


def test_a_prompt_with_a_picture_is_answered_by_who_sees_it_and_kept_with_it(desk: Desk) -> None:
    shown = picture("k")
    prompt = join_prompt([AttachedPicture("a.png", shown.digest)], "Which?")
    desk.load(LoadOrder(desk.add("mole", FakeTarget(says("Hello.")))))
    assert not told_ready(desk).target.sees_pictures
    with pytest.raises(NotPossible, match="fake cannot see pictures"):
        desk.do(Send(prompt, None, GREEDY, pictures=(shown,)))
    assert desk.repository.list_conversations() == ()
    seer = Seer()
    desk.load(LoadOrder(desk.add("seer", seer)))
    assert told_ready(desk).target.sees_pictures
    desk.do(Send(prompt, None, GREEDY, pictures=(shown,)))
    first = finished(desk).message
    assert first.text == "k1"
    conversation = desk.repository.open_conversation(first.conversation_id)
    assert (conversation.messages[0].text, conversation.summary.title) == (prompt, "Which?")
    assert desk.repository.find_pictures(first.conversation_id, [shown.digest]) == {shown.digest: shown}
    desk.do(Send("And?", first.conversation_id, GREEDY))
    assert (finished(desk).message.text, seer.looked_at) == ("k2", ["k", "k"])
    desk.load(LoadOrder(desk.add("other", FakeTarget(says("Hello.")))))
    desk.do(Regenerate(first.conversation_id, GREEDY))
    assert finished(desk).message.text == "Hello.", "its name stands for the picture"
