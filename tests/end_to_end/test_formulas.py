"""Formulas in the real window with the real engine, whose target writes a reply that is known beforehand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.text.unseen import APART, APART_END
from app.theme import apply_theme
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from engine import EngineConfig, ReplySettings, SamplingSettings, loading
from engine.values.events import ReplyFinished, TargetReady
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear
from tests.fakes.target import FakeTarget, says

pytestmark = [pytest.mark.starter, pytest.mark.qt_log_ignore("propagateSizeHints")]

_PATIENCE_MS = 30_000
OBJECT = "\ufffc"
FIRST = "The roots of $x^2 = 2$ cost $5 and $10, not `$x$`:\n\n$$\nx = \\pm"
REST = "\\sqrt{2}\n$$\n\nand \\(\\unknown\\) stays."


class Script(FakeTarget):
    """Waits in the midst of its reply until it may go on."""

    def __init__(self) -> None:
        super().__init__(says(FIRST + REST), context_size=4_096)
        self.may_go_on = threading.Event()
        self.on_evaluate = self._wait

    def _wait(self) -> None:
        said = b"".join(self.vocabulary.pieces[token] for token in self.held)
        if FIRST.encode() in said:
            assert self.may_go_on.wait(_PATIENCE_MS / 1_000)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    script = Script()
    monkeypatch.setattr(loading, "load_target", lambda *_: script)
    yield script
    script.may_go_on.set()


def test_formulas_are_drawn_as_they_come_and_copied_and_read_aloud_as_latex(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, script: Script
) -> None:
    keeper = apply_theme(qapp)
    window = MainWindow(keeper)
    bridge = EngineBridge(EngineConfig(tmp_path / "store"))
    chats = Chats(window, bridge, ReplySettings(SamplingSettings(temperature=0)))
    ear = Ear(bridge)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()

    def has_heard(kind: type[object]) -> bool:
        return any(isinstance(event, kind) for event in ear.events)

    def shown() -> str:
        views = window.transcript.findChildren(ReplyView)[-1:]
        blocks = [block for view in views for block in view.block_views]
        return "\n".join(block.toPlainText() for block in blocks if isinstance(block, Prose))

    chats.start("starter")
    qtbot.waitUntil(lambda: has_heard(TargetReady), timeout=_PATIENCE_MS)
    QTest.keyClicks(window.prompt_box.editor, "Roots?")
    QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Return)

    # One is closed and drawn; the other is not, and is text.
    begun = f"The roots of {OBJECT}$x^2 = 2$ cost $5 and $10, not {APART}$x${APART_END}:\n$$\nx = \\pm"
    qtbot.waitUntil(lambda: shown().startswith(begun), timeout=_PATIENCE_MS)
    assert shown().count(OBJECT) == 1
    script.may_go_on.set()
    whole = begun.replace("$$\nx", f"{OBJECT}$$ x") + "\\sqrt{2} $$\nand \\(\\unknown\\) stays."
    qtbot.waitUntil(lambda: shown() == whole and has_heard(ReplyFinished), timeout=_PATIENCE_MS)

    # The keyboard alone: everything in the reply, as it was written.
    (view,) = window.transcript.findChildren(ReplyView)
    (prose,) = view.block_views
    assert isinstance(prose, Prose)
    prose.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(prose, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(prose, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert copied == (FIRST + REST).replace("`", "").replace("\n\n", "\n")

    words = QAccessible.queryAccessibleInterface(prose).textInterface()
    assert words is not None
    assert "$$ x = \\pm\\sqrt{2} $$" in words.text(0, words.characterCount())

    # In the colours of another theme, and still drawn.
    keeper.choose("dark" if keeper.theme.name != "dark" else "light", 100)
    assert shown() == whole
    window.close()
    assert bridge.close()
    keeper.deleteLater()
