"""One prompt, answered without guesses and with them, side by side."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QPlainTextEdit, QWidget

from app.features.speed.compared_sides import ComparedSides
from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.flow import FlowLayout
from app.widgets.layouts import Part, Placed, Stretch, in_row
from app.widgets.parts import button, set_up, words

_SIZE_PX = (860, 640)
_PROMPT_LINES = 3
_LENGTHS = (64, 128, 256, 512)  # tokens of a reply
_USUAL_LENGTH = 128
_ABOUT = QT_TRANSLATE_NOOP(
    "CompareDialog",
    "Answers one prompt without and with speed-up. Nothing of it is stored or learned from.",
)
_ABOUT_CHAT = QT_TRANSLATE_NOOP(
    "CompareDialog", "Asks the prompt as the next message of the open chat, after everything said before"
)
_ABOUT_SAMPLING = QT_TRANSLATE_NOOP(
    "CompareDialog",
    "Off: always takes the likeliest word, so that the texts can be compared. On: draws words at random, as in "
    "your chats.",
)
_ABOUT_LENGTH = QT_TRANSLATE_NOOP(
    "CompareDialog", "The longest a reply may get. Four replies of this length are written, two on each side"
)


class CompareDialog(Dialog):
    """Takes a prompt and shows both replies, their speeds, and the result."""

    start_requested = Signal()  # compare with the prompt and the choices that are shown
    stop_requested = Signal()  # write no more replies

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Compare with and without speed-up"))
        self._running = False
        self.prompt = set_up(
            QPlainTextEdit(self, placeholderText=self.tr("A prompt to compare with"), tabChangesFocus=True),
            kind="field",
            name=self.tr("Prompt"),
        )
        self.prompt.setFixedHeight(self.prompt.fontMetrics().lineSpacing() * _PROMPT_LINES + 22)
        self.prompt.textChanged.connect(self._show_state)
        self.in_chat = set_up(QCheckBox(self.tr("As part of the open chat"), self), tip=self.tr(_ABOUT_CHAT))
        self.own_sampling = set_up(QCheckBox(self.tr("With my sampling settings"), self), tip=self.tr(_ABOUT_SAMPLING))
        fitting = QComboBox(self, sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.length = set_up(fitting, name=self.tr("Length of a reply"), tip=self.tr(_ABOUT_LENGTH))
        for length in _LENGTHS:
            self.length.addItem(self.tr("%n token(s)", "", length), length)
        self.length.setCurrentIndex(_LENGTHS.index(_USUAL_LENGTH))
        self.start_button = button(self.tr("Start"), "outlined", self, self._on_start)
        self.start_button.setDefault(True)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.sides = ComparedSides(self)
        self.sides.running.connect(self._show_running)
        self._arrange()
        self._show_running(False)

    @property
    def num_tokens(self) -> int:
        return int(self.length.currentData())

    def show_prompt(self, prompt: str, is_of_chat: bool) -> None:
        """`is_of_chat`: it is the last prompt of a chat."""
        self.prompt.setPlainText(prompt)
        self.in_chat.setVisible(is_of_chat)
        self.in_chat.setChecked(is_of_chat)

    @Slot(bool)
    def _show_running(self, running: bool) -> None:
        self._running = running
        for part in (self.prompt, self.in_chat, self.own_sampling, self.length):
            part.setEnabled(not running)
        self.start_button.setText(self.tr("Stop") if running else self.tr("Start"))
        self._show_state()

    def _arrange(self) -> None:
        ways = FlowLayout([self.in_chat, self.own_sampling, self.length], spacing=16)
        chosen = in_row([Placed(ways, 1), self.start_button], spacing=16)
        buttons: list[Part] = [Stretch(), self.close_button]
        fill_dialog(
            self,
            [
                words(self.tr(_ABOUT), self, kind="quiet"),
                self.prompt,
                chosen,
                Placed(self.sides, 1),
            ],
            buttons,
            spacing=10,
        )

    @Slot()
    def _on_start(self) -> None:
        if self._running:
            self.start_button.setEnabled(False)  # until it has stopped
            self.stop_requested.emit()
        else:
            self.start_requested.emit()

    @Slot()
    def _show_state(self) -> None:
        self.start_button.setEnabled(self._running or bool(self.prompt.toPlainText().strip()))
