"""Pictures in the message box and in chats, in the real window on a bridge without an engine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAccessible, QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.features.chat.branch import BranchController
from app.features.chat.draft_keeper import DraftKeeper
from app.features.chat.pictures import PictureDialog, PicturesController
from app.features.chat.prompt import PromptController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.theme import ThemeKeeper
from app.widgets.prompt.attached_pictures import PictureButton
from app.widgets.transcript.prompt_view import PromptView
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import ConversationOpened, Event, PromptStored, TargetInfo, TargetReady
from engine.values.orders import EditPrompt, Send
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, Attachment, join_prompt
from tests.fakes.answers import Broke
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import Chats, unsaved
from tests.fakes.pictures import made_picture

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SUN, SEA = made_picture(400, 300), made_picture(30, 80, "blue")
NAMED_SUN, NAMED_SEA = AttachedPicture("Sun.png", SUN.digest), AttachedPicture("Sea.png", SEA.digest)
ASKED = join_prompt([NAMED_SUN, NAMED_SEA, Attachment("a.txt", "text")], "What is it?")
_Order = TypeVar("_Order")


class Desk:
    def __init__(self, qtbot: QtBot, window: MainWindow, draft: str = "") -> None:
        self.qtbot = qtbot
        self.window = window
        self.box = window.prompt_box
        self.chips = self.box.chips
        self.bridge = FakeBridge()
        self.chats = Chats(window, self.bridge)
        PicturesController(window, self.bridge, self.chats.conversations)
        BranchController(window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)
        PromptController(window, self.bridge)._pause.setInterval(1)
        self.drafts = DraftKeeper(window, self.bridge, self.chats.conversations, unsaved(AppSettings(draft=draft)))
        self.chats.start("starter")
        self.use_model(sees=True)

    def use_model(self, sees: bool) -> None:
        info = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2, sees_pictures=sees)
        self.tell(TargetReady(info, self.bridge.loads[-1]))

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    @property
    def wanted(self) -> list[tuple[Any, ...]]:
        """Chats and digests of the pictures that were asked for."""
        return [each.args for each in self.bridge.asked(self.bridge.engine.chats.picture)]

    def answer(self, digest: str, picture: Picture | None) -> None:
        """To the last request for it."""
        asked = self.bridge.asked(self.bridge.engine.chats.picture)
        [each for each in asked if each.args[1] == digest][-1].answer(picture)

    def show(self, digest: str, picture: Picture) -> None:
        """And waits until it is drawn."""
        with self.qtbot.waitSignal(self.window.pictures.shown):
            self.answer(digest, picture)

    def finish(self, reading: Asked, picture: Picture) -> None:
        """And waits until it is drawn."""
        with self.qtbot.waitSignal(self.window.pictures.shown):
            reading.answer(picture)

    def attach(self, name: str, picture: Picture) -> None:
        self.window.texts_dropped.emit([f"/a/{name}"])
        self.finish(self.bridge.asked(self.bridge.engine.files.read)[-1], picture)

    def posted(self, kind: type[_Order]) -> list[_Order]:
        return [command for command in self.bridge.orders if isinstance(command, kind)]

    def paste(self, data: QMimeData) -> None:
        QGuiApplication.clipboard().setMimeData(data)
        self.box.editor.paste()

    def open(self, number: int, text: str = "", draft: str = "") -> None:
        self.window.conversations.chosen.emit(number)
        messages = (Message(1, number, None, Role.USER, text, NOW),) if text else ()
        summary = ConversationSummary(number, "Chat", NOW)
        self.tell(ConversationOpened(Conversation(summary, "", messages, draft=draft)))
        self.tell()

    @property
    def view(self) -> PromptView:
        """Of the first prompt."""
        view = self.window.transcript.column.built_rows()[0][1]
        assert isinstance(view, PromptView)
        return view

    @property
    def buttons(self) -> list[PictureButton]:
        assert self.view.pictures is not None
        return self.view.pictures.buttons


@pytest.fixture
def desk(qtbot: QtBot, window: MainWindow) -> Desk:
    return Desk(qtbot, window)


def heard(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface is not None
    return str(interface.text(QAccessible.Text.Name))


def test_pictures_are_pasted_dropped_and_sent(desk: Desk) -> None:
    data, image, copied, dropped = QMimeData(), QMimeData(), QMimeData(), QMimeData()
    data.setData("image/png", SUN.data)
    image.setImageData(QImage.fromData(SEA.data))
    copied.setUrls([QUrl.fromLocalFile("/a/Sea.png")])
    dropped.setUrls([QUrl.fromLocalFile("/a/Bad.webp")])
    desk.paste(data)
    desk.paste(image)
    desk.paste(copied)
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    place = QPointF(desk.box.geometry().center())
    desk.window.dropEvent(QDropEvent(place, action, dropped, button, Qt.KeyboardModifier.NoModifier))
    reading = ("Pasted picture.png", "Pasted picture 2.png", "Sea.png", "Bad.webp")
    assert desk.chips.words == tuple(f"{name}, reading…" for name in reading)
    files = desk.bridge.engine.files
    desk.qtbot.waitUntil(lambda: len(desk.bridge.asked(files.read_picture)) == 2)
    first, second = desk.bridge.asked(files.read_picture)
    assert first.args == (Path("Pasted picture.png"), SUN.data)
    assert QImage.fromData(second.args[1]) == QImage.fromData(SEA.data)
    sea, bad = desk.bridge.asked(files.read)
    assert (sea.args, bad.args) == ((Path("/a/Sea.png"),), (Path("/a/Bad.webp"),))
    desk.box.editor.set_text("What is it?")
    desk.box.submit()
    assert "Wait until the file is read" in desk.box.hint.text()
    desk.chips.close_buttons[1].click()
    desk.finish(first, SUN)
    desk.finish(sea, SEA)
    bad.fail("Bad.webp is damaged.")
    assert desk.chips.words == (
        "picture, Pasted picture.png, 400 by 300",
        "picture, Sea.png, 30 by 80",
        "Bad.webp, not attached",
    )
    counting = desk.bridge.engine.counting.count
    desk.qtbot.waitUntil(lambda: desk.bridge.asked(counting) != [])
    assert desk.bridge.asked(counting)[-1].args == ("What is it?",), "pictures are not counted"
    desk.box.submit()
    (sent,) = desk.posted(Send)
    pasted = AttachedPicture("Pasted picture.png", SUN.digest)
    assert sent.prompt == join_prompt([pasted, NAMED_SEA], "What is it?")
    assert sent.pictures == (SUN, SEA)
    desk.tell(Broke.because("The disk is full."))
    assert desk.chips.words[:2] == ("picture, Pasted picture.png, 400 by 300", "picture, Sea.png, 30 by 80")
    desk.box.submit()
    assert desk.posted(Send)[1] == sent, "nothing is lost"
    desk.tell(PromptStored(Message(1, 7, None, Role.USER, sent.prompt, NOW)))
    assert desk.window.pictures.fresh_in(sent.prompt) == (), "the conversation holds them"
    assert [heard(each) for each in desk.buttons] == [
        "picture, Pasted picture.png, 400 by 300",
        "picture, Sea.png, 30 by 80",
    ]
    assert desk.wanted == []


def test_words_come_before_a_picture_of_them_and_no_field_takes_files(desk: Desk) -> None:
    cells, link = QMimeData(), QMimeData()
    cells.setText("1\t2")
    cells.setImageData(QImage.fromData(SUN.data))
    desk.paste(cells)
    link.setUrls([QUrl("https://example.org/a.png")])
    desk.paste(link)
    assert desk.box.text == "1\t2https://example.org/a.png"
    assert desk.bridge.asked(desk.bridge.engine.files.read_picture) == []


def test_a_model_that_cannot_see_says_so_before_it_is_asked(desk: Desk) -> None:
    desk.attach("Sun.png", SUN)
    desk.use_model(sees=False)
    desk.box.submit()
    assert desk.posted(Send) == []
    assert "cannot see pictures" in desk.box.hint.text()
    assert desk.chips.words == ("picture, Sun.png, 400 by 300, cannot be seen",)
    assert desk.box.notice.failures.text().startswith("Tiny cannot see pictures. Choose a model with a projector")
    desk.use_model(sees=True)
    assert desk.chips.words == ("picture, Sun.png, 400 by 300",)
    assert not desk.box.notice.isVisibleTo(desk.box)
    desk.box.submit()
    assert desk.posted(Send)[0].pictures == (SUN,)


def test_pictures_have_their_place_before_they_are_there_and_open_with_a_key(desk: Desk, keeper: ThemeKeeper) -> None:
    desk.open(7, ASKED)
    assert desk.wanted == [(7, SUN.digest), (7, SEA.digest)]
    height = desk.view.height()
    assert [heard(each) for each in desk.buttons] == ["picture, Sun.png", "picture, Sea.png"]
    desk.show(SUN.digest, SUN)
    desk.answer(SEA.digest, None)
    assert heard(desk.buttons[0]) == "picture, Sun.png, 400 by 300"
    assert heard(desk.buttons[1]) == "picture, Sea.png, no longer there"
    assert desk.view.height() == height
    desk.view.footer.copy_button.click()
    assert QGuiApplication.clipboard().text() == "Sun.png\n\nSea.png\n\n```a.txt\ntext\n```\n\nWhat is it?"
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
        desk.buttons[0].setFocus()
        QTest.keyClick(desk.buttons[0], key)
        desk.answer(SUN.digest, SUN)
        desk.qtbot.waitUntil(lambda: desk.window.findChildren(PictureDialog) != [])
        (dialog,) = desk.window.findChildren(PictureDialog)
        assert (dialog.windowTitle(), heard(dialog.view)) == ("Sun.png", "picture, Sun.png, 400 by 300")
        assert dialog.view.width() >= 400
        with desk.qtbot.waitSignal(dialog.destroyed):
            QTest.keyClick(dialog, Qt.Key.Key_Escape)
    desk.buttons[1].click()
    desk.answer(SEA.digest, None)
    assert desk.window.toasts.shown[-1].words.text() == "Sea.png is no longer there."
    keeper.choose("dark", 150)
    desk.tell()
    assert desk.buttons[0].width() == 180
    assert desk.buttons[0].grab().toImage().pixelColor(90, 90) == Qt.GlobalColor.red
    assert desk.wanted.count((7, SUN.digest)) == 3, "its small image is known"


def test_a_prompt_is_changed_with_its_pictures(desk: Desk) -> None:
    desk.open(7, ASKED)
    desk.window.transcript.message_actions.revise(1)
    revision = desk.view.revision
    assert revision is not None
    assert revision.editor.toPlainText() == "```a.txt\ntext\n```\n\nWhat is it?"
    assert revision.text == ASKED
    desk.show(SUN.digest, SUN)
    assert revision.chips.words == ("picture, Sun.png, 400 by 300", "picture, Sea.png")
    pasted = QMimeData()
    pasted.setData("image/png", SUN.data)
    QGuiApplication.clipboard().setMimeData(pasted)
    revision.editor.paste()
    assert "Attach them to a new message" in revision.notice.text()
    revision.chips.close_buttons[1].click()
    revision.editor.set_text("And now?")
    QTest.keyClick(revision.editor, Qt.Key.Key_Return)
    (edited,) = desk.posted(EditPrompt)
    assert (edited.prompt, edited.pictures) == (join_prompt([NAMED_SUN], "And now?"), ())


def test_drafts_keep_their_pictures(desk: Desk) -> None:
    desk.attach("Sun.png", SUN)
    desk.open(7)
    desk.attach("Sea.png", SEA)
    desk.window.conversations.new_requested.emit()
    assert desk.bridge.last(desk.bridge.engine.editor.save_draft).args == (7, NAMED_SEA.block, (SEA,))
    assert desk.chips.words == ("picture, Sun.png, 400 by 300",)
    desk.open(8, draft=join_prompt([AttachedPicture("Gone.png", "0" * 64)], "Hm"))
    assert desk.wanted == [(8, "0" * 64)]
    desk.answer("0" * 64, None)
    assert desk.chips.words == ("picture, Gone.png, not attached",)
    assert desk.box.notice.failures.text() == "Gone.png is no longer there; attach it again."
    assert desk.box.text == "Hm"


def test_after_a_restart_a_new_chat_has_lost_its_pictures_and_says_so(qtbot: QtBot, window: MainWindow) -> None:
    desk = Desk(qtbot, window, join_prompt([NAMED_SUN], "What is it?"))
    assert desk.box.notice.failures.text() == "Sun.png is no longer there; attach it again."
    assert desk.wanted == []
    desk.box.submit()
    assert desk.posted(Send)[0].prompt == "What is it?"


def test_a_damaged_picture_is_missing(desk: Desk) -> None:
    desk.open(7, join_prompt([NAMED_SUN], ""))
    with desk.qtbot.waitSignal(desk.window.pictures.missing):
        desk.answer(SUN.digest, Picture(SUN.digest, SUN.data[:40], 400, 300))
    assert heard(desk.buttons[0]) == "picture, Sun.png, no longer there"
