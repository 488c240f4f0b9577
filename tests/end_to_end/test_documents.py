"""A PDF in the real window with the real engine and the starter target, by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chat.prompt import PromptController
from app.main_window import MainWindow
from app.theme import apply_theme
from app.widgets.prompt.attached_files import AttachedFiles
from app.widgets.transcript.reply_view import ReplyView
from engine import EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings, TargetSettings
from engine.speculation.model.interface import Target
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.draft_policy import KnownCosts
from engine.values.events import ReplyFinished, TargetReady
from engine.values.prompts import split_prompt
from engine.values.stop_signal import StopSignal
from tests.fakes.chats import Chats
from tests.fakes.documents import drawn, paragraph, pdf
from tests.fakes.ear import Ear
from tests.fakes.proposers import FREE

pytestmark = [pytest.mark.starter, pytest.mark.qt_log_ignore("propagateSizeHints|raise")]

_PATIENCE_MS = 60_000
_CONTEXT = 512
FACT = "The lighthouse keeper of Arkø feeds seven grey herons every morning before the ferry arrives."


def name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return "" if interface is None else str(interface.text(QAccessible.Text.Name))


def test_a_document_is_attached_counted_sent_and_quoted(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def free(_target: Target, _stop: StopSignal, _known: KnownCosts | None) -> PassCosts:
        return FREE

    monkeypatch.setattr("engine.loading.measure_passes", free)  # true costs vary on a busy machine
    filler = [f"Page {number} tells of tides, ropes and nothing else at all. " * 8 for number in range(60)]
    short = pdf(tmp_path / "Keeper.pdf", [drawn(*paragraph(f"{FACT} {FACT}")), drawn(*paragraph("Nothing else."))])
    pages = [drawn(*paragraph(FACT if number == 41 else text)) for number, text in enumerate(filler)]
    long = pdf(tmp_path / "Coast.pdf", pages)

    keeper = apply_theme(qapp)
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    # There is no such drafter, so that earlier text is drafted from alone.
    bridge = EngineBridge(EngineConfig(tmp_path / "store", SpeculationSettings(drafter=str(tmp_path / "none"))))
    chats = Chats(window, bridge, ReplySettings(SamplingSettings(temperature=0), 40), TargetSettings(_CONTEXT))
    PromptController(window, bridge)
    ear = Ear(bridge)
    with qtbot.waitExposed(window):
        window.show()
    box = window.prompt_box

    def attach(path: Path, words: str) -> None:
        QTest.keyClick(window, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        chooser = window.findChild(QFileDialog)
        assert isinstance(chooser, QFileDialog)
        chooser.filesSelected.emit([str(path)])
        chooser.close()
        window.activateWindow()  # as a desktop does
        assert name(box.chips.close_buttons[0]) == f"Stop reading {path.name}"
        qtbot.waitUntil(lambda: words in box.chips.words[0], timeout=_PATIENCE_MS)
        assert name(box.chips.close_buttons[0]) == f"Remove {path.name}"

    def ask(question: str) -> ReplyView:
        def is_over(event: object) -> bool:
            return isinstance(event, ReplyFinished)

        qtbot.waitUntil(box.editor.hasFocus)
        QTest.keyClicks(box.editor, question)
        with qtbot.waitSignal(ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_over):
            QTest.keyClick(box.editor, Qt.Key.Key_Return)
        row, _ = window.transcript.column.built_rows()[-1]
        view = window.transcript.column.view_of(row)
        assert isinstance(view, ReplyView)
        return view

    try:
        with qtbot.waitSignal(ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_ready):
            chats.start("starter")
        attach(short, " token")
        assert box.chips.words[0].startswith("Keeper.pdf, 2 pages · ")
        assert not box.notice.isVisible()
        view = ask("Repeat the first page of the file, word for word.")
        assert view.sources is None, "all of it was sent"
        prompt, reply = window.transcript.messages[-2:]
        assert prompt.text.startswith(f"```Keeper.pdf\n[Page 1]\n{FACT} The")
        assert reply.statistics is not None
        quoted = sum(run.num_characters for run in reply.statistics.origins if run.origin == "recall")
        assert quoted > 40, "attached text is drafted from"

        attach(long, "about")
        assert box.notice.isVisible()
        assert box.notice.words.text() == "There is no room for a reply: the model reads at most 512 tokens at once."
        focus_by_tab(box.editor, box.notice.box)
        QTest.keyClick(box.notice.box, Qt.Key.Key_Space)
        assert box.notice.sends_passages
        box.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)
        view = ask("Which birds does the lighthouse keeper feed?")
        sent, _ = split_prompt(window.transcript.messages[-2].text)
        assert "Coast.pdf, page 42" in [each.name for each in sent]
        assert view.sources is not None
        (button,) = [each for each in view.sources.buttons if name(each) == "Coast.pdf, page 42"]
        button.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(button, Qt.Key.Key_Space)
        assert FACT in view.sources.text.toPlainText()
        names = [name(each.buttons[0]) for each in window.transcript.findChildren(AttachedFiles)]
        assert f"Coast.pdf, {len(sent)} passages" in names
    finally:
        window.close()
        assert bridge.close()
        keeper.deleteLater()


def is_ready(event: object) -> bool:
    return isinstance(event, TargetReady)


def focus_by_tab(begin: QWidget, wanted: QWidget) -> None:
    begin.setFocus(Qt.FocusReason.TabFocusReason)
    passed: list[str] = []
    while (focused := QApplication.focusWidget()) is not wanted:
        assert focused is not None
        assert len(passed) < 8, passed
        passed.append(name(focused))
        QTest.keyClick(focused, Qt.Key.Key_Tab)
