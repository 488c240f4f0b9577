"""Servers with models in one window: which there are, and where chats with their models go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.dialogs.model_servers.server_card import ModelServerCard
from app.dialogs.model_servers.server_form import ModelServerForm
from app.dialogs.parts import Dialog
from app.models.server_rows import Sighting
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import button, discard, words
from engine.messages.remote import RemoteServer

_SIZE_PX = (640, 600)


class ModelServersDialog(Dialog):
    """A card for each, a form for one more or to change one, and below them what came of the last action.

    Signals, with the address of a server:
        check_requested(str), remove_requested(str): ask it; take it off the list.
        choose_requested(): choose one of their models.
    """

    check_requested = Signal(str)
    remove_requested = Signal(str)
    choose_requested = Signal()

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
        """`sightings`: what came of asking them, by address. `problem`: why it is not known which there are."""
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
        """For one more."""
        self._open_form(None)

    @Slot(str)
    def change(self, address: str) -> None:
        if address in self.cards:
            self._open_form(self.cards[address].server)

    def show_words(self, text: str) -> None:
        """A sentence on what was done, or why it was not."""
        self.words.setText(text)
        if text:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.words, text))

    def _open_form(self, server: RemoteServer | None) -> None:
        self.show_words("")
        self.nothing.hide()
        self.form.open_form(server)
        self.page.verticalScrollBar().setValue(0)

    @Slot(QWidget)
    def _on_told(self, part: QWidget) -> None:
        """It comes into sight, as soon as it has its place."""
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
