"""One message: a prompt in a bubble, or a reply over the full width of the column."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.highlight import Lexing
from app.markdown import Block, CodeBlock, ProseBlock
from app.theme import ThemeKeeper
from app.widgets.code_block import CodeBlockView
from app.widgets.prose import Prose
from app.widgets.reply_footer import ReplyFooter
from app.widgets.row_view import RowView
from app.widgets.waiting import Waiting
from engine.records import Message

BUBBLE_SHARE = 0.82  # of the column, at most
BUBBLE_PADDING_PX = 14
BUBBLE_RADIUS_PX = 16
SPACE_ABOVE_PX = 14
PARAGRAPH_GAP_PX = 10
SPACE_BELOW_PX = 14
SHORTENED_LINES = 24  # of a long prompt, until all of it is asked for
SHORTENED_CHARACTERS = 2_400


class PromptView(RowView):
    """What the user wrote, as plain text; a long one is shortened until its button is pressed."""

    def __init__(self, keeper: ThemeKeeper, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._text = text
        self._bubble = QRectF()
        self.prose = Prose(keeper, self)
        self.prose.setAccessibleName("Your message")
        self.all_button = QPushButton("Show all of it", self)
        self.all_button.setProperty("kind", "link")
        self.all_button.setCursor(Qt.CursorShape.PointingHandCursor)
        self.all_button.clicked.connect(self._show_all)
        shortened = _shortened(text)
        self.all_button.setVisible(shortened != text)
        self.prose.set_plain_text(shortened if shortened == text else shortened + " …")
        keeper.changed.connect(self.update)

    def arrange(self, width: int) -> int:
        widest = int(width * BUBBLE_SHARE) - 2 * BUBBLE_PADDING_PX
        inner = max(24, min(widest, self.prose.ideal_width(widest)))
        height = self.prose.arrange(inner)
        left = width - inner - BUBBLE_PADDING_PX
        self.prose.move(left, SPACE_ABOVE_PX + BUBBLE_PADDING_PX - 2)  # the space between lines is below each
        bottom = self.prose.y() + height + BUBBLE_PADDING_PX - 7
        if not self.all_button.isHidden():
            size = self.all_button.sizeHint()
            self.all_button.setGeometry(left - 8, bottom - 6, size.width(), size.height())
            bottom += size.height()
        self._bubble = QRectF(
            left - BUBBLE_PADDING_PX, SPACE_ABOVE_PX, inner + 2 * BUBBLE_PADDING_PX, bottom - SPACE_ABOVE_PX
        )
        return bottom + SPACE_BELOW_PX

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._keeper.theme.bubble))
        painter.drawRoundedRect(self._bubble, BUBBLE_RADIUS_PX, BUBBLE_RADIUS_PX)
        painter.end()

    @Slot()
    def _show_all(self) -> None:
        self.all_button.hide()
        self.prose.set_plain_text(self._text)
        self.height_changed.emit()


class ReplyView(RowView):
    """A reply, growing or finished.

    Signals:
        copied(str): the reply, or a block of its code, went to the clipboard.
        regenerate_requested(): its Regenerate button was pressed.
    """

    copied = Signal(str)
    regenerate_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, lexing: Lexing, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._lexing = lexing
        self._blocks: tuple[Block, ...] = ()
        self._views: list[Prose | CodeBlockView] = []
        self._heights: list[int | None] = []  # of each view; None = to be arranged
        self._arranged_width = 0
        self._waiting: Waiting | None = None
        self._footer: ReplyFooter | None = None
        self._text = ""

    @property
    def block_views(self) -> tuple[Prose | CodeBlockView, ...]:
        return tuple(self._views)

    @property
    def footer(self) -> ReplyFooter | None:
        return self._footer

    def show_waiting(self, words: str) -> None:
        """Shows that the reply is being prepared, until its first block comes."""
        if self._waiting is None:
            self._waiting = Waiting(self._keeper, self)
            self._waiting.show()
            self.height_changed.emit()
        self._waiting.set_words(words)

    def set_blocks(self, blocks: tuple[Block, ...], finished: bool) -> None:
        """Shows these blocks; those that were shown before are left alone."""
        if (blocks or finished) and self._waiting is not None:
            self._waiting.hide()
            self._waiting.deleteLater()
            self._waiting = None
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            if index < len(self._blocks) and self._blocks[index] == block and not (finished and last):
                continue
            self._show_block(index, block, finished or not last)
        for view in self._views[len(blocks) :]:
            view.hide()
            view.deleteLater()
        del self._views[len(blocks) :]
        del self._heights[len(blocks) :]
        self._blocks = blocks
        self.height_changed.emit()

    def set_message(self, message: Message) -> None:
        """Adds what is known once the reply is finished."""
        self._text = message.text
        if self._footer is None:
            self._footer = ReplyFooter(self._keeper, self)
            self._footer.copy_requested.connect(self._copy)
            self._footer.regenerate_requested.connect(self.regenerate_requested)
            self._footer.show()
        self._footer.set_message(message)
        self.height_changed.emit()

    def set_regenerate(self, possible: bool) -> None:
        if self._footer is not None:
            self._footer.set_regenerate(possible)

    def arrange(self, width: int) -> int:
        if width != self._arranged_width:
            self._heights = [None] * len(self._views)
            self._arranged_width = width
        y = SPACE_ABOVE_PX
        for index, view in enumerate(self._views):
            is_code = isinstance(view, CodeBlockView)
            height = self._heights[index]
            if height is None:
                height = view.arrange(width)
                self._heights[index] = height
            if is_code:
                y += 4
            elif index and not isinstance(self._views[index - 1], CodeBlockView) and not self._is_joined(index):
                y += PARAGRAPH_GAP_PX  # Qt leaves out the space below the last paragraph of a text
            view.move(0, y)
            y += height + (14 if is_code else 0)
        if self._waiting is not None:
            self._waiting.setGeometry(0, y, width, self._waiting.sizeHint().height())
            y += self._waiting.height()
        if self._footer is not None:
            self._footer.setGeometry(-6, y, width + 6, self._footer.sizeHint().height())
            y += self._footer.height()
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
            view.set_code(block.language, block.code, complete)
        else:
            if not isinstance(view, Prose):
                view = Prose(self._keeper, self)
                view.setAccessibleName("Reply")
                self._put(index, view)
            self._set_prose(view, block)
        self._heights[index] = None

    def _set_prose(self, view: Prose, block: ProseBlock) -> None:
        view.set_html(block.html)

    def _put(self, index: int, view: Prose | CodeBlockView) -> None:
        if index < len(self._views):
            self._views[index].hide()
            self._views[index].deleteLater()
            self._views[index] = view
        else:
            self._views.append(view)
            self._heights.append(None)
        view.show()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self.copied.emit(self._text)


def _shortened(text: str) -> str:
    """The beginning of a text that is far longer than what is shown at first, else the text."""
    start = "\n".join(text.split("\n", SHORTENED_LINES)[:SHORTENED_LINES])[:SHORTENED_CHARACTERS]
    return start if len(text) > len(start) + SHORTENED_CHARACTERS // 4 else text
