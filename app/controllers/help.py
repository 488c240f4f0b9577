"""What the menu of help leads to besides shortcuts: what this program is, and its log."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Slot, qVersion
from PySide6.QtGui import QDesktopServices

from app.crash.logs import log_file
from app.dialogs.about_dialog import AboutDialog, Fact
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import ReadRuntime
from engine.messages.events import Event, Failed, RuntimeRead
from engine.messages.targets import Runtime


class HelpController(QObject):
    """`data_dir` is the folder that everything is kept in."""

    def __init__(self, window: MainWindow, theme: ThemeKeeper, bridge: EngineBridge, data_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._bridge = bridge
        self._data_dir = data_dir
        self._runtime: Runtime | None = None
        self.dialog: AboutDialog | None = None  # while it is open
        window.about_action.triggered.connect(self._show_about)
        window.logs_action.triggered.connect(self._open_logs)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot()
    def _open_logs(self) -> None:
        folder = log_file(self._data_dir).parent
        if not folder.is_dir():
            self._window.toasts.show_error(
                self.tr("There is no log: {folder} cannot be written; make room, or allow it to be written.").format(
                    folder=folder
                )
            )
        else:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    @Slot()
    def _show_about(self) -> None:
        if self.dialog is not None:
            self.dialog.raise_()
            return
        self.dialog = AboutDialog(self._theme, self._window.version, self._window)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog.finished.connect(self._forget_dialog)
        waiting = self.tr("Being asked…")
        self.dialog.show_facts(self._facts(waiting if self._runtime is None else ""))
        if self._runtime is None:
            self._bridge.post(ReadRuntime())
        self.dialog.open()

    @Slot()
    def _forget_dialog(self) -> None:
        self.dialog = None

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case RuntimeRead(runtime):
                self._runtime = runtime
                self._show("")
            case Failed(sentence, ReadRuntime()):
                self._show(sentence)

    def _show(self, instead: str) -> None:
        if self.dialog is not None:
            self.dialog.show_facts(self._facts(instead))

    def _facts(self, instead: str) -> tuple[Fact, ...]:
        """`instead` is told in the place of what is not known of llama.cpp."""
        runtime = self._runtime
        build = instead if runtime is None else runtime.build
        facts = [
            (self.tr("Licence"), _licence()),
            (self.tr("Models run with"), build),
            (self.tr("Features in use"), "" if runtime is None else ", ".join(runtime.features)),
            (self.tr("Built on"), f"Python {platform.python_version()}, Qt {qVersion()}"),
            (self.tr("Everything is kept in"), str(self._data_dir)),
        ]
        return tuple(fact for fact in facts if fact[1])


def _licence() -> str:
    """As the package says; empty where it says nothing."""
    try:
        told = metadata("slipstream")
    except PackageNotFoundError:
        return ""
    return str(next((told[name] for name in ("License-Expression", "License") if name in told), ""))
