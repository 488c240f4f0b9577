"""The line under a message: what can be done with it, which version of it is shown, and how a reply was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from app.text.numbers import decimal, whole
from app.text.places import on_host, place_words
from app.text.speed import faster, plain_words, ratio_words, sentence, speed_words
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from app.theme import ThemeKeeper
from app.widgets.fitting_label import FittingLabel, shorter
from app.widgets.icon_button import CopyButton, IconButton
from app.widgets.layouts import Gap, Placed, Stretch, in_row
from app.widgets.parts import set_up
from app.widgets.popups import WindowMenu
from engine.values.conversations import Message
from engine.values.replies import ReplyStatistics, StopReason, Thought
from engine.values.speed import SpeedOutcome

_ENDINGS = {
    StopReason.LENGTH: QT_TRANSLATE_NOOP("Facts", "length limit reached"),
    StopReason.CONTEXT_FULL: QT_TRANSLATE_NOOP("Facts", "context full"),
    StopReason.STOPPED: QT_TRANSLATE_NOOP("Facts", "stopped"),
    StopReason.FAILED: QT_TRANSLATE_NOOP("Facts", "ended by an error"),
    StopReason.CUT_OFF: QT_TRANSLATE_NOOP("Facts", "cut off"),
}
Facts = Words("Facts")


class BranchFlipper(QWidget):
    """`‹ 2 / 3 ›`: which of several versions of a message is shown, with buttons to the others. Hidden where there is
    only one."""

    chosen = Signal(int)  # the id of the version to show

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._siblings: tuple[int, ...] = ()
        self._place = 0
        self._possible = True
        self.earlier_button = _tool(keeper, "earlier", "", lambda: self._flip(-1), self, icon_px=14)
        self.later_button = _tool(keeper, "later", "", lambda: self._flip(1), self, icon_px=14)
        self.words = set_up(QLabel(self, alignment=Qt.AlignmentFlag.AlignCenter), kind="faint")
        in_row([self.earlier_button, self.words, self.later_button], inside=self, spacing=0)
        self.hide()

    def set_siblings(self, siblings: Sequence[int], shown: int) -> None:
        """`siblings`: ids of all versions, oldest first; `shown`: the id of the shown one."""
        self._siblings = tuple(siblings)
        self._place = self._siblings.index(shown) if shown in self._siblings else 0
        number, count = self._place + 1, len(self._siblings)
        self.words.setText(f"{number} / {count}")
        where = self.tr("Version {number} of {count} is shown")
        self.words.setToolTip(where.format(number=number, count=count))
        before = self.tr("Previous version ({number} of {count} is shown)")
        self.earlier_button.set_name(before.format(number=number, count=count))
        after = self.tr("Next version ({number} of {count} is shown)")
        self.later_button.set_name(after.format(number=number, count=count))
        self.setVisible(len(self._siblings) > 1)
        self._update()

    def set_possible(self, possible: bool) -> None:
        """Allows showing other versions, or prevents it while a reply grows."""
        self._possible = possible
        self._update()

    def _update(self) -> None:
        self.earlier_button.setEnabled(self._possible and self._place > 0)
        self.later_button.setEnabled(self._possible and self._place < len(self._siblings) - 1)

    def _flip(self, step: int) -> None:
        self.chosen.emit(self._siblings[self._place + step])


class ReplyFooter(QWidget):
    """The quiet line under a finished reply: who wrote it, how fast, and what can be done with it."""

    copy_requested = Signal()  # this and the next two: the buttons were pressed
    regenerate_requested = Signal()
    continue_requested = Signal()
    repeat_requested = Signal(object)  # write it again with this seed, an int

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.copy_button = CopyButton(keeper, self.tr("Copy reply"), self)
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        again = self.tr("Regenerate")
        self.regenerate_button = _tool(keeper, "regenerate", again, self.regenerate_requested, self)
        on = self.tr("Continue this reply")
        self.continue_button = _tool(keeper, "continue", on, self.continue_requested, self, self.tr("Continue"))
        self._seed = ""
        self.seed_button = _tool(keeper, "seed", "", self._show_seed, self)
        for each in (self.regenerate_button, self.continue_button, self.seed_button):
            each.hide()
        self.flipper = BranchFlipper(keeper, self)
        self.facts = set_up(FittingLabel(self), kind="faint")
        buttons = (self.copy_button, self.regenerate_button, self.continue_button, self.seed_button)
        self._row = in_row([*buttons, self.flipper, Gap(6), Placed(self.facts, 1)], inside=self, spacing=2)
        self._words_px = 0  # that left

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fit()
        return super().event(event)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def _fit(self) -> None:
        """Drops the words next to icons if there is no room for them."""
        needed_px = self._row.minimumSize().width()
        if not self._words_px and needed_px > self.width():
            self._show_words(Qt.ToolButtonStyle.ToolButtonIconOnly)
            self._words_px = needed_px - self._row.minimumSize().width()
        elif self._words_px and needed_px + self._words_px <= self.width():
            self._show_words(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            self._words_px = 0

    def _show_words(self, style: Qt.ToolButtonStyle) -> None:
        self.copy_button.setToolButtonStyle(style)
        self.continue_button.setToolButtonStyle(style)

    def set_message(self, message: Message) -> None:
        self.facts.set_words(*facts(message))
        if message.statistics is not None:
            about = details(message.statistics, message.thoughts, message.server)
            set_up(self.facts, tip=about, about=about)
            self._seed = message.statistics.seed
            self.seed_button.set_name(self.tr("Seed {seed}").format(seed=self._seed))
            self.seed_button.setVisible(bool(self._seed))

    def _show_seed(self) -> None:
        """Opens a menu for the seed below its button."""
        menu = WindowMenu(self.seed_button)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy the seed {seed}").format(seed=self._seed))
        copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(self._seed))
        again = menu.addAction(self.tr("Write again with this seed"))
        again.setEnabled(not self.regenerate_button.isHidden())
        again.triggered.connect(lambda: self.repeat_requested.emit(int(self._seed)))
        menu.setActiveAction(copy)
        menu.popup(self.seed_button.mapToGlobal(self.seed_button.rect().bottomLeft()))

    def set_regenerate(self, possible: bool) -> None:
        self.regenerate_button.setVisible(possible)

    def set_continue(self, possible: bool) -> None:
        self.continue_button.setVisible(possible)


class PromptFooter(QWidget):
    """The line under a prompt: buttons, visible when it is pointed at or reached with Tab, and which version of it is
    shown. An unanswered one says so, and always has a button to try again."""

    copy_requested = Signal()  # this and the next two: the buttons were pressed
    edit_requested = Signal()
    retry_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.copy_button = CopyButton(keeper, self.tr("Copy this message"), self)
        self.copy_button.pressed_for_text.connect(self.copy_requested)
        edit = self.tr("Edit this message")
        self.edit_button = _tool(keeper, "edit", edit, self.edit_requested, self)
        self.flipper = BranchFlipper(keeper, self)
        again = self.tr("Try again")
        self.retry_button = _tool(keeper, "regenerate", again, self.retry_requested, self, again)
        self.unanswered = set_up(QLabel(self.tr("No reply yet"), self), kind="faint")
        buttons = (self.copy_button, self.edit_button, self.flipper)
        in_row([Stretch(), *buttons, self.unanswered, self.retry_button], inside=self, spacing=2)
        self.set_revealed(False)
        self.set_unanswered(False)

    def set_revealed(self, revealed: bool) -> None:
        """Reveals the buttons while the pointer is over the message."""
        self.copy_button.set_revealed(revealed)
        self.edit_button.set_revealed(revealed)

    def set_editable(self, editable: bool) -> None:
        self.edit_button.setVisible(editable)
        self.flipper.set_possible(editable)

    def set_unanswered(self, unanswered: bool) -> None:
        """Shows that the prompt has no reply, and none is being written."""
        self.unanswered.setVisible(unanswered)
        self.retry_button.setVisible(unanswered)


def facts(message: Message) -> tuple[str, ...]:
    """`SmolLM2 · 214 tokens · 31.4 tok/s · 1.5× faster · stopped`, as far as known, then shorter versions: numbers
    leave first, then the name, and the end of the reply never. A reply from a server has `llama-3 on 192.168.1.5` as
    its name."""
    parts = [(on_host(message.target_name, message.server), 1)] if message.target_name else []
    statistics = message.statistics
    if statistics is not None:
        if statistics.reply_tokens or not message.server:  # which may not report it
            parts.append((Facts.tr("{number} token(s)", "", statistics.reply_tokens), 4))
        if statistics.tokens_per_s:
            parts.append((speed_words(statistics.tokens_per_s), 3))
        verdict = statistics.verdict
        if verdict.outcome is SpeedOutcome.FASTER and not message.server:  # that of a server was not measured here
            parts.append((faster(verdict), 2))
        if statistics.stop_reason in _ENDINGS:
            parts.append((translate("Facts", _ENDINGS[statistics.stop_reason]), 0))
    return shorter(parts, "  ·  ")


def details(statistics: ReplyStatistics, thoughts: tuple[Thought, ...] = (), server: str = "") -> str:
    """`server`: the address that wrote it; empty: it was written here."""
    if server:
        return "\n".join(_details_elsewhere(statistics, server))
    return "\n".join((*_details(statistics), *_parts(statistics, thoughts)))


def _details_elsewhere(statistics: ReplyStatistics, server: str) -> Iterator[str]:
    """The figures that the server reports."""
    yield Facts.tr("Written on {place}", place=place_words(server))
    if statistics.prompt_tokens:
        yield Facts.tr("Prompt: {prompt} tokens", prompt=statistics.prompt_tokens)
    yield Facts.tr("From sending to the first word: {seconds} s", seconds=decimal(statistics.prompt_s, 2))
    if statistics.reply_tokens:
        seconds = decimal(statistics.reply_s, 2)
        yield Facts.tr(
            "Writing the reply: {number} token(s) in {seconds} s", "", statistics.reply_tokens, seconds=seconds
        )
    if statistics.num_drafted:
        yield Facts.tr(
            "Guessed on the server: {drafted} tokens, {accepted} accepted, by the server's count",
            drafted=statistics.num_drafted,
            accepted=statistics.num_accepted,
        )
    yield from _left_out(statistics)


def _parts(statistics: ReplyStatistics, thoughts: tuple[Thought, ...]) -> Iterator[str]:
    """The speeds of thinking and of answering."""
    seconds, number = sum(each.seconds for each in thoughts), sum(each.num_tokens for each in thoughts)
    parts = (
        (Facts.tr("Thinking: {number} tokens, {speed}"), number, seconds),
        (
            Facts.tr("Answering: {number} tokens, {speed}"),
            statistics.reply_tokens - number,
            statistics.reply_s - seconds,
        ),
    )
    for words, num_tokens, part_s in parts if number else ():
        if num_tokens <= 0 or part_s <= 0:
            continue
        speed, part = speed_words(num_tokens / part_s), statistics.verdict.of_part(num_tokens, num_tokens / part_s)
        speed += f", {faster(part)}" if part.outcome is SpeedOutcome.FASTER else ""
        yield words.format(number=whole(num_tokens), speed=speed)


def _details(statistics: ReplyStatistics) -> Iterator[str]:
    yield Facts.tr(
        "Prompt: {prompt} tokens; read for this reply: {read}, already known: {known}",
        prompt=statistics.prompt_tokens,
        read=statistics.evaluated_tokens,
        known=statistics.prompt_tokens - statistics.evaluated_tokens,
    )
    yield Facts.tr("Reading the prompt: {seconds} s", seconds=decimal(statistics.prompt_s, 2))
    seconds = decimal(statistics.reply_s, 2)
    yield Facts.tr("Writing the reply: {number} token(s) in {seconds} s", "", statistics.reply_tokens, seconds=seconds)
    yield Facts.tr("Context: {used} of {size} tokens", used=statistics.context_used, size=statistics.context_size)
    if statistics.num_drafted:
        yield Facts.tr(
            "Guessed ahead: {drafted} tokens, {accepted} accepted, in {number} round(s)",
            "",
            statistics.num_rounds,
            drafted=statistics.num_drafted,
            accepted=statistics.num_accepted,
        )
    verdict = statistics.verdict
    if verdict.ratio is not None:
        yield Facts.tr("Without guesses: {speed}", speed=plain_words(verdict))
        yield Facts.tr("Ratio: {ratio}", ratio=ratio_words(verdict))
    yield sentence(verdict)
    if statistics.seed:
        yield Facts.tr("Seed: {seed}", seed=statistics.seed)
    yield from _left_out(statistics)


def _left_out(statistics: ReplyStatistics) -> Iterator[str]:
    if statistics.left_out_messages == 1:
        yield Facts.tr("Left out: the oldest message")
    elif statistics.left_out_messages:
        yield Facts.tr("Left out: the %n oldest messages", "", statistics.left_out_messages)


def _tool(
    keeper: ThemeKeeper,
    icon: str,
    name: str,
    on_click: Callable[[], object] | SignalInstance,
    parent: QWidget,
    words: str = "",
    icon_px: int = 15,
) -> IconButton:
    return IconButton(keeper, icon, name, on_click, words=words, icon_px=icon_px, kind="footer", parent=parent)
