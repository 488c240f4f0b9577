"""The server: whether other programs may use the model, where they find it, and what of theirs is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, Stretch, in_column, in_row
from app.widgets.parts import ElidedLabel, button, discard, line, set_up, show_text, words
from engine.values.serving import Client

_WIDTH_PX = 560
_PORT_PX = 90
_LOWEST_PORT, _HIGHEST_PORT = 1024, 65_535


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """What the user sets."""

    is_on: bool
    port: int
    needs_key: bool
    is_remembered: bool


class ServerDialog(Dialog):
    """Every change takes effect at once. The controller decides what follows."""

    chosen = Signal(object)  # (ServerChoice) the user wants it so
    copy_requested = Signal(str)  # put this on the clipboard
    client_wanted = Signal(str, bool)  # a key for a program of this name, and whether it is remembered
    client_changed = Signal(str, bool)  # whether it is remembered
    client_sped_up = Signal(str, bool)  # whether text of the user's chats speeds it up
    client_unwanted = Signal(str)  # take the key from it

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Server"))
        self.address = ""
        self._key = ""
        self.switch = self._box(self.tr("Let other programs on this computer use the model"))
        self.state = words("", self, kind="quiet")
        self.copy_button = button(self.tr("Copy the address"), "outlined", self, self._copy_address)
        port = QLabel(self.tr("Port"), self)
        self.port = set_up(QLineEdit(self), name=self.tr("Port"))
        self.port.setValidator(QIntValidator(_LOWEST_PORT, _HIGHEST_PORT, self.port))
        self.port.setFixedWidth(_PORT_PX)
        self.port.editingFinished.connect(self._choose)
        port.setBuddy(self.port)
        self.needs_key = self._box(self.tr("Require a key from every program"))
        self.remembers = self._box(self.tr("Store the chats of programs without a key, and learn from them"))
        heading = set_up(QLabel(self.tr("Programs with a key"), self), kind="group")
        about = words(
            self.tr(
                "Choose for each program whether its chats are stored and learned from, and whether text of your chats "
                "speeds it up. By its speed, a program could then find out what they say."
            ),
            self,
            kind="quiet",
        )
        self._rows = QWidget(self)
        self._list: QVBoxLayout = in_column([], inside=self._rows, spacing=4)
        self.name = QLineEdit(self, placeholderText=self.tr("Program name"), maxLength=60)
        set_up(self.name, name=self.name.placeholderText())
        self.name.returnPressed.connect(self._add)
        self.add_button = button(self.tr("Create key"), "outlined", self, self._add)
        self.key = words("", self)
        self.key.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.key_button = button(self.tr("Copy the key"), "outlined", self, self._copy_key)
        self.problem = words("", self, kind="problem")
        for part in (self.key, self.key_button, self.problem):
            part.hide()
        contents: list[Part] = [
            self.switch,
            in_row([Placed(self.state, 1), self.copy_button]),
            in_row([port, self.port, Stretch()], spacing=8),
            self.needs_key,
            self.remembers,
            line(self),
            heading,
            about,
            self._rows,
            in_row([Placed(self.name, 1), self.add_button]),
            in_row([Placed(self.key, 1), self.key_button]),
            self.problem,
            Stretch(),
        ]
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        fill_dialog(self, contents, [Stretch(), self.close_button], spacing=10)

    def show_choice(self, choice: ServerChoice) -> None:
        for box, is_on in (
            (self.switch, choice.is_on),
            (self.needs_key, choice.needs_key),
            (self.remembers, choice.is_remembered),
        ):
            box.blockSignals(True)  # not a choice of the user
            box.setChecked(is_on)
            box.blockSignals(False)
        self.port.setText(str(choice.port))
        self.remembers.setEnabled(not choice.needs_key)

    def show_state(self, address: str, problem: str, needs_key: bool = False) -> None:
        """Shows its address, or why it has none; neither: it is off. `needs_key`: every program needs one."""
        self.address = address
        text = self.tr("Off. No connections are accepted.")
        if address and needs_key:
            text = self.tr("Programs reach it at {address}/v1 with a key; create one below.").format(address=address)
        elif address:
            text = self.tr("Programs reach it at {address}/v1; they need no other setting.").format(address=address)
        self.state.setText(problem or text)
        self.copy_button.setEnabled(bool(address))

    def show_clients(self, clients: Sequence[Client]) -> None:
        while self._list.count():
            item = self._list.takeAt(0)
            row = None if item is None else item.widget()
            if row is not None:
                discard(row)
        for client in clients:
            self._list.addWidget(self._row(client))
        self.show_problem("")

    def show_key(self, name: str, key: str) -> None:
        """Shows a new key, this once."""
        self._key = key
        self.key.setText(self.tr("The key of {name}, shown only once: {key}").format(name=name, key=key))
        self.key.show()
        self.key_button.show()
        self.name.clear()

    def show_problem(self, sentence: str) -> None:
        show_text(self.problem, sentence)

    def forget_key(self) -> None:
        self._key = ""
        self.key.clear()
        self.key.hide()
        self.key_button.hide()

    def _box(self, text: str) -> QCheckBox:
        box = QCheckBox(text, self)
        box.toggled.connect(self._choose)
        return box

    def _row(self, client: Client) -> QWidget:
        row = QWidget(self._rows)
        name = ElidedLabel(row)
        name.set_words(client.name)
        remembers = QCheckBox(self.tr("Store its chats and learn from them"), row)
        remembers.setAccessibleName(self.tr("{name}: store its chats and learn from them").format(name=client.name))
        remembers.setChecked(client.is_remembered)
        remembers.toggled.connect(partial(self.client_changed.emit, client.name))
        speeds_up = QCheckBox(self.tr("Speed it up with text of your chats"), row)
        speeds_up.setAccessibleName(self.tr("{name}: speed it up with text of your chats").format(name=client.name))
        speeds_up.setChecked(client.drafts_from_chats)
        speeds_up.toggled.connect(partial(self.client_sped_up.emit, client.name))
        remove = button(self.tr("Remove"), "outlined", row, partial(self.client_unwanted.emit, client.name))
        remove.setAccessibleName(self.tr("Remove {name}").format(name=client.name))
        in_row([Placed(name, 1), in_column([remembers, speeds_up], spacing=2), remove], inside=row)
        return row

    @Slot()
    def _choose(self) -> None:
        port = int(self.port.text()) if self.port.hasAcceptableInput() else 0
        self.chosen.emit(
            ServerChoice(self.switch.isChecked(), port, self.needs_key.isChecked(), self.remembers.isChecked())
        )

    @Slot()
    def _add(self) -> None:
        self.forget_key()
        self.client_wanted.emit(self.name.text(), False)

    @Slot()
    def _copy_address(self) -> None:
        self.copy_requested.emit(f"{self.address}/v1")

    @Slot()
    def _copy_key(self) -> None:
        self.copy_requested.emit(self._key)
