from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.theme import ThemeKeeper
from app.widgets.branch_flipper import BranchFlipper
from app.widgets.copy_button import CopyButton
from app.widgets.elided_label import ElidedLabel
from app.widgets.icon_button import IconButton
from app.widgets.meter_text import ratio_number, speed_number
from engine.records import Message, ReplyStatistics, StopReason

_ENDINGS = {
    StopReason.LENGTH: "reached its length",
    StopReason.CONTEXT_FULL: "context full",
    StopReason.STOPPED: "stopped",
    StopReason.FAILED: "broken off by an error",
}


class ReplyFooter(QWidget):
    """The quiet line under a finished reply: who wrote it, how fast, and what can be done with it.

    Signals:
        copy_requested(): the Copy button was pressed.
        regenerate_requested(), continue_requested(): the buttons were pressed.
    """

    copy_requested = Signal()
    regenerate_requested = Signal()
    continue_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.copy_button = CopyButton(keeper, "Copy reply", self)
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        self.regenerate_button = IconButton(
            keeper, "regenerate", "Write this reply again", icon_px=15, kind="footer", parent=self
        )
        self.regenerate_button.clicked.connect(self._on_regenerate)
        self.regenerate_button.hide()
        self.continue_button = IconButton(
            keeper, "continue", "Let this reply go on where it ended", icon_px=15, kind="footer", parent=self
        )
        self.continue_button.setText("Continue")
        self.continue_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.continue_button.clicked.connect(self._on_continue)
        self.continue_button.hide()
        self.flipper = BranchFlipper(keeper, self)
        self.facts = ElidedLabel(self)
        self.facts.setProperty("kind", "faint")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self.copy_button)
        row.addWidget(self.regenerate_button)
        row.addWidget(self.continue_button)
        row.addWidget(self.flipper)
        row.addSpacing(6)
        row.addWidget(self.facts, 1)

    def set_message(self, message: Message) -> None:
        self.facts.set_words(facts(message))
        if message.statistics is not None:
            self.facts.setToolTip(details(message.statistics))
            self.facts.setAccessibleDescription(details(message.statistics))

    def set_regenerate(self, possible: bool) -> None:
        self.regenerate_button.setVisible(possible)

    def set_continue(self, possible: bool) -> None:
        self.continue_button.setVisible(possible)

    @Slot()
    def _on_continue(self) -> None:
        self.continue_requested.emit()

    @Slot()
    def _on_regenerate(self) -> None:
        self.regenerate_requested.emit()


def facts(message: Message) -> str:
    """`SmolLM2 · 214 tokens · 31 tok/s · stopped`, as far as it is known."""
    parts = [message.target_name] if message.target_name else []
    statistics = message.statistics
    if statistics is not None:
        num = statistics.reply_tokens
        parts.append(f"{num:,} token{'' if num == 1 else 's'}")
        if statistics.tokens_per_s:
            parts.append(f"{statistics.tokens_per_s:.{0 if statistics.tokens_per_s >= 20 else 1}f} tok/s")
        speedup = statistics.told_speedup
        if speedup is not None:
            parts.append(f"{speedup.value:.1f}× of plain")
        if statistics.num_drafted:
            parts.append(f"{statistics.tokens_per_round:.1f} per round")
        if statistics.stop_reason in _ENDINGS:
            parts.append(_ENDINGS[statistics.stop_reason])
    return "  ·  ".join(parts)


def details(statistics: ReplyStatistics) -> str:
    reused = statistics.prompt_tokens - statistics.evaluated_tokens
    lines = [
        f"Prompt: {statistics.prompt_tokens:,} tokens, of which {statistics.evaluated_tokens:,} were read now and "
        f"{reused:,} were still known from before",
        f"Reading the prompt: {statistics.prompt_s:.2f} s",
        f"Writing the reply: {statistics.reply_tokens:,} tokens in {statistics.reply_s:.2f} s",
        f"Context: {statistics.context_used:,} of {statistics.context_size:,} tokens",
    ]
    if statistics.num_drafted:
        lines.append(
            f"Drafted ahead: {statistics.num_drafted:,} tokens, of which {statistics.num_accepted:,} stood; "
            f"{statistics.num_rounds:,} rounds"
        )
    if statistics.plain_tokens_per_s:
        lines.append(
            f"Without drafts this machine writes about {speed_number(statistics.plain_tokens_per_s)} tok/s "
            f"(± {max(1, round(100 * statistics.plain_error))} %), measured in rounds without one"
        )
    speedup = statistics.told_speedup
    if speedup is not None:
        lines.append(f"This reply: {ratio_number(speedup)} of that")
    if statistics.left_out_messages:
        lines.append(f"Not read any more: the {statistics.left_out_messages:,} oldest messages")
    return "\n".join(lines)
