"""A server with models: where it is, what it is, and what came of asking it last."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.dialogs.model_servers.wording import agreed_words, facts_words
from app.models.server_rows import Sighting, sighting_words
from app.text.places import place_words
from app.text.unseen import one_line
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, Sentences, button, set_up
from engine.messages.remote import RemoteServer


class ModelServerCard(QFrame):
    """Signals, with its address:
    check_requested(str), change_requested(str), remove_requested(str): its buttons were pressed.
    """

    check_requested = Signal(str)
    change_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, server: RemoteServer, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self.server = server
        self.name = set_up(ElidedLabel(self), kind="title")
        self.state = set_up(QLabel(self, textFormat=Qt.TextFormat.PlainText), kind="quiet")
        self.place = set_up(ElidedLabel(self), kind="quiet")
        self.facts = set_up(Sentences("", self), kind="quiet")
        self.problem = set_up(Sentences("", self), kind="problem")
        self.check_button = self._button(self.tr("Check"), self.check_requested)
        self.change_button = self._button(self.tr("Change…"), self.change_requested)
        self.remove_button = self._button(self.tr("Remove…"), self.remove_requested)
        head = in_row([Placed(self.name, 1), self.state], spacing=8)
        buttons = in_row([self.check_button, self.change_button, Stretch(), self.remove_button], spacing=6)
        in_column(
            [head, self.place, self.facts, self.problem, buttons], inside=self, margins=(12, 10, 12, 10), spacing=6
        )
        self.show_server(server, None)

    def _button(self, text: str, signal: SignalInstance) -> QPushButton:
        return button(text, "outlined", self, lambda: signal.emit(self.server.address))

    def show_server(self, server: RemoteServer, sighting: Sighting | None) -> None:
        """As it is set up now, at the same address."""
        self.server = server
        self.name.set_words(server.name)
        self.place.set_words(place_words(server.address))
        self.facts.setText(f"{facts_words(server)}\n{agreed_words(server)}")
        self.state.setText(sighting_words(sighting))
        self.check_button.setEnabled(sighting is None or not sighting.is_asked)
        self.problem.setText("" if sighting is None else sighting.sentence)
        self.problem.setVisible(sighting is not None and bool(sighting.sentence))
        for each in (self.check_button, self.change_button, self.remove_button):
            set_up(each, name=f"{each.text()} – {one_line(server.name)}")
