"""The tour through the window: once by itself, and whenever it is asked for."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from app.widgets.tour import Tour, TourStep
from engine.values.events import ConversationsListed


class TourController(Controller):
    """Shows the tour at the first start without chats, and never by itself again."""

    first_ended = Signal(bool)  # the one that was shown by itself was left; true: after its last step

    def __init__(
        self, window: MainWindow, theme: ThemeKeeper, bridge: EngineBridge, keeper: SettingsKeeper, by_itself: bool
    ) -> None:
        super().__init__(window, bridge)
        self._theme = theme
        self._keeper = keeper
        self._by_itself = by_itself
        self._is_first = False  # what is shown was not asked for
        self.tour: Tour | None = None  # once it was shown
        window.tour_action.triggered.connect(self.show_tour)
        bridge.listen(ConversationsListed, self._on_listed)

    @Slot()
    def show_tour(self) -> None:
        if self.tour is None:
            self.tour = Tour(self._theme, self._window, self._steps)
            self.tour.ended.connect(self._on_ended)
        self._window.come_forward()
        self.tour.begin()

    @Slot(bool)
    def _on_ended(self, is_whole: bool) -> None:
        self._window.prompt_box.setFocus()
        if self._is_first:
            self._is_first = False
            self.first_ended.emit(is_whole)

    def _on_listed(self, event: ConversationsListed) -> None:
        by_itself, self._by_itself = self._by_itself, False
        if by_itself and not self._keeper.settings.tour_seen:
            self._keeper.note(tour_seen=True)  # also where there are chats: it is no longer needed
            if not event.conversations:
                self.show_tour()
                self._is_first = True

    def kept(self) -> tuple[bool, bool]:
        """Two flags: the tour is shown, and it began by itself."""
        return self.tour is not None and self.tour.isVisible(), self._is_first

    def resume(self, kept: tuple[bool, bool]) -> None:
        """Restarts the tour."""
        is_shown, self._is_first = kept
        if is_shown:
            QTimer.singleShot(0, self, self.show_tour)  # in the window, which is shown first

    def _steps(self) -> tuple[TourStep, ...]:
        window = self._window
        return (
            TourStep(
                lambda: window.prompt_box.frame,
                self.tr("Write here"),
                self.tr(
                    "Type a message and press Enter. Type / at the beginning for your prompts, or drop files "
                    "anywhere on the window."
                ),
            ),
            TourStep(
                lambda: window.meter,
                self.tr("See how fast it is"),
                self.tr(
                    "Speed-up guesses parts of a reply and checks them: the same words, sooner. This line shows "
                    "what it brings, and switches it on or off."
                ),
            ),
            TourStep(
                lambda: window.target_bar.name,
                self.tr("Choose a model"),
                self.tr(
                    "The name opens the list of your models; “Find models…” there shows which others suit this "
                    "computer. Everything else is in the menu; this tour is under Help."
                ),
            ),
        )
