"""The messages of a conversation, and the reply that is just being written."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.highlight import Lexing
from app.theme import ThemeKeeper
from app.throttle import Throttle
from app.widgets.icon_button import IconButton
from app.widgets.message_view import ReplyView
from app.widgets.transcript_rows import GrowingRow, NoteRow, PromptRow, ReplyRow, Stage, TextMeasure
from app.widgets.virtual_column import COLUMN_PX, VirtualColumn
from app.widgets.welcome import Welcome
from engine.records import Message, Role

LATEST_PX = 34


class Transcript(QWidget):
    """Shows messages; what is outside the visible part exists as values only.

    Signals:
        regenerate_requested(): the last reply is to be written again.
        copied(str): a reply or a block of code went to the clipboard.
        example_chosen(str): one of the prompts that an empty conversation offers.
    """

    regenerate_requested = Signal()
    copied = Signal(str)
    example_chosen = Signal(str)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._scale = keeper.scale
        self.lexing = Lexing(self)
        self._stage = Stage(keeper, self.lexing, TextMeasure())
        self._rows: list[PromptRow | ReplyRow | NoteRow | GrowingRow] = []
        self._growing: GrowingRow | None = None
        self._busy = False
        self._pending: list[str] = []  # pieces of the reply that are not shown yet
        self._repaint = Throttle(self._show_pending, parent=self)
        self.column = VirtualColumn(self)
        self.column.setAccessibleName("Conversation")
        self.column.view_built.connect(self._on_view_built)
        self.column.following_changed.connect(self._on_following_changed)
        self.welcome = Welcome(keeper, self)
        self.welcome.example_chosen.connect(self.example_chosen)
        self.latest_button = IconButton(keeper, "down", "Scroll to the latest message", kind="latest", parent=self)
        self.latest_button.setText("Latest")
        self.latest_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.latest_button.clicked.connect(self.column.scroll_to_end)
        self.latest_button.hide()
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.welcome)
        self._stack.addWidget(self.column)
        keeper.changed.connect(self._on_look_changed)
        self._fit()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is shown and finished, oldest first."""
        return tuple(row.message for row in self._rows if isinstance(row, PromptRow | ReplyRow))

    def clear(self) -> None:
        self.show_messages(())

    def show_messages(self, messages: tuple[Message, ...]) -> None:
        """Shows another conversation, from its end; a growing reply is given up."""
        self._forget_growing()
        self._rows = [self._row(message) for message in messages if message.role != Role.SYSTEM]
        self.column.set_rows(self._rows)
        self._update_rows()

    def append_message(self, message: Message) -> None:
        row = self._row(message)
        self._rows.append(row)
        self._stack.setCurrentWidget(self.column)
        self.column.append(row)
        self.column.scroll_to_end()
        self._update_rows()

    def begin_reply(self) -> None:
        """A reply is being prepared; dots stand in for it."""
        self.abandon_reply()
        self._growing = GrowingRow(self._stage)
        self._rows.append(self._growing)
        self._stack.setCurrentWidget(self.column)
        self.column.append(self._growing)
        self._update_rows()

    def show_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        if self._growing is not None and num_total > 0:
            self._growing.wait_for(f"Reading the prompt… {100 * num_evaluated // num_total} %")
            self._refresh_growing()

    def append_reply_text(self, text: str) -> None:
        if self._growing is not None:
            self._pending.append(text)
            self._repaint.request()

    def finish_reply(self, message: Message) -> None:
        """The reply is complete; its text replaces what has grown."""
        if self._growing is None:
            self.append_message(message)
            return
        self._show_pending()
        row = self._growing.finished(message)
        self._rows[self._rows.index(self._growing)] = row
        self.column.replace(self._growing, row)
        self._forget_growing()
        view = self.column.view_of(row)
        if isinstance(view, ReplyView):
            row.show_in(view)
        self._update_rows()

    def abandon_reply(self) -> None:
        """Takes a growing reply away."""
        row = self._growing
        self._forget_growing()
        if row is not None:
            self._rows.remove(row)
            self.column.remove(row)
            self._update_rows()

    def drop_last_reply(self) -> None:
        """Takes the last finished reply, and any notes below it, away before it is written again."""
        for index in range(len(self._rows) - 1, -1, -1):
            row = self._rows[index]
            if isinstance(row, PromptRow):
                return
            self._rows.pop(index)
            self.column.remove(row)
            if isinstance(row, ReplyRow):
                self._update_rows()
                return

    def show_note(self, text: str) -> None:
        """Adds a quiet line; above a reply that is just growing."""
        row = NoteRow(text)
        self._stack.setCurrentWidget(self.column)
        if self._growing is not None:
            index = self._rows.index(self._growing)
            self._rows.insert(index, row)
            self.column.insert_before(self._growing, row)
        else:
            self._rows.append(row)
            self.column.append(row)

    def set_busy(self, busy: bool) -> None:
        """While busy, no reply can be written again."""
        self._busy = busy
        self._update_rows()

    def can_regenerate(self) -> bool:
        """Whether the last reply can be written again, or a prompt that stayed without one be answered."""
        return not self._busy and self._growing is None and bool(self.messages)

    def scroll_pages(self, pages: int) -> None:
        bar = self.column.verticalScrollBar()
        bar.setValue(bar.value() + pages * bar.pageStep())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_latest_button()

    # Size of text

    @Slot()
    def _on_look_changed(self) -> None:
        if self._keeper.scale != self._scale:
            self._scale = self._keeper.scale
            self._stage.measure.refresh()
            self._fit()
            self.column.build_again()
            self._update_rows()

    def _fit(self) -> None:
        self.latest_button.setFixedHeight(self._keeper.px(LATEST_PX))
        self.column.set_widest(self._keeper.px(COLUMN_PX))

    # Rows

    def _row(self, message: Message) -> PromptRow | ReplyRow:
        return PromptRow(self._stage, message) if message.role == Role.USER else ReplyRow(self._stage, message)

    @Slot(QWidget)
    def _on_view_built(self, view: QWidget) -> None:
        if isinstance(view, ReplyView):
            view.copied.connect(self.copied)
            view.regenerate_requested.connect(self.regenerate_requested)

    def _last_reply(self) -> ReplyRow | None:
        for row in reversed(self._rows):
            if isinstance(row, ReplyRow):
                return row
            if not isinstance(row, NoteRow):
                return None
        return None

    def _update_rows(self) -> None:
        """Shows the welcome page or the column, and Regenerate at the last reply only."""
        self._stack.setCurrentWidget(self.column if self._rows else self.welcome)
        last = self._last_reply() if self.can_regenerate() else None
        for row in self._rows[-6:]:
            if isinstance(row, ReplyRow):
                row.can_regenerate = row is last
                view = self.column.view_of(row)
                if isinstance(view, ReplyView):
                    view.set_regenerate(row.can_regenerate)
        self._place_latest_button()

    # The growing reply

    def _show_pending(self) -> None:
        if self._growing is not None and self._pending:
            self._growing.feed("".join(self._pending))
            self._pending.clear()
            self._refresh_growing()

    def _refresh_growing(self) -> None:
        if self._growing is not None:
            view = self.column.view_of(self._growing)
            if isinstance(view, ReplyView):
                self._growing.show_in(view)

    def _forget_growing(self) -> None:
        self._growing = None
        self._pending.clear()
        self._repaint.cancel()

    # The button that leads back to the end

    @Slot(bool)
    def _on_following_changed(self, following: bool) -> None:
        self.latest_button.setVisible(not following and bool(self._rows))
        self._place_latest_button()

    def _place_latest_button(self) -> None:
        button = self.latest_button
        if self.column.following or not self._rows:
            button.hide()
        button.adjustSize()
        button.move((self.width() - button.width()) // 2, self.height() - button.height() - 12)
        button.raise_()
