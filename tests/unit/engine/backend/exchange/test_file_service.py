"""The service with a real store, and with the store's own service beside it."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from engine.backend.chats.chat_editor import ChatEditor
from engine.backend.chats.chat_reader import ChatReader
from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.documents import apart, reading
from engine.backend.exchange.file_service import FileService
from engine.backend.exchange.preset_service import PresetService
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.config import LearningSettings, PromptCacheSettings
from engine.values.conversations import ExportFormat, ImportedConversations, LeftOut, Missing, Role, TextFile
from engine.values.errors import Cancelled, ConversationMissing, FileUnusable
from engine.values.events import ConversationForgotten, ConversationsImported, Event
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, Attachment, join_prompt
from engine.values.stop_signal import StopSignal
from tests.fakes.target import FakeTarget


class Desk:
    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.events: list[Event] = []
        self.restarts: list[bool] = []  # of catching up
        self.learning = LearningService(lambda: repository, LearningSettings(), self.events.append)
        self.recall = Recall(repository)
        presets = PresetService(repository, self.events.append)
        self.files = FileService(
            lambda: repository, lambda: presets, self.learning, self.events.append, self._catch_up, len
        )
        keeper = MessageKeeper(repository, self.events.append, lambda: None)
        shared = repository, self.recall, self.learning
        cache = PromptCache(repository.data_dir, PromptCacheSettings())
        self.editor = ChatEditor(*shared, keeper, cache, self.events.append, lambda: None)
        self.reader = ChatReader(repository, keeper, self.events.append)

    def _catch_up(self, restarts: bool) -> None:
        self.restarts.append(restarts)

    def chat(self, title: str, *texts: str, incognito: bool = False) -> int:
        number = self.repository.create_conversation(title, "", incognito).id
        parent = None
        for text in texts:
            parent = self.repository.add_message(number, parent, Role.USER, text).id
        return number

    def num_remembered(self, text: bytes) -> int:
        return sum(len(index.find(list(text), 8)) for index in self.recall.indexes())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    repository = Repository.open(tmp_path / "store")
    yield Desk(repository)
    repository.close()


def test_all_chats_go_out_and_come_in_elsewhere(desk: Desk, tmp_path: Path) -> None:
    kept = desk.chat("kept", "one")
    desk.chat("secret", "two", incognito=True)
    path = tmp_path / "chats.json"
    assert desk.files.export_conversations(path, None, ExportFormat.JSON) == 1
    assert desk.files.import_conversations(path) == ImportedConversations(0, ((LeftOut.KNOWN, "kept"),))
    assert desk.events == [ConversationsImported()]
    assert desk.restarts == []
    desk.repository.forget_conversation(kept)
    assert desk.files.import_conversations(path) == ImportedConversations(1, ())
    assert desk.restarts == [True]


def test_what_new_chats_miss_is_counted(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    chats = [{"messages": [{"role": "user", "content": [str(n), *[{"type": "image_url"}] * n]}]} for n in (1, 2, 4)]
    for some, number in ((chats[:1], 1), (chats, 6)):
        path.write_text(json.dumps(some))
        imported = desk.files.import_conversations(path)
        assert imported.missing == ((Missing.PICTURE, number),)
    assert desk.files.import_conversations(path).missing == ()


def test_pictures_are_read_shown_and_go_out_and_come_in_elsewhere(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_shut_doors", lambda: None)
    monkeypatch.setattr(reading, "ask_child", lambda look, arguments, _is_stopped, _limits: look(*arguments))
    made = BytesIO()
    Image.new("RGB", (30, 20), "red").save(made, "GIF")
    path = tmp_path / "a.gif"
    path.write_bytes(made.getvalue())
    picture = desk.files.read(path)
    assert isinstance(picture, Picture)
    assert desk.files.read_picture(Path("Pasted"), made.getvalue()) == picture
    assert (picture.width, picture.height) == (30, 20)

    prompt = join_prompt([AttachedPicture("a.gif", picture.digest)], "What is it?")
    chat = desk.chat("kept", "one", prompt)
    desk.editor.save_draft(chat, prompt, (picture,))
    for digest, shown in ((picture.digest, picture), ("0" * 64, None)):
        assert desk.reader.picture(chat, digest) == shown
    chats, text = tmp_path / "chats.json", tmp_path / "chat.md"
    desk.files.export_conversations(chats, None, ExportFormat.JSON)
    desk.files.export_conversations(text, None, ExportFormat.MARKDOWN)
    assert "\n*picture: a.gif*\n\nWhat is it?\n" in text.read_text()
    desk.repository.forget_everything()
    for raw, comes_in in ((chats.read_text(), True), (_with_picture(chats.read_text(), made.getvalue()), False)):
        chats.write_text(raw)
        assert desk.files.import_conversations(chats) == ImportedConversations(1, ())
        (summary,) = desk.repository.list_conversations()
        digests = [picture.digest, sha256(made.getvalue()).hexdigest()]
        found = desk.repository.find_pictures(summary.id, digests)
        assert [each.data for each in found.values()] == ([picture.data] if comes_in else [])
        desk.repository.forget_everything()


def _with_picture(chats: str, data: bytes) -> str:
    """The same chats with this picture, which was not made here."""
    written = json.loads(chats)
    (picture,) = written["conversations"][0]["pictures"]
    changed = chats.replace(picture["digest"], sha256(data).hexdigest())
    return changed.replace(picture["base64"][0], b64encode(data).decode())


def test_recall_does_not_catch_up_at_once_where_learning_is_off(desk: Desk, tmp_path: Path) -> None:
    desk.learning.change(LearningSettings(enabled=False))
    path = tmp_path / "chats.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Hi"}]}))
    assert desk.files.import_conversations(path) == ImportedConversations(1, ())
    assert desk.restarts == []


def test_an_incognito_chat_is_exported_where_it_is_named(desk: Desk, tmp_path: Path) -> None:
    number = desk.chat("secret", "two", incognito=True)
    path = tmp_path / "secret.md"
    desk.files.export_conversations(path, (number,), ExportFormat.MARKDOWN)
    assert "## You\n\ntwo\n" in path.read_text()
    with pytest.raises(ConversationMissing):
        desk.files.export_conversations(path, (999,), ExportFormat.MARKDOWN, overwrite=True)
    assert "## You\n\ntwo\n" in path.read_text()
    desk.repository.forget_conversation(number)
    with pytest.raises(FileUnusable, match=r"no chats to export"):
        desk.files.export_conversations(path, None, ExportFormat.JSON, overwrite=True)


def test_what_is_cancelled_when_it_is_read_and_not_yet_added_adds_nothing(desk: Desk, tmp_path: Path) -> None:
    number, path, stop = desk.chat("kept", "one"), tmp_path / "chats.json", StopSignal()
    desk.files.export_conversations(path, None, ExportFormat.JSON)
    desk.repository.forget_conversation(number)

    def open_repository() -> Repository:
        stop.set()  # everything is to be forgotten, say
        return desk.repository

    files = replace(desk.files, _open_repository=open_repository)
    with pytest.raises(Cancelled, match="import was cancelled"):
        files.import_conversations(path, stop)
    assert desk.repository.list_conversations() == ()


def test_what_is_refused_or_cancelled_adds_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    path.write_text('[{"messages": [{"role": "user", "content": "Hi"}]}, {"mess')
    with pytest.raises(FileUnusable, match=r"damaged or contains no chats"):
        desk.files.import_conversations(path)
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled, match="import was cancelled"):
        desk.files.import_conversations(path, stop)
    assert desk.repository.list_conversations() == ()
    assert desk.events == []


def test_a_text_file_is_read(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one\n")
    assert desk.files.read(path) == TextFile(path, "one\n", 4)


def test_recall_takes_up_what_was_imported(desk: Desk, tmp_path: Path) -> None:
    desk.chat("old", "one two three")
    desk.recall.open(FakeTarget())
    while desk.recall.catch_up():
        pass
    path = tmp_path / "chats.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "four five six"}]}))
    desk.files.import_conversations(path)
    assert desk.num_remembered(b"four") == 0
    desk.recall.restart()
    while desk.recall.catch_up():
        pass
    assert desk.num_remembered(b"four") == 1


def test_a_forgotten_conversation_is_remembered_by_nobody(desk: Desk) -> None:
    desk.recall.open(FakeTarget())
    number = desk.chat("chat")
    desk.recall.add(desk.repository.add_message(number, None, Role.USER, "one two three"))
    assert desk.num_remembered(b"one") == 1
    desk.editor.forget(number)
    assert desk.num_remembered(b"one") == 0
    (event,) = desk.events
    assert isinstance(event, ConversationForgotten)
    assert event.conversation.id == number
    with pytest.raises(ConversationMissing):
        desk.editor.forget(number)


def test_a_search_is_answered_unless_it_is_stopped(desk: Desk) -> None:
    number = desk.chat("chat", "zebra")
    assert [hit.conversation.id for hit in desk.reader.search("Zebra")] == [number]
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled):
        desk.reader.search("Zebra", stop)


def test_the_passages_nearest_to_a_question_are_found(desk: Desk) -> None:
    book = Attachment("Book.pdf", "[Page 1]\nOf ropes.\n\n[Page 2]\nOf herons and tides.")
    passages = desk.files.find_passages((book,), "herons?", 60)
    assert passages == (Attachment("Book.pdf, page 2", "Of herons and tides."),)


def test_a_form_of_replies_is_checked_with_a_sentence(desk: Desk) -> None:
    assert desk.files.check_grammar('root ::= "a"') == ""
    assert desk.files.check_grammar("hello").startswith("The reply format is neither")
