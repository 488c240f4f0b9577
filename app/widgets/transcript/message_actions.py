"""Actions on the messages of the transcript: the buttons of their rows, and prompts edited in place."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.widgets.transcript.footers import BranchFlipper
from app.widgets.transcript.growing_row import GrowingRow
from app.widgets.transcript.message_view import MessageView
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.row_list import RowList
from app.widgets.transcript.transcript_rows import CallStates, PromptRow, ReplyRow
from app.widgets.transcript.virtual_column import VirtualColumn
from engine.values.conversations import Message
from engine.values.passages import passages_of
from engine.values.replies import StopReason

_CUT_SHORT = frozenset(StopReason) - {StopReason.END, StopReason.STOP_STRING}


class MessageActions(QObject):
    """Connects the widgets of messages as they are built, and shows the buttons that apply to each."""

    regenerate_requested = Signal(int)  # write this reply again, or answer this prompt; by its id
    repeat_requested = Signal(int, object)  # write this reply again, by its id, with this seed, an int
    continue_requested = Signal()  # continue the last reply
    revision_submitted = Signal(int, str)  # ask this prompt, by its id, in other words
    delete_requested = Signal(int)  # delete this message, by its id, and what belongs to it
    branch_chosen = Signal(int)  # show the branch through this message, by its id
    edit_refused = Signal(str)  # a message is too long to be edited; what to do instead
    copied = Signal(str)  # a message or a block of code was copied to the clipboard

    def __init__(self, rows: RowList, column: VirtualColumn, calls: CallStates, parent: QObject) -> None:
        super().__init__(parent)
        self._rows = rows
        self._column = column
        self._calls = calls
        column.view_built.connect(self._on_view_built)

    def update(self) -> None:
        """Updates the buttons at all messages."""
        for row, view in self._column.built_rows():
            self._update_view(row, view)

    # Prompts edited in place

    def revise(self, message_id: int, text: str | None = None) -> None:
        """Opens a prompt for editing in place, with its own text or another."""
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
        view = self._column.show_row(row)
        if isinstance(view, PromptView):
            view.revise(row.revision)
            self._column.show_row(row)  # it takes more room than the prompt did
            view.setFocus()
            if view.revision is not None:
                view.revision.setFocus()

    def revise_last(self) -> None:
        prompts = [row for row in self._rows if isinstance(row, PromptRow)]
        if prompts and self._rows.can_act:
            self.revise(prompts[-1].message.id)

    def end_revision(self, message_id: int) -> None:
        row = self._rows.prompt(message_id)
        if row is not None:
            row.revision = None
            view = self._column.view_of(row)
            if isinstance(view, PromptView):
                view.end_revision()

    def _on_revision(self, row: PromptRow, text: str | None) -> None:
        row.revision = text
        if text is not None:  # it takes more room than the prompt did
            self._column.show_row(row)

    # The button to another version that has the keyboard

    def focused_flipper(self) -> tuple[int, bool] | None:
        """The row whose version buttons have the focus, and whether it is on the one to earlier versions."""
        focused = QApplication.focusWidget()
        for row, view in self._column.built_rows():
            flipper = _flipper(view)
            if focused is not None and flipper is not None and flipper.isAncestorOf(focused):
                index = next(index for index, other in enumerate(self._rows) if other is row)
                return index, focused is flipper.earlier_button
        return None

    def focus_flipper(self, index: int, earlier: bool) -> None:
        """Keeps the keyboard on the button that was pressed, so that it can be pressed again."""
        flipper = _flipper(self._column.view_of(self._rows[index])) if index < len(self._rows) else None
        if flipper is not None:
            buttons = (flipper.earlier_button, flipper.later_button)
            wanted, other = buttons if earlier else reversed(buttons)
            (wanted if wanted.isEnabled() else other).setFocus()

    # Widgets

    @Slot(object, QWidget)
    def _on_view_built(self, row: object, view: QWidget) -> None:
        if isinstance(row, PromptRow | ReplyRow) and isinstance(view, MessageView):
            view.delete_requested.connect(lambda: self.delete_requested.emit(row.message.id))
        if isinstance(view, ReplyView):
            view.copied.connect(self.copied)
            view.branch_chosen.connect(self.branch_chosen)
            view.continue_requested.connect(self.continue_requested)
            view.regenerate_requested.connect(self.regenerate_requested)
            view.repeat_requested.connect(self.repeat_requested)
            view.toggled.connect(partial(self._toggle, view))
            view.call_answered.connect(self._calls.answered)
        elif isinstance(view, PromptView) and isinstance(row, PromptRow):
            view.copied.connect(self.copied)
            view.branch_chosen.connect(self.branch_chosen)
            view.edit_requested.connect(lambda: self.revise(row.message.id))
            view.revision_changed.connect(partial(self._on_revision, row))
            view.revision_submitted.connect(partial(self.revision_submitted.emit, row.message.id))
            view.retry_requested.connect(lambda: self.regenerate_requested.emit(row.message.id))
        self._update_view(row, view)

    def _toggle(self, view: ReplyView, number: int | str) -> None:
        for row, shown in self._column.built_rows():  # a growing row has become another one meanwhile
            if shown is view and isinstance(row, ReplyRow | GrowingRow):
                row.toggle(number, view)

    def _update_view(self, row: object, view: QWidget) -> None:
        possible = self._rows.can_act
        if isinstance(row, PromptRow | ReplyRow) and isinstance(view, MessageView):
            view.set_deletion(self._deletion(row))
        if isinstance(row, PromptRow) and isinstance(view, PromptView):
            view.flipper.set_siblings(row.siblings, row.message.id)
            view.footer.set_editable(possible)
            view.footer.set_unanswered(possible and row is self._rows.last_message())
            view.flipper.set_possible(self._rows.growing is None)
        elif isinstance(row, ReplyRow) and isinstance(view, ReplyView) and view.flipper is not None:
            if row.sources is None and (asked := self._rows.prompt(row.messages[0].parent_id)) is not None:
                row.sources = passages_of(asked.files)
            view.set_sources(row.sources or ())
            view.set_regenerate(possible)
            can_go_on = row.is_unfinished or _is_cut_short(row.message)
            view.set_continue(possible and row is self._rows.last_reply() and can_go_on)
            view.flipper.set_siblings(*row.versions)
            view.flipper.set_possible(self._rows.growing is None)

    def _deletion(self, row: PromptRow | ReplyRow) -> str:
        """Only the last reply is deleted alone, so that no prompt follows a prompt."""
        if not self._rows.can_act:
            return ""
        alone = row is self._rows.last_reply()
        return self.tr("Delete reply") if alone else self.tr("Delete message and reply")


def _flipper(view: QWidget | None) -> BranchFlipper | None:
    return view.flipper if isinstance(view, PromptView | ReplyView) else None


def _is_cut_short(message: Message) -> bool:
    return message.statistics is not None and message.statistics.stop_reason in _CUT_SHORT
