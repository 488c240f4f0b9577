"""What the help menu offers: the user guide, facts about this program, and its log."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from PySide6.QtCore import Qt, Slot, qVersion

from app.crash.watch import log_file
from app.engine_bridge import EngineBridge
from app.features.controller import Controller, open_folder
from app.features.help.about_dialog import AboutDialog
from app.features.help.guide_dialog import GuideDialog
from app.main_window import MainWindow
from app.text.guide import read_guide
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import show_in_front
from engine.values.requests import Failure
from engine.values.targets import Runtime


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
            request.failed.connect(self._on_failed)
        self.dialog.open()

    @Slot()
    def _on_closed(self) -> None:
        self.dialog = None

    @Slot(object)
    def _on_read(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._show_facts()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._show_facts(failure.sentence)

    def _show_facts(self, until_known: str = "") -> None:
        """`until_known` is shown in the place of llama.cpp's build."""
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
    """As the package states it; empty if it does not."""
    try:
        package = metadata("slipstream")
    except PackageNotFoundError:
        return ""
    return str(next((package[name] for name in ("License-Expression", "License") if name in package), ""))
