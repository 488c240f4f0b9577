"""Which thread carries out a command, and what else the engine does with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import llama_cpp  # noqa: F401, no plain tests
import pytest

from engine import Engine, EngineConfig
from engine.backend.chats.chat_editor import ChatEditor
from engine.backend.chats.chat_reader import ChatReader
from engine.backend.chats.chat_service import ChatService
from engine.backend.storage import Repository
from engine.speculation.model.interface import Target
from engine.values.asked import Answered, Asked
from engine.values.config import OwnSampling, ReplySettings, SpeculationSettings
from engine.values.conversations import ChatTurn, ExportFormat, Message, Role
from engine.values.errors import TargetUnusable
from engine.values.events import PromptStored, ReplyFinished, TargetReady
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import EditPrompt, Regenerate, ReplyOrder, Send
from engine.values.owner import Owner
from engine.values.requests import Request
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue, Settled
from tests.fakes.target import FakeTarget, says

PROGRAM = Owner("a program")


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an engine has done, whose chats cannot be changed until somebody has opened one."""
    done: list[str] = []
    is_free = threading.Event()

    def change(*_arguments: object) -> None:
        assert is_free.wait(60)
        done.append("change")

    def open_chat(*_arguments: object) -> None:
        done.append("open")
        is_free.set()

    monkeypatch.setattr(ChatEditor, "change", change)
    monkeypatch.setattr(ChatReader, "open", open_chat)
    monkeypatch.setattr(ChatService, "answer", lambda _service, _order: done.append("reply"))
    return done


def test_a_reply_waits_for_what_was_changed_before_and_whoever_reads_only_for_a_moment(
    tmp_path: Path, carried_out: list[str]
) -> None:
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.ask(engine.editor.change, 1, "Be brief.", OwnSampling())
        reply = engine.ask(engine.chat.answer, Send("Hi", 1, ReplySettings()))
        engine.ask(engine.chats.open, 1)
        reply.result(60)
    finally:
        assert engine.close()
    assert carried_out == ["open", "change", "reply"]


@pytest.mark.usefixtures("carried_out")
def test_a_reply_that_waits_for_what_was_changed_before_can_be_stopped(tmp_path: Path) -> None:
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.ask(engine.editor.change, 1, "Be brief.", OwnSampling())
        reply = engine.ask(engine.chat.answer, Send("Hi", 1, ReplySettings()))
        reply.stop()
        assert reply.failure is not None
    finally:
        engine.ask(engine.chats.open, 1).result()
        assert engine.close()


def test_what_is_being_imported_when_everything_is_forgotten_is_not_added(tmp_path: Path) -> None:
    repository = Repository.open(tmp_path / "data")
    for number in range(50):
        chat = repository.create_conversation(f"chat {number}", "")
        repository.add_message(chat.id, None, Role.USER, "Hi")
    repository.close()
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        file = tmp_path / "chats.json"
        assert engine.ask(engine.files.export_conversations, file, None, ExportFormat.JSON).result() == 50
        imports = [engine.ask(engine.files.import_conversations, file) for _ in range(3)]
        of_presets = engine.ask(engine.files.import_presets, file)
        forgetting = engine.ask(engine.forgetting.forget_everything)
        assert imports[-1].signal.is_set(), "which waits for the others"
        assert of_presets.signal.is_set()
        forgetting.result()
        assert of_presets.failure is not None  # after all that was asked of files before
    finally:
        assert engine.close()
    repository = Repository.open(tmp_path / "data")
    assert repository.list_conversations() == ()
    repository.close()


def test_a_model_that_is_being_loaded_when_the_app_closes_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, is_over = threading.Event(), threading.Event()

    def load(*_arguments: object) -> Target:
        began.set()
        assert is_over.wait(60)
        raise TargetUnusable("It took too long.")

    monkeypatch.setattr("engine.loading.load_target", load)
    monkeypatch.setattr("engine.threads._CLOSING_PATIENCE_S", 0.1)
    (tmp_path / "slow.gguf").write_bytes(b"GGUF")
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        loading = engine.ask(engine.target.load, LoadOrder(str(tmp_path / "slow.gguf")))
        assert began.wait(60)
        assert list((tmp_path / "data" / "suspects").iterdir())
        assert not engine.close()
        assert not list((tmp_path / "data" / "suspects").iterdir())
    finally:
        is_over.set()
        assert loading.failure is not None


@dataclass
class Held:
    """An engine whose target is busy with what a program has asked, until it is `free`."""

    engine: Engine
    events: EventQueue
    folder: Path
    free: threading.Event
    asked: Request[Answered]  # by the program

    def say(self, order: ReplyOrder) -> Request[None]:
        """The user wants a reply."""
        return self.events.ask(self.engine, self.engine.chat.answer, order)

    def ask(self, text: str) -> Request[Answered]:
        """The program wants a reply."""
        asked = Asked((ChatTurn(Role.USER, text),))
        return self.engine.ask(self.engine.answering.answer, asked, ReplySettings(), False, PROGRAM)

    def hold(self) -> None:
        """The program asks again, and keeps the target busy until it is free."""
        self.free.clear()
        self.ask("Go on.")

    def waits_for(self) -> str:
        """Why the user's reply does not begin."""
        while not (so_far := self.events.wait_for(ReplySoFar)).waits_for:
            pass
        return so_far.waits_for

    def first_reply(self) -> Message:
        """To the first prompt of a new chat. Afterwards the target is busy again."""
        self.free.set()
        self.say(Send("Hi", None, ReplySettings()))
        reply = self.events.wait_for(ReplyFinished).message
        self.hold()
        return reply

    @property
    def stored(self) -> list[tuple[str, list[str]]]:
        """Chats and what is said in them, read from the disk."""
        repository = Repository.open(self.folder)
        try:
            chats = [repository.open_conversation(each.id) for each in repository.list_conversations()]
        finally:
            repository.close()
        return [(chat.system_prompt, [message.text for message in chat.messages]) for chat in chats]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    free, began = threading.Event(), threading.Event()
    target = FakeTarget(says("Hello."))

    def wait() -> None:
        began.set()
        assert free.wait(60)

    monkeypatch.setattr("engine.loading.load_target", lambda *_: target)
    (tmp_path / "fake.gguf").write_bytes(b"GGUF")
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data", SpeculationSettings(drafter="none")), events)
    try:
        engine.ask(engine.target.load, LoadOrder(str(tmp_path / "fake.gguf")))
        events.wait_for(TargetReady)
        target.on_evaluate = wait
        turns = (ChatTurn(Role.USER, "Count."),)
        asked = engine.ask(engine.answering.answer, Asked(turns), ReplySettings(), False, PROGRAM)
        assert began.wait(60)
        yield Held(engine, events, tmp_path / "data", free, asked)
    finally:
        free.set()
        assert engine.close()


@pytest.mark.parametrize("incognito", [False, True])
def test_a_prompt_is_stored_and_told_while_a_program_is_answered_and_then_goes_first(
    held: Held, incognito: bool
) -> None:
    held.say(Send("Hi", None, ReplySettings(), "Be kind.", incognito))
    prompt = held.events.wait_for(PromptStored).message
    waits = held.events.wait_for(ReplySoFar)
    assert (waits.conversation_id, waits.waits_for) == (prompt.conversation_id, "Waiting for another program")
    assert held.stored == ([] if incognito else [("Be kind.", ["Hi"])]), "also if the program is killed now"
    later = held.ask("And?")
    held.events.seen.clear()
    held.free.set()
    reply = held.events.wait_for(ReplyFinished).message
    assert (reply.parent_id, reply.text) == (prompt.id, "Hello.")
    assert not any(isinstance(each, PromptStored) for each in held.events.seen)
    assert not later.future.done()


def test_a_prompt_that_waits_in_a_chat_is_answered_once(held: Held) -> None:
    first = held.first_reply()
    held.say(EditPrompt(first.conversation_id, first.parent_id or 0, "Ho", ReplySettings()))
    edited = held.events.wait_for(PromptStored)
    assert edited.siblings == (first.parent_id, edited.message.id)
    held.free.set()
    held.events.wait_for(ReplyFinished)
    held.hold()
    held.say(Send("And?", first.conversation_id, ReplySettings()))
    held.waits_for()
    held.free.set()
    held.events.wait_for(ReplyFinished)
    assert held.stored == [("", ["Ho", "Hello.", "And?", "Hello."])]


def test_a_prompt_that_waits_is_answered_though_another_branch_is_shown_by_then(held: Held) -> None:
    first = held.first_reply()
    held.say(EditPrompt(first.conversation_id, first.parent_id or 0, "Ho", ReplySettings()))
    edited = held.events.wait_for(PromptStored).message
    held.engine.ask(held.engine.editor.show_branch, first.conversation_id, first.id).result()
    held.free.set()
    assert held.events.wait_for(ReplyFinished).message.parent_id == edited.id
    assert held.stored == [("", ["Ho", "Hello."])]


def test_a_prompt_that_waits_and_is_deleted_is_not_answered_in_the_place_of_another(held: Held) -> None:
    first = held.first_reply()
    reply = held.say(Send("And?", first.conversation_id, ReplySettings()))
    prompt = held.events.wait_for(PromptStored).message
    held.engine.ask(held.engine.editor.delete_message, first.conversation_id, prompt.id).result()
    held.free.set()
    assert reply.failure is not None
    assert held.stored == [("", ["Hi", "Hello."])]


def test_a_reply_cannot_be_edited_as_a_prompt_while_it_waits(held: Held) -> None:
    first = held.first_reply()
    reply = held.say(EditPrompt(first.conversation_id, first.id, "Ho", ReplySettings()))
    held.free.set()
    failure = reply.failure
    assert failure is not None
    assert failure.sentence == "Only your own messages can be edited."
    assert held.stored == [("", ["Hi", "Hello."])]


def test_a_prompt_that_waits_can_be_stopped_and_is_answered_later(held: Held) -> None:
    reply = held.say(Send("Hi", None, ReplySettings()))
    prompt = held.events.wait_for(PromptStored).message
    held.waits_for()
    reply.stop()
    assert held.events.wait_for(Settled).request is reply, "at once"
    held.say(Regenerate(prompt.conversation_id, ReplySettings(), prompt.id))
    assert held.waits_for() == "Waiting for another program"
    held.free.set()
    assert held.events.wait_for(ReplyFinished).message.parent_id == prompt.id
    assert held.stored == [("", ["Hi", "Hello."])]


def test_a_prompt_is_stored_and_told_while_a_model_is_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, is_read = threading.Event(), threading.Event()

    def load(*_arguments: object) -> Target:
        began.set()
        assert is_read.wait(60)
        return FakeTarget(says("Hello."))

    monkeypatch.setattr("engine.loading.load_target", load)
    (tmp_path / "slow.gguf").write_bytes(b"GGUF")
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data", SpeculationSettings(drafter="none")), events)
    try:
        engine.ask(engine.target.load, LoadOrder(str(tmp_path / "slow.gguf")))
        assert began.wait(60)
        events.ask(engine, engine.chat.answer, Send("Hi", None, ReplySettings()))
        assert events.wait_for(PromptStored).message.text == "Hi"
        assert events.wait_for(ReplySoFar).waits_for == "Waiting until the model is loaded"
        is_read.set()
        assert events.wait_for(ReplyFinished).message.text == "Hello."
    finally:
        is_read.set()
        assert engine.close()


def test_a_prompt_is_stored_and_told_while_the_computer_is_measured(held: Held) -> None:
    held.free.set()
    held.asked.result(60)
    held.free.clear()
    began = threading.Event()
    measuring = held.engine.begin(held.engine.trials.measure_machine, (), {}, lambda _share: began.set())
    assert began.wait(60)
    held.say(Send("Hi", None, ReplySettings()))
    assert held.waits_for() == "Waiting until this computer is measured"
    assert held.stored == [("", ["Hi"])]
    measuring.stop()
    held.free.set()
    assert held.events.wait_for(ReplyFinished).message.text == "Hello."


def test_what_waits_while_everything_is_forgotten_is_stored_afterwards(held: Held) -> None:
    forgetting = held.engine.ask(held.engine.forgetting.forget_everything)
    held.say(Send("Hi", None, ReplySettings()))
    held.free.set()
    forgetting.result()
    held.events.wait_for(ReplyFinished)
    assert held.stored == [("", ["Hi", "Hello."])]
