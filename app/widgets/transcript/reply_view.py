"""A reply over the full width of the column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.text.markdown import Block, CodeBlock, ProseBlock
from app.text.tool_calls import CallBlock
from app.theme import ThemeKeeper
from app.widgets.parts import discard, set_up
from app.widgets.prompt.attached_files import AttachedFiles
from app.widgets.transcript.call_view import CallQuestion, CallView
from app.widgets.transcript.footers import BranchFlipper, ReplyFooter
from app.widgets.transcript.message_view import (
    LEGEND_GAP_PX,
    PARAGRAPH_GAP_PX,
    SPACE_ABOVE_PX,
    SPACE_BELOW_PX,
    MessageView,
    beginning,
)
from app.widgets.transcript.origin_legend import OriginLegend
from app.widgets.transcript.row_view import WaitingDots
from app.widgets.transcript.thought_view import ThoughtBlock, ThoughtView
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.joined_text import JoinedSelection, JoinedText
from app.widgets.words.prose import Prose, WideTable
from engine.values.conversations import Message
from engine.values.prompts import Attachment
from engine.values.replies import OriginRun, joined_thoughts

SHOWN_CHARACTERS = 200_000  # of a reply
_SHOWN_LINES = 5_000
_BLOCKS_SHOWN = 600
_BLOCKS_AT_ONCE = 3  # that are built …
_LETTERS_AT_ONCE = 4_000  # … and about how long they are together
_ARRANGED_AT_ONCE = 40
_LEAVING_AT_ONCE = 20  # blocks whose widgets are deleted, half a millisecond each


ReplyBlock = Block | ThoughtBlock | CallBlock
_BlockView = Prose | CodeBlockView | ThoughtView | CallView


class ReplyView(MessageView):
    """A reply that is being written, or a finished one with a footer. Prose, code, thoughts and calls alternate in
    blocks."""

    copied = Signal(str)  # the reply, or a block of its code, was copied to the clipboard
    regenerate_requested = Signal(int)  # write it again, by its id
    repeat_requested = Signal(int, object)  # write it again, by its id, with this seed, an int
    continue_requested = Signal()  # continue it
    branch_chosen = Signal(int)  # show another version of it, by its id
    toggled = Signal(object)  # unfold or fold the thought with this number, an int, or the call with this id, a str
    call_answered = Signal(str, object)  # the user has answered the question for the call with this id; a `Permission`

    def __init__(
        self, keeper: ThemeKeeper, lexing: Lexing, drawer: Drawer | None = None, parent: QWidget | None = None
    ) -> None:
        """`drawer` None: formulas stay text."""
        super().__init__(parent)
        self._keeper = keeper
        self._lexing = lexing
        self._drawer = drawer
        self._blocks: tuple[ReplyBlock, ...] = ()
        self._views: list[_BlockView] = []
        self._wanted: tuple[ReplyBlock, ...] = ()  # of which `_blocks` are the first
        self._has_more = False  # than are shown
        self._is_finished = False
        self._heights: list[int] = []  # of each view
        self._widths: list[int] = []  # for which each is arranged; 0: it is not
        self._is_behind = False  # of what it was given
        self._is_leaving = False
        self._more: Callable[[], None] = _nothing
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._go_on)
        self.waiting: WaitingDots | None = None  # while nothing new is written
        self.legend: OriginLegend | None = None
        self.sources: AttachedFiles | None = None
        self.footer: ReplyFooter | None = None
        self._text = self._thoughts = ""
        self._message_id = 0  # once it is finished
        self._selection = JoinedSelection(self._texts, self)

    @property
    def block_views(self) -> tuple[Prose | CodeBlockView, ...]:
        """Views of the answer's text and code, without its calls."""
        return tuple(view for view in self._views if isinstance(view, Prose | CodeBlockView))

    @property
    def thought_views(self) -> tuple[ThoughtView, ...]:
        return tuple(view for view in self._views if isinstance(view, ThoughtView))

    @property
    def call_views(self) -> tuple[CallView, ...]:
        return tuple(view for view in self._views if isinstance(view, CallView))

    def call_view(self, call_id: str) -> CallView | None:
        return next((view for view in self.call_views if view.call_id == call_id), None)

    @property
    def question(self) -> CallQuestion | None:
        """The call that waits for the user."""
        return next((view.question for view in self.call_views if view.question is not None), None)

    def show_waiting(self, words: str) -> None:
        """Shows below what is there of the reply that it is being prepared."""
        if self.waiting is None:
            self.waiting = WaitingDots(self._keeper, self)
            self.waiting.show()
            self.height_changed.emit()
        self.waiting.set_words(words)

    def end_waiting(self) -> None:
        if self.waiting is not None:
            discard(self.waiting)
            self.waiting = None
            self.height_changed.emit()

    def set_blocks(
        self,
        blocks: tuple[ReplyBlock, ...],
        finished: bool,
        more: Callable[[], None] | None = None,
        at_once: bool = True,
    ) -> None:
        """Shows these blocks; those that are shown already stay as they are. `more` is called when they are there.
        Unless `at_once`, it begins when the window has nothing else to do."""
        if finished:
            self.end_waiting()
        self._wanted, self._is_finished = blocks[:_BLOCKS_SHOWN], finished
        self._has_more = len(blocks) > _BLOCKS_SHOWN
        self._more = more or _nothing
        self._is_behind = True
        if at_once:
            self._show_wanted()
            self.height_changed.emit()
        else:
            self._later.start()

    def show_cut(self, num_shown: int | None, num_characters: int) -> None:
        """Call it after `set_blocks`: characters of blocks that are not shown are not counted."""
        super().show_cut(None if self._has_more else num_shown, num_characters)

    @property
    def is_whole(self) -> bool:
        """True if everything it was given is shown."""
        return not self._later.isActive()

    def _show_wanted(self) -> None:
        """A few blocks now, and the others when the window has nothing else to do."""
        num_built = num_letters = 0
        for index, block in enumerate(self._wanted):
            last = index == len(self._wanted) - 1
            if index < len(self._blocks) and self._blocks[index] == block and not (self._is_finished and last):
                continue
            if num_built == _BLOCKS_AT_ONCE or num_letters >= _LETTERS_AT_ONCE:
                self._blocks = (*self._wanted[:index], *self._blocks[index:])
                self._later.start()
                return
            self._show_block(index, block, self._is_finished or not last)
            num_built += 1
            num_letters += _num_letters(block)
        for view in self._views[len(self._wanted) :]:
            discard(view)
        for kept in (self._views, self._heights, self._widths):
            del kept[len(self._wanted) :]
        self._blocks, self._is_behind = self._wanted, False
        if self._more is not _nothing:
            self._later.start()

    def leave(self) -> None:
        """A few blocks after the other: hundreds would hold the window up."""
        self.hide()
        self.blockSignals(True)
        self._is_leaving = True
        self._go_on()

    def _leave_further(self) -> None:
        for view in self._views[-_LEAVING_AT_ONCE:]:
            discard(view)
        for kept in (self._views, self._heights, self._widths):
            del kept[-_LEAVING_AT_ONCE:]
        if self._views:
            self._later.start()
        else:
            discard(self)

    @Slot()
    def _go_on(self) -> None:
        if self._is_leaving:
            self._leave_further()
            return
        if self._is_behind:
            self._show_wanted()
        else:
            more, self._more = self._more, _nothing
            more()
        self.height_changed.emit()

    def set_message(self, message: Message) -> None:
        """Adds the footer of a finished reply."""
        self._text, self._thoughts = message.text, joined_thoughts(message.thoughts)
        self._message_id = message.id
        if self.footer is None:
            self.footer = ReplyFooter(self._keeper, self)
            self.footer.copy_requested.connect(self._copy)
            self.footer.regenerate_requested.connect(lambda: self.regenerate_requested.emit(self._message_id))
            self.footer.repeat_requested.connect(lambda seed: self.repeat_requested.emit(self._message_id, seed))
            self.footer.continue_requested.connect(self.continue_requested)
            self.footer.flipper.chosen.connect(self.branch_chosen)
            self.footer.show()
        self.footer.set_message(message)
        self.height_changed.emit()

    def remove_footer(self) -> None:
        """It goes on."""
        if self.footer is not None:
            discard(self.footer)
            self.footer = None
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

    def set_sources(self, passages: tuple[Attachment, ...]) -> None:
        """What was sent to be answered from."""
        if passages and self.sources is None:
            heading = self.tr("Passages sent with the question:")
            self.sources = AttachedFiles(self._keeper, passages, self, heading)
            self.sources.height_changed.connect(self.height_changed)
            self.sources.show()
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
            elif index and not self._is_joined(index):
                y += PARAGRAPH_GAP_PX  # Qt leaves out the space below the last paragraph of a text
            view.move(0, y)
            y += height + (14 if is_code else 0)
        if not num_left and any(each != width for each in self._widths):
            self._later.start()
        y += self._place_cut(0, y, width)
        if self.waiting is not None:
            self.waiting.setGeometry(0, y, width, self.waiting.sizeHint().height())
            y += self.waiting.height()
        if self.sources is not None:
            y += LEGEND_GAP_PX
            self.sources.move(0, y)
            y += self.sources.arrange(width) + LEGEND_GAP_PX
        if self.legend is not None:
            height = self.legend.heightForWidth(width)
            self.legend.setGeometry(0, y, width, height)
            y += height + LEGEND_GAP_PX
        if self.footer is not None:
            self.footer.setGeometry(-6, y, width + 6, self.footer.sizeHint().height())
            y += self.footer.height()
        return y + SPACE_BELOW_PX

    def _is_joined(self, index: int) -> bool:
        """True if there is no gap between this block and the one before it."""
        before = self._views[index - 1]
        if isinstance(before, CodeBlockView):  # which has its own
            return True
        if isinstance(before, CallView) and isinstance(self._views[index], CallView):
            return before.question is None and not before.parts
        block = self._blocks[index] if index < len(self._blocks) else None
        return isinstance(block, ProseBlock) and block.joined

    def _show_block(self, index: int, block: ReplyBlock, complete: bool) -> None:
        view = self._views[index] if index < len(self._views) else None
        if isinstance(block, ThoughtBlock):
            if not isinstance(view, ThoughtView):
                view = ThoughtView(self._keeper, self._selection, self)
                view.toggled.connect(self.toggled)
                view.copy_requested.connect(self._copy_all)
                self._put(index, view)
            view.show_block(block)
        elif isinstance(block, CallBlock):
            if not isinstance(view, CallView):
                view = CallView(self._keeper, self._lexing, self._selection, self)
                view.toggled.connect(self.toggled)
                view.answered.connect(self.call_answered)
                view.copied.connect(self.copied)
                view.height_changed.connect(partial(self._arrange_again, view))
                self._put(index, view)
            view.show_block(block)
        elif isinstance(block, CodeBlock):
            if not isinstance(view, CodeBlockView):
                view = CodeBlockView(self._keeper, self._lexing, self)
                view.copied.connect(self.copied)
                view.height_changed.connect(partial(self._arrange_again, view))
                self._put(index, view)
            view.set_code(block.language, block.code, complete, block.marks)
        else:
            kind = WideTable if block.is_table else Prose
            if type(view) is not kind or not isinstance(view, Prose):
                view = set_up(kind(self._keeper, self, self._drawer), name=self.tr("Reply"))
                view.drawn.connect(partial(self._arrange_again, view))
                view.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # it is part of the row's
                self._put(index, view)
            view.set_html(block.html)
        self._widths[index] = 0

    def _arrange_again(self, view: _BlockView) -> None:
        """It has another height: formulas are drawn, or more of a call is shown."""
        if view in self._views:
            self._widths[self._views.index(view)] = 0
            self.height_changed.emit()

    def _put(self, index: int, view: _BlockView) -> None:
        if index < len(self._views):
            discard(self._views[index])
            self._views[index] = view
        else:
            self._views.append(view)
            self._heights.append(0)
            self._widths.append(0)
        for text in _texts_of(view):
            text.joined = self._selection
        view.show()

    def _texts(self) -> Sequence[JoinedText]:
        return [text for view in self._views for text in _texts_of(view)]

    @Slot()
    def _copy(self) -> None:
        self._put_on_clipboard(self._text)

    @Slot()
    def _copy_all(self) -> None:
        self._put_on_clipboard("\n\n".join(filter(None, (self._thoughts, self._text))))

    def _put_on_clipboard(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.copied.emit(text)


def _texts_of(view: _BlockView) -> Sequence[JoinedText]:
    if isinstance(view, ThoughtView | CallView):
        return view.texts
    return [view.body if isinstance(view, CodeBlockView) else view]


def _num_letters(block: ReplyBlock) -> int:
    match block:
        case ThoughtBlock():
            return len(block.text) if block.is_open else 0
        case CallBlock():
            return len(block.text) + len(block.call.arguments) if block.is_open else 0
        case CodeBlock():
            return len(block.code)
    return len(block.html)


def _nothing() -> None:
    pass


def shown_of(reply: str, num_characters: int = 0, num_ends: int = 0) -> str:
    """What is shown of a reply, or of its next piece, after so many characters and ends of lines."""
    return beginning(reply, SHOWN_CHARACTERS - num_characters, _SHOWN_LINES - num_ends)
