"""A line that tells where bigger models are, for who has only the starter."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine.values.events import ReplyFinished, ServersListed, TargetsListed

SUBJECT = "models"  # of the notice


class Nudge(Controller):
    """Stays from the first reply on until there is another model, or the user has dismissed it: then for good. Before
    that, the welcome says the same."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._is_starter_alone = self._has_servers = False
        bridge.listen(TargetsListed, self._on_targets)
        bridge.listen(ServersListed, self._on_servers)
        bridge.listen(ReplyFinished, self._on_finished)

    def _on_targets(self, event: TargetsListed) -> None:
        self._is_starter_alone = bool(event.targets) and all(target.is_starter for target in event.targets)
        self._show()

    def _on_servers(self, event: ServersListed) -> None:
        self._has_servers = any(each.models for each in event.servers)
        self._show()

    def _on_finished(self, _event: ReplyFinished) -> None:
        self._show()

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
