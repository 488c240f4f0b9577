"""The last replies with one model, with what was learned and without."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QAbstractItemView, QTableWidgetItem, QWidget

from app.text.amounts import day_words
from app.text.benefits import benefit_cells, benefit_words
from app.text.translation import translate
from app.widgets.dialog_parts import Dialog, fill_dialog, show_in_front
from app.widgets.layouts import Part, Stretch
from app.widgets.parts import button, words
from app.widgets.table import Heading, Table
from engine.values.learned import Benefit, ComparedReply

_WIDTH_PX = 680
_MOST_ROWS_SHOWN = 14
_TITLE_LETTERS = 18  # that there is room for at least


class ComparedDialog(Dialog):
    """Shows a row for each reply below their totals.

    Signals:
        chat_chosen(conversation_id): open the chat of a reply.
    """

    chat_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("With and without what was learned"))
        self.heading = words("", self, kind="title")
        self.words = words("", self)
        self.table = ComparedTable(self)
        note = self.tr(
            "Tokens that one pass of the model brings. Each reply was scored both ways before the drafter learned from "
            "it; guesses from earlier text count on both sides. Enter or a double click opens a reply's chat."
        )
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.table.chat_chosen.connect(self.chat_chosen)
        about = words(note, self, kind="faint")
        parts: list[Part] = [self.heading, self.words, self.table, about, Stretch()]
        fill_dialog(self, parts, [Stretch(), self.close_button], spacing=10)

    def show_replies(self, model: str, replies: Sequence[ComparedReply]) -> None:
        benefit = Benefit.of(each.scored for each in replies)
        self.heading.setText(model)
        self.words.setText(self.tr("None of these replies is left.") if benefit is None else benefit_words(benefit))
        self.table.show_replies(benefit, replies)
        show_in_front(self)
        self.table.setFocus()


class ComparedTable(Table):
    """Signals:
    chat_chosen(conversation_id): as of the dialog.
    """

    chat_chosen = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        headings = [
            Heading(translate("ComparedTable", "Chat"), "", is_words=True),
            Heading(translate("ComparedTable", "Date"), "", is_words=True),
            Heading(
                translate("ComparedTable", "Without learning"), translate("ComparedTable", "With the original drafter")
            ),
            Heading(
                translate("ComparedTable", "With learning"), translate("ComparedTable", "With what was learned by then")
            ),
            Heading(translate("ComparedTable", "Gain"), ""),
        ]
        super().__init__(headings, _MOST_ROWS_SHOWN, parent=parent, first_grows=True)
        self._chats: list[int] = []  # of the rows below the first
        self.setAccessibleName(self.tr("The last replies, with what was learned and without"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.itemActivated.connect(self._on_activated)

    def show_replies(self, benefit: Benefit | None, replies: Sequence[ComparedReply]) -> None:
        self._chats = [each.scored.conversation_id for each in replies]
        self.setRowCount(0 if benefit is None else 1 + len(replies))
        if benefit is not None:
            whole = self.tr("%n repl(y|ies)", "", benefit.num_replies)
            self.show_row(0, (whole, "", *benefit_cells(benefit)), is_bold=True)
        for number, each in enumerate(replies, start=1):
            of_one = Benefit.of([each.scored])
            figures = ("", "", "") if of_one is None else benefit_cells(of_one)
            self.show_row(number, (each.title, day_words(each.created_at), *figures), tip=each.title)
        if self.rowCount():
            self.setCurrentCell(0, 0)
            self.scrollToTop()
        self._fit()

    def _first_px(self) -> int:
        """Titles end in an ellipsis where they are longer."""
        return min(super()._first_px(), _TITLE_LETTERS * self.fontMetrics().averageCharWidth())

    @Slot(QTableWidgetItem)
    def _on_activated(self, item: QTableWidgetItem) -> None:
        if item.row() > 0:
            self.chat_chosen.emit(self._chats[item.row() - 1])
