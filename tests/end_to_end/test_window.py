"""The real window with the real engine and the starter target, used as a person would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.chat.branch import BranchController
from app.features.chat.chat_settings import ChatSettingsController
from app.main_window import MainWindow
from app.theme import ThemeKeeper, apply_theme
from app.widgets.transcript.reply_view import ReplyView
from engine import EngineConfig, ReplySettings, SamplingSettings, ServerSettings
from engine.backend.storage import Repository
from engine.values.events import Event, ReplyFinished, TargetReady, TargetRefused
from engine.values.replies import StopReason
from tests.fakes.chats import Chats
from tests.fakes.ear import Ear, Grew

_OF_OFFSCREEN = ("propagateSizeHints", r"raise\(\)", "grabbing the keyboard")
pytestmark = [pytest.mark.starter, pytest.mark.qt_log_ignore(*_OF_OFFSCREEN)]

GREEDY = SamplingSettings(temperature=0)
_PATIENCE_MS = 60_000


class Desk:
    """A person in front of the window."""

    def __init__(self, qtbot: QtBot, keeper: ThemeKeeper, folder: Path, max_tokens: int | None) -> None:
        self._qtbot = qtbot
        self.window = MainWindow(keeper)
        self.bridge = EngineBridge(EngineConfig(folder))
        self.chats = Chats(self.window, self.bridge, ReplySettings(GREEDY, max_tokens))
        BranchController(self.window, self.bridge, self.chats.conversations, self.chats.chat, self.chats.consent)
        self._ear = Ear(self.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        with qtbot.waitExposed(self.window):
            self.window.show()
        with self.waiting_for(TargetReady):
            self.chats.start("starter")

    @property
    def events(self) -> list[Event]:
        return self._ear.events

    @contextmanager
    def waiting_for(self, kind: type[Event]) -> Iterator[None]:
        def is_it(event: Event) -> bool:
            return isinstance(event, kind)

        with self._qtbot.waitSignal(self._ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_it):
            yield

    def say(self, text: str) -> None:
        QTest.keyClicks(self.window.prompt_box.editor, text)
        QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def ask(self, text: str) -> None:
        with self.waiting_for(ReplyFinished):
            self.say(text)

    @property
    def shown(self) -> list[str]:
        return [message.text for message in self.window.transcript.messages]

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()


@pytest.fixture
def sit_down(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    keeper = apply_theme(qapp)
    desks: list[Desk] = []

    def open_desk(max_tokens: int | None = 24) -> Desk:
        desks.append(Desk(qtbot, keeper, tmp_path / "store", max_tokens))
        return desks[-1]

    yield open_desk
    for desk in desks:
        desk.close()
    keeper.deleteLater()


@contextmanager
def program_served(desk: Desk) -> Iterator[Iterator[str]]:
    """Another program reads a reply without end, by these lines."""
    engine, settings = desk.bridge.engine, ServerSettings(port=0, needs_key=False)
    opened = engine.ask(engine.server.use, settings, ReplySettings(GREEDY)).result()
    assert opened is not None
    body = {"prompt": "1, 2, 3, 4, 5, 6, 7, 8,", "stream": True, "max_tokens": 8_000, "temperature": 0}
    with httpx2.Client(timeout=60) as http, http.stream("POST", f"{opened.address}/v1/completions", json=body) as reply:
        assert reply.status_code == 200, reply.read()
        lines = filter(None, reply.iter_lines())  # dropping it closes the stream when it is not needed any more
        assert next(lines)
        yield lines


def test_a_message_goes_before_a_program_that_is_served_which_is_served_on(
    sit_down: Callable[..., Desk], tmp_path: Path
) -> None:
    desk = sit_down(max_tokens=400)
    with program_served(desk) as lines:
        desk.ask("Name three colours.")
        assert desk.shown[0] == "Name three colours."
        assert desk.shown[1]
        assert next(lines), "the program is served on"
        with desk.waiting_for(Grew):
            desk.say("Tell me a long story about two animals.")
        repository = Repository.open(tmp_path / "store")
        (kept,) = repository.list_conversations()
        repository.close()
        assert kept.title == "Name three colours.", "if the window dies now"
        with desk.waiting_for(ReplyFinished):
            QTest.keyClick(desk.window, Qt.Key.Key_Escape)
        assert desk.shown[3]
        assert next(lines), "stopping ends the message alone"


def last_reply(desk: Desk) -> ReplyFinished:
    return [event for event in desk.events if isinstance(event, ReplyFinished)][-1]


def test_a_chat_is_answered_kept_and_there_again_after_a_restart(sit_down: Callable[..., Desk]) -> None:
    desk = sit_down()
    desk.ask("Name three colours.")
    desk.ask("And two animals.")
    shown = desk.shown
    assert [shown[0], shown[2]] == ["Name three colours.", "And two animals."]
    assert all(shown)
    statistics = last_reply(desk).message.statistics
    assert statistics is not None
    assert statistics.evaluated_tokens <= 20, "the first turn is still held"
    desk.close()

    again = sit_down()
    (summary,) = [
        again.window.conversations.model.summary(row) for row in range(again.window.conversations.model.rowCount())
    ]
    assert summary.title == "Name three colours."
    again.window.conversations.chosen.emit(summary.id)
    again._qtbot.waitUntil(lambda: again.shown == shown, timeout=_PATIENCE_MS)


def test_the_meter_and_the_colours_tell_how_a_reply_was_written(sit_down: Callable[..., Desk], qtbot: QtBot) -> None:
    desk = sit_down(max_tokens=60)
    desk.window.origins_action.setChecked(True)
    desk.ask("Repeat after me: one two three, one two three, one two three, one two three.")
    headline = desk.window.meter.headline
    qtbot.waitUntil(lambda: headline.property("live") is False and "tokens a second" in headline.toolTip())
    message = last_reply(desk).message
    assert message.statistics is not None
    assert sum(run.num_characters for run in message.statistics.origins) == len(message.text)
    streamed = [event for event in desk.events if isinstance(event, Grew)]
    assert streamed[-1].so_far.text == message.text
    assert 0 < streamed[-1].so_far.figures.num_tokens <= message.statistics.reply_tokens
    view = desk.window.transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    assert view.legend is not None


def test_stop_and_regenerate(sit_down: Callable[..., Desk], qtbot: QtBot) -> None:
    desk = sit_down(max_tokens=None)
    desk.say("Count from one to five hundred.")
    qtbot.waitUntil(lambda: any(isinstance(event, Grew) for event in desk.events), timeout=_PATIENCE_MS)
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(desk.shown) == 2, timeout=_PATIENCE_MS)
    statistics = last_reply(desk).message.statistics
    assert statistics is not None
    assert statistics.stop_reason is StopReason.STOPPED

    desk.window.regenerate_action.trigger()
    qtbot.waitUntil(
        lambda: sum(isinstance(e, Grew) and e.so_far.num_pieces == 1 for e in desk.events) == 2, timeout=_PATIENCE_MS
    )
    with desk.waiting_for(ReplyFinished):
        desk.window.prompt_box.stop_requested.emit()
    qtbot.waitUntil(lambda: len(desk.shown) == 2, timeout=_PATIENCE_MS)


def test_closing_in_the_middle_of_a_reply_keeps_it(sit_down: Callable[..., Desk], qtbot: QtBot) -> None:
    desk = sit_down(max_tokens=None)
    desk.say("Tell me a very long story.")
    qtbot.waitUntil(lambda: any(isinstance(event, Grew) for event in desk.events), timeout=_PATIENCE_MS)
    desk.close()

    again = sit_down()
    again.window.conversations.chosen.emit(1)
    qtbot.waitUntil(lambda: len(again.shown) == 2, timeout=_PATIENCE_MS)
    assert again.shown[1]


def test_a_bad_model_file_is_a_sentence_and_the_chat_goes_on(
    sit_down: Callable[..., Desk], tmp_path: Path, qtbot: QtBot
) -> None:
    desk = sit_down()
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\xff" * 100)
    with desk.waiting_for(TargetRefused):
        desk.window.target_bar.target_chosen.emit(str(bad))
    qtbot.waitUntil(lambda: bool(desk.window.toasts.shown), timeout=_PATIENCE_MS)
    assert (
        "bad.gguf is in a version of the GGUF format that cannot be read here"
        in desk.window.toasts.shown[0].words.text()
    )
    desk.ask("Hello.")
    assert len(desk.shown) == 2


NAME, AGE = '{"type": "string", "maxLength": 12}', '{"type": "integer", "minimum": 1, "maximum": 99}'
SCHEMA = f'{{"type": "object", "properties": {{"name": {NAME}, "age": {AGE}}}, "required": ["name", "age"]}}'


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    QTest.keyClicks(field, text)


def test_a_form_and_a_seed_are_set_by_keyboard_and_a_reply_keeps_to_them(
    sit_down: Callable[..., Desk], qtbot: QtBot
) -> None:
    desk = sit_down(max_tokens=None)
    chat = desk.chats.chat
    dialog = ChatSettingsController(desk.window, desk.bridge, desk.chats.conversations, chat).dialog
    desk.window.conversation_action.trigger()
    assert dialog.isVisible()
    QTest.keyClick(dialog.more.button, Qt.Key.Key_Space)
    form = dialog.texts["grammar"]
    type_into(form.field, "a poem")
    assert QAccessible.queryAccessibleInterface(form.field).text(QAccessible.Text.Name) == "Reply format"
    QTest.keyClick(dialog.save_button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: "neither a JSON schema" in form.trouble.text())
    assert dialog.isVisible()
    form.field.selectAll()
    type_into(form.field, SCHEMA)
    for name, value in (("temperature", "0.8"), ("seed", "7")):
        row = dialog.rows[name]
        QTest.keyClick(row.own, Qt.Key.Key_Space)
        row.value.selectAll()
        type_into(row.value, value)
    with qtbot.waitSignal(dialog.saved, timeout=_PATIENCE_MS):
        QTest.keyClick(dialog.save_button, Qt.Key.Key_Space)
    assert not dialog.isVisible()

    desk.ask("Invent a person.")
    first = desk.shown[-1]
    assert json.loads(first).keys() == {"name", "age"}
    statistics = desk.window.transcript.messages[-1].statistics
    assert statistics is not None
    assert (statistics.seed, statistics.stop_reason) == ("7", StopReason.STOP_STRING)
    view = next(view for _, view in desk.window.transcript.column.built_rows() if isinstance(view, ReplyView))
    assert view.footer is not None
    assert QAccessible.queryAccessibleInterface(view.footer.seed_button).text(QAccessible.Text.Name) == "Seed 7"
    QTest.keyClick(view.footer.seed_button, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    QTest.keyClick(menu, Qt.Key.Key_Down)
    with desk.waiting_for(ReplyFinished):
        QTest.keyClick(menu, Qt.Key.Key_Return)
    assert desk.shown[-1] == first
