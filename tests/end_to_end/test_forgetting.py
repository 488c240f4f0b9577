"""Whatever was typed in the real window leaves every file, as text and as tokens, when it is deleted for good."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app.crash.reports import CrashFolder
from app.crash.watch import log_to_file
from app.main_window import MainWindow
from app.startup.first_paint import OpenedWindow
from app.theme import apply_theme
from app.wiring import WiredWindow
from engine import BUILT_IN, SpeculationSettings, TargetOptions
from engine.backend.storage.connections import back_up
from engine.values.events import (
    ConversationForgotten,
    DeletedErased,
    Event,
    EverythingForgotten,
    MessageDeleted,
    ReplyFinished,
    SpeculationChanged,
    TargetsListed,
)
from engine.values.logged import Loggable
from engine.values.places import PLACES, STORE
from tests.fakes.ear import Ear

pytestmark = [
    pytest.mark.starter,
    pytest.mark.timeout(400),
    pytest.mark.qt_log_ignore(r"This plugin does not support (propagateSizeHints|raise)\(\)"),
]

_PATIENCE_MS = 120_000
_FEWEST_TOKENS = 4  # in a row that tell a text; n-grams hold shorter ones, which stay when a chat is deleted
SETTINGS = {"version": 2, "has_chatted": True, "reply_length": 8, "temperature": 0, "context_size": 512}


def spellings(secret: str) -> list[bytes]:
    """As the files may have it."""
    escaped = json.dumps(secret)[1:-1]
    return [text.encode(code) for text in (secret, escaped) for code in ("utf-8", "utf-16-le", "utf-16-be")]


class Desk:
    """A person in front of the window, who looks into its files."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self.folder = folder
        folder.mkdir()
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(folder.parent))
        (folder / "settings.json").write_text(json.dumps(SETTINGS))
        log_to_file(folder)
        self._theme = apply_theme(qapp)
        self.window = MainWindow(self._theme)
        qtbot.addWidget(self.window)
        self.window.show()
        opened = OpenedWindow(self.window, self._theme)
        self.app = WiredWindow(opened, folder, SpeculationSettings(drafter=BUILT_IN))
        self._ear = Ear(self.app.bridge)
        qtbot.waitUntil(lambda: self.is_drafting, timeout=_PATIENCE_MS)

    @property
    def is_drafting(self) -> bool:
        return any(isinstance(event, SpeculationChanged) and event.is_drafting for event in self._ear.events)

    @contextmanager
    def waiting_for(self, *kinds: type[Event]) -> Iterator[None]:
        missing = set(kinds)

        def is_last(event: Event) -> bool:
            missing.discard(type(event))
            return not missing

        with self._qtbot.waitSignal(self._ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_last):
            yield

    def ask(self, text: str) -> None:
        with self.waiting_for(ReplyFinished):
            self.window.prompt_box.set_text(text)  # QTest types nothing but ASCII
            QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def forget(self, conversation_id: int) -> None:
        """From its menu, with the question that follows."""
        with self.waiting_for(ConversationForgotten, DeletedErased):
            self.window.conversations.forget_requested.emit((conversation_id,))
            box = self.window.findChild(QMessageBox)
            assert isinstance(box, QMessageBox)
            next(each for each in box.buttons() if each.text() == "Delete permanently").click()

    @property
    def events(self) -> list[Event]:
        return self._ear.events

    @property
    def erased(self) -> tuple[str, ...]:
        return next(event.left for event in reversed(self._ear.events) if isinstance(event, DeletedErased))

    def stored(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / STORE)) as connection:
            return connection.execute(statement).fetchall()

    def tokens_of(self, secret: str) -> list[bytes]:
        """Every few in a row that the store has of a message with this text."""
        found = (
            f"SELECT tokens FROM recall JOIN messages ON id = message_id WHERE role = 'user' AND text LIKE '%{secret}%'"
        )
        self._qtbot.waitUntil(lambda: len(self.stored(found)) > 0, timeout=_PATIENCE_MS)
        tokens = self.stored(found)[0][0]
        step, length = 4, 4 * _FEWEST_TOKENS
        return [tokens[start : start + length] for start in range(0, len(tokens) - length + 1, step)]

    def distil(self, secret: str) -> None:
        """As if the model had answered with the user's own words."""
        with closing(sqlite3.connect(self.folder / STORE)) as connection, connection:
            added = connection.execute(
                "INSERT INTO practice (vocabulary_id, message_id, created_at, width, tokens, law_tokens, law_logs, "
                f"system_prompt) SELECT vocabulary_id, id, created_at, 1, tokens, tokens, tokens, '{secret}' "
                f"FROM recall JOIN messages ON id = message_id WHERE role = 'user' AND text LIKE '%{secret}%'"
            )
            assert added.rowcount > 0

    def depict(self, secret: str) -> None:
        """As if the latest chat had a picture of it."""
        with closing(sqlite3.connect(self.folder / STORE)) as connection, connection:
            added = "INSERT INTO pictures SELECT max(id), 'digest', 1, 1, ? FROM conversations"
            assert connection.execute(added, (secret.encode() * 1000,)).rowcount > 0

    def num_distilled(self) -> int:
        return int(self.stored("SELECT count(*) FROM practice")[0][0])

    def found(self, needles: list[bytes]) -> list[str]:
        """In which files. Tokens at any place, too."""
        files = [file for file in self.folder.rglob("*") if file.is_file() and "drafters" not in file.parts]
        return [file.name for file in files if any(needle in file.read_bytes() for needle in needles)]

    def close(self) -> None:
        self.app.close()
        self.window.close()
        self._theme.deleteLater()
        logger = logging.getLogger("slipstream")
        for handler in [each for each in logger.handlers if isinstance(each, logging.FileHandler)]:
            logger.removeHandler(handler)
            handler.close()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk(qtbot, qapp, tmp_path / "data")) as desk:
        yield desk


def test_what_was_typed_is_in_no_file_when_it_is_deleted_for_good(desk: Desk, qtbot: QtBot) -> None:
    delete_a_message_and_a_chat(desk, qtbot)
    forget_everything(desk, qtbot)


def delete_a_message_and_a_chat(desk: Desk, qtbot: QtBot) -> None:
    message, chat = "Zw\u00f6lf xylophone quicksilver marmots", "Fjord glyphs vexed quorum bandana \u2602"
    desk.ask("Name a colour.")
    first = desk.app.conversations.open_id
    assert first is not None
    desk.ask(message)
    desk.window.new_action.trigger()
    desk.ask(chat)
    desk.window.prompt_box.set_text(f"{chat}: unsent")
    desk.window.conversations.chosen.emit(first)
    qtbot.waitUntil(lambda: len(desk.window.transcript.messages) == 4)
    of_message = [*spellings(message), *desk.tokens_of(message)]
    of_chat = [*spellings(chat), *desk.tokens_of(chat)]
    for text in ("Name a colour.", message, chat):
        desk.distil(text)
    desk.depict(chat)
    copy = back_up(desk.folder / STORE, "0001")
    for needles in (of_message, of_chat):
        assert {STORE, copy.name} <= {name.removesuffix("-wal") for name in desk.found(needles)}

    with desk.waiting_for(MessageDeleted):
        desk.window.transcript.message_actions.delete_requested.emit(desk.window.transcript.messages[2].id)
    desk.forget(desk.stored("SELECT max(id) FROM conversations")[0][0])
    assert desk.erased == ()
    assert desk.num_distilled() == 0, "the answer to the first message may have come after the one that was deleted"
    assert desk.found([*of_message, *of_chat]) == []
    assert {STORE, copy.name} <= set(desk.found(spellings("Name a colour."))), "what was not deleted stays"


def forget_everything(desk: Desk, qtbot: QtBot) -> None:
    secret = "Zw\u00f6lf xylophone quicksilver marmots \u2602"
    desk.app.keeper.change("system_prompt", secret)
    target = next(event for event in desk.events if isinstance(event, TargetsListed)).targets[0]
    with desk.waiting_for(TargetsListed):
        change = desk.app.bridge.engine.library.change_options
        desk.app.bridge.ask(change, target.path, TargetOptions(system_prompt=secret))
    desk.ask(secret)
    desk.window.new_action.trigger()
    desk.window.prompt_box.set_text(secret)
    needles = [*spellings(secret), *desk.tokens_of("xylophone")]
    desk.distil("xylophone")
    desk.depict(secret)
    back_up(desk.folder / STORE, "0001")
    left = (f"{STORE}.before-0002-journal", f"{STORE}.part", f"{STORE}.part-journal")
    for name in (*left, "settings.unreadable.json", ".settings.json.x.part"):
        (desk.folder / name).write_text(secret, "utf-16")
    report = CrashFolder(desk.folder).write("It failed.", secret)
    assert report is not None
    logging.getLogger("slipstream").info("somebody wrote %s", Loggable(secret))
    qtbot.waitUntil(lambda: "settings.json" in desk.found(needles))
    places = {file for place in PLACES for file in desk.folder.glob(place.pattern)}
    assert {file for file in desk.folder.rglob("*") if file.is_file()} <= places, "all are declared"
    assert len(set(desk.found(needles))) >= 10

    with desk.waiting_for(EverythingForgotten, DeletedErased):
        desk.app.personal.dialog.forget.forget_everything.emit()
    qtbot.waitUntil(lambda: "settings.json" not in desk.found(needles))
    assert desk.erased == ()
    assert desk.found(needles) == []
    assert desk.window.prompt_box.text == ""
    desk.ask("Name a colour.")
    assert desk.app.keeper.settings.system_prompt == ""
