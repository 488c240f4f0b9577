"""A line that tells where bigger models are, for who has only the starter."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.controllers.controller import Controller
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine.messages.events import Event, ReplyFinished, ServersListed, TargetDownloading, TargetsListed

SUBJECT = "models"  # of the notice


class Nudge(Controller):
    """Stays from the first reply on until there is another model, or the user has dismissed it: then for good. Before
    that, the welcome says the same."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._is_starter_alone = self._has_servers = False

    def _on_event(self, event: Event) -> None:
        match event:
            case TargetsListed(targets):
                self._is_starter_alone = bool(targets) and all(target.is_starter for target in targets)
                self._show()
            case ServersListed(servers):
                self._has_servers = any(each.models for each in servers)
                self._show()
            case ReplyFinished():
                self._show()
            case TargetDownloading():
                self._window.notices.dismiss(SUBJECT)

    def _show(self) -> None:
        settings, notices = self._keeper.settings, self._window.notices
        if not self._is_starter_alone or self._has_servers or settings.nudge_dismissed or not settings.has_chatted:
            notices.dismiss(SUBJECT)
        elif SUBJECT not in notices.shown:
            sentence = self.tr("Only the small starter model is installed. A bigger one answers far better.")
            find = self.tr("Find a model"), self._window.models_action.trigger
            notices.show_notice(SUBJECT, sentence, (find,)).closed.connect(self._on_dismissed)

    @Slot()
    def _on_dismissed(self) -> None:
        self._keeper.note(nudge_dismissed=True)
