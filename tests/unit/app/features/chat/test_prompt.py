"""The number of tokens beside what is being written, and attached files, on a bridge without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.features.chat.prompt import PromptController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.prompt.attachment_chip import Chip
from engine.values.conversations import TextFile
from engine.values.events import Event, TargetInfo, TargetReady
from engine.values.prompts import Attachment, TokenCount
from engine.values.targets import LoadOrder
from tests.fakes.bridge import Asked, FakeBridge

READY = TargetReady(TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2), LoadOrder("starter"))


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper) -> None:
        self.qtbot = qtbot
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        self.box = self.window.prompt_box
        self.bridge = FakeBridge()
        self.controller = PromptController(self.window, self.bridge)
        self.controller._pause.setInterval(1)

    @property
    def reads(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.files.read)

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    @property
    def counted(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.counting.count)

    def write(self, text: str) -> None:
        num_counted = len(self.counted)
        self.box.set_text(text)
        self.qtbot.waitUntil(lambda: len(self.counted) > num_counted)


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    return Desk(qtbot, keeper)


def test_tokens_are_counted_after_a_pause_and_shown(desk: Desk) -> None:
    desk.tell(READY)
    desk.write("How many? ")
    (asked,) = desk.counted
    assert asked.args == ("How many?",)
    asked.answer(TokenCount(3))
    assert desk.box.count.text() == "3 tokens"
    desk.box.set_text("")
    assert desk.box.count.text() == ""


def test_what_was_counted_too_late_is_not_shown(desk: Desk) -> None:
    desk.tell(READY)
    desk.write("One")
    desk.write("One two")
    first, second = desk.counted
    assert [each.request.signal.is_set() for each in desk.counted] == [True, False]
    first.answer(TokenCount(1))
    assert desk.box.count.text() == ""
    second.answer(TokenCount(2))
    assert desk.box.count.text() == "2 tokens"


@pytest.mark.parametrize(
    ("num_tokens", "words", "level"),
    [(1, "1 token", None), (1000, "1,000 tokens", None), (1001, "1,001 tokens", "error"), (None, "Too long", "error")],
)
def test_what_does_not_fit_is_red(desk: Desk, num_tokens: int | None, words: str, level: str | None) -> None:
    desk.tell(READY)
    desk.write("text")
    desk.counted[-1].answer(TokenCount(num_tokens))
    assert desk.box.count.text() == words
    assert (desk.box.count.property("level") or None) == level
    assert ("shorten it" in desk.box.count.toolTip()) == (level is not None)


def test_without_a_model_nothing_is_counted_until_there_is_one(desk: Desk) -> None:
    desk.box.set_text("Hello")
    desk.qtbot.waitUntil(lambda: not desk.controller._pause.isActive())
    assert desk.counted == []
    desk.tell(READY)
    desk.qtbot.waitUntil(lambda: [each.args for each in desk.counted] == [("Hello",)])


def test_what_is_too_long_for_the_box_is_attached(desk: Desk) -> None:
    def paste(text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        desk.box.editor.paste()

    paste("short\n")
    for number, text in enumerate(("x" * 30_000, "\n" * 5_000 + "end", "word " * 20_000), start=1):
        paste(text)
        assert len(desk.box.chips.attachments) == number
        assert desk.box.chips.attachments[-1] == Attachment("Pasted text.txt", text)
    assert desk.box.editor.toPlainText() == "short\n"
    for letter, number in (("x", 1_500_000), ("x", 9_000_000), ("\N{GRINNING FACE}", 1_100_000)):
        desk.window.toasts.clear()
        paste(letter * number)
        assert len(desk.box.chips.attachments) == 3
        assert "is too long; paste at most 1,000,000" in desk.window.toasts.shown[-1].words.text()
    whole = desk.box.text
    desk.box.set_text("")
    desk.box.set_text(whole)
    assert desk.box.text == whole
    for too_long in ("y" * 200_000, "y\n" * 20_000):
        desk.box.set_text(too_long)
        assert (desk.box.editor.toPlainText(), len(desk.box.chips.attachments)) == ("", 1)


def test_a_file_is_read_counted_or_refused(desk: Desk) -> None:
    chips = desk.box.chips
    desk.tell(READY)
    desk.window.texts_dropped.emit(["/a/Book.pdf", "/b/Bad.pdf", "/c/Slow.pdf"])
    assert list(chips.words) == ["Book.pdf, reading…", "Bad.pdf, reading…", "Slow.pdf, reading…"]
    desk.box.set_ready(True)
    desk.box.editor.set_text("Sum it up.")
    desk.box.submit()
    assert "Wait until the file is read" in desk.box.hint.text()
    chips.close_buttons[2].click()
    first, bad, slow = desk.reads
    assert [each.request.signal.is_set() for each in desk.reads] == [False, False, True]
    slow.answer(TextFile(Path("/c/Slow.pdf"), "read all the same", 9))
    bad.fail("Bad.pdf is damaged.")
    first.answer(TextFile(Path("/a/Book.pdf"), "[Page 1]\none\n\n[Page 2]\ntwo", 9))
    (book,) = chips.attachments
    assert desk.counted[-1].args == (book.block,)
    desk.counted[-1].answer(TokenCount(12))
    assert list(chips.words) == ["Book.pdf, 2 pages · 12 tokens", "Bad.pdf, not attached"]
    assert desk.box.notice.failures.text() == "Bad.pdf is damaged."
    assert not desk.window.toasts.shown
    desk.window.texts_dropped.emit(["/b/Bad.pdf"])
    assert chips.words[1] == "Bad.pdf, reading…", "tried again in its place"
    chips.close_buttons[1].click()
    desk.window.texts_dropped.emit(["/b/Bad.pdf"])
    desk.reads[-2].fail("Reading Bad.pdf was cancelled.")
    assert chips.words[1] == "Bad.pdf, reading…", "it was added again"
    desk.box.set_text("")
    assert desk.reads[-1].request.signal.is_set()
    assert not desk.box.notice.isVisibleTo(desk.box)


def test_passages_are_found_where_a_file_does_not_fit(desk: Desk) -> None:
    sent: list[str] = []
    desk.box.submitted.connect(sent.append)
    book = Attachment("Book.pdf", "[Page 1]\none\n\n[Page 2]\ntwo")
    desk.tell(READY)
    desk.box.set_ready(True)
    desk.box.chips.add(book)
    desk.counted[-1].answer(TokenCount(None, 123_456))
    assert desk.box.chips.words == ("Book.pdf, 2 pages · about 130,000 tokens",)
    notice = desk.box.notice
    assert notice.words.text() == "There is no room for a reply: the model reads at most 1,000 tokens at once."
    desk.box.editor.set_text("Which? ")
    notice.box.click()
    desk.box.submit()
    desk.box.submit()
    find = desk.bridge.engine.files.find_passages
    (asked,) = desk.bridge.asked(find)
    assert asked.args == ((book,), "Which?", 500), "once"
    asked.fail("No model is loaded.")
    assert "No model is loaded." in desk.window.toasts.shown[-1].words.text()
    desk.box.submit()
    desk.box.editor.set_text("What?")
    desk.bridge.asked(find)[-1].answer((Attachment("Book.pdf, page 1", "one"),))
    assert sent == [], "another question"
    desk.box.submit()
    desk.bridge.asked(find)[-1].answer((Attachment("Book.pdf, page 2", "two"),))
    assert sent == ["```Book.pdf, page 2\ntwo\n```\n\nWhat?"]
    assert not notice.sends_passages, "the next message has its own files"


def test_a_file_of_which_only_passages_are_sent_is_not_red(desk: Desk) -> None:
    book, other = Attachment("Book.pdf", "one"), Attachment("Other.pdf", "two")
    desk.tell(READY)
    desk.box.chips.add(book)
    desk.counted[-1].answer(TokenCount(None, 123_456))

    def red() -> list[str]:
        return [chip.name for chip in desk.box.chips.findChildren(Chip) if chip.property("level") == "error"]

    assert red() == ["Book.pdf"]
    desk.box.notice.box.click()
    assert red() == []
    desk.box.chips.add(other)
    desk.counted[-1].answer(TokenCount(None, 123_456))
    assert red() == [], "nor one that is attached later"
    desk.box.notice.box.click()
    assert red() == ["Book.pdf", "Other.pdf"]


def test_of_what_is_far_too_long_only_a_beginning_is_taken_from_the_clipboard(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten million emoji took Qt a tenth of a second to hand over."""
    asked: list[QMimeData] = []

    def text(source: QMimeData) -> str:
        asked.append(source)
        return ""

    monkeypatch.setattr(QMimeData, "text", text)
    QGuiApplication.clipboard().setText("\N{GRINNING FACE}" * 1_100_000)
    desk.box.editor.paste()
    assert asked == []
    assert desk.window.toasts.shown
