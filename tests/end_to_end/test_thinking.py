"""A model that thinks before it answers, in the real window with the real engine; what it says is scripted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

import engine.loading
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.theme import ThemeKeeper, apply_theme
from app.widgets.transcript.reply_view import ReplyView
from engine import EngineConfig, SamplingSettings
from engine.values.config import SpeculationSettings
from engine.values.conversations import Message
from engine.values.events import ReplyFinished, TargetReady
from tests.fakes.chats import Chats, unsaved
from tests.fakes.ear import Ear
from tests.fakes.thinker import ANSWER, THOUGHT, Thinker

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore("propagateSizeHints"),
]  # whose file stands for the target's

_PATIENCE_MS = 60_000


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self._qtbot = qtbot
        self.window = MainWindow(keeper)
        self.bridge = EngineBridge(EngineConfig(folder, SpeculationSettings(drafter="none")))
        self.settings = unsaved(AppSettings(sampling=SamplingSettings(temperature=0)))
        self.chats = Chats(self.window, self.bridge, keeper=self.settings)
        self.ear = Ear(self.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        with qtbot.waitExposed(self.window):
            self.window.show()
        with qtbot.waitSignal(self.ear.heard, timeout=_PATIENCE_MS, check_params_cb=_is(TargetReady)):
            self.chats.start("starter")

    def say(self, text: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, text)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def ask(self, text: str) -> Message:
        with self._qtbot.waitSignal(self.ear.heard, timeout=_PATIENCE_MS, check_params_cb=_is(ReplyFinished)):
            self.say(text)
        return self.window.transcript.messages[-1]

    @property
    def last_reply(self) -> ReplyView:
        view = self.window.transcript.column.built_rows()[-1][1]
        assert isinstance(view, ReplyView)
        return view

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()


def _is(kind: type[object]):  # type: ignore[no-untyped-def]
    return lambda event: isinstance(event, kind)


@pytest.fixture
def thinker(monkeypatch: pytest.MonkeyPatch) -> Thinker:
    target = Thinker()
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: target)
    return target


@pytest.fixture
def look(qapp: QApplication) -> Iterator[ThemeKeeper]:
    keeper = apply_theme(qapp)
    yield keeper
    keeper.deleteLater()


def spoken(widget: QWidget) -> tuple[str, bool]:
    """What a screen reader says of a widget: its name, and whether it is switched on."""
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name), bool(interface.state().checked)


def test_a_thought_is_folded_kept_and_switched_off(
    qtbot: QtBot, look: ThemeKeeper, thinker: Thinker, tmp_path: Path
) -> None:
    desk = Desk(qtbot, look, tmp_path / "store")
    thinker.waits_after = 10
    desk.say("What is 2 and 2?")
    qtbot.waitUntil(thinker.is_waiting.is_set, timeout=_PATIENCE_MS)
    qtbot.waitUntil(lambda: bool(desk.last_reply.thought_views), timeout=_PATIENCE_MS)
    button = desk.last_reply.thought_views[0].button
    assert button.text().startswith("Thinking… 0 s")
    assert spoken(button) == ("Thinking…", False)
    button.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(button, Qt.Key.Key_Space)
    view = desk.last_reply.thought_views[0]
    qtbot.waitUntil(lambda: view.texts[0].toPlainText().startswith("First"), timeout=_PATIENCE_MS)
    with qtbot.waitSignal(desk.ear.heard, timeout=_PATIENCE_MS, check_params_cb=_is(ReplyFinished)):
        thinker.go_on.set()

    message = desk.window.transcript.messages[-1]
    (thought,) = message.thoughts
    assert (message.text, thought.text, thought.is_whole) == (ANSWER, THOUGHT, True)
    assert message.statistics is not None
    assert 0 < thought.num_tokens < message.statistics.reply_tokens
    view = desk.last_reply.thought_views[0]
    assert spoken(view.button) == ("Thought for 1 s", True), "what the user unfolded stays so"
    assert view.texts[0].toPlainText() == THOUGHT
    assert desk.last_reply.footer is not None
    desk.last_reply.footer.copy_button.click()
    assert QGuiApplication.clipboard().text() == ANSWER
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == f"{THOUGHT}\n\n{ANSWER}"
    QTest.keyClick(view.button, Qt.Key.Key_Space)
    assert not desk.last_reply.thought_views[0].texts
    assert spoken(view.button) == ("Thought for 1 s", False)

    desk.ask("And 3 and 1?")
    assert THOUGHT not in thinker.text.split("And 3 and 1?")[0], "the template leaves it out of later prompts"
    assert ANSWER in thinker.text.split("And 3 and 1?")[0]
    hits = desk.bridge.engine.ask(desk.bridge.engine.chats.search, "check").result()
    assert [(hit.is_thought, hit.snippet) for hit in hits] == [(True, " ".join(THOUGHT.split()))]

    desk.settings.note(thought_length=7)
    assert desk.ask("And once more?").thoughts[0].text == "First"
    assert desk.window.transcript.messages[-1].text == ANSWER
    switch = desk.window.prompt_box.think_button
    assert spoken(switch) == ("Think", True)
    switch.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(switch, Qt.Key.Key_Space)
    assert spoken(switch) == ("Think", False)
    message = desk.ask("And now?")
    assert (message.text, message.thoughts) == (ANSWER, ())
    assert thinker.text.removesuffix("<|im_end|>").endswith(f"assistant\n<think>\n\n</think>\n\n{ANSWER}")
    desk.close()

    again = Desk(qtbot, look, tmp_path / "store")
    model = again.window.conversations.model
    again.window.conversations.chosen.emit(model.summary(0).id)
    qtbot.waitUntil(lambda: len(again.window.transcript.messages) == 8, timeout=_PATIENCE_MS)
    assert again.window.transcript.messages[1].thoughts == (thought,)
    again.close()
