"""A line that offers a comparison after the first reply that earlier text made clearly faster."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.speed import multiple
from engine.values.events import ReplyFinished
from engine.values.replies import ReplyStatistics
from engine.values.speed import SpeedOutcome

SUBJECT = "proof"  # of the notice


class ProofOffer(Controller):
    """Shown once: whoever has followed or dismissed it sees it no more."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._offered: ReplyStatistics | None = None  # of the reply that the notice is about
        window.compare_action.triggered.connect(self._settle)
        bridge.listen(ReplyFinished, self._on_finished)

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if self._keeper.settings.proof_offered or message.server:
            return
        is_in_sight = message in self._window.transcript.messages  # others may be of other programs
        if is_in_sight and message.statistics is not None and came_again(message.statistics):
            self._offer(message.statistics)

    def _offer(self, statistics: ReplyStatistics) -> None:
        self._offered = statistics
        sentence = self.tr(
            "This reply was {ratio}× faster because it reuses earlier text. See it beside the same reply without "
            "speed-up."
        ).format(ratio=multiple(statistics.verdict))
        prove = self.tr("Prove it…"), self._window.compare_action.trigger
        notice = self._window.notices.show_notice(SUBJECT, sentence, (prove,))
        notice.closed.connect(self._settle)

    def kept(self) -> ReplyStatistics | None:
        return self._offered if SUBJECT in self._window.notices.shown else None

    def resume(self, kept: ReplyStatistics | None) -> None:
        if kept is not None:
            self._offer(kept)

    @Slot()
    def _settle(self) -> None:
        self._window.notices.dismiss(SUBJECT)
        if not self._keeper.settings.proof_offered:
            self._keeper.note(proof_offered=True)


def came_again(statistics: ReplyStatistics) -> bool:
    """Whether earlier text wrote most of it, and that was clearly faster."""
    return statistics.verdict.outcome is SpeedOutcome.FASTER and statistics.reuses_text
