"""What the help menu offers: the user guide, facts about this program, and its log."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from PySide6.QtCore import Qt, Slot, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from app.crash.watch import log_file
from app.engine_bridge import EngineBridge
from app.features.controller import Controller, open_folder
from app.features.help.guide_dialog import GuideDialog, read_guide
from app.main_window import MainWindow
from app.theme import ThemeKeeper, app_icon
from app.widgets.dialog_parts import Dialog, fill_dialog, show_in_front
from app.widgets.layouts import Part, Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import button, discard, set_up, words
from engine.values.targets import Runtime

_WIDTH_PX = 460
_ICON_PX = 48

Fact = tuple[str, str]  # a name and its value


class AboutDialog(Dialog):
    """A version, a sentence, and facts that are shown as they become known."""

    def __init__(self, keeper: ThemeKeeper, version: str, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("About Slipstream"))
        self._version = version
        self.facts: tuple[Fact, ...] = ()
        icon = QLabel(self, pixmap=app_icon().pixmap(keeper.px(_ICON_PX), keeper.px(_ICON_PX)))
        self.heading = words(f"Slipstream {version}".strip(), self, kind="title")
        sentence = self.tr(
            "Chat with language models on your own computer. Nothing you write leaves it unless you choose so."
        )
        self._grid = in_grid([], spacing=(16, 6), stretches=(0, 1))
        copies = self.tr("Copies all of this, to send to someone who helps you")
        self.copy_button = button(self.tr("Copy"), "outlined", self, self._copy, tip=copies)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.close_button.setDefault(True)
        top = in_column([self.heading, words(sentence, self, kind="quiet")], spacing=4)
        head = in_row([Placed(icon, alignment=Qt.AlignmentFlag.AlignTop), Placed(top, 1)], spacing=14)
        buttons: list[Part] = [self.copy_button, Stretch(), self.close_button]
        fill_dialog(self, [head, self._grid, Stretch()], buttons, spacing=16)
        self.close_button.setFocus()

    def show_facts(self, facts: Sequence[Fact]) -> None:
        self.facts = tuple(facts)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                discard(widget)
        for row, (name, fact) in enumerate(self.facts):
            self._grid.addWidget(set_up(QLabel(name, self), kind="quiet"), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words(fact, self), row, 1)

    @Slot()
    def _copy(self) -> None:
        lines = [f"{name}: {fact}" for name, fact in self.facts]
        QGuiApplication.clipboard().setText("\n".join([self.heading.text(), *lines]))


class HelpController(Controller):
    """Opens the user guide, the dialog about this program, and the folder of its log. All its files are in
    `data_dir`."""

    def __init__(self, window: MainWindow, theme: ThemeKeeper, bridge: EngineBridge, data_dir: Path) -> None:
        super().__init__(window, bridge)
        self._theme = theme
        self._data_dir = data_dir
        self._runtime: Runtime | None = None
        self.dialog: AboutDialog | None = None  # while it is open
        self.guide: GuideDialog | None = None  # once it was opened
        window.guide_action.triggered.connect(self._show_guide)
        window.about_action.triggered.connect(self._show_about)
        window.logs_action.triggered.connect(self._open_logs)

    @Slot()
    def _show_guide(self) -> None:
        if self.guide is None:
            self.guide = GuideDialog(self._theme, read_guide(), self._window)
            self.guide.tour_requested.connect(self._window.tour_action.trigger)
        show_in_front(self.guide)

    @Slot()
    def _open_logs(self) -> None:
        folder = log_file(self._data_dir).parent
        if folder.is_dir():
            open_folder(folder)
        else:
            words = self.tr(
                "There is no log, because {folder} cannot be written. Free some disk space, or allow writing there."
            )
            self._window.toasts.show_error(words.format(folder=folder))

    @Slot()
    def _show_about(self) -> None:
        if self.dialog is not None:
            self.dialog.raise_()
            return
        self.dialog = AboutDialog(self._theme, self._window.version, self._window)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog.finished.connect(self._on_closed)
        self._show_facts(self.tr("Loading…"))
        if self._runtime is None:
            request = self._bridge.ask(self._bridge.engine.inspector.runtime)
            request.answered.connect(self._on_read)
            request.failed.connect(lambda failure: self._show_facts(failure.sentence))
        self.dialog.open()

    @Slot()
    def _on_closed(self) -> None:
        self.dialog = None

    @Slot(object)
    def _on_read(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._show_facts()

    def _show_facts(self, until_known: str = "") -> None:
        """`until_known` stands in for llama.cpp's build."""
        if self.dialog is None:
            return
        runtime = self._runtime or Runtime(until_known, ())
        facts = (
            (self.tr("Licence"), _licence()),
            (self.tr("Runs models with"), runtime.build),
            (self.tr("Features in use"), ", ".join(runtime.features)),
            (self.tr("Built on"), f"Python {platform.python_version()}, Qt {qVersion()}"),
            (self.tr("Data folder"), str(self._data_dir)),
        )
        self.dialog.show_facts(tuple(fact for fact in facts if fact[1]))


def _licence() -> str:
    """The licence that the package declares; empty if it declares none."""
    try:
        package = metadata("slipstream")
    except PackageNotFoundError:
        return ""
    return str(next((package[name] for name in ("License-Expression", "License") if name in package), ""))
