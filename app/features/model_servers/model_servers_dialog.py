"""Servers with models in one window: a card for each, and where chats with their models go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.features.model_servers.server_form import ModelServerForm, agreed_words, facts_words
from app.models.server_rows import Sighting, sighting_words
from app.text.places import place_words
from app.text.unseen import one_line
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, Sentences, announce, button, discard, set_up, words
from engine.values.remote import RemoteServer


class ModelServerCard(QFrame):
    """One server; its signals carry its address."""

    check_requested = Signal(str)  # this and the next two: its buttons were pressed
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
        """Shows the current settings of the server at this address."""
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


_SIZE_PX = (640, 600)


class ModelServersDialog(Dialog):
    """A card for each, a form for one more or to change one, and below them what came of the last action.
    Its signals carry the address of a server."""

    check_requested = Signal(str)  # ask it
    remove_requested = Signal(str)  # take it off the list
    choose_requested = Signal()  # choose one of their models

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Model servers"))
        self.cards: dict[str, ModelServerCard] = {}
        page = QWidget(self)
        about = self.tr(
            "Models that run on another computer, or in another program on this one. Nothing is contacted by "
            "itself: a server is asked when you press a button or use one of its models, and a chat goes there only "
            "after you agree."
        )
        self.add_button = button(self.tr("Add a server…"), "outlined", page, self.open_form)
        self.form = ModelServerForm(page)
        self.form.closed.connect(self._on_form_closed)
        self.form.told.connect(self._on_told)
        self.nothing = words("", page, kind="quiet")
        self._column = in_column([], spacing=8)
        in_column(
            [
                words(about, page, kind="quiet"),
                in_row([self.add_button, Stretch()]),
                self.form,
                self.nothing,
                self._column,
                Stretch(),
            ],
            inside=page,
            margins=(0, 4, 12, 4),
            spacing=10,
        )
        self.page = ScrollingPage(self.tr("Model servers"), page, self)
        self.words = words("", self, kind="quiet")
        self.choose_button = button(self.tr("Choose a model…"), "outlined", self, self.choose_requested)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        foot = in_row([Placed(self.words, 1), self.choose_button, self.close_button], spacing=8)
        in_column([Placed(self.page, 1), foot], inside=self, margins=(18, 14, 18, 14), spacing=10)
        self.show_servers((), {})

    def show_servers(
        self, servers: Sequence[RemoteServer], sightings: Mapping[str, Sighting], problem: str = ""
    ) -> None:
        """`sightings`: outcomes of asking them, by address. `problem`: why the list is unknown."""
        addresses = {each.address for each in servers}
        for gone in self.cards.keys() - addresses:
            self._column.removeWidget(self.cards[gone])
            discard(self.cards.pop(gone))
        for place, server in enumerate(servers):
            if server.address not in self.cards:
                self.cards[server.address] = self._card(server)
            self.cards[server.address].show_server(server, sightings.get(server.address))
            self._column.insertWidget(place, self.cards[server.address])
        self.nothing.setText(problem or self.tr("No servers are set up yet."))
        self.nothing.setVisible(not servers and self.form.isHidden())
        self.choose_button.setEnabled(any(each.models for each in servers))

    @Slot()
    def open_form(self) -> None:
        self._open_form(None)

    @Slot(str)
    def change(self, address: str) -> None:
        if address in self.cards:
            self._open_form(self.cards[address].server)

    def show_words(self, text: str) -> None:
        """Says what was done, or why it was not."""
        self.words.setText(text)
        if text:
            announce(self.words, text)

    def _open_form(self, server: RemoteServer | None) -> None:
        self.show_words("")
        self.nothing.hide()
        self.form.open_form(server)
        self.page.verticalScrollBar().setValue(0)

    @Slot(QWidget)
    def _on_told(self, part: QWidget) -> None:
        """Scrolls to the part, once it has its place."""
        QTimer.singleShot(0, self, partial(self.page.ensureWidgetVisible, part))

    @Slot()
    def _on_form_closed(self) -> None:
        self.nothing.setVisible(not self.cards)
        self.add_button.setFocus()

    def _card(self, server: RemoteServer) -> ModelServerCard:
        card = ModelServerCard(server, self)
        card.check_requested.connect(self.check_requested)
        card.change_requested.connect(self.change)
        card.remove_requested.connect(self.remove_requested)
        return card
