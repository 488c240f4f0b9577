from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton

FEEDBACK_MS = 1_600


class CopyButton(IconButton):
    """Asks for its text to be copied, and says so for a moment.

    Signals:
        pressed_for_text(): whoever has the text copies it.
    """

    pressed_for_text = Signal()

    def __init__(self, keeper: ThemeKeeper, name: str, parent: QWidget | None = None) -> None:
        super().__init__(keeper, "copy", name, icon_px=15, kind="footer", parent=parent)
        self._name = name
        self.setText(self.tr("Copy"))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FEEDBACK_MS)
        self._timer.timeout.connect(self._calm)
        self.clicked.connect(self._on_clicked)

    @Slot()
    def _on_clicked(self) -> None:
        self.pressed_for_text.emit()
        self.setText(self.tr("Copied"))
        self.set_icon("check", "accent")
        self.setAccessibleName(self.tr("Copied"))
        self._timer.start()

    @Slot()
    def _calm(self) -> None:
        self.setText(self.tr("Copy"))
        self.set_icon("copy", "quiet")
        self.setAccessibleName(self._name)
