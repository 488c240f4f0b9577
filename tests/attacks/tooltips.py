"""Words of users and files that look like HTML, control the terminal or turn the text, in every place of the window
that shows such words: nothing is opened, every tooltip and label is plain text, and the window stays awake.

Whoever opens the file that such words name is caught: it is a pipe, whose writer is told of readers. So is whoever asks
the address that they name, on loopback.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QMessageBox, QTextEdit, QToolTip, QWidget
from shiboken6 import isValid

from app.text.hub_files import Download, DownloadState
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import question_box
from engine.values.events import TargetInfo
from engine.values.prompts import Attachment
from engine.values.targets import HubFile, HubModel
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held
from tests.fakes.gguf import write
from tests.unit.app.library_samples import QWEN
from tests.unit.app.top_levels import TOP_LEVELS
from tests.unit.app.widgets.messages import prompt, reply

_LOOK_S = 0.002
_LONGEST_TIP = 2_000  # letters
_MOST_ROWS = 20  # of a list that are hovered
_MANY = 1_000_000  # letters
_FRAMES = (
    "<img src='{at}'>",
    '<IMG SRC="{at}" width=1>',
    "<a href='{at}'>x</a><img src={at}>",
    "<body background='{at}'>x",
    "<table background='{at}'><tr><td>x</td></tr></table>",
    "<div style=\"background-image:url('{at}')\">x</div>",
    "<style>p{{list-style-image:url({at})}}</style><p>x</p>",
    "<link rel=stylesheet href='{at}'>x",
    "<!DOCTYPE html><html><body><img src='{at}'></body></html>",
    "<?xml version='1.0'?><p><img src='{at}'/></p>",
    "x &lt;<img src='{at}'/>&",
    "&lt;&x <b>y</b><img\tsrc='{at}'>",
    "\n <img src='{at}'>",
    "![x]({at}) <video src='{at}'><object data='{at}'>",
)
_SPICE = ("\u202e", "\u2066", "\u200b", "\x1b]0;t\x07", "\x00", "\x9b31m", "\U000e0041", "&", "&&x", "\r\n", "\u2028")


class _Trap:
    """`num_caught`: how often the pipe was opened or the address was asked."""

    def __init__(self, folder: Path) -> None:
        self.pipe = folder / "pipe.png"
        os.mkfifo(self.pipe)
        self._site = socket.create_server(("127.0.0.1", 0))
        self._site.setblocking(False)
        port = self._site.getsockname()[1]
        self.places = (str(self.pipe), f"file://{self.pipe}", f"//{self.pipe}", f"http://127.0.0.1:{port}/x.png")
        self.num_caught = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="trap")
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._site.close()

    def _look(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            try:
                os.close(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))  # fails while nobody reads
                self.num_caught += 1
            except OSError:
                pass
            try:
                self._site.accept()[0].close()
                self.num_caught += 1
            except OSError:
                pass


@contextmanager
def _opens_noted(pipe: Path) -> Iterator[list[str]]:
    """How often Python itself opens it."""
    noted: list[str] = []
    is_over = False

    def note(event: str, arguments: tuple[object, ...]) -> None:
        is_trap = threading.current_thread().name == "trap"
        if not is_over and not is_trap and event == "open" and str(arguments[0]) == str(pipe):
            noted.append(str(arguments[0]))

    sys.addaudithook(note)
    try:
        yield noted
    finally:
        is_over = True


def run(plan: Plan) -> Outcome:
    outcome, memory, held = Outcome(), Memory(), Held()
    trap = _Trap(plan.folder)
    num_tips = 0
    try:
        with Desk(plan.folder) as desk, _opens_noted(trap.pipe) as opened:
            desk.ask("Name two colours.")
            _open_dialogs(desk)
            for number in range(plan.count):
                dice = plan.dice(number)
                words = _words(dice, trap)
                with desk.watching() as now, memory.watched():
                    for show in _showing(desk, words, plan.folder / str(number), dice):
                        show()
                        desk.studio.process()
                    num_tips += _hover_all(desk, outcome, f"{number}: {words[:80]!r}")
                held = held.worst(now)
                _put_everywhere(desk.studio.app.theme, words[:2_000], outcome, f"{number}: {words[:80]!r}")
                outcome.check(trap.num_caught == 0 and not opened, f"{number}: {words[:80]!r} opened {opened or trap}")
                outcome.tried += 1
            for dialog in QApplication.topLevelWidgets():
                if dialog is not desk.window:
                    dialog.hide()
            desk.window.conversations.new_requested.emit()
            desk.studio.rest()
            outcome.check(bool(desk.ask("Name three colours.")), "the chat does not go on")
    finally:
        trap.close()
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.check(memory.is_within_bar, f"it took {memory}")
    outcome.figures = {"tooltips": str(num_tips), "interface": str(held), "memory": str(memory)}
    return outcome


def _words(dice: Random, trap: _Trap) -> str:
    words = dice.choice(_FRAMES).format(at=dice.choice(trap.places))
    for _ in range(dice.randint(0, 4)):
        place = dice.choice((0, len(words), dice.randint(0, len(words))))
        words = words[:place] + dice.choice(_SPICE) + words[place:]
    return words + "x" * _MANY if dice.random() < 0.2 else words


def _open_dialogs(desk: Desk) -> None:
    library = desk.studio.app.library
    assert library is not None
    for dialog in (library.dialog, desk.studio.app.drafters.dialog):
        dialog.show()
        desk.studio.rest()


def _showing(desk: Desk, words: str, folder: Path, dice: Random) -> Iterator[Callable[[], object]]:
    """Everywhere, as data of the app, one place after another."""
    window, app = desk.window, desk.studio.app
    assert app.library is not None
    library, drafters = app.library.dialog, app.drafters.dialog
    model = window.conversations.model
    folder.mkdir()
    name = "".join(letter for letter in words[:60] if letter not in "/\0") + f" {dice.randrange(10**6)}.gguf"
    write(folder / name, {"general.name": words[:50_000], "general.license": words[:2_000]})
    before = sum(type(event).__name__ == "TargetsListed" for event in desk.events)
    yield lambda: app.bridge.ask(app.bridge.engine.library.add, (folder,))
    desk.until(lambda: sum(type(event).__name__ == "TargetsListed" for event in desk.events) > before)
    target = replace(QWEN, name=words, path=folder / name, problem=words)
    download = Download(HubFile(words, words, 1_000, "Q4_0"), DownloadState.FAILED, problem=words)
    yield lambda: model.setData(model.index(0), words)
    yield lambda: library.library.set_targets((target,))
    yield lambda: library.library.view.point_at(str(folder / name))
    yield lambda: library.hub.show_models((HubModel(words, 7, 8, datetime.now(UTC)),), words)
    yield lambda: library.hub.show_asking(words)
    yield lambda: library.hub.downloads.show_downloads((download,))
    yield lambda: library.show_words(words)
    yield lambda: drafters.show_state(words, words)
    yield lambda: drafters.show_words(words)
    yield lambda: window.target_bar.set_target(TargetInfo(words, "/x.gguf", words, 8192, 10, 2))
    yield lambda: window.prompt_box.set_target_name(words)
    yield lambda: window.prompt_box.chips.set_attachments((Attachment(words, "text"),))
    yield lambda: window.toasts.show_error(words)
    yield lambda: window.toasts.show_info(words, "Undo")
    yield lambda: window.notices.show_notice("crash", words, ())
    messages = prompt(0, words[:2_000]), reply(1, words[:2_000])  # long ones: `messages`
    yield lambda: window.transcript.show_messages(messages)


def _hover_all(desk: Desk, outcome: Outcome, what: str) -> int:
    """Points at everything that is to be seen. Returns how many tooltips came."""
    num_tips = 0
    for top in [each for each in QApplication.topLevelWidgets() if each.isVisible() and not each.inherits("QTipLabel")]:
        for widget in [top, *top.findChildren(QWidget)]:
            if not isValid(widget) or not widget.isVisible():
                continue
            if isinstance(widget, QAbstractItemView):
                rows = range(min(_MOST_ROWS, widget.model().rowCount()))
                points = [widget.visualRect(widget.model().index(row, 0)).center() for row in rows]
            else:
                points = [widget.rect().center(), QPoint(8, 8)]
            below = widget.viewport() if isinstance(widget, QAbstractItemView | QTextEdit) else widget
            for point in points:
                help_event = QHelpEvent(QEvent.Type.ToolTip, point, widget.mapToGlobal(point))
                QApplication.sendEvent(below, help_event)
                num_tips += _check_tip(outcome, what, type(widget).__name__)
            desk.studio.process()
    return num_tips


def _check_tip(outcome: Outcome, what: str, where: str) -> int:
    tips = [each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel") and each.isVisible()]
    for tip in tips:
        assert isinstance(tip, QLabel)
        outcome.check(tip.textFormat() is Qt.TextFormat.PlainText, f"{what}: the tooltip of {where} is HTML")
        outcome.check(len(tip.text()) <= _LONGEST_TIP, f"{what}: the tooltip of {where} has {len(tip.text())} letters")
        outcome.check(
            not any(sign in tip.text() for sign in "\u202e\u2066\x1b\x9b"), f"{what}: {where} turns or commands"
        )
        tip.hide()
    return len(tips)


def _put_everywhere(theme: ThemeKeeper, words: str, outcome: Outcome, what: str) -> None:
    """Into every label and tooltip of every window, whatever it is for."""
    for name, build in TOP_LEVELS.items():
        window = build(theme)
        window.show()
        for label in window.findChildren(QLabel):
            label.setText(words)
        for widget in window.findChildren(QWidget):
            widget.setToolTip(words)
        QApplication.processEvents()
        window.grab()
        html = [
            each
            for each in window.findChildren(QLabel)
            if each.isVisible() and each.textFormat() is not Qt.TextFormat.PlainText
        ]
        outcome.check(not html, f"{what}: {name} has labels in HTML")
        QToolTip.showText(QPoint(5, 5), words, window)
        QApplication.processEvents()
        QToolTip.hideText()
        window.close()
        window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    parent = QWidget()
    for box in (question_box(parent, words, words, words), QMessageBox(QMessageBox.Icon.Warning, words, words)):
        box.show()
        QApplication.processEvents()
        box.grab()
        box.close()
        box.deleteLater()
    parent.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
