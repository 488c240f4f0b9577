"""Models on servers, in the real window with the real engine, by keyboard alone: a server on loopback that says what it
is told to, and one of our own in a process that is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import engine.loading
from app.features.model_servers.model_servers_dialog import ModelServersDialog
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.startup.first_paint import OpenedWindow
from app.theme import ThemeKeeper, apply_theme
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.words.prose import Prose
from app.wiring import WiredWindow
from engine import STARTER
from engine.backend.remote.keys import Keys
from engine.values.config import SamplingSettings, SpeculationSettings
from engine.values.conversations import Message, Role
from engine.values.events import Event, ReplyFinished, TargetReady
from engine.values.replies import StopReason
from tests.fakes.ear import Ear, Grew
from tests.fakes.keyring import FakeKeyring
from tests.fakes.remote import FakeServer, breaking, hanging, refusing, serving, streaming
from tests.fakes.target import FakeTarget, says
from tests.unit.app.conftest import OFFSCREEN_NOISE

pytestmark = [
    pytest.mark.starter,  # whose file stands for the local target's
    pytest.mark.qt_log_ignore(OFFSCREEN_NOISE),
]

_PATIENCE_MS = 30_000
_KEY = "sk-right-0123456789"
_CONTROL = Qt.KeyboardModifier.ControlModifier
_SHIFT = Qt.KeyboardModifier.ShiftModifier


class Desk:
    def __init__(self, qtbot: QtBot, theme: ThemeKeeper, folder: Path) -> None:
        self._qtbot = qtbot
        self.window = MainWindow(theme)
        qtbot.addWidget(self.window)
        self.app = WiredWindow(OpenedWindow(self.window, theme), folder, SpeculationSettings(drafter="none"))
        self.ear = Ear(self.app.bridge)
        self._num_done = 0  # replies
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        self.until(lambda: self.heard(TargetReady) > 0 and self.app.library is not None)

    def until(self, is_so) -> None:  # type: ignore[no-untyped-def]
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def heard(self, kind: type[Event]) -> int:
        return sum(isinstance(each, kind) for each in self.ear.events)

    # The keyboard

    def press(self, *keys: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """To whatever has the keyboard."""
        if modifiers and QApplication.activePopupWidget() is None and not self.window.isActiveWindow():
            with self._qtbot.waitActive(self.window):  # a dialog was closed, and there is no desktop
                self.window.activateWindow()
        for key in keys:
            QTest.keyClick(self.keyboard, key, modifiers)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.keyboard, text)

    @property
    def keyboard(self) -> QWidget:
        """What has the keyboard in the window that is in front, as a desktop would give it."""
        dialog = self.app.model_servers.dialog
        front = QApplication.activePopupWidget() or next(iter(self.questions), dialog if dialog.isVisible() else None)
        front = front or self.window
        return front.focusWidget() or front

    def tab_to(self, words: str) -> None:
        """Tab leads to the button with these words."""
        for _ in range(40):
            focused = self.keyboard
            if isinstance(focused, QPushButton) and focused.text() == words:
                return
            self.press(Qt.Key.Key_Tab)
        raise AssertionError(f"Tab does not lead to {words}")

    # What a user does

    def begin_adding(self, address: str, key: str = "") -> ModelServersDialog:
        """From the list of models to the form, which is filled in and sent off."""
        self.press(Qt.Key.Key_M, modifiers=_CONTROL)
        self.until(lambda: QApplication.activePopupWidget() is self.window.target_bar.picker)
        self.tab_to("Add a server…")
        self.press(Qt.Key.Key_Return)
        dialog = self.app.model_servers.dialog
        self.until(dialog.isVisible)
        assert self.keyboard is dialog.form.address
        self.type(address)
        self.press(Qt.Key.Key_Tab, Qt.Key.Key_Tab)  # past the button
        assert self.keyboard is dialog.form.key
        self.type(key)
        self.press(Qt.Key.Key_Return)
        return dialog

    def add(self, address: str, key: str = "") -> None:
        dialog = self.begin_adding(address, key)
        self.until(dialog.form.save_button.isEnabled)
        assert self.keyboard is dialog.form.save_button
        self.press(Qt.Key.Key_Space)
        self.until(dialog.form.isHidden)
        assert self.keyboard is dialog.choose_button, "the next thing to do"
        self.press(Qt.Key.Key_Space)
        self.until(dialog.isHidden)

    def choose(self, words: str) -> None:
        """In the list of models, which is open or is opened."""
        if not self.window.target_bar.picker.isVisible():
            self.press(Qt.Key.Key_M, modifiers=_CONTROL)
        self.until(self.window.target_bar.picker.isVisible)
        num_ready = self.heard(TargetReady)
        self.type(words)
        self.press(Qt.Key.Key_Return)
        self.until(lambda: self.heard(TargetReady) > num_ready)

    def say(self, text: str) -> None:
        self.window.prompt_box.setFocus()  # where the keyboard is after an action
        self.type(text)
        self.press(Qt.Key.Key_Return)

    def answer(self, button: str) -> str:
        """Of the question for a new place; what it said."""
        self.until(lambda: bool(self.questions))
        (box,) = self.questions
        said = f"{box.text()} {box.informativeText()}"
        self.tab_to(button)
        self.press(Qt.Key.Key_Space)
        return said

    @property
    def questions(self) -> list[QMessageBox]:
        return [each for each in self.window.findChildren(QMessageBox) if each.isVisible()]

    def done(self) -> Message:
        """Another reply has ended."""
        self._num_done += 1
        self.until(lambda: self.heard(ReplyFinished) == self._num_done and not self.window.is_busy)
        return self.window.transcript.messages[-1]

    @property
    def shown(self) -> str:
        view = self.window.transcript.column.built_rows()[-1][1]
        assert isinstance(view, ReplyView)
        return "\n".join(part.toPlainText() for part in view.block_views if isinstance(part, Prose))

    @property
    def footer(self) -> str:
        view = self.window.transcript.column.built_rows()[-1][1]
        assert isinstance(view, ReplyView)
        assert view.footer is not None
        return view.footer.facts.words

    @property
    def errors(self) -> str:
        return " ".join(each.words.text() for each in self.window.toasts.shown)


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    """In place of the system's."""
    found = FakeKeyring()
    monkeypatch.setattr("engine.backend.remote.keys.Keys", lambda: Keys(lambda: found))
    return found


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    target = FakeTarget(says("Here."), 4_096)
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: target)


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[ThemeKeeper]:
    keeper = apply_theme(qapp)
    yield keeper
    keeper.deleteLater()


@pytest.fixture
def desk(qtbot: QtBot, theme: ThemeKeeper, tmp_path: Path, keyring: FakeKeyring) -> Iterator[Desk]:  # noqa: ARG001
    # The starter's likeliest words: by chance it may be done with a long reply at once.
    SettingsFile(tmp_path / "store").save(AppSettings(sampling=SamplingSettings(temperature=0)))
    desk = Desk(qtbot, theme, tmp_path / "store")
    yield desk
    desk.window.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as found:
        found.key = _KEY
        yield found


def test_a_server_is_added_with_a_key_a_model_chosen_and_asked_only_after_consent(
    desk: Desk, server: FakeServer, keyring: FakeKeyring, tmp_path: Path
) -> None:
    dialog = desk.begin_adding(f"127.0.0.1:{server.server_port}", "sk-wrong")
    desk.until(dialog.form.problem.isVisible)
    assert "key" in dialog.form.problem.text()
    assert dialog.form.address.text() == f"127.0.0.1:{server.server_port}", "nothing typed is lost"
    dialog.form.key.selectAll()
    desk.type(_KEY)
    desk.press(Qt.Key.Key_Return)
    desk.until(dialog.form.save_button.isEnabled)
    assert "llama-server with 1 model: fake-8b" in dialog.form.state.text()
    desk.press(Qt.Key.Key_Space)
    desk.until(dialog.form.isHidden)
    desk.press(Qt.Key.Key_Space)
    desk.choose("fake-8b")
    assert desk.window.target_bar.name.words == "fake-8b"
    assert desk.window.target_bar.state.words == "on 127.0.0.1"

    desk.say("My diary")
    said = desk.answer("Cancel")
    assert "this computer" in said
    assert server.bodies == [], "nothing was sent"
    assert desk.window.prompt_box.text == "My diary"
    assert desk.window.transcript.messages == ()
    desk.press(Qt.Key.Key_Return)
    desk.answer("Send")
    reply = desk.done()
    assert reply.text == "Hello there."
    assert [each["content"] for each in server.bodies[0]["messages"]] == ["My diary"]
    assert desk.footer.startswith("fake-8b on 127.0.0.1")
    desk.say("More")
    assert desk.done().text == "Hello there."
    assert desk.questions == [], "it is asked once"

    assert _KEY in keyring.kept.values()
    desk.window.close()
    found = [each for each in (tmp_path / "store").rglob("*") if each.is_file() and _KEY.encode() in each.read_bytes()]
    assert found == [], "a key is in no file"


def test_replies_stop_continue_and_branch(desk: Desk, server: FakeServer) -> None:
    server.replies = [
        hanging("One, two"),
        streaming(", three."),
        streaming("Another way."),
    ]
    desk.add(server.address, _KEY)
    desk.choose("fake-8b")
    desk.say("Count")
    desk.answer("Send")
    desk.until(lambda: desk.heard(Grew) > 0)
    desk.press(Qt.Key.Key_Escape)
    stopped = desk.done()
    assert (stopped.text, stopped.statistics and stopped.statistics.stop_reason) == ("One, two", StopReason.STOPPED)
    assert server.closed.wait(10), "the server need not go on"

    desk.press(Qt.Key.Key_R, modifiers=_CONTROL | _SHIFT)
    assert desk.done().text == "One, two, three."
    desk.press(Qt.Key.Key_R, modifiers=_CONTROL)
    assert desk.done().text == "Another way."
    view = desk.window.transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    assert view.footer is not None
    assert view.footer.flipper.words.text() == "3 / 3", "beside those before"
    assert [each["content"] for each in server.bodies[2]["messages"]] == ["Count"]


def test_what_goes_wrong_is_a_sentence_and_nothing_is_lost(desk: Desk, server: FakeServer) -> None:
    server.replies = [breaking("Half a"), streaming(" reply."), refusing(401, "Invalid API key"), streaming("Again.")]
    desk.add(server.address, _KEY)
    desk.choose("fake-8b")
    desk.say("Hello")
    desk.answer("Send")
    half = desk.done()
    assert half.text == "Half a"
    assert half.statistics is not None
    assert half.statistics.stop_reason is StopReason.CUT_OFF
    desk.until(lambda: "127.0.0.1" in desk.errors)
    desk.press(Qt.Key.Key_R, modifiers=_CONTROL | _SHIFT)
    assert desk.done().text == "Half a reply."

    desk.say("And now?")
    refused = desk.done()
    assert refused.text == ""
    assert refused.server == server.address, "it may have been read there"
    desk.until(lambda: "key" in desk.errors)
    prompts = [each.text for each in desk.window.transcript.messages if each.role is Role.USER]
    assert prompts == ["Hello", "And now?"], "both are stored"
    desk.press(Qt.Key.Key_R, modifiers=_CONTROL)
    assert desk.done().text == "Again."


def test_a_certificate_that_nobody_vouches_for_is_trusted_by_hand(desk: Desk) -> None:
    with serving(is_encrypted=True) as server:
        dialog = desk.begin_adding(server.address)
        desk.until(dialog.form.question.isVisible)
        assert server.asked == [], "nothing was asked, and no key sent"
        assert desk.keyboard is dialog.form.question.no_button
        desk.tab_to("Trust this certificate")
        desk.press(Qt.Key.Key_Space)
        desk.until(dialog.form.save_button.isEnabled)
        desk.press(Qt.Key.Key_Space)
        desk.until(dialog.form.isHidden)
        desk.press(Qt.Key.Key_Space)
        desk.choose("fake-8b")
        desk.say("Hello")
        assert "encrypted" not in desk.answer("Send"), "it is on this computer"
        assert desk.done().text == "Hello there."


def test_the_next_start_takes_it_again_and_if_it_is_gone_the_starter_answers(
    qtbot: QtBot, theme: ThemeKeeper, tmp_path: Path, keyring: FakeKeyring
) -> None:
    del keyring
    folder = tmp_path / "store"
    with serving() as server:
        first = Desk(qtbot, theme, folder)
        first.add(server.address)
        first.choose("fake-8b")
        first.window.close()
        assert SettingsFile(folder).load()[0].target == server.reference
    second = Desk(qtbot, theme, folder)
    second.until(lambda: "silent-server" in second.window.notices.shown)
    notice = second.window.notices.shown["silent-server"]
    assert notice.words.text().endswith("The starter model answers instead.")
    assert [each.text() for each in notice.buttons] == ["Try again", "Model servers…"]
    second.say("Hello")
    assert second.done().text == "Here."
    assert SettingsFile(folder).load()[0].target == server.reference
    second.window.close()


def test_names_are_said(desk: Desk) -> None:
    dialog = desk.begin_adding("x")
    form = dialog.form
    desk.until(form.problem.isVisible)
    said = [
        QAccessible.queryAccessibleInterface(each).text(QAccessible.Text.Name)
        for each in (form.address, form.key, form.name, form.look_button, form.cancel_button)
    ]
    assert said == ["Address", "Key", "Name", "Check address", "Cancel"]
    desk.press(Qt.Key.Key_Escape)
    desk.until(dialog.isHidden)


class Process:
    """`slipstream serve` with the starter, which can be killed and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._environment = os.environ | {"SLIPSTREAM_DATA_DIR": str(folder)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "app",
            "serve",
            "--target",
            STARTER,
            "--no-speculation",
            "--port",
            str(self.port),
        ]
        self._process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + _PATIENCE_MS / 1000
        while not self._answers():
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
            self._process.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=1) as answer:
                return bool(json.load(answer)["data"])
        except (OSError, ValueError):
            return False


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    found = Process(tmp_path / "served")
    found.start()
    yield found
    found.kill()


@pytest.mark.timeout(180)
def test_a_server_of_our_own_is_killed_in_the_middle_of_a_reply_and_comes_back(desk: Desk, process: Process) -> None:
    desk.add(f"localhost:{process.port}")
    desk.choose("localhost")
    assert desk.window.target_bar.state.words == "on localhost"
    desk.say("Count from one to one thousand, with a word for each number.")
    desk.answer("Send")
    desk.until(lambda: desk.heard(Grew) > 3)
    process.kill()
    half = desk.done()
    assert half.text
    assert half.statistics is not None
    assert half.statistics.stop_reason is StopReason.CUT_OFF
    desk.until(lambda: "localhost" in desk.errors)

    process.start()
    desk.press(Qt.Key.Key_R, modifiers=_CONTROL | _SHIFT)
    desk.until(lambda: desk.heard(Grew) > 6)
    desk.press(Qt.Key.Key_Escape)
    more = desk.done()
    assert more.text.startswith(half.text)
    assert len(more.text) > len(half.text)
    desk.press(Qt.Key.Key_R, modifiers=_CONTROL)
    num_pieces = desk.heard(Grew)
    desk.until(lambda: desk.heard(Grew) > num_pieces)
    desk.press(Qt.Key.Key_Escape)
    assert desk.done().text
    assert "localhost" in desk.footer
