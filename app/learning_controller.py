"""Keeps how the user wants the drafter to learn, and tells what it has learned."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot

from app.dialogs.learning_dialog import LearningDialog
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import LearningSettings, UseLearning
from engine.events import DrafterLearned, Event, TargetReady


class LearningController(QObject):
    """Connects the dialog with one engine, which was told `settings` when it was made."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, settings: LearningSettings) -> None:
        super().__init__(window)
        self._bridge = bridge
        self._has_learned = False  # since the model or the drafter was changed
        self.settings = settings
        self.dialog = LearningDialog(settings, window)
        self.dialog.show_learned("Nothing has been learned since the start.")
        self.dialog.changed.connect(self._change)
        window.learning_action.triggered.connect(self._open)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot()
    def begin_anew(self) -> None:
        """Another drafter learns now, or one for another model."""
        if self._has_learned:
            self._has_learned = False
            self.dialog.show_learned("Nothing has been learned since the model or the drafter was changed.")

    @Slot()
    def _open(self) -> None:
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    @Slot(LearningSettings)
    def _change(self, settings: LearningSettings) -> None:
        if settings != self.settings:
            self.settings = settings
            self._bridge.post(UseLearning(settings))

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case DrafterLearned():
                self._has_learned = True
                self.dialog.show_learned(_sentence(event))
            case TargetReady():
                self.begin_anew()


def _sentence(learned: DrafterLearned) -> str:
    if learned.is_return and learned.number is None:
        return "It went back to the drafter as it came: that did better."
    if learned.is_return:
        return "It went back to an earlier state that did better."
    replies = "1 reply" if learned.num_learned == 1 else f"{learned.num_learned:,} replies"
    return (
        f"With what it learned from {replies}, {learned.after:.2f} instead of {learned.before:.2f} guesses stand in "
        "each round."
    )
