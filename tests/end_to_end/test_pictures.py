"""A picture in the real window, seen by the starter through a projector of random weights that libmtmd runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chat.branch import BranchController
from app.features.chat.pictures import PictureDialog, PicturesController
from app.features.chat.prompt import PromptController
from app.main_window import MainWindow
from app.theme import ThemeKeeper, apply_theme
from app.widgets.prompt.attached_pictures import PictureButton
from engine import EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings, TargetSettings, starter_path
from engine.speculation.model.interface import Target
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.conversations import Message
from engine.values.draft_policy import KnownCosts
from engine.values.events import ReplyFinished, TargetReady
from engine.values.prompts import split_pictures
from engine.values.stop_signal import StopSignal
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear
from tests.fakes.proposers import FREE
from tests.projector import width_of, write_projector

pytestmark = [pytest.mark.starter, pytest.mark.qt_log_ignore("propagateSizeHints|raise")]

_PATIENCE_MS = 60_000
_CELLS = 16  # of a picture of 56 × 56 pixels in patches of 14


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, store: Path) -> None:
        self.qtbot = qtbot
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        # There is no such drafter, so that earlier text is drafted from alone.
        self.bridge = EngineBridge(EngineConfig(store, SpeculationSettings(drafter=str(store / "none"))))
        settings = ReplySettings(SamplingSettings(temperature=0), 24), TargetSettings(512)
        self.chats = Chats(self.window, self.bridge, *settings)
        PromptController(self.window, self.bridge)
        PicturesController(self.window, self.bridge, self.chats.conversations)
        BranchController(self.window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)
        self.ear = Ear(self.bridge)
        self.box = self.window.prompt_box
        with qtbot.waitExposed(self.window):
            self.window.show()

    def load(self, target: str) -> None:
        with self.awaiting(TargetReady):
            self.chats.start(target)

    def attach(self, path: Path) -> None:
        keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        QTest.keyClick(self.window, Qt.Key.Key_A, keys)
        chooser = self.window.findChild(QFileDialog)
        assert isinstance(chooser, QFileDialog)
        chooser.filesSelected.emit([str(path)])
        chooser.close()
        self.window.activateWindow()  # as a desktop does
        self.qtbot.waitUntil(lambda: not self.box.chips.is_reading, timeout=_PATIENCE_MS)

    def ask(self, question: str) -> tuple[Message, Message]:
        """And what was answered."""
        self.qtbot.waitUntil(self.box.editor.hasFocus)
        QTest.keyClicks(self.box.editor, question)
        with self.awaiting(ReplyFinished):
            QTest.keyClick(self.box.editor, Qt.Key.Key_Return)
        prompt, reply = self.window.transcript.messages[-2:]
        return prompt, reply

    def awaiting(self, kind: type[object]):  # type: ignore[no-untyped-def] # a context manager of pytest-qt's
        def is_it(event: object) -> bool:
            return isinstance(event, kind)

        return self.qtbot.waitSignal(self.ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_it)

    @property
    def pictures(self) -> list[str]:
        """What a screen reader says of them."""
        return [name(each) for each in self.window.transcript.findChildren(PictureButton)]

    @property
    def button(self) -> PictureButton:
        (button,) = self.window.transcript.findChildren(PictureButton)
        assert isinstance(button, PictureButton)
        return button

    @property
    def large(self) -> list[QWidget]:
        return [each for each in self.window.findChildren(PictureDialog) if each.isVisible()]

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()


def name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return "" if interface is None else str(interface.text(QAccessible.Text.Name))


def free(_target: Target, _stop: StopSignal, _known: KnownCosts | None) -> PassCosts:
    return FREE


@pytest.fixture
def open_desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Desk]:
    monkeypatch.setattr("engine.loading.measure_passes", free)  # true costs vary on a busy machine
    return lambda: Desk(qtbot, apply_theme(qapp), tmp_path / "store")


def test_a_picture_is_attached_seen_kept_and_opened_by_keyboard(open_desk: Callable[[], Desk], tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    seeing = models / "Tiny-Seer-Q4.gguf"
    seeing.symlink_to(starter_path())
    write_projector(models / "mmproj-Tiny-Seer.gguf", width_of(seeing))
    Image.linear_gradient("L").save(tmp_path / "Dawn.webp")

    desk = open_desk()
    try:
        desk.load("starter")
        desk.attach(tmp_path / "Dawn.webp")
        assert "cannot see pictures" in desk.box.chips.blindness
        QTest.keyClick(desk.box.editor, Qt.Key.Key_Return)
        assert desk.box.hint.isVisible()
        assert desk.window.transcript.messages == ()

        desk.load(str(seeing))
        assert desk.box.chips.blindness == ""
        prompt, first = desk.ask("What is this? A dawn by the sea, a dawn by the sea, a dawn by the sea.")
        ((picture,), words) = split_pictures(prompt.text)
        assert (picture.name, words[:13]) == ("Dawn.webp", "What is this?")
        assert first.statistics is not None
        assert first.text
        assert first.statistics.num_drafted > 0, "behind a picture there are drafts as elsewhere"
        _, second = desk.ask("And now?")
        assert second.statistics is not None
        assert second.statistics.prompt_tokens > first.statistics.prompt_tokens + _CELLS
        assert second.statistics.evaluated_tokens < first.statistics.prompt_tokens, "it is not looked at again"
    finally:
        desk.close()

    desk = open_desk()
    try:
        desk.window.conversations.chosen.emit(prompt.conversation_id)
        desk.qtbot.waitUntil(lambda: "picture, Dawn.webp, 256 by 256" in desk.pictures, timeout=_PATIENCE_MS)
        desk.button.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(desk.button, Qt.Key.Key_Return)
        desk.qtbot.waitUntil(lambda: len(desk.large) == 1, timeout=_PATIENCE_MS)
        QTest.keyClick(desk.large[0], Qt.Key.Key_Escape)
        desk.qtbot.waitUntil(lambda: not desk.large)
    finally:
        desk.close()
