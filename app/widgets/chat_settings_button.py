"""The button beside the model that opens the settings of the chat, and tells what it has of its own."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.text.unseen import in_tip, one_line
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton


class ChatSettingsButton(IconButton):
    """In the colour of what is on while the chat differs from the defaults."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        self._name = self._own = ""
        super().__init__(keeper, "sliders", self.tr("Settings of this chat"), parent=parent)

    def set_name(self, name: str) -> None:
        self._name = name
        super().set_name(name)
        about = self.tr("Differs from the defaults: {own}").format(own=self._own) if self._own else ""
        self.setAccessibleDescription(one_line(about))
        self.setToolTip(in_tip("\n".join(filter(None, (name, about)))))

    def show_own(self, own: str) -> None:
        """What differs from the defaults; empty: nothing."""
        self._own = own
        self.set_name(self._name)
        self.set_icon("sliders", "accent" if own else "quiet")
