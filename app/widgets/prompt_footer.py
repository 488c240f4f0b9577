from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.branch_flipper import BranchFlipper
from app.widgets.copy_button import CopyButton
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Stretch, in_row


class PromptFooter(QWidget):
    """The line under a prompt: what can be done with it, seen when it is pointed at or reached with Tab, and which
    version of it is shown.

    Signals:
        copy_requested(), edit_requested(): the buttons were pressed.
    """

    copy_requested = Signal()
    edit_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.copy_button = CopyButton(keeper, self.tr("Copy this message"), self)
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        self.edit_button = IconButton(
            keeper, "edit", self.tr("Edit this message and ask again"), icon_px=15, kind="footer", parent=self
        )
        self.edit_button.clicked.connect(self._on_edit)
        self.flipper = BranchFlipper(keeper, self)
        in_row([Stretch(), self.copy_button, self.edit_button, self.flipper], inside=self, spacing=2)
        self.set_awake(False)

    def set_awake(self, awake: bool) -> None:
        """Whether the message is pointed at."""
        self.copy_button.set_awake(awake)
        self.edit_button.set_awake(awake)

    def set_editable(self, editable: bool) -> None:
        self.edit_button.setVisible(editable)
        self.flipper.set_possible(editable)

    @Slot()
    def _on_edit(self) -> None:
        self.edit_requested.emit()
