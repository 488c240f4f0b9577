"""The messages of a conversation, and the reply that is being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QStackedLayout, QWidget

from app.text.amounts import percent_words
from app.text.formula_drawing import Drawer
from app.text.highlight import Lexing
from app.theme import ThemeKeeper
from app.widgets.icon_button import IconButton
from app.widgets.prompt.pictures import Pictures
from app.widgets.throttle import Throttle
from app.widgets.transcript.answers import NO_SIBLINGS, Siblings, grouped
from app.widgets.transcript.call_question import CallQuestion
from app.widgets.transcript.call_states import CallStates
from app.widgets.transcript.growing_row import GrowingRow
from app.widgets.transcript.message_view import MessageView
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.row_list import RowList, messages_of
from app.widgets.transcript.row_view import Flash
from app.widgets.transcript.transcript_rows import NoteRow, PromptRow, ReplyRow, Stage, TextMeasure
from app.widgets.transcript.virtual_column import COLUMN_PX, VirtualColumn
from app.widgets.welcome import Welcome
from engine.values.conversations import Message, Role
from engine.values.origins import TARGET
from engine.values.passages import passages_of
from engine.values.replies import OriginRun, StopReason, Thought, ThoughtPiece

_CUT_SHORT = frozenset(StopReason) - {StopReason.END, StopReason.STOP_STRING}

NO_REVISIONS: Mapping[int, str] = {}
LATEST_PX = 34


class Transcript(QWidget):
    """Shows messages; those outside the visible part exist as values only.

    Signals:
        regenerate_requested(int): write this reply again, or answer this prompt; by its id.
        repeat_requested(int, object): write this reply again, by its id, with this seed, an int.
        continue_requested(): continue the last reply.
        revision_submitted(int, str): ask this prompt, by its id, in other words.
        delete_requested(int): delete this message, by its id, and what belongs to it.
        branch_chosen(int): show the branch through this message, by its id.
        changed(): other messages are shown, or they can be acted on again.
        edit_refused(str): a message is too long to be edited; what to do instead.
        copied(str): a message or a block of code was copied to the clipboard.
        example_chosen(str): one of the prompts that an empty conversation offers.
    """

    regenerate_requested = Signal(int)
    repeat_requested = Signal(int, object)
    continue_requested = Signal()
    revision_submitted = Signal(int, str)
    edit_refused = Signal(str)
    branch_chosen = Signal(int)
    delete_requested = Signal(int)
    changed = Signal()
    copied = Signal(str)
    example_chosen = Signal(str)

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._scale = keeper.scale
        self.lexing = Lexing(self)
        self.drawer = Drawer(self)
        self.calls = CallStates(self)
        self.calls.changed.connect(self._on_call_changed)
        self._stage = Stage(keeper, pictures, self.lexing, self.drawer, TextMeasure(), self.calls)
        self._rows = RowList()
        self._growing: GrowingRow | None = None
        self._busy = False
        self._colouring = False
        self._pending: list[tuple[list[str], list[OriginRun]] | ThoughtPiece] = []  # what is not shown yet of the reply
        self._repaint = Throttle(self.show_pending, parent=self)
        self.column = VirtualColumn(self)
        self.column.setAccessibleName(self.tr("Chat"))
        self.column.view_built.connect(self._on_view_built)
        self.column.following_changed.connect(self._on_following_changed)
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
        return self._rows.messages

    @property
    def siblings(self) -> Siblings:
        """Of these messages."""
        return self._rows.siblings

    @property
    def revisions(self) -> Mapping[int, str]:
        """Prompts that the user is editing, by their ids, as far as that has come."""
        prompts = (row for row in self._rows if isinstance(row, PromptRow))
        return {row.message.id: row.revision for row in prompts if row.revision is not None}

    @property
    def last_answer(self) -> Message | None:
        """The answer that ends the conversation, as one message."""
        row = self._rows.last_reply()
        return None if row is None else row.message

    def clear(self) -> None:
        self.show_messages(())

    def show_messages(
        self,
        messages: tuple[Message, ...],
        siblings: Siblings = NO_SIBLINGS,
        revisions: Mapping[int, str] = NO_REVISIONS,
    ) -> None:
        """Shows another conversation, from its end; a growing reply is dropped."""
        self._forget_growing()
        self._rows = RowList(self._row(group, siblings) for group in grouped(filter(_is_shown, messages)))
        for row in self._rows:
            if isinstance(row, PromptRow):
                row.revision = revisions.get(row.message.id)
        self.column.set_rows(self._rows)
        self._update_rows()

    def change_messages(self, messages: tuple[Message, ...], siblings: Siblings = NO_SIBLINGS) -> None:
        """Shows the same conversation as it is now, maybe another branch of it, without scrolling; a growing reply is
        dropped."""
        focus = self._focused_flipper()
        self._forget_growing()
        known = {messages_of(row): row for row in self._rows if isinstance(row, PromptRow | ReplyRow)}
        rows: list[PromptRow | ReplyRow] = []
        for group in grouped(filter(_is_shown, messages)):
            row = known.get(group) or self._row(group, siblings)
            if isinstance(row, ReplyRow):
                row.siblings = {each.id: siblings[each.id] for each in group if each.id in siblings}
                row.is_under_way = False
            else:
                row.siblings = siblings.get(row.message.id, ())
            rows.append(row)
        self._rows = RowList(rows)
        self.column.change_rows(self._rows)
        self._update_rows()
        if focus is not None:
            self._focus_flipper(*focus)

    def cut_after(self, message_id: int | None) -> bool:
        """Removes the messages after this one, or all for None. False, and nothing happens, if it is not shown."""
        kept = RowList() if message_id is None else self._rows.up_to(message_id)
        if kept is None:
            return False
        if self.messages and self.messages[-1].id == message_id and self._growing is None:
            return True
        self._forget_growing()
        self._rows = kept
        self.column.change_rows(self._rows)
        self._update_rows()
        return True

    def append_message(self, message: Message, siblings: Sequence[int] = ()) -> None:
        row = self._row((message,), {message.id: siblings})
        self._rows.append(row)
        self._stack.setCurrentWidget(self.column)
        self.column.append(row)
        self.column.scroll_to_end()
        self._update_rows()

    def begin_reply(self, begun: str = "", thoughts: Sequence[Thought] = ()) -> None:
        """A reply is being prepared: shows dots, or the text that it continues, with its thoughts. It goes on with the
        answer before it, where that ends with calls."""
        self.abandon_reply()
        before = self._rows.unfinished()
        self._growing = GrowingRow(self._stage, self._colouring, before)
        if begun or thoughts:
            self._growing.begin_with(begun, thoughts, TARGET.key)
            self._growing.wait_for(self.tr("Reading the chat…"))
        self._stack.setCurrentWidget(self.column)
        if before is None:
            self._rows.append(self._growing)
            self.column.append(self._growing)
        else:
            self._put_in_place(before, self._growing)
            self._refresh_growing()
        self._update_rows()

    def resume_answer(self) -> None:
        """The calls of the last answer are being carried out, or are about to be."""
        row = self._rows.unfinished()
        if row is not None:
            row.is_under_way = True
            view = self.column.view_of(row)
            if isinstance(view, ReplyView):
                view.remove_footer()

    def end_answer(self) -> None:
        """Nothing follows the calls of the last answer any more."""
        self.abandon_reply()
        row = self._rows.unfinished()
        if row is not None and row.is_under_way:
            row.is_under_way = False
            self._show_again(row)

    def add_result(self, message: Message, siblings: Sequence[int] = ()) -> None:
        """What came of a call of the last answer."""
        self.abandon_reply()
        row = self._rows.unfinished()
        if row is None:
            self.append_message(message, siblings)
            return
        row.add(message, siblings)
        self._show_again(row)

    def show_calling(self) -> None:
        """The reply that is being written writes a call."""
        self.show_pending()
        if self._growing is not None:
            self._growing.wait_for(self.tr("Writing a tool call…"))
            self._refresh_growing()

    @property
    def question(self) -> CallQuestion | None:
        """The call that waits for the user, if it is in the conversation that is shown."""
        row = self._rows.unfinished()
        view = None if row is None else self.column.view_of(row)
        return view.question if isinstance(view, ReplyView) else None

    def show_question(self) -> CallQuestion | None:
        """Brings it into sight."""
        self.column.scroll_to_end()
        return self.question

    def show_prompt_progress(self, num_evaluated: int, num_total: int) -> None:
        if self._growing is not None and num_total > 0:
            share = percent_words(100 * num_evaluated // num_total / 100)  # 100 % only when all of it is read
            self._growing.wait_for(self.tr("Reading the prompt… {share}").format(share=share))
            self._refresh_growing()

    def show_waiting(self, sentence: str) -> None:
        """Why the reply has not begun."""
        if self._growing is not None:
            self._growing.wait_for(sentence)
            self._refresh_growing()

    def append_reply_text(self, text: str, origins: tuple[OriginRun, ...] = ()) -> None:
        """`origins`: who guessed it, if that is known."""
        if self._growing is not None:
            last = self._pending[-1] if self._pending else None
            if not isinstance(last, tuple):
                last = ([], [])
                self._pending.append(last)
            last[0].append(text)
            last[1].extend(origins)
            self._repaint.request()

    def append_thought(self, piece: ThoughtPiece) -> None:
        if self._growing is not None:
            self._pending.append(piece)
            self._repaint.request()

    def finish_reply(self, message: Message, siblings: Sequence[int] = ()) -> None:
        """The reply is complete; its text replaces the one so far."""
        if self._growing is None:
            self.append_message(message, siblings)
            return
        self.show_pending()
        row = self._growing.finished(message, siblings)
        self._put_in_place(self._growing, row)
        self._forget_growing()
        view = self.column.view_of(row)
        if isinstance(view, ReplyView):
            view.end_waiting()
        self._show_again(row)

    def update_message(self, known_id: int, message: Message, siblings: Sequence[int]) -> None:
        """One that is shown has another id, or other siblings."""
        row = self._rows.holder_of(known_id)
        if isinstance(row, PromptRow):
            row.message, row.siblings = message, siblings
        elif row is not None:
            row.update(known_id, message, siblings)
            if row in self._rows:
                self._show_again(row)
        self._update_rows()

    def abandon_reply(self) -> None:
        """Removes a growing reply."""
        row = self._growing
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
        self._rows.remove(row)
        self.column.remove(row)
        self._update_rows()

    def show_note(self, text: str) -> None:
        """Adds a quiet line, above a growing reply."""
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

    def set_colouring(self, colouring: bool) -> None:
        """Whether replies show who guessed which part of them."""
        if colouring == self._colouring:
            return
        self._colouring = colouring
        for row in self._rows:
            if isinstance(row, ReplyRow | GrowingRow):
                row.set_colouring(colouring)
        for built, view in self.column.built_rows():
            if isinstance(built, ReplyRow | GrowingRow) and isinstance(view, ReplyView):
                built.show_in(view)

    def can_regenerate(self) -> bool:
        """Whether the last reply can be written again, or a prompt without a reply answered."""
        return not self._busy and self._growing is None and bool(self.messages)

    def can_continue(self) -> bool:
        """Whether the conversation ends with a reply that can be continued."""
        return self.can_regenerate() and self._rows.last_reply() is not None

    def revise(self, message_id: int, text: str | None = None) -> None:
        """Lets the user edit a prompt where it is shown, beginning with its own text or another."""
        row = self._rows.prompt(message_id)
        if row is None:
            return
        if not row.is_revisable:
            self.edit_refused.emit(
                self.tr(
                    "This message is too long to edit here. Copy it, change it in a text editor, and attach that "
                    "file to a new message."
                )
            )
            return
        row.revision = row.message.text if text is None else text
        view = self.column.show_row(row)
        if isinstance(view, PromptView):
            view.revise(row.revision)
            self.column.show_row(row)  # it takes more room than the prompt did
            view.setFocus()
            if view.revision is not None:
                view.revision.setFocus()

    def revise_last(self) -> None:
        prompts = [row for row in self._rows if isinstance(row, PromptRow)]
        if prompts and not self._busy and self._growing is None:
            self.revise(prompts[-1].message.id)

    def end_revision(self, message_id: int) -> None:
        row = self._rows.prompt(message_id)
        if row is not None:
            row.revision = None
            view = self.column.view_of(row)
            if isinstance(view, PromptView):
                view.end_revision()

    def reveal(self, message_id: int) -> bool:
        """Scrolls to a message and flashes it; False if it is not shown. The result of a call is unfolded."""
        for row in self._rows:
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
        """So much of the top is covered."""
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
        """Of another row, with its widget."""
        self._rows.put_in_place(row, other)
        self.column.replace(row, other)

    def _show_again(self, row: ReplyRow) -> None:
        """It has changed."""
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

    def _revise_row(self, row: PromptRow) -> None:
        self.revise(row.message.id)

    def _on_revision(self, row: PromptRow, text: str | None) -> None:
        row.revision = text
        if text is not None:  # it takes more room than the prompt did
            self.column.show_row(row)

    @Slot(object, QWidget)
    def _on_view_built(self, row: object, view: QWidget) -> None:
        if isinstance(row, PromptRow | ReplyRow) and isinstance(view, MessageView):
            view.delete_requested.connect(partial(self._delete, row))
        if isinstance(view, ReplyView):
            view.copied.connect(self.copied)
            view.branch_chosen.connect(self.branch_chosen)
            view.continue_requested.connect(self.continue_requested)
            view.regenerate_requested.connect(self.regenerate_requested)
            view.repeat_requested.connect(self.repeat_requested)
            view.toggled.connect(partial(self._toggle, view))
            view.call_answered.connect(self.calls.answered)
        elif isinstance(view, PromptView) and isinstance(row, PromptRow):
            view.copied.connect(self.copied)
            view.branch_chosen.connect(self.branch_chosen)
            view.edit_requested.connect(partial(self._revise_row, row))
            view.revision_changed.connect(partial(self._on_revision, row))
            view.revision_submitted.connect(partial(self.revision_submitted.emit, row.message.id))
            view.retry_requested.connect(partial(self._retry, row))
        self._update_view(row, view)

    def _toggle(self, view: ReplyView, number: int | str) -> None:
        for row, shown in self.column.built_rows():  # a growing row has become another one meanwhile
            if shown is view and isinstance(row, ReplyRow | GrowingRow):
                row.toggle(number, view)

    def _delete(self, row: PromptRow | ReplyRow) -> None:
        self.delete_requested.emit(row.message.id)

    def _retry(self, row: PromptRow) -> None:
        self.regenerate_requested.emit(row.message.id)

    def _deletion(self, row: PromptRow | ReplyRow) -> str:
        """A reply goes alone only at the end, so that no prompt follows a prompt."""
        if self._busy or self._growing is not None:
            return ""
        alone = row is self._rows.last_reply()
        return self.tr("Delete reply") if alone else self.tr("Delete message and reply")

    def _update_rows(self) -> None:
        """Shows the welcome page or the column, with the right buttons at each message."""
        self._stack.setCurrentWidget(self.column if self._rows else self.welcome)
        for row, view in self.column.built_rows():
            self._update_view(row, view)
        self._place_latest_button()
        self.changed.emit()

    def _update_view(self, row: object, view: QWidget) -> None:
        possible = not self._busy and self._growing is None
        if isinstance(row, PromptRow | ReplyRow) and isinstance(view, MessageView):
            view.set_deletion(self._deletion(row))
        if isinstance(row, PromptRow) and isinstance(view, PromptView):
            view.flipper.set_siblings(row.siblings, row.message.id)
            view.footer.set_editable(possible)
            view.footer.set_unanswered(possible and row is self._rows.last_message())
            view.flipper.set_possible(self._growing is None)
        elif isinstance(row, ReplyRow) and isinstance(view, ReplyView) and view.flipper is not None:
            if row.sources is None and (asked := self._rows.prompt(row.messages[0].parent_id)) is not None:
                row.sources = passages_of(asked.files)
            view.set_sources(row.sources or ())
            view.set_regenerate(possible)
            can_go_on = row.is_unfinished or _is_cut_short(row.message)
            view.set_continue(possible and row is self._rows.last_reply() and can_go_on)
            view.flipper.set_siblings(*row.versions)
            view.flipper.set_possible(self._growing is None)

    def _focused_flipper(self) -> tuple[int, bool] | None:
        """The row whose flipper has the focus, and whether it is on the button to earlier versions."""
        focused = QApplication.focusWidget()
        for row, view in self.column.built_rows():
            flipper = view.flipper if isinstance(view, PromptView | ReplyView) else None
            if focused is not None and flipper is not None and flipper.isAncestorOf(focused):
                index = next(index for index, other in enumerate(self._rows) if other is row)
                return index, focused is flipper.earlier_button
        return None

    def _focus_flipper(self, index: int, earlier: bool) -> None:
        """The keyboard stays on the button that was pressed, so that it can be pressed again."""
        view = self.column.view_of(self._rows[index]) if index < len(self._rows) else None
        flipper = view.flipper if isinstance(view, PromptView | ReplyView) else None
        if flipper is not None:
            buttons = (flipper.earlier_button, flipper.later_button)
            wanted, other = buttons if earlier else reversed(buttons)
            (wanted if wanted.isEnabled() else other).setFocus()

    # The growing reply

    def show_pending(self) -> None:
        """All of the growing reply that has come."""
        if self._growing is not None and self._pending:
            for piece in self._pending:
                if isinstance(piece, ThoughtPiece):
                    self._growing.think(piece)
                else:
                    self._growing.feed("".join(piece[0]), piece[1])
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

    # The button that scrolls to the end

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


def _is_shown(message: Message) -> bool:
    return message.role != Role.SYSTEM


def _is_cut_short(message: Message) -> bool:
    return message.statistics is not None and message.statistics.stop_reason in _CUT_SHORT
