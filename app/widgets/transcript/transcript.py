"""The messages of a conversation, and the reply that is being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.text.amounts import percent_words
from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.prompt.pictures import Pictures
from app.widgets.throttle import Throttle
from app.widgets.transcript.answers import NO_SIBLINGS, Siblings, grouped
from app.widgets.transcript.call_view import CallQuestion
from app.widgets.transcript.growing_row import GrowingRow
from app.widgets.transcript.message_actions import MessageActions
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.row_list import RowList, messages_of
from app.widgets.transcript.row_view import Flash
from app.widgets.transcript.transcript_rows import CallStates, NoteRow, PromptRow, ReplyRow, Stage, TextMeasure
from app.widgets.transcript.virtual_column import COLUMN_PX, VirtualColumn
from app.widgets.welcome import Welcome
from engine.values.conversations import Message, Role
from engine.values.origins import TARGET
from engine.values.replies import OriginRun, Thought, ThoughtPiece

NO_REVISIONS: Mapping[int, str] = {}
LATEST_PX = 34


class Transcript(QWidget):
    """Shows messages; those outside the visible part exist as values only."""

    changed = Signal()  # other messages are shown, or they can be acted on again
    example_chosen = Signal(str)  # one of the prompts that an empty conversation offers

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._scale = keeper.scale
        self.lexing = Lexing(self)
        self.drawer = Drawer(self)
        self.calls = CallStates(self)
        self.calls.changed.connect(self._on_call_changed)
        self._stage = Stage(keeper, pictures, self.lexing, self.drawer, TextMeasure(), self.calls)
        self.rows = RowList()
        self._colouring = False
        self._pending: list[tuple[list[str], list[OriginRun]] | ThoughtPiece] = []  # what is not shown yet of the reply
        self._repaint = Throttle(self.show_pending, parent=self)
        self.column = VirtualColumn(self)
        self.column.setAccessibleName(self.tr("Chat"))
        self.column.following_changed.connect(self._on_following_changed)
        self.message_actions = MessageActions(self.rows, self.column, self.calls, self)
        self.welcome = Welcome(keeper, self)
        self.welcome.example_chosen.connect(self.example_chosen)
        name, words, scroll = self.tr("Scroll to the latest message"), self.tr("Latest"), self.column.scroll_to_end
        self.latest_button = IconButton(keeper, "down", name, scroll, words=words, kind="latest", parent=self)
        self.latest_button.hide()
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.welcome)
        self._stack.addWidget(self.column)
        keeper.changed.connect(self._on_look_changed)
        self._fit()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The finished messages that are shown, oldest first."""
        return self.rows.messages

    @property
    def last_answer(self) -> Message | None:
        """The answer at the end, as one message."""
        row = self.rows.last_reply()
        return None if row is None else row.message

    def clear(self) -> None:
        self.show_messages(())

    def show_messages(
        self,
        messages: tuple[Message, ...],
        siblings: Siblings = NO_SIBLINGS,
        revisions: Mapping[int, str] = NO_REVISIONS,
    ) -> None:
        """Shows another conversation, from its end; drops a growing reply."""
        self._forget_growing()
        self.rows[:] = [self._row(group, siblings) for group in grouped(filter(_is_shown, messages))]
        for row in self.rows:
            if isinstance(row, PromptRow):
                row.revision = revisions.get(row.message.id)
        self.column.set_rows(self.rows)
        self._update_rows()

    def change_messages(self, messages: tuple[Message, ...], siblings: Siblings = NO_SIBLINGS) -> None:
        """Updates the conversation, maybe to another branch of it, without scrolling; drops a growing reply."""
        focus = self.message_actions.focused_flipper()
        self._forget_growing()
        known = {messages_of(row): row for row in self.rows if isinstance(row, PromptRow | ReplyRow)}
        rows: list[PromptRow | ReplyRow] = []
        for group in grouped(filter(_is_shown, messages)):
            row = known.get(group) or self._row(group, siblings)
            if isinstance(row, ReplyRow):
                row.siblings = {each.id: siblings[each.id] for each in group if each.id in siblings}
                row.is_under_way = False
            else:
                row.siblings = siblings.get(row.message.id, ())
            rows.append(row)
        self.rows[:] = rows
        self.column.change_rows(self.rows)
        self._update_rows()
        if focus is not None:
            self.message_actions.focus_flipper(*focus)

    def cut_after(self, message_id: int | None) -> bool:
        """Removes the messages after this one, or all for None. Returns False, changing nothing, if it is not shown."""
        kept = [] if message_id is None else self.rows.up_to(message_id)
        if kept is None:
            return False
        if self.messages and self.messages[-1].id == message_id and self.rows.growing is None:
            return True
        self._forget_growing()
        self.rows[:] = kept
        self.column.change_rows(self.rows)
        self._update_rows()
        return True

    def append_message(self, message: Message, siblings: Sequence[int] = ()) -> None:
        row = self._row((message,), {message.id: siblings})
        self.rows.append(row)
        self._stack.setCurrentWidget(self.column)
        self.column.append(row)
        self.column.scroll_to_end()
        self._update_rows()

    def begin_reply(self, begun: str = "", thoughts: Sequence[Thought] = ()) -> None:
        """Prepares a reply: shows dots, or the text that it continues, with its thoughts. It continues the last answer
        if that ends with calls."""
        self.abandon_reply()
        before = self.rows.unfinished()
        self.rows.growing = GrowingRow(self._stage, self._colouring, before)
        if begun or thoughts:
            self.rows.growing.begin_with(begun, thoughts, TARGET.key)
            self.rows.growing.wait_for(self.tr("Reading the chat…"))
        self._stack.setCurrentWidget(self.column)
        if before is None:
            self.rows.append(self.rows.growing)
            self.column.append(self.rows.growing)
        else:
            self._put_in_place(before, self.rows.growing)
            self._refresh_growing()
        self._update_rows()

    def resume_answer(self) -> None:
        """The calls of the last answer are about to be carried out."""
        row = self.rows.unfinished()
        if row is not None:
            row.is_under_way = True
            view = self.column.view_of(row)
            if isinstance(view, ReplyView):
                view.remove_footer()

    def end_answer(self) -> None:
        """Nothing follows the calls of the last answer."""
        self.abandon_reply()
        row = self.rows.unfinished()
        if row is not None and row.is_under_way:
            row.is_under_way = False
            self._show_again(row)

    def add_result(self, message: Message, siblings: Sequence[int] = ()) -> None:
        """Adds the result of a call of the last answer."""
        self.abandon_reply()
        row = self.rows.unfinished()
        if row is None:
            self.append_message(message, siblings)
            return
        row.add(message, siblings)
        self._show_again(row)

    def show_calling(self) -> None:
        """Shows that the growing reply writes a call."""
        self.show_pending()
        if self.rows.growing is not None:
            self.rows.growing.wait_for(self.tr("Writing a tool call…"))
            self._refresh_growing()

    @property
    def question(self) -> CallQuestion | None:
        """The call that waits for the user, if its conversation is shown."""
        row = self.rows.unfinished()
        view = None if row is None else self.column.view_of(row)
        return view.question if isinstance(view, ReplyView) else None

    def show_question(self) -> CallQuestion | None:
        """Scrolls to the question."""
        self.column.scroll_to_end()
        return self.question

    def show_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        if self.rows.growing is not None and num_total > 0:
            share = percent_words(100 * num_evaluated // num_total / 100)  # 100 % only when all of it is read
            self.rows.growing.wait_for(self.tr("Reading the prompt… {share}").format(share=share))
            self._refresh_growing()

    def show_waiting(self, sentence: str) -> None:
        """Shows why the reply has not begun."""
        if self.rows.growing is not None:
            self.rows.growing.wait_for(sentence)
            self._refresh_growing()

    def append_reply_text(self, text: str, origins: tuple[OriginRun, ...] = ()) -> None:
        """`origins`: who guessed it, if known."""
        if self.rows.growing is not None:
            last = self._pending[-1] if self._pending else None
            if not isinstance(last, tuple):
                last = ([], [])
                self._pending.append(last)
            last[0].append(text)
            last[1].extend(origins)
            self._repaint.request()

    def append_thought(self, piece: ThoughtPiece) -> None:
        if self.rows.growing is not None:
            self._pending.append(piece)
            self._repaint.request()

    def finish_reply(self, message: Message, siblings: Sequence[int] = ()) -> None:
        """Replaces the growing reply by its final message."""
        if self.rows.growing is None:
            self.append_message(message, siblings)
            return
        self.show_pending()
        row = self.rows.growing.finished(message, siblings)
        self._put_in_place(self.rows.growing, row)
        self._forget_growing()
        view = self.column.view_of(row)
        if isinstance(view, ReplyView):
            view.end_waiting()
        self._show_again(row)

    def update_message(self, known_id: int, message: Message, siblings: Sequence[int]) -> None:
        """Updates a shown message that has another id, or other siblings."""
        row = self.rows.holder_of(known_id)
        if isinstance(row, PromptRow):
            row.message, row.siblings = message, siblings
        elif row is not None:
            row.update(known_id, message, siblings)
            if row in self.rows:
                self._show_again(row)
        self._update_rows()

    def abandon_reply(self) -> None:
        """Removes the growing reply."""
        row = self.rows.growing
        self._forget_growing()
        if row is None:
            return
        if row.before is not None:
            self._put_in_place(row, row.before)
            view = self.column.view_of(row.before)
            if isinstance(view, ReplyView):
                view.end_waiting()
            self._show_again(row.before)
            return
        self.rows.remove(row)
        self.column.remove(row)
        self._update_rows()

    def show_note(self, text: str) -> None:
        """Adds a quiet line above a growing reply."""
        row = NoteRow(text)
        self._stack.setCurrentWidget(self.column)
        if self.rows.growing is not None:
            index = self.rows.index(self.rows.growing)
            self.rows.insert(index, row)
            self.column.insert_before(self.rows.growing, row)
        else:
            self.rows.append(row)
            self.column.append(row)

    def set_busy(self, busy: bool) -> None:
        """Sets whether a reply is under way, when none can be written again."""
        self.rows.is_busy = busy
        self._update_rows()

    def set_colouring(self, colouring: bool) -> None:
        """Sets whether replies show who guessed which part of them."""
        if colouring == self._colouring:
            return
        self._colouring = colouring
        for row in self.rows:
            if isinstance(row, ReplyRow | GrowingRow):
                row.set_colouring(colouring)
        for built, view in self.column.built_rows():
            if isinstance(built, ReplyRow | GrowingRow) and isinstance(view, ReplyView):
                built.show_in(view)

    def can_regenerate(self) -> bool:
        """True if the last reply can be written again, or an unanswered prompt answered."""
        return self.rows.can_act and bool(self.messages)

    def can_continue(self) -> bool:
        """True if the conversation ends with a reply that can be continued."""
        return self.can_regenerate() and self.rows.last_reply() is not None

    def reveal(self, message_id: int) -> bool:
        """Scrolls to a message, flashes it, and unfolds a call for its result; False if it is not shown."""
        for row in self.rows:
            if message_id not in row.ids:
                continue
            call_id = row.unfold(message_id) if isinstance(row, ReplyRow) else None
            self.column.reveal(row)
            view: QWidget | None = self.column.view_of(row)
            if isinstance(row, ReplyRow) and isinstance(view, ReplyView) and call_id is not None:
                row.show_in(view)
                view = view.call_view(call_id) or view
                self.column.bring_up(view)
            if view is not None:
                Flash(self._stage.keeper.theme.accent, view)
            return True
        return False

    @Slot(int)
    def set_covered(self, height_px: int) -> None:
        """Keeps this much of the top free."""
        self.column.set_covered(height_px)
        self.welcome.set_covered(height_px)

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

    def _row(self, messages: Sequence[Message], siblings: Siblings) -> PromptRow | ReplyRow:
        first = messages[0]
        if first.role == Role.USER:
            return PromptRow(self._stage, first, siblings.get(first.id, ()))
        return ReplyRow(self._stage, messages, siblings, self._colouring)

    def _put_in_place(self, row: ReplyRow | GrowingRow, other: ReplyRow | GrowingRow) -> None:
        """Gives another row's place and widget to this one."""
        self.rows.put_in_place(row, other)
        self.column.replace(row, other)

    def _show_again(self, row: ReplyRow) -> None:
        """Shows a row that has changed."""
        view = self.column.view_of(row)
        if isinstance(view, ReplyView):
            row.show_in(view)
        self._update_rows()

    @Slot(str)
    def _on_call_changed(self, call_id: str) -> None:
        for row, view in self.column.built_rows():
            if not isinstance(row, ReplyRow | GrowingRow) or not isinstance(view, ReplyView):
                continue
            if any(call.id == call_id for message in messages_of(row) for call in message.calls):
                row.show_in(view)

    def _update_rows(self) -> None:
        """Shows the welcome page or the column, and updates the buttons at messages."""
        self._stack.setCurrentWidget(self.column if self.rows else self.welcome)
        self.message_actions.update()
        self._place_latest_button()
        self.changed.emit()

    # The growing reply

    def show_pending(self) -> None:
        """Shows all of the growing reply that has arrived."""
        if self.rows.growing is not None and self._pending:
            for piece in self._pending:
                if isinstance(piece, ThoughtPiece):
                    self.rows.growing.think(piece)
                else:
                    self.rows.growing.feed("".join(piece[0]), piece[1])
            self._pending.clear()
            self._refresh_growing()

    def _refresh_growing(self) -> None:
        if self.rows.growing is not None:
            view = self.column.view_of(self.rows.growing)
            if isinstance(view, ReplyView):
                self.rows.growing.show_in(view)

    def _forget_growing(self) -> None:
        self.rows.growing = None
        self._pending.clear()
        self._repaint.cancel()

    # The button that scrolls to the end

    @Slot(bool)
    def _on_following_changed(self, following: bool) -> None:
        self.latest_button.setVisible(not following and bool(self.rows))
        self._place_latest_button()

    def _place_latest_button(self) -> None:
        button = self.latest_button
        if self.column.following or not self.rows:
            button.hide()
        button.adjustSize()
        button.move((self.width() - button.width()) // 2, self.height() - button.height() - 12)
        button.raise_()


def _is_shown(message: Message) -> bool:
    return message.role != Role.SYSTEM
