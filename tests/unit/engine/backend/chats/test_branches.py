"""Walking the tree with the service, a real store and a fake target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.model.chat import grammar
from engine.values.config import OwnSampling, ReplySettings, SamplingSettings
from engine.values.conversations import Message, Role
from engine.values.errors import Cancelled, ConversationMissing, NotPossible, PromptTooLong
from engine.values.events import PromptStored, ReplyFinished
from engine.values.orders import ContinueReply, EditPrompt, Regenerate, Send
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.grammars import DeskHere
from tests.fakes.target import END, FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import Desk, finished

GREEDY = ReplySettings(SamplingSettings(temperature=0))
SHORT = replace(GREEDY, max_tokens=4)
both = pytest.mark.parametrize("incognito", [False, True], ids=["kept", "incognito"])


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget(says("Hello, world."))


@pytest.fixture
def desk(tmp_path: Path, target: FakeTarget) -> Iterator[Desk]:
    repository = Repository.open(tmp_path / "store")
    desk = Desk(repository, tmp_path)
    desk.load(LoadOrder(desk.add("fake", target)))
    yield desk
    repository.close()


def texts(desk: Desk, conversation_id: int) -> list[str]:
    return [message.text for message in desk.repository.open_conversation(conversation_id).messages]


def ask(desk: Desk, prompt: str, conversation_id: int | None = None, incognito: bool = False) -> Message:
    desk.do(Send(prompt, conversation_id, GREEDY, incognito=incognito))
    return finished(desk).message


@both
def test_an_edited_prompt_is_asked_beside_the_old_one(desk: Desk, incognito: bool) -> None:
    number = ask(desk, "One", incognito=incognito).conversation_id
    ask(desk, "Two", number)
    one, _, two, _ = desk.repository.open_conversation(number).messages
    desk.do(EditPrompt(number, one.id, "Uno", GREEDY))
    assert texts(desk, number) == ["Uno", "Hello, world."]
    (kept,) = desk.told(PromptStored)
    assert isinstance(kept, PromptStored)
    assert kept.message.parent_id is None
    assert kept.siblings == (one.id, kept.message.id)
    desk.do(EditPrompt(number, two.id, "Due", GREEDY))
    assert texts(desk, number) == ["One", "Hello, world.", "Due", "Hello, world."]
    shown = desk.repository.show_branch(number, two.id)
    assert [message.text for message in shown.messages] == ["One", "Hello, world.", "Two", "Hello, world."]


def test_only_prompts_that_fit_can_be_edited(desk: Desk) -> None:
    reply = ask(desk, "One")
    with pytest.raises(ConversationMissing, match="Only your own messages"):
        desk.do(EditPrompt(reply.conversation_id, reply.id, "Uno", GREEDY))
    assert reply.parent_id is not None
    with pytest.raises(PromptTooLong):
        desk.do(EditPrompt(reply.conversation_id, reply.parent_id, "x" * 5000, GREEDY))
    assert texts(desk, reply.conversation_id) == ["One", "Hello, world."]


@both
def test_any_reply_is_written_again_beside_the_old_one(desk: Desk, target: FakeTarget, incognito: bool) -> None:
    first = ask(desk, "One", incognito=incognito)
    number = first.conversation_id
    last = ask(desk, "Two", number)
    target.next_token = says("Another.")
    desk.do(Regenerate(number, GREEDY, first.id))
    again = finished(desk)
    assert texts(desk, number) == ["One", "Another."]
    assert again.siblings == (first.id, again.message.id)
    assert texts(desk, number) == ["One", "Another."]
    desk.repository.show_branch(number, last.id)
    assert texts(desk, number) == ["One", "Hello, world.", "Two", "Hello, world."]
    assert last.parent_id is not None
    desk.do(Regenerate(number, GREEDY, last.parent_id))  # by its prompt
    assert texts(desk, number) == ["One", "Hello, world.", "Two", "Another."]


@both
def test_a_reply_goes_on_where_it_ended(desk: Desk, target: FakeTarget, incognito: bool) -> None:
    desk.do(Send("Hi", None, SHORT, incognito=incognito))
    before = finished(desk).message
    assert before.text == "Hell"
    num_evaluated = target.num_evaluated
    desk.do(ContinueReply(before.conversation_id, GREEDY))
    told = finished(desk)
    after = told.message
    assert after.text == "Hello, world."
    assert after.parent_id == before.parent_id
    assert told.siblings == (before.id, after.id)
    assert desk.replies[-1].text == "o, world."
    assert after.statistics is not None
    assert after.statistics.reply_tokens == len("o, world.")
    assert after.statistics.stop_reason is StopReason.END
    assert after.statistics.evaluated_tokens == 1, "all but the last was still held"
    assert target.num_evaluated - num_evaluated == 1 + len("o, world.")
    assert texts(desk, before.conversation_id) == ["Hi", "Hello, world."]
    shown = desk.repository.show_branch(before.conversation_id, before.id)
    assert [message.text for message in shown.messages] == ["Hi", "Hell"]


def test_a_reply_goes_on_although_the_target_holds_something_else_by_now(desk: Desk) -> None:
    desk.do(Send("Hi", None, SHORT))
    before = finished(desk).message
    ask(desk, "Somewhere else")
    desk.do(ContinueReply(before.conversation_id, SHORT))
    assert finished(desk).message.text == "Hello, w"
    assert finished(desk).message.statistics is not None


def test_what_the_target_wrote_is_kept_token_by_token_when_a_reply_goes_on(desk: Desk, target: FakeTarget) -> None:
    target.next_token = says("the end of it")  # byte by byte; one who reads it would take "the " as one token
    desk.do(Send("Hi", None, replace(GREEDY, max_tokens=6)))
    desk.do(ContinueReply(finished(desk).message.conversation_id, GREEDY))
    assert finished(desk).message.text == "the end of it"
    assert bytes(target.held[-13:]) == b"the end of it"


def test_a_reply_is_stopped_while_its_grammar_learns_what_it_goes_on_from(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SetWhileItLearns(DeskHere):
        def _said(self, question: tuple[str, int, object], seconds: float, stop: StopSignal) -> bytes:
            if question[0] == "accept":
                raise Cancelled("Stop was pressed.")
            return super()._said(question, seconds, stop)

    monkeypatch.setattr(grammar, "_Desk", SetWhileItLearns)
    desk.do(Send("Hi", None, SHORT))
    before = finished(desk).message
    held = replace(GREEDY, sampling=SamplingSettings(temperature=0, grammar='root ::= "Hello, world."'))
    with pytest.raises(Cancelled, match="stopped before it began"):
        desk.do(ContinueReply(before.conversation_id, held))
    assert texts(desk, before.conversation_id) == ["Hi", "Hell"]


def test_half_a_character_is_left_behind_when_a_reply_goes_on(desk: Desk, target: FakeTarget) -> None:
    target.next_token = says("a€b")
    desk.do(Send("Hi", None, replace(GREEDY, max_tokens=3)))
    before = finished(desk).message
    assert before.text == "a"
    desk.do(ContinueReply(before.conversation_id, GREEDY))
    assert finished(desk).message.text == "a€b"


def test_a_limit_counts_what_is_new(desk: Desk) -> None:
    desk.drafts_from_recall = True
    desk.load(LoadOrder("fake"))
    ask(desk, "Something to recall")
    desk.do(Send("Hi", None, SHORT))
    for length in (8, 12):
        desk.do(ContinueReply(finished(desk).message.conversation_id, SHORT))
        assert finished(desk).message.text == "Hello, world."[:length]


def test_a_reply_that_goes_on_is_remembered_once_and_taught_to_nobody(desk: Desk, target: FakeTarget) -> None:
    lessons: list[object] = []
    desk.learning.take = lambda *lesson: lessons.append(lesson)  # type: ignore[method-assign]
    desk.do(Send("Say it", None, SHORT))
    assert len(lessons) == 1
    desk.do(ContinueReply(finished(desk).message.conversation_id, SHORT))
    desk.do(ContinueReply(finished(desk).message.conversation_id, GREEDY))
    assert len(lessons) == 1
    assert [text for text in desk.remembered(target) if text] == ["Say it", "Hello, world."]
    found = [len(index.find(list(b"o, wor"), 8)) for index in desk.recall.indexes()]
    assert sum(found) == 1, "also across the place where it went on"


def test_nothing_is_kept_where_nothing_is_added(desk: Desk) -> None:
    before = ask(desk, "Hi")
    with pytest.raises(NotPossible, match="nothing to add"):
        desk.do(ContinueReply(before.conversation_id, GREEDY))
    stop = StopSignal()
    stop.set()
    desk.do(ContinueReply(before.conversation_id, GREEDY), stop)
    assert finished(desk) == ReplyFinished(before)
    assert desk.repository.open_conversation(before.conversation_id).siblings == {}
    number = desk.repository.create_conversation("t", "").id
    desk.repository.add_message(number, None, Role.USER, "Hi")
    with pytest.raises(NotPossible, match="no reply to continue"):
        desk.do(ContinueReply(number, GREEDY))


def test_a_reply_that_fills_the_context_cannot_go_on_in_it(desk: Desk, target: FakeTarget) -> None:
    target.next_token = lambda tokens: END if len(tokens) > 600 else ord("a")
    desk.do(Send("Hi", None, GREEDY))
    before = finished(desk).message
    assert before.statistics is not None
    assert before.statistics.stop_reason is StopReason.CONTEXT_FULL
    with pytest.raises(PromptTooLong, match="larger context size"):
        desk.do(ContinueReply(before.conversation_id, GREEDY))
    assert texts(desk, before.conversation_id) == ["Hi", before.text]


@both
def test_a_conversation_has_its_own_sampling(desk: Desk, incognito: bool) -> None:
    desk.do(Send("Hi", None, GREEDY, "Be kind.", incognito, OwnSampling(max_tokens=2)))
    first = finished(desk).message
    number = first.conversation_id
    assert first.text == "He"
    desk.do(Regenerate(number, GREEDY))
    assert finished(desk).message.text == "He"
    desk.do(ContinueReply(number, GREEDY))
    assert finished(desk).message.text == "Hell"
    desk.repository.change_conversation(number, "Be brief.", OwnSampling(max_tokens=3))
    assert first.parent_id is not None
    desk.do(EditPrompt(number, first.parent_id, "Hey", GREEDY))
    assert finished(desk).message.text == "Hel"
    desk.repository.change_conversation(number, "", OwnSampling())
    desk.do(Send("And?", number, GREEDY))
    assert finished(desk).message.text == "Hello, world."


def test_own_sampling_takes_the_place_of_what_is_set_for_all() -> None:
    usual = ReplySettings(SamplingSettings(temperature=0.5, top_k=7), max_tokens=9, stop_strings=("x",))
    assert OwnSampling().over(usual) == usual
    assert OwnSampling(temperature=0, seed=3).over(usual) == replace(
        usual, sampling=replace(usual.sampling, temperature=0, seed=3)
    )


def test_a_branch_that_is_flipped_to_during_a_reply_waits_until_it_is_over(desk: Desk, target: FakeTarget) -> None:
    first = ask(desk, "One")
    number = first.conversation_id

    def flip() -> None:
        desk.repository.show_branch(number, first.id)

    target.on_evaluate = flip
    desk.do(Regenerate(number, GREEDY))
    assert desk.repository.open_conversation(number).messages[-1].id == finished(desk).message.id


def test_a_reply_goes_on_also_with_a_tokenizer_that_puts_a_space_before_every_text(desk: Desk) -> None:
    class SpacedTarget(FakeTarget):
        def tokenize(self, text: str) -> list[int]:
            return super().tokenize(" " + text)

    target = SpacedTarget(says("Hello, world."))
    desk.load(LoadOrder(desk.add("spaced", target)))
    desk.do(Send("Hi", None, SHORT))
    desk.do(ContinueReply(finished(desk).message.conversation_id, SHORT))
    message = finished(desk).message
    assert message.text == "Hello, w"
    assert message.statistics is not None
    assert message.statistics.reply_tokens == 4
    assert message.statistics.evaluated_tokens == 1


def test_a_reply_that_answers_nothing_cannot_be_written_again_or_go_on(desk: Desk) -> None:
    number = desk.repository.create_conversation("from a file", "").id
    parent = None
    for role, text in ((Role.SYSTEM, "Be brief."), (Role.USER, ""), (Role.ASSISTANT, "Welcome")):
        parent = desk.repository.add_message(number, parent, role, text).id
    with pytest.raises(NotPossible, match="answers none of your messages"):
        desk.do(ContinueReply(number, GREEDY))
    with pytest.raises(ConversationMissing, match="nothing to answer"):
        desk.do(Regenerate(number, GREEDY))
