"""What one conversation has of its own: its system prompt, and how its replies are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.dialogs.parts import button, words
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from engine import OwnSampling, ReplySettings

_WIDTH_PX = 560
_PROMPT_PX = 120
_MOST = 2**31 - 1  # that a spin box holds


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the values of `OwnSampling`."""

    name: str
    label: str
    about: str
    low: float
    high: float
    step: float  # with decimals, the value has some
    open: str = ""  # what happens where all chats leave it open
    first: float = 0  # that is offered then


_KINDS = (
    _Kind(
        "temperature",
        QT_TRANSLATE_NOOP("ConversationDialog", "Temperature"),
        QT_TRANSLATE_NOOP("ConversationDialog", "How freely words are chosen: 0 takes the likeliest each time."),
        0.0,
        5.0,
        0.05,
    ),
    _Kind(
        "top_k",
        QT_TRANSLATE_NOOP("ConversationDialog", "Top-k"),
        QT_TRANSLATE_NOOP("ConversationDialog", "Only so many of the likeliest tokens are drawn from; 0 for all."),
        0,
        1_000_000,
        1,
    ),
    _Kind(
        "top_p",
        QT_TRANSLATE_NOOP("ConversationDialog", "Top-p"),
        QT_TRANSLATE_NOOP(
            "ConversationDialog", "Only the likeliest tokens that together have this probability; 1 for all."
        ),
        0.0,
        1.0,
        0.01,
    ),
    _Kind(
        "min_p",
        QT_TRANSLATE_NOOP("ConversationDialog", "Min-p"),
        QT_TRANSLATE_NOOP(
            "ConversationDialog", "Only tokens at least this share as likely as the likeliest; 0 for all."
        ),
        0.0,
        1.0,
        0.01,
    ),
    _Kind(
        "repetition_penalty",
        QT_TRANSLATE_NOOP("ConversationDialog", "Repetition penalty"),
        QT_TRANSLATE_NOOP(
            "ConversationDialog", "Above 1, what was written lately becomes less likely; 1 leaves it as it is."
        ),
        0.1,
        10.0,
        0.05,
    ),
    _Kind(
        "seed",
        QT_TRANSLATE_NOOP("ConversationDialog", "Seed"),
        QT_TRANSLATE_NOOP(
            "ConversationDialog", "The same seed draws the same reply to the same prompt; else it differs."
        ),
        0,
        _MOST,
        1,
        QT_TRANSLATE_NOOP("ConversationDialog", "another each time"),
    ),
    _Kind(
        "max_tokens",
        QT_TRANSLATE_NOOP("ConversationDialog", "Longest reply"),
        QT_TRANSLATE_NOOP("ConversationDialog", "Tokens after which a reply ends in any case."),
        1,
        10_000_000,
        64,
        QT_TRANSLATE_NOOP("ConversationDialog", "no limit"),
        1024,
    ),
)


class ConversationDialog(QDialog):
    """Takes what the user wants for one conversation.

    Signals:
        saved(str, OwnSampling): the system prompt and the sampling from the next reply on.
    """

    saved = Signal(str, OwnSampling)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumWidth(_WIDTH_PX)
        self._usual_prompt = ""
        self.about = words("", self, kind="quiet")
        self.system_prompt = QPlainTextEdit(self)
        self.system_prompt.setProperty("kind", "field")
        self.system_prompt.setAccessibleName(self.tr("System prompt"))
        self.system_prompt.setPlaceholderText(self.tr("What the model is told before the chat begins"))
        self.system_prompt.setTabChangesFocus(True)
        self.system_prompt.setFixedHeight(_PROMPT_PX)
        self.rows = {kind.name: _Row(kind, self) for kind in _KINDS}
        self.reset_button = button(self.tr("Reset"), "outlined", self)
        self.reset_button.setToolTip(self.tr("As for all chats"))
        self.reset_button.clicked.connect(self._reset)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self)
        self.cancel_button.clicked.connect(self.reject)
        self.save_button = button(self.tr("Save"), "primary", self)
        self.save_button.setDefault(True)
        self.save_button.clicked.connect(self._save)
        self._arrange()

    def show_values(
        self, title: str, about: str, system_prompt: str, own: OwnSampling, usual: ReplySettings, usual_prompt: str
    ) -> None:
        """`usual` and `usual_prompt` are those of all chats."""
        self.setWindowTitle(title)
        self.about.setText(about)
        self._usual_prompt = usual_prompt
        self.system_prompt.setPlainText(system_prompt)
        for name, row in self.rows.items():
            of_all = usual.max_tokens if name == "max_tokens" else getattr(usual.sampling, name)
            row.show_value(getattr(own, name), of_all)

    def _arrange(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(2, 1)
        for place, row in enumerate(self.rows.values()):
            grid.addWidget(row.own, place, 0)
            grid.addWidget(row.value, place, 1)
            grid.addWidget(row.usual, place, 2)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.reset_button)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.save_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(self.about)
        column.addWidget(words(self.tr("System prompt"), self, kind="title"))
        column.addWidget(self.system_prompt)
        column.addSpacing(4)
        column.addWidget(words(self.tr("Sampling"), self, kind="title"))
        column.addLayout(grid)
        column.addStretch(1)
        column.addSpacing(4)
        column.addLayout(buttons)

    @Slot()
    def _reset(self) -> None:
        self.system_prompt.setPlainText(self._usual_prompt)
        for row in self.rows.values():
            row.own.setChecked(False)

    @Slot()
    def _save(self) -> None:
        chosen: dict[str, Any] = {name: row.chosen for name, row in self.rows.items()}
        self.saved.emit(self.system_prompt.toPlainText(), OwnSampling(**chosen))
        self.accept()


class _Row:
    """A switch, the value that holds with it, and what holds without."""

    def __init__(self, kind: _Kind, parent: QWidget) -> None:
        name, about = _shown(kind.label), _shown(kind.about)
        self._open = _shown(kind.open) if kind.open else ""
        self._first = kind.first
        self._of_all: float | None = None
        self.own = QCheckBox(name, parent)
        self.own.setToolTip(about)
        self.own.setAccessibleDescription(about)
        self.value: QSpinBox | QDoubleSpinBox
        if isinstance(kind.step, float):
            self.value = QDoubleSpinBox(parent)
            self.value.setDecimals(2)
            self.value.setRange(kind.low, kind.high)
            self.value.setSingleStep(kind.step)
        else:
            self.value = QSpinBox(parent)
            self.value.setRange(int(kind.low), int(kind.high))
            self.value.setSingleStep(int(kind.step))
        self.value.setGroupSeparatorShown(kind.name != "seed")
        self.value.setProperty("kind", "field")
        self.value.setMinimumWidth(130)
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.value.setAccessibleName(name)
        self.value.setToolTip(about)
        policy = self.value.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.value.setSizePolicy(policy)
        self.usual = QLabel(parent)
        self.usual.setProperty("kind", "faint")
        self.own.toggled.connect(self._show_own)

    @property
    def chosen(self) -> float | int | None:
        return self.value.value() if self.own.isChecked() else None

    def show_value(self, value: float | None, of_all: float | None) -> None:
        self._of_all = of_all
        self.own.setChecked(value is not None)
        self._show_own(value is not None)
        if value is not None:
            self._set(value)

    def _show_own(self, own: bool) -> None:
        is_open = self._of_all is None
        self.value.setEnabled(own)
        self.value.setVisible(own or not is_open)
        self.usual.setText("" if own else self._as_for_all(is_open))
        if not own:
            self._set(self._first if self._of_all is None else self._of_all)

    def _as_for_all(self, is_open: bool) -> str:
        if not is_open:
            return translate("ConversationDialog", "as for all chats")
        return translate("ConversationDialog", "as for all chats: {value}").format(value=self._open)

    def _set(self, value: float) -> None:
        if isinstance(self.value, QSpinBox):
            self.value.setValue(int(min(value, _MOST)))
        else:
            self.value.setValue(value)


def _shown(text: str) -> str:
    return translate("ConversationDialog", text)
