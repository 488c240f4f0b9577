"""Speed-up and learning, as the line below the prompt box shows them: whether they are on, ready, or at work."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.widgets.meter.meter_text import Readiness
from engine.values.events import LearningChanged, SpeculationChanged, TargetReady


class SpeedUpController(Controller):
    """Switches speed-up for the replies that follow, and has learning pause."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._target = ""  # the name of the one in use
        self._follow()
        window.speed_up_action.toggled.connect(self._switch)
        window.meter.learning_paused.connect(self._pause)
        keeper.changed.connect(self._follow)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(SpeculationChanged, self._on_speculation)
        bridge.listen(LearningChanged, self._on_learning)

    @Slot()
    def _follow(self) -> None:
        self._window.speed_up_action.setChecked(self._keeper.settings.speed_up)

    @Slot(bool)
    def _switch(self, is_on: bool) -> None:
        self._keeper.change("speed_up", is_on)

    @Slot(bool)
    def _pause(self, is_paused: bool) -> None:
        self._bridge.ask(self._bridge.engine.learning.hold, is_paused)

    def _on_ready(self, event: TargetReady) -> None:
        target = event.target
        self._target = target.name
        self._window.speed_up_action.setEnabled(target.server is None)
        if target.server is None:
            self._show(target.can_draft, target.awaits_drafter, target.speculation)
        else:
            self._window.meter.show_readiness(Readiness.ELSEWHERE, target.speculation)

    def _on_speculation(self, event: SpeculationChanged) -> None:
        if event.target_name == self._target:
            self._show(event.can_draft, event.awaits_drafter, event.sentence)

    def _on_learning(self, event: LearningChanged) -> None:
        share = self._keeper.settings.learning_share
        self._window.meter.show_learning(event.is_learning, event.is_paused, share, event.is_self_distilling)

    def _show(self, can_draft: bool, awaits_drafter: bool, sentence: str) -> None:
        ready = Readiness.AWAITED if awaits_drafter else Readiness.READY
        self._window.meter.show_readiness(ready if can_draft else Readiness.IMPOSSIBLE, sentence)
