"""Quiet signs beside the model's name: what goes on, and what this chat has of its own."""

from __future__ import annotations

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.layouts import in_row


class SignButton(IconButton):
    """Seen while there is something to tell."""

    def __init__(
        self, keeper: ThemeKeeper, icon: str, on_click: SignalInstance, parent: QWidget, token: str = "quiet"
    ) -> None:
        super().__init__(keeper, icon, "", on_click, icon_px=16, kind="sign", token=token, parent=parent)
        self.hide()

    def tell(self, words: str) -> None:
        """In its tooltip; without words it is hidden."""
        self.set_name(words)
        self.setVisible(bool(words))


class Signs(QWidget):
    """Each leads to where what it tells can be changed.

    Signals:
        writing_requested(): show the chat in which a reply is being written.
        measuring_requested(), server_requested(), settings_requested(), preset_requested(): show what is measured, the
            server for other programs, the settings of the chat, or its preset.
    """

    writing_requested = Signal()
    measuring_requested = Signal()
    server_requested = Signal()
    settings_requested = Signal()
    preset_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.writing = SignButton(keeper, "edit", self.writing_requested, self, "accent")
        self.measuring = SignButton(keeper, "measure", self.measuring_requested, self)
        self.server = SignButton(keeper, "server", self.server_requested, self)
        self.form = SignButton(keeper, "form", self.settings_requested, self)
        self.banned = SignButton(keeper, "banned", self.settings_requested, self)
        self.preset = SignButton(keeper, "preset", self.preset_requested, self)
        in_row(
            [*(self.writing, self.measuring, self.server), *(self.form, self.banned, self.preset)],
            inside=self,
            spacing=0,
        )
