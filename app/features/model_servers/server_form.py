"""A small form for a server with models: where it is, what it is called here, and its key."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QLineEdit, QWidget

from app.text.places import fingerprint_words, kind_words
from app.text.translation import Words
from app.widgets.dialog_parts import InlineQuestion
from app.widgets.layouts import Gap, Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import Sentences, button, set_up, show_text, words
from engine.values.remote import LONGEST_NAME, RemoteServer

_MOST_NAMED = 6  # models
ModelServers = Words("ModelServers")


def found_words(server: RemoteServer) -> str:
    """Says what answered, and which models it has."""
    kind, number = kind_words(server.kind), len(server.models)
    if not number:
        return ModelServers.tr("Found: {kind}. It has no models at the moment.", kind=kind)
    names = ", ".join(each.name for each in server.models[:_MOST_NAMED])
    if number > _MOST_NAMED:
        names += ", …"
    return ModelServers.tr("Found: {kind} with {number} model(s): {names}.", "", number, kind=kind, names=names)


def facts_words(server: RemoteServer) -> str:
    """The known facts in one line."""
    models = ModelServers.tr("{number} model(s)", "", len(server.models))
    key = ModelServers.tr("key stored") if server.has_key else ModelServers.tr("no key")
    way = ModelServers.tr("encrypted") if server.is_encrypted else ModelServers.tr("not encrypted")
    certificate = ModelServers.tr("certificate trusted by you") if server.certificate else ""
    parts = (kind_words(server.kind), models, key, "" if server.is_local else way, certificate)
    return " · ".join(filter(None, parts))


def agreed_words(server: RemoteServer) -> str:
    if server.is_agreed:
        return ModelServers.tr("You have agreed to send chats there.")
    return ModelServers.tr("You are asked before the first message goes there.")


_EXAMPLE = "192.168.1.5:8080"
_LONGEST = 2_000  # letters of an address, and of a key


class ModelServerForm(QFrame):
    """Hidden until it is wanted. A server is looked at before it is added; what was typed stays, whatever comes of
    it."""

    # ask this address, with this key, and the certificate that the user trusts. The key is a str, or None: the one that
    # is kept.
    look_requested = Signal(str, object, str)
    # what comes of the last look is not wanted any more: it was about something else than is typed
    look_dropped = Signal()
    # (RemoteServer, object, str) keep it, with this key (None: the one that is kept; empty: none), in place of the one
    # at this address (empty: it is new)
    saved = Signal(object, object, str)
    closed = Signal()  # the user does not want it any more
    told = Signal(QWidget)  # something new is shown there, to be scrolled to

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "card")
        self._before: RemoteServer | None = None  # that is being changed; None: it is a new one
        self._seen: RemoteServer | None = None  # what answered at the address that is typed
        self._certificate = ""  # that the user trusts
        self._untrusted = ""  # that the question is about
        self._given_name = ""  # by the server, not by the user
        self._is_looking = False
        self._key_about = ""
        self.title = set_up(QLabel(self), kind="title")
        self.address = self._field(self.tr("Address"), _EXAMPLE, _LONGEST)
        self.look_button = button(self.tr("Check address"), "outlined", self, self._look)
        about = self.tr("Asks the address what it is and which models it has; nothing of your chats goes there")
        set_up(self.look_button, tip=about, about=about)
        self.key = self._field(self.tr("Key"), "", _LONGEST)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key_note = words("", self, kind="quiet")
        self.forget_key = QCheckBox(self.tr("Forget the stored key"), self)
        self.name = self._field(self.tr("Name"), self.tr("The name to show here"), LONGEST_NAME)
        self.state = set_up(Sentences("", self), kind="quiet")
        self.warning = set_up(Sentences("", self), kind="warning")
        self.problem = set_up(Sentences("", self), kind="problem")
        self.question = InlineQuestion(self.tr("Trust this certificate"), self)
        self.question.confirmed.connect(self._trust)
        self.question.refused.connect(self._show_possible)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.close_form)
        self.save_button = button("", "primary", self, self._save)
        self._arrange()
        self.address.textChanged.connect(self._on_place_changed)
        self.key.textChanged.connect(self._on_place_changed)
        self.forget_key.toggled.connect(self._on_place_changed)
        self.address.returnPressed.connect(self._look)
        self.key.returnPressed.connect(self._look)
        self.name.returnPressed.connect(self._on_name_entered)
        self.hide()

    @property
    def is_new(self) -> bool:
        return self._before is None

    def open_form(self, server: RemoteServer | None = None) -> None:
        """Opens an empty form, or this server's."""
        self._drop_look()
        self._before, self._seen = server, None
        self._certificate = "" if server is None else server.certificate
        self._given_name = ""
        self.address.setText("" if server is None else server.address)
        self.name.setText("" if server is None else server.name)
        self.key.clear()
        self.forget_key.setChecked(False)
        self.title.setText(self.tr("New server") if server is None else self.tr("Change server"))
        self.save_button.setText(self.tr("Add") if server is None else self.tr("Save"))
        self._clear_words()
        self._show_possible()
        self.show()
        self.address.setFocus()

    @Slot()
    def close_form(self) -> None:
        """Closes the form and drops the typed key."""
        was_open = not self.isHidden()
        self._drop_look()
        self.key.clear()
        self.hide()
        if was_open:
            self.closed.emit()

    def show_key_note(self, notice: str) -> None:
        """`notice`: why keys cannot be stored; empty: the system's keyring stores them."""
        self._key_about = notice or self.tr("It is stored in your system's keyring, never in a file of Slipstream.")
        self._show_possible()

    # What came of looking

    def show_looking(self, host: str) -> None:
        self._is_looking = True
        self._clear_words()
        self.state.setText(self.tr("Asking {host}…").format(host=host))
        self.state.show()
        self._show_possible()

    def show_seen(self, server: RemoteServer, notice: str) -> None:
        """`notice`: what the user should know before sending chats there."""
        self._end_look()
        self._seen = server
        self.state.setText(found_words(server))
        self.state.show()
        show_text(self.warning, notice)
        if self.name.text().strip() in ("", self._given_name):
            self._given_name = server.name
            self.name.setText(server.name)
        self._show_possible()
        self.save_button.setFocus()
        self.told.emit(self.save_button)

    def show_untrusted(self, certificate: str, sentence: str) -> None:
        """Asks whether the user trusts it."""
        self._end_look()
        self._untrusted = certificate
        compare = self.tr(
            "Fingerprint (SHA-256): {fingerprint}. Trust it only if the server's owner tells you the same one; "
            "otherwise somebody could read your chats on the way."
        ).format(fingerprint=fingerprint_words(certificate))
        self.question.ask(f"{sentence}\n\n{compare}")
        self._show_possible()
        self.told.emit(self.question)

    def show_problem(self, sentence: str) -> None:
        """Shows why looking or saving failed."""
        self._drop_look()
        self._end_look()
        show_text(self.problem, sentence)
        self._show_possible()
        self.told.emit(self.problem)

    # Arrangement

    def _field(self, name: str, example: str, longest: int) -> QLineEdit:
        return set_up(QLineEdit(self, placeholderText=example, maxLength=longest), name=name)

    def _arrange(self) -> None:
        labels = [QLabel(self.tr("Address"), self), QLabel(self.tr("Name"), self), QLabel(self.tr("Key"), self)]
        for label, field in zip(labels, (self.address, self.name, self.key), strict=True):
            label.setBuddy(field)
        address = in_row([Placed(self.address, 1), self.look_button], spacing=6)
        fields = in_grid(
            [
                [labels[0], address],
                [labels[2], self.key],
                [None, self.key_note],
                [None, self.forget_key],
                [labels[1], self.name],
            ],
            spacing=(10, 6),
            stretches=(0, 1),
        )
        buttons = in_row([Stretch(), self.cancel_button, self.save_button], spacing=6)
        told = (self.state, self.warning, self.problem, self.question)
        in_column([self.title, fields, Gap(2), *told, buttons], inside=self, margins=(12, 10, 12, 10), spacing=8)

    def _clear_words(self) -> None:
        for label in (self.state, self.warning, self.problem):
            label.clear()
            label.hide()
        self.question.hide()

    def _drop_look(self) -> None:
        if self._is_looking:
            self._is_looking = False
            self.look_dropped.emit()

    def _end_look(self) -> None:
        self._is_looking = False
        self._clear_words()

    @Slot()
    def _show_possible(self) -> None:
        """Enables what can be pressed, and explains the key."""
        before, typed = self._before, bool(self.address.text().strip())
        has_key = before is not None and before.has_key
        self.look_button.setEnabled(typed and not self._is_looking)
        self.save_button.setEnabled(not self._is_looking and self._server() is not None)
        self.forget_key.setVisible(has_key and self._is_same_place)
        self.key.setEnabled(not self.forget_key.isChecked())
        note = self._key_about
        if has_key and self._is_same_place:
            note = self.tr("A key is stored. Leave the field empty to keep it. {where}").format(where=note)
        elif has_key:
            note = self.tr("The stored key is not sent to another address; enter it again if it belongs to this one.")
        show_text(self.key_note, note)
        self.key.setAccessibleDescription(note)
        self.key.setPlaceholderText(
            self.tr("Unchanged") if has_key and self._is_same_place else self.tr("Only if the server needs one")
        )

    # What happens

    @property
    def _is_same_place(self) -> bool:
        return self._before is not None and self.address.text().strip() == self._before.address

    @property
    def _typed_key(self) -> str | None:
        if self.forget_key.isChecked() and not self.forget_key.isHidden():
            return ""
        return self.key.text().strip() or None

    def _server(self) -> RemoteServer | None:
        """The server to be saved; None: it must be looked at first."""
        server = self._seen or (self._before if self._is_same_place else None)
        if server is None:
            return None
        return replace(server, name=self.name.text().strip(), certificate=self._seen_certificate(server))

    def _seen_certificate(self, server: RemoteServer) -> str:
        return server.certificate or self._certificate

    @Slot()
    def _on_place_changed(self) -> None:
        """Drops what was seen at another address or with another key, and any look under way."""
        self._drop_look()
        self._seen = None
        if not self._is_same_place:
            self._certificate = ""
        self._clear_words()
        self._show_possible()

    @Slot()
    def _on_name_entered(self) -> None:
        if self.save_button.isEnabled():
            self._save()
        else:
            self._look()

    @Slot()
    def _look(self) -> None:
        if self.look_button.isEnabled():
            self.look_requested.emit(self.address.text().strip(), self._typed_key, self._certificate)

    @Slot()
    def _trust(self) -> None:
        self._certificate = self._untrusted
        self._look()

    @Slot()
    def _save(self) -> None:
        server = self._server()
        if server is not None:
            replaced = "" if self._before is None else self._before.address
            self.saved.emit(server, self._typed_key, replaced)
