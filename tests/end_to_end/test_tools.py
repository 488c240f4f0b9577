"""A model that calls tools, in the real window with the real engine, by keyboard alone. What it writes is scripted, and
its tools are functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import engine.loading
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.first_paint import OpenedWindow
from app.theme import ThemeKeeper, apply_theme
from app.widgets.transcript.call_view import CallQuestion
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from app.wiring import WiredWindow
from engine import EngineConfig, SamplingSettings, write_tool_servers
from engine.backend.remote.keys import Keys
from engine.values.config import SpeculationSettings
from engine.values.events import Listener, TargetReady
from engine.values.places import SETTINGS
from tests.fakes.caller import ANSWER, CALL, Caller
from tests.fakes.ear import Ear
from tests.fakes.keyring import FakeKeyring
from tests.fakes.tool_host import WEATHER, FakeToolHost
from tests.unit.app.conftest import OFFSCREEN_NOISE

pytestmark = [
    pytest.mark.starter,  # whose file stands for the target's
    pytest.mark.qt_log_ignore(OFFSCREEN_NOISE),
]

_PATIENCE_MS = 20_000


class Desk:
    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path) -> None:
        self._qtbot = qtbot
        self.window = MainWindow(keeper)
        qtbot.addWidget(self.window)
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        speculation = SpeculationSettings(drafter="none")
        self.app = WiredWindow(OpenedWindow(self.window, keeper), folder, speculation, make_bridge=EngineBridge)
        self.ear = Ear(self.app.bridge)
        self.until(lambda: any(isinstance(event, TargetReady) for event in self.ear.events))

    def until(self, is_so) -> None:  # type: ignore[no-untyped-def]
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def press(self, *keys: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """To whatever has the keyboard."""
        for key in keys:
            widget = QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
            QTest.keyClick(widget, key, modifiers)

    def say(self, text: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, text)
        self.press(Qt.Key.Key_Return)

    def tick(self, place: int = 0) -> None:
        """A server in the menu of tools."""
        self.press(Qt.Key.Key_U, modifiers=Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        self.press(*[Qt.Key.Key_Down] * place, Qt.Key.Key_Return)
        self.activate()

    def activate(self) -> None:
        """Without a desktop, nobody else gives it the keyboard back."""
        with self._qtbot.waitActive(self.window):
            self.window.activateWindow()

    def question(self) -> CallQuestion:
        """Once the model asks, with the keyboard in it."""
        self.until(lambda: isinstance(QApplication.focusWidget(), CallQuestion))
        question = QApplication.focusWidget()
        assert isinstance(question, CallQuestion)
        return question

    def choose(self, words: str) -> None:
        """Tab leads to this answer, and Space gives it."""
        for _ in range(10):
            self.press(Qt.Key.Key_Tab)
            focused = QApplication.focusWidget()
            if isinstance(focused, QPushButton) and focused.text() == words:
                self.press(Qt.Key.Key_Space)
                return
        raise AssertionError(f"Tab does not lead to {words}")

    def done(self) -> None:
        """The answer has ended."""
        self.until(lambda: not self.window.is_busy)

    @property
    def answer(self) -> ReplyView:
        view = self.window.transcript.column.built_rows()[-1][1]
        assert isinstance(view, ReplyView)
        return view

    def close(self) -> None:
        self.window.close()


@pytest.fixture(autouse=True)
def _caller(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Caller(CALL, ANSWER)
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: target)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeToolHost:
    host = FakeToolHost()

    def make(_config: EngineConfig, emit: Listener, _keys: object) -> FakeToolHost:
        host.emit = emit
        return host

    monkeypatch.setattr("engine.opening.make_tool_host", make)
    return host


@pytest.fixture
def look(qapp: QApplication) -> Iterator[ThemeKeeper]:
    keeper = apply_theme(qapp)
    yield keeper
    keeper.deleteLater()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    settings = AppSettings(sampling=SamplingSettings(temperature=0), tool_servers=write_tool_servers((WEATHER,)))
    SettingsFile(tmp_path / "store").save(settings)
    return tmp_path / "store"


def prose_of(view: ReplyView) -> list[str]:
    return [part.toPlainText() for part in view.block_views if isinstance(part, Prose)]


def spoken(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


def test_the_user_is_asked_and_the_model_answers(
    qtbot: QtBot, look: ThemeKeeper, host: FakeToolHost, folder: Path
) -> None:
    desk = Desk(qtbot, look, folder)
    desk.tick()
    desk.say("Will it rain?")
    question = desk.question()
    assert host.calls == []
    assert spoken(question) == "May the model use “forecast” of weather?"
    assert '"city": "Paris"' in question.arguments.texts[0].document().toPlainText()
    desk.press(Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Enter)
    assert host.calls == [], "no key that is typed by chance allows it"
    desk.choose("Once")
    desk.done()
    assert len(host.calls) == 1
    assert [each.role.value for each in desk.window.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    (call,) = desk.answer.call_views
    assert spoken(call.button) == "Called weather: forecast · 0.0 s"
    assert len(desk.window.transcript.column.built_rows()) == 2, "one prompt, one answer"
    assert desk.answer.footer is not None
    call.button.setFocus(Qt.FocusReason.TabFocusReason)
    desk.press(Qt.Key.Key_Space)
    assert [part.texts[0].document().toPlainText().split() for part in desk.answer.call_views[0].parts] == [
        ["{", '"city":', '"Paris"', "}"],
        ["Rain", "in", "Paris."],
    ]
    desk.close()

    again = Desk(qtbot, look, folder)
    again.window.conversations.chosen.emit(again.window.conversations.model.summary(0).id)
    again.until(lambda: len(again.window.transcript.messages) == 4)
    assert spoken(again.answer.call_views[0].button) == "Called weather: forecast · 0.0 s"
    assert again.window.prompt_box.tools.accessibleDescription() == "The model may call tools of: weather"
    again.close()


def test_what_is_refused_and_what_is_allowed_from_now_on(
    qtbot: QtBot, look: ThemeKeeper, host: FakeToolHost, folder: Path
) -> None:
    desk = Desk(qtbot, look, folder)
    desk.tick()
    desk.say("Will it rain?")
    desk.question()
    desk.choose("Don't allow")
    desk.done()
    assert host.calls == []
    assert spoken(desk.answer.call_views[0].button) == "You declined weather: forecast"

    desk.say("And now?")
    desk.question()
    desk.choose("Allow in this chat")
    desk.done()
    desk.say("And now?")
    desk.done()
    assert len(host.calls) == 2, "in this chat it is not asked for any more"

    desk.window.new_action.trigger()
    desk.say("Is there another chat?")
    desk.question()
    desk.choose("Always")
    desk.done()
    desk.window.new_action.trigger()
    desk.say("And one more?")
    desk.done()
    assert len(host.calls) == 4

    desk.window.tools_action.trigger()
    allowed = desk.app.tools.dialog.allowed
    qtbot.waitUntil(lambda: bool(allowed.rows), timeout=_PATIENCE_MS)
    (row,) = allowed.rows.values()
    (again,) = row.findChildren(QPushButton)
    assert spoken(again) == "Ask again – weather: forecast"
    again.setFocus()
    desk.press(Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not allowed.rows, timeout=_PATIENCE_MS)
    desk.app.tools.dialog.close()
    desk.activate()
    desk.say("And now?")
    desk.question()
    assert len(host.calls) == 4
    desk.press(Qt.Key.Key_Escape)
    desk.done()
    assert spoken(desk.answer.call_views[0].button) == "Stopped: weather: forecast"
    desk.close()


def test_a_call_that_hangs_is_stopped_and_the_chat_goes_on(
    qtbot: QtBot, look: ThemeKeeper, host: FakeToolHost, folder: Path
) -> None:
    host.waits = True
    desk = Desk(qtbot, look, folder)
    desk.tick()
    desk.say("Will it rain?")
    desk.question()
    desk.choose("Once")
    desk.until(host.is_waiting.is_set)
    desk.until(lambda: spoken(desk.answer.call_views[0].button) == "Calling weather: forecast…")
    assert desk.answer.footer is None, "the answer is not at its end"
    QTest.keyClicks(desk.window.prompt_box.editor, "Meanwhile")
    desk.press(Qt.Key.Key_Escape)
    desk.done()
    assert desk.window.prompt_box.text == "Meanwhile"
    assert spoken(desk.answer.call_views[0].button) == "Stopped: weather: forecast"
    assert desk.answer.footer is not None
    assert not desk.answer.footer.continue_button.isHidden()
    assert desk.window.transcript.messages[-1].result is not None

    desk.window.continue_action.trigger()
    desk.done()
    assert desk.window.transcript.messages[-1].text == ANSWER
    assert prose_of(desk.answer) == [ANSWER]
    assert len(desk.answer.call_views) == 1

    host.waits = False
    desk.window.prompt_box.set_text("")
    desk.window.regenerate_action.trigger()
    desk.question()
    desk.choose("Once")
    desk.done()
    assert spoken(desk.answer.call_views[0].button) == "Called weather: forecast · 0.0 s"
    assert desk.answer.flipper is not None
    assert desk.answer.flipper.words.text() == "2 / 2"
    desk.answer.flipper.earlier_button.click()
    desk.until(lambda: spoken(desk.answer.call_views[0].button) == "Stopped: weather: forecast")
    desk.window.delete_message_action.trigger()
    desk.until(lambda: len(desk.window.transcript.messages) in (1, 4))
    assert all(each.role.value == "user" for each in desk.window.transcript.messages[:1])
    desk.close()


def test_a_server_that_fails_is_told_of_and_the_model_answers_without_it(
    qtbot: QtBot, look: ThemeKeeper, host: FakeToolHost, folder: Path
) -> None:
    host.failing["weather"] = "The server weather cannot be started: there is no program weather-server."
    desk = Desk(qtbot, look, folder)
    desk.tick()
    desk.say("Will it rain?")
    desk.done()
    assert host.calls == []
    assert [toast.words.text() for toast in desk.window.toasts.shown] == [host.failing["weather"]]
    desk.close()


def test_keys_of_older_settings_leave_the_disk_for_the_keyring_and_go_with_their_server(
    qtbot: QtBot, look: ThemeKeeper, host: FakeToolHost, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring, secret = FakeKeyring(), "sesame-4711"
    monkeypatch.setattr("engine.backend.remote.keys.Keys", lambda: Keys(lambda: keyring))
    servers = (replace(WEATHER, env=(("API_KEY", secret),)),)
    SettingsFile(folder).save(AppSettings(tool_servers=write_tool_servers(servers)))
    desk = Desk(qtbot, look, folder)
    desk.until(lambda: "kept-key:" in (folder / SETTINGS).read_text())
    assert [*keyring.kept.values()] == [secret]
    assert not [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    desk.until(lambda: bool(host.servers) and "kept-key:" in host.servers[0].env[0][1])
    desk.app.tools.dialog.servers.remove_requested.emit("weather")
    box = desk.app.tools.dialog.findChild(QMessageBox)
    assert box is not None
    next(each for each in box.buttons() if each.text() == "Remove").click()
    desk.until(lambda: not keyring.kept)
    desk.close()
