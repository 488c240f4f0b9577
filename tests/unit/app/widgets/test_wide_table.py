"""A table of a reply that is wider than the window."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.transcript import Transcript
from app.widgets.words.prose import Prose, WideTable
from tests.unit.app.widgets.messages import prompt, reply

_WORDS = ("Administration", "Responsibility", "Internationalization", "Characteristics", "Acknowledgement")
_WIDE = "Before.\n\n" + "\n".join(
    ("|" + "|".join(_WORDS) + "|", "|" + "-|" * len(_WORDS), "|" + "|".join(f"{each} 1" for each in _WORDS) + "|")
)
_NARROW = "| a | b |\n|-|-|\n| 1 | 2 |"


def shown(transcript: Transcript) -> ReplyView:
    QApplication.processEvents()
    view = transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    return view


def test_its_words_stay_whole_and_it_scrolls_sideways(transcript: Transcript) -> None:
    transcript.resize(440, 600)
    transcript.show_messages((prompt(0, "A table, please."), reply(1, f"{_WIDE}\n\nAfter.\n\n{_NARROW}")))
    before, wide, after, narrow = shown(transcript).block_views
    assert [type(each) for each in (before, wide, after, narrow)] == [Prose, WideTable, Prose, WideTable]
    assert isinstance(wide, WideTable)
    assert isinstance(narrow, WideTable)
    document = wide.document()
    block = document.begin()
    while block.isValid():  # a word that is broken has more lines than its cell has words
        assert block.layout().lineCount() <= max(1, len(block.text().split())), block.text()
        block = block.next()
    bar = wide.horizontalScrollBar()
    assert bar.maximum() > 0
    assert wide.viewport().height() >= document.size().height() - 1, "the bar covers no row"
    assert narrow.horizontalScrollBar().maximum() == 0
    wheel = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(-120, 0), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(wide.viewport(), wheel)
    assert bar.value() > 0


def test_a_table_that_grows_stays_in_one_widget(transcript: Transcript) -> None:
    transcript.append_message(prompt(0, "A table, please."))
    transcript.begin_reply()
    seen = set()
    for piece in _WIDE.splitlines(keepends=True):
        transcript.append_reply_text(piece)
        transcript.show_pending()
        seen |= {each for each in shown(transcript).block_views if isinstance(each, WideTable)}
    transcript.finish_reply(reply(1, _WIDE))
    assert {each for each in shown(transcript).block_views if isinstance(each, WideTable)} == seen
    assert len(seen) == 1
