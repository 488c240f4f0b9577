"""One message: a prompt in a bubble, or a reply over the full width of the column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from app.text.highlight import Lexing
from app.text.markdown import Block, CodeBlock, ProseBlock
from app.theme import ThemeKeeper
from app.widgets.attached_files import AttachedFiles
from app.widgets.code_block import CodeBlockView
from app.widgets.footers import BranchFlipper, PromptFooter, ReplyFooter
from app.widgets.joined_text import JoinedSelection, JoinedText
from app.widgets.origin_legend import OriginLegend
from app.widgets.parts import button, discard, set_up
from app.widgets.prompt_editor import SHARE_OF_WINDOW, PromptRevision
from app.widgets.prose import Prose
from app.widgets.row_view import RowView, Waiting
from engine.messages.conversations import Message
from engine.messages.prompts import split_prompt
from engine.messages.replies import OriginRun

BUBBLE_SHARE = 0.82  # of the column, at most
BUBBLE_PADDING_PX = 14
BUBBLE_RADIUS_PX = 16
SPACE_ABOVE_PX = 14
PARAGRAPH_GAP_PX = 10
SPACE_BELOW_PX = 14
LEGEND_GAP_PX = 4
SHORTENED_LINES = 24  # of a long prompt, until its button is pressed
SHORTENED_CHARACTERS = 2_400
SHOWN_CHARACTERS = 200_000  # of a reply
SHOWN_OF_PROMPT = 20_000  # characters, when its button was pressed: they are in one widget
_SHOWN_LINES = 5_000  # of a reply
_SHOWN_LINES_OF_PROMPT = 2_000
LONGEST_REVISED = 100_000  # characters of a prompt that can be edited
_BLOCKS_SHOWN = 600  # of a reply
_BLOCKS_AT_ONCE = 3  # that are built
_ARRANGED_AT_ONCE = 40


class MessageView(RowView):
    """A message that can be deleted: from the menu of its row, or with Del where the keyboard is in it.

    Signals:
        delete_requested(): as the words of the menu say.
    """

    delete_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deletion = ""
        self.cut: QLabel | None = None  # says that not all of it is shown

    def show_cut(self, num_shown: int, num_characters: int) -> None:
        """Says how much of a long message is shown; all of it: nothing."""
        if num_shown >= num_characters:
            return
        words = self.tr(
            "The first {shown} of {all} characters are shown. Copy the message, or export the chat, to read the rest."
        )
        if self.cut is None:
            self.cut = set_up(QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True), kind="quiet")
            self.cut.show()
        self.cut.setText(words.format(shown=f"{num_shown:,}", all=f"{num_characters:,}"))

    def _place_cut(self, left: int, top: int, width: int) -> int:
        """The height that it takes."""
        if self.cut is None or self.cut.isHidden():
            return 0
        height = self.cut.heightForWidth(width)
        self.cut.setGeometry(left, top, width, height)
        return height + LEGEND_GAP_PX

    def set_deletion(self, words: str) -> None:
        """What deleting it is called; empty while that is not possible."""
        self._deletion = words

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        below = self.childAt(event.pos())
        text = below.parentWidget() if below is not None else None
        place = event.globalPos()
        menu = text.createStandardContextMenu(text.mapFromGlobal(place)) if isinstance(text, Prose) else QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._deletion:
            menu.addSeparator()
            menu.addAction(self._deletion, QKeySequence(Qt.Key.Key_Delete)).triggered.connect(self.delete_requested)
        menu.popup(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_in_text = isinstance(QApplication.focusWidget(), JoinedText) or self.findChild(PromptRevision) is not None
        if event.key() == Qt.Key.Key_Delete and self._deletion and not is_in_text:  # there it means something else
            self.delete_requested.emit()
        else:
            super().keyPressEvent(event)


class PromptView(MessageView):
    """A prompt as plain text in a bubble, below its attachments; a long one is shortened until its button is pressed.
    It can be edited in place.

    Signals:
        copied(str): the prompt was copied to the clipboard.
        revision_changed(str | None): the text it is being changed to; None when it is no longer edited.
        revision_submitted(str): the new prompt.
        branch_chosen(int): show another version of it, by its id.
    """

    copied = Signal(str)
    revision_changed = Signal(object)
    revision_submitted = Signal(str)
    branch_chosen = Signal(int)

    def __init__(self, keeper: ThemeKeeper, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = text
        attachments, text = split_prompt(text)
        self._keeper = keeper
        self._text = text
        self._bubble = QRectF()
        self.revision: PromptRevision | None = None
        self.files = AttachedFiles(keeper, attachments, self) if attachments else None
        if self.files is not None:
            self.files.height_changed.connect(self.height_changed)
        self.prose = set_up(Prose(keeper, self), name=self.tr("Your message"))
        self.prose.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # it is part of the row's
        self.all_button = button(self.tr("Show more"), "link", self, self._show_all, has_hand=True)
        self.prose.joined = JoinedSelection(lambda: [self.prose], self)
        shortened = _shortened(text)
        self.prose.set_plain_text(shortened if shortened == text else shortened + " …")
        self._shortened = shortened != text
        self.all_button.setVisible(self._shortened)
        self.footer = PromptFooter(keeper, self)
        self.footer.copy_requested.connect(self._copy)
        self.footer.edit_requested.connect(self._edit)
        self.footer.flipper.chosen.connect(self.branch_chosen)
        self.prose.setVisible(bool(text) or self.files is None)
        keeper.changed.connect(self.update)

    @property
    def flipper(self) -> BranchFlipper:
        return self.footer.flipper

    def revise(self, text: str) -> None:
        """Lets the user edit the prompt, beginning with `text`."""
        self.end_revision()
        self.revision = PromptRevision(text, self)
        self.revision.edited.connect(self._on_revision_edited)
        self.revision.submitted.connect(self.revision_submitted)
        self.revision.cancelled.connect(self._on_revision_cancelled)
        self._show_parts()

    def end_revision(self) -> None:
        if self.revision is not None:
            discard(self.revision)
            self.revision = None
            self._show_parts()

    def arrange(self, width: int) -> int:
        if self.revision is not None:
            inner = int(width * BUBBLE_SHARE)
            height = self.revision.arrange(inner, int(self.window().height() * SHARE_OF_WINDOW))
            self.revision.move(width - inner, SPACE_ABOVE_PX)
            return SPACE_ABOVE_PX + height + SPACE_BELOW_PX
        widest = int(width * BUBBLE_SHARE) - 2 * BUBBLE_PADDING_PX
        inner = max(24, min(widest, self.prose.ideal_width(widest)))
        top = SPACE_ABOVE_PX + BUBBLE_PADDING_PX - 2  # the space between lines is below each
        if self.files is not None:
            inner = max(inner, self.files.ideal_width(widest))
            self.files.move(width - inner - BUBBLE_PADDING_PX, top)
            top += self.files.arrange(inner) + (PARAGRAPH_GAP_PX if self._text else 5)
        height = self.prose.arrange(inner) if not self.prose.isHidden() else 0
        left = width - inner - BUBBLE_PADDING_PX
        self.prose.move(left, top)
        bottom = top + height + BUBBLE_PADDING_PX - 7
        bottom += self._place_cut(left, bottom - 4, inner)
        if self._shortened:
            size = self.all_button.sizeHint()
            self.all_button.setGeometry(left - 8, bottom - 6, size.width(), size.height())
            bottom += size.height()
        self._bubble = QRectF(
            left - BUBBLE_PADDING_PX, SPACE_ABOVE_PX, inner + 2 * BUBBLE_PADDING_PX, bottom - SPACE_ABOVE_PX
        )
        height = self.footer.sizeHint().height()
        self.footer.setGeometry(0, bottom + 2, width, height)
        return bottom + height + 4

    def enterEvent(self, event: QEnterEvent) -> None:
        self.footer.set_revealed(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.footer.set_revealed(False)
        super().leaveEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        if self.revision is not None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._keeper.theme.bubble))
        painter.drawRoundedRect(self._bubble, BUBBLE_RADIUS_PX, BUBBLE_RADIUS_PX)
        painter.end()

    @Slot()
    def _show_all(self) -> None:
        self._shortened = False
        shown = beginning(self._text, SHOWN_OF_PROMPT, _SHOWN_LINES_OF_PROMPT)
        self.prose.set_plain_text(shown)
        self.show_cut(len(shown), len(self._text))
        self._show_parts()

    def _show_parts(self) -> None:
        is_shown = self.revision is None
        self.prose.setVisible(is_shown and (bool(self._text) or self.files is None))
        if self.files is not None:
            self.files.setVisible(is_shown)
        self.footer.setVisible(is_shown)
        if self.cut is not None:
            self.cut.setVisible(is_shown)
        self.all_button.setVisible(is_shown and self._shortened)
        if self.revision is not None:
            self.revision.show()
        self.update()
        self.height_changed.emit()

    @Slot()
    def _edit(self) -> None:
        self.revise(self._whole)
        self.revision_changed.emit(self._whole)
        if self.revision is not None:
            self.revision.setFocus()

    @Slot()
    def _on_revision_edited(self) -> None:
        if self.revision is not None:
            self.height_changed.emit()
            self.revision_changed.emit(self.revision.text)

    @Slot()
    def _on_revision_cancelled(self) -> None:
        self.end_revision()
        self.revision_changed.emit(None)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._whole)
        self.copied.emit(self._whole)


class ReplyView(MessageView):
    """A reply that is being written, or a finished one with a footer. Prose and code alternate in blocks.

    Signals:
        copied(str): the reply, or a block of its code, was copied to the clipboard.
        regenerate_requested(int): write it again, by its id.
        continue_requested(): continue it.
        branch_chosen(int): show another version of it, by its id.
    """

    copied = Signal(str)
    regenerate_requested = Signal(int)
    continue_requested = Signal()
    branch_chosen = Signal(int)

    def __init__(self, keeper: ThemeKeeper, lexing: Lexing, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._lexing = lexing
        self._blocks: tuple[Block, ...] = ()
        self._views: list[Prose | CodeBlockView] = []
        self._wanted: tuple[Block, ...] = ()  # of which `_blocks` are the first
        self._is_finished = False
        self._heights: list[int] = []  # of each view
        self._widths: list[int] = []  # for which each is arranged; 0: it is not
        self._more: Callable[[], None] = _nothing
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._go_on)
        self.waiting: Waiting | None = None  # while nothing new is written
        self.legend: OriginLegend | None = None
        self.footer: ReplyFooter | None = None
        self._text = ""
        self._message_id = 0  # once it is finished
        self._selection = JoinedSelection(self._texts, self)

    @property
    def block_views(self) -> tuple[Prose | CodeBlockView, ...]:
        return tuple(self._views)

    def show_waiting(self, words: str) -> None:
        """Shows below what is there of the reply that it is being prepared."""
        if self.waiting is None:
            self.waiting = Waiting(self._keeper, self)
            self.waiting.show()
            self.height_changed.emit()
        self.waiting.set_words(words)

    def end_waiting(self) -> None:
        if self.waiting is not None:
            discard(self.waiting)
            self.waiting = None
            self.height_changed.emit()

    def set_blocks(self, blocks: tuple[Block, ...], finished: bool, more: Callable[[], None] | None = None) -> None:
        """Shows these blocks; those that are shown already stay as they are. `more` is called when they are there."""
        if finished:
            self.end_waiting()
        self._wanted, self._is_finished = blocks[:_BLOCKS_SHOWN], finished
        self._more = more or _nothing
        self._show_wanted()
        self.height_changed.emit()

    @property
    def is_whole(self) -> bool:
        """Whether all that it was given is there."""
        return not self._later.isActive()

    def _show_wanted(self) -> None:
        """A few blocks now, and the others when the window has nothing else to do."""
        num_built = 0
        for index, block in enumerate(self._wanted):
            last = index == len(self._wanted) - 1
            if index < len(self._blocks) and self._blocks[index] == block and not (self._is_finished and last):
                continue
            if num_built == _BLOCKS_AT_ONCE:
                self._blocks = (*self._wanted[:index], *self._blocks[index:])
                self._later.start()
                return
            self._show_block(index, block, self._is_finished or not last)
            num_built += 1
        for view in self._views[len(self._wanted) :]:
            discard(view)
        for kept in (self._views, self._heights, self._widths):
            del kept[len(self._wanted) :]
        self._blocks = self._wanted
        if self._more is not _nothing:
            self._later.start()

    @Slot()
    def _go_on(self) -> None:
        if self._blocks is not self._wanted:
            self._show_wanted()
        else:
            more, self._more = self._more, _nothing
            more()
        self.height_changed.emit()

    def set_message(self, message: Message) -> None:
        """Adds the footer of a finished reply."""
        self._text = message.text
        self._message_id = message.id
        if self.footer is None:
            self.footer = ReplyFooter(self._keeper, self)
            self.footer.copy_requested.connect(self._copy)
            self.footer.regenerate_requested.connect(lambda: self.regenerate_requested.emit(self._message_id))
            self.footer.continue_requested.connect(self.continue_requested)
            self.footer.flipper.chosen.connect(self.branch_chosen)
            self.footer.show()
        self.footer.set_message(message)
        self.height_changed.emit()

    def set_legend(self, origins: tuple[OriginRun, ...] | None) -> None:
        """Says what the colours mean; None: there are none."""
        if origins is None and self.legend is None:
            return
        if origins is not None:
            if self.legend is None:
                self.legend = OriginLegend(self._keeper, self)
                self.legend.show()
            self.legend.set_origins(origins)
        elif self.legend is not None:
            discard(self.legend)
            self.legend = None
        self.height_changed.emit()

    @property
    def flipper(self) -> BranchFlipper | None:
        return None if self.footer is None else self.footer.flipper

    def set_regenerate(self, possible: bool) -> None:
        if self.footer is not None:
            self.footer.set_regenerate(possible)

    def set_continue(self, possible: bool) -> None:
        if self.footer is not None:
            self.footer.set_continue(possible)

    def arrange(self, width: int) -> int:
        y = SPACE_ABOVE_PX
        num_left = _ARRANGED_AT_ONCE
        for index, view in enumerate(self._views):
            is_code = isinstance(view, CodeBlockView)
            if self._widths[index] != width and num_left:
                self._heights[index], self._widths[index] = view.arrange(width), width
                num_left -= 1
            height = self._heights[index]
            if is_code:
                y += 4
            elif index and not isinstance(self._views[index - 1], CodeBlockView) and not self._is_joined(index):
                y += PARAGRAPH_GAP_PX  # Qt leaves out the space below the last paragraph of a text
            view.move(0, y)
            y += height + (14 if is_code else 0)
        if not num_left and any(each != width for each in self._widths):
            self._later.start()
        y += self._place_cut(0, y, width)
        if self.waiting is not None:
            self.waiting.setGeometry(0, y, width, self.waiting.sizeHint().height())
            y += self.waiting.height()
        if self.legend is not None:
            height = self.legend.heightForWidth(width)
            self.legend.setGeometry(0, y, width, height)
            y += height + LEGEND_GAP_PX
        if self.footer is not None:
            self.footer.setGeometry(-6, y, width + 6, self.footer.sizeHint().height())
            y += self.footer.height()
        return y + SPACE_BELOW_PX

    def _is_joined(self, index: int) -> bool:
        block = self._blocks[index] if index < len(self._blocks) else None
        return isinstance(block, ProseBlock) and block.joined

    def _show_block(self, index: int, block: Block, complete: bool) -> None:
        view = self._views[index] if index < len(self._views) else None
        if isinstance(block, CodeBlock):
            if not isinstance(view, CodeBlockView):
                view = CodeBlockView(self._keeper, self._lexing, self)
                view.copied.connect(self.copied)
                self._put(index, view)
            view.set_code(block.language, block.code, complete, block.marks)
        else:
            if not isinstance(view, Prose):
                view = set_up(Prose(self._keeper, self), name=self.tr("Reply"))
                view.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # it is part of the row's
                self._put(index, view)
            view.set_html(block.html)
        self._widths[index] = 0

    def _put(self, index: int, view: Prose | CodeBlockView) -> None:
        if index < len(self._views):
            discard(self._views[index])
            self._views[index] = view
        else:
            self._views.append(view)
            self._heights.append(0)
            self._widths.append(0)
        _text_of(view).joined = self._selection
        view.show()

    def _texts(self) -> Sequence[JoinedText]:
        return [_text_of(view) for view in self._views]

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self.copied.emit(self._text)


def _text_of(view: Prose | CodeBlockView) -> JoinedText:
    return view.body if isinstance(view, CodeBlockView) else view


def _nothing() -> None:
    pass


def shown_of(reply: str) -> str:
    return beginning(reply, SHOWN_CHARACTERS, _SHOWN_LINES)


def beginning(text: str, num_characters: int, num_lines: int) -> str:
    """The first lines of a text, cut off after so many characters."""
    return "\n".join(text[:num_characters].split("\n", num_lines)[:num_lines])


def _shortened(text: str) -> str:
    """The beginning of a long text; else all of it."""
    start = beginning(text, SHORTENED_CHARACTERS, SHORTENED_LINES)
    return start if len(text) > len(start) + SHORTENED_CHARACTERS // 4 else text
