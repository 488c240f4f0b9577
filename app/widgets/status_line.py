"""The line below the prompt box: speed, and how full the context is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QWidget

from app.theme import ThemeKeeper
from app.widgets.elided_label import ElidedLabel

HIGH = 0.80  # of the context
FULL = 0.95
_STEPS = 1_000


class StatusLine(QWidget):
    """Shows numbers of the reply under way or the last one. One setter per part, no signals."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:  # noqa: ARG002
        super().__init__(parent)
        self.speed = QLabel(self)
        self.speed.setProperty("kind", "faint")
        self.speed.setToolTip("Tokens written per second, measured from the end of the prompt to the latest token")
        self.words = ElidedLabel(self)
        self.words.setProperty("kind", "faint")
        self.gauge = QProgressBar(self)
        self.gauge.setRange(0, _STEPS)
        self.gauge.setTextVisible(False)
        self.gauge.setFixedSize(72, 4)
        self.gauge.setAccessibleName("Context used")
        self.context = QLabel(self)
        self.context.setProperty("kind", "faint")
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 6, 0)
        row.setSpacing(10)
        row.addWidget(self.speed)
        row.addWidget(self.words, 1)
        row.addWidget(self.gauge, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.context)
        self.clear()

    def set_speed(self, num_tokens: int, tokens_per_s: float) -> None:
        plural = "" if num_tokens == 1 else "s"
        self.speed.setText(f"{tokens_per_s:.1f} tok/s  ·  {num_tokens:,} token{plural}")

    def set_words(self, words: str) -> None:
        """What drafts ahead of the model, or why nothing does; empty for none."""
        self.words.set_words(words)
        self.words.setToolTip(words)

    def set_context(self, used: int, size: int) -> None:
        """`used` of `size` tokens are held by the target."""
        share = used / size if size else 0.0
        self.gauge.setValue(round(min(1.0, share) * _STEPS))
        self.context.setText(f"{used:,} / {size:,}")
        level = "full" if share >= FULL else "high" if share >= HIGH else "calm"
        if level != self.gauge.property("level"):
            self.gauge.setProperty("level", level)
            self.gauge.style().unpolish(self.gauge)
            self.gauge.style().polish(self.gauge)
        words = (
            f"The conversation takes {used:,} of the {size:,} tokens ({share:.0%}) that the model can see at once.\n"
            "Counted by the model's own tokens; when it is full, the oldest messages are left out."
        )
        self.gauge.setToolTip(words)
        self.context.setToolTip(words)
        self.gauge.setVisible(size > 0)
        self.context.setVisible(size > 0)

    def clear(self) -> None:
        """No numbers; the words stay."""
        self.speed.clear()
        self.set_context(0, 0)
