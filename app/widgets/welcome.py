from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.icons import app_icon

EXAMPLES_PX = 500  # wide, at most
EXAMPLES = (
    ("How rainbows form", "Explain how a rainbow forms, in simple words."),
    ("A friendly e-mail", "Write a short, friendly e-mail that moves a meeting to next Tuesday."),
    ("Find duplicate files", "Write a Python function that finds duplicate files, and explain it."),
    ("Renting or buying?", "Compare renting and buying a flat: list what speaks for each."),
)


class Welcome(QWidget):
    """What a new chat shows before its first message.

    Signals:
        example_chosen(str): the prompt of an example.
    """

    example_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        icon = QLabel(self)
        icon.setPixmap(app_icon().pixmap(64, 64))
        icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        title = QLabel("What can I help you with?", self)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.9)
        font.setWeight(font.Weight.DemiBold)
        title.setFont(font)
        title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        line = QLabel("The model runs on this computer. Nothing you write leaves it.", self)
        line.setProperty("kind", "quiet")
        line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        line.setWordWrap(True)
        examples = QGridLayout()
        examples.setContentsMargins(0, 0, 0, 0)
        examples.setSpacing(10)
        self.example_buttons: list[QPushButton] = []
        for index, (name, prompt) in enumerate(EXAMPLES):
            button = QPushButton(name, self)
            button.setProperty("kind", "example")
            button.setToolTip(prompt)
            button.setAccessibleDescription(prompt)
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.setMinimumWidth(60)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.clicked.connect(self._on_clicked)
            examples.addWidget(button, index // 2, index % 2)
            self.example_buttons.append(button)
        frame = QWidget(self)
        frame.setMaximumWidth(EXAMPLES_PX)
        frame.setLayout(examples)
        centred = QHBoxLayout()
        centred.addStretch(1)
        centred.addWidget(frame, 1000)
        centred.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.addStretch(3)
        column.addWidget(icon)
        column.addSpacing(14)
        column.addWidget(title)
        column.addSpacing(4)
        column.addWidget(line)
        column.addSpacing(26)
        column.addLayout(centred)
        column.addStretch(4)

    @Slot()
    def _on_clicked(self) -> None:
        for button in self.example_buttons:
            if button is self.sender():
                self.example_chosen.emit(button.toolTip())
