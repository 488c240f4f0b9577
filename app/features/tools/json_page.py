"""The servers as JSON, to be pasted, edited and taken elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.theme import ThemeKeeper
from app.widgets.appearance import code_font
from app.widgets.icon_button import CopyButton
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import Sentences, button, set_up, show_text, words
from engine import read_tool_servers
from engine.values.errors import SettingInvalid

_PAUSE_MS = 150  # in typing
_LEAST_LINES = 8
_EXAMPLE = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}'


class JsonPage(QWidget):
    """Says as one types whether it can be used."""

    chosen = Signal(str)  # use these servers

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        super().__init__(parent)
        self._text = ""  # that is in use
        about = self.tr(
            "The format that other programs use too, so that you can paste what they or a server's page show."
        )
        about_keys = self.tr(
            "Keys among environment variables and headers are not kept here but in the keyring of this system. A "
            "“kept-key:…” stands for each; write another key in its place to change it."
        )
        self.key_notice = set_up(Sentences("", self), kind="warning")
        self.key_notice.hide()
        self.field = set_up(QPlainTextEdit(self, tabChangesFocus=True), kind="field", name=self.tr("Servers as JSON"))
        self.field.setFont(code_font())
        self.field.setMinimumHeight(_LEAST_LINES * self.field.fontMetrics().lineSpacing())
        self.field.setPlaceholderText(_EXAMPLE)
        self.field.textChanged.connect(self._on_typed)
        self.words = set_up(Sentences("", self), kind="quiet")
        self.problem = set_up(Sentences("", self), kind="problem")
        self.copy_button = CopyButton(keeper, self.tr("Copy the JSON"), self)
        self.copy_button.pressed_for_text.connect(self._copy)
        self.undo_button = button(self.tr("Discard changes"), "outlined", self, self._show_text)
        self.use_button = button(self.tr("Use these servers"), "primary", self, self._use)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.check)
        buttons = in_row([self.copy_button, Stretch(), self.undo_button, self.use_button], spacing=6)
        in_column(
            [
                words(about, self, kind="quiet"),
                words(about_keys, self, kind="quiet"),
                self.key_notice,
                Placed(self.field, 1),
                self.words,
                self.problem,
                buttons,
            ],
            inside=self,
            margins=(0, 4, 0, 4),
            spacing=8,
        )
        self.check()

    @property
    def is_changed(self) -> bool:
        return self.field.toPlainText().strip() != self._text.strip()

    def show_json(self, text: str) -> None:
        """Shows the JSON in use, unless it is being edited."""
        is_changed, self._text = self.is_changed, text
        if not is_changed:
            self._show_text()
        self.check()

    def show_key_notice(self, sentence: str) -> None:
        """Shows why keys cannot be stored; empty if they can."""
        show_text(self.key_notice, sentence)

    @Slot()
    def check(self) -> None:
        """Checks the text at once, without waiting for a pause."""
        self._pause.stop()
        sentence, number = "", 0
        try:
            number = len(read_tool_servers(self.field.toPlainText()))
        except SettingInvalid as error:
            sentence = str(error)
        show_text(self.problem, sentence)
        self.words.setText(self.tr("%n server(s)", "", number))
        self.words.setVisible(not sentence)
        self.use_button.setEnabled(not sentence and self.is_changed)
        self.undo_button.setEnabled(self.is_changed)

    @Slot()
    def _on_typed(self) -> None:
        self.use_button.setEnabled(False)  # until it is read
        self._pause.start()

    @Slot()
    def _show_text(self) -> None:
        self.field.setPlainText(self._text)
        self.check()

    @Slot()
    def _use(self) -> None:
        text, self._text = (
            self.field.toPlainText(),
            self.field.toPlainText(),
        )  # what comes back may be written otherwise
        self.chosen.emit(text)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.field.toPlainText())
