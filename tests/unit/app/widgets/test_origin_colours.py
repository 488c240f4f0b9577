"""A transcript coloured by who guessed what: kept and growing replies, prose and code, switched on and off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextCursor
from pytestqt.qtbot import QtBot

from app.text.origin_marks import proposers
from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.transcript.origin_legend import OriginLegend
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.transcript import Transcript
from app.widgets.words.code_block import CodeBlockView
from app.widgets.words.prose import Prose
from engine.values.conversations import Message
from engine.values.replies import OriginRun
from tests.unit.app.widgets.messages import STATISTICS, prompt, reply

pytestmark = pytest.mark.usefixtures("drafter_and_recall")

TEXT = "Some **bold words** here.\n\n```unheard-of\nfirst 🙂 line\nsecond = 1\n```\n\nThe end."


def runs_of(text: str, **guessed: str) -> tuple[OriginRun, ...]:
    """The named origins thought of these parts, which stand in the text in that order."""
    runs, at = [], 0
    for origin, part in guessed.items():
        found = text.index(part, at)
        runs += [OriginRun(found - at, "target"), OriginRun(len(part), origin)]
        at = found + len(part)
    return (*runs, OriginRun(len(text) - at, "target"))


RUNS = runs_of(TEXT, drafter="bold wo", recall="🙂 line\nsecond")


def coloured(number: int, text: str = TEXT, runs: tuple[OriginRun, ...] = RUNS) -> Message:
    return replace(reply(number, text), statistics=replace(STATISTICS, origins=runs))


@pytest.fixture
def transcript(qtbot: QtBot, keeper: ThemeKeeper) -> Transcript:
    transcript = Transcript(keeper, Pictures())
    qtbot.addWidget(transcript)
    transcript.resize(800, 600)
    transcript.show()
    return transcript


def last_view(transcript: Transcript) -> ReplyView:
    view = transcript.column.built_rows()[-1][1]
    assert isinstance(view, ReplyView)
    return view


def tinted(view: ReplyView, keeper: ThemeKeeper) -> dict[str, str]:
    """What is shown on the colour of each origin, in all blocks."""
    tints = {keeper.theme.tint(origin): origin.key for origin in proposers()}
    found = dict.fromkeys(tints.values(), "")
    for block in view.block_views:
        if isinstance(block, Prose):
            cursor = QTextCursor(block.document())
            while cursor.movePosition(QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor):
                background = cursor.charFormat().background()
                name = tints.get(background.color().name()) if background.style() != Qt.BrushStyle.NoBrush else None
                if name:
                    found[name] += cursor.selectedText()
                cursor.clearSelection()
        else:
            line = block.body.document().begin()
            while line.isValid():
                raw = line.text().encode("utf-16-le")
                for part in line.layout().formats():
                    name = tints.get(part.format.background().color().name())
                    if name and part.format.background().style() != Qt.BrushStyle.NoBrush:
                        found[name] += raw[2 * part.start : 2 * (part.start + part.length)].decode("utf-16-le")
                line = line.next()
    return found


EXPECTED = {"drafter": "bold wo", "recall": "🙂 linesecond"}


def test_a_kept_reply_is_coloured_and_plain_again(transcript: Transcript, keeper: ThemeKeeper) -> None:
    transcript.show_messages((prompt(1), coloured(2)))
    view = last_view(transcript)
    assert tinted(view, keeper) == {"drafter": "", "recall": ""}
    assert view.legend is None
    transcript.set_colouring(True)
    assert tinted(view, keeper) == EXPECTED
    assert view.legend is not None
    assert view.legend.words == "Drafter 9\u00a0%, Earlier text 17\u00a0%, Model itself 74\u00a0%"
    transcript.set_colouring(True)
    transcript.set_colouring(False)
    assert tinted(view, keeper) == {"drafter": "", "recall": ""}
    assert view.legend is None


def test_replies_that_come_into_sight_later_are_coloured_too(transcript: Transcript, keeper: ThemeKeeper) -> None:
    transcript.set_colouring(True)
    transcript.show_messages((prompt(1), coloured(2)))
    assert tinted(last_view(transcript), keeper) == EXPECTED
    transcript.append_message(coloured(3))
    assert tinted(last_view(transcript), keeper) == EXPECTED


def pieces(text: str, size: int) -> list[tuple[str, tuple[OriginRun, ...]]]:
    letters = [run.origin for run in RUNS for _ in range(run.num_characters)]
    return [
        (text[at : at + size], tuple(OriginRun(1, origin) for origin in letters[at : at + size]))
        for at in range(0, len(text), size)
    ]


@pytest.mark.parametrize("switch_at", [0, 4, 100])
def test_a_growing_reply_is_coloured_while_it_grows(
    transcript: Transcript, keeper: ThemeKeeper, qtbot: QtBot, switch_at: int
) -> None:
    transcript.show_messages((prompt(1),))
    transcript.begin_reply()
    for number, (text, runs) in enumerate(pieces(TEXT, 5)):
        if number == switch_at:
            transcript.set_colouring(True)
        transcript.append_reply_text(text, runs)
    transcript.set_colouring(True)
    qtbot.waitUntil(lambda: tinted(last_view(transcript), keeper) == EXPECTED)
    assert last_view(transcript).legend is None, "shares are told when it is finished"
    transcript.finish_reply(coloured(2))
    assert tinted(last_view(transcript), keeper) == EXPECTED
    assert last_view(transcript).legend is not None


def test_another_theme_has_other_colours(transcript: Transcript, keeper: ThemeKeeper) -> None:
    transcript.set_colouring(True)
    transcript.show_messages((prompt(1), coloured(2)))
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert tinted(last_view(transcript), keeper) == EXPECTED


def test_code_keeps_its_own_colours(transcript: Transcript, keeper: ThemeKeeper, qtbot: QtBot) -> None:
    text = "```python\ndef f():\n    return 1\n```\n"
    transcript.set_colouring(True)
    transcript.show_messages((coloured(2, text, runs_of(text, drafter="def f")),))
    (code,) = last_view(transcript).block_views
    assert isinstance(code, CodeBlockView)
    keyword = QColor(keeper.theme.code_keyword)

    def coloured_keyword() -> bool:
        parts = code.body.document().begin().layout().formats()
        return any(part.format.foreground().color() == keyword for part in parts)

    qtbot.waitUntil(coloured_keyword)
    assert tinted(last_view(transcript), keeper)["drafter"] == "def f"


def test_of_older_replies_it_is_not_known(transcript: Transcript, keeper: ThemeKeeper) -> None:
    transcript.set_colouring(True)
    transcript.show_messages((prompt(1), reply(2, TEXT)))
    view = last_view(transcript)
    assert tinted(view, keeper) == {"drafter": "", "recall": ""}
    assert view.legend is not None
    assert view.legend.words == "Which parts of this reply were guessed is unknown."
    view.grab()


def test_a_legend_takes_more_lines_where_it_is_narrow(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    legend = OriginLegend(keeper)
    qtbot.addWidget(legend)
    legend.set_origins((OriginRun(1, "drafter"), OriginRun(999, "target")))
    assert legend.words == "Drafter under 1\u00a0%, Model itself 100\u00a0%"
    assert legend.accessibleName().startswith("Where the text came from: Drafter")
    assert legend.heightForWidth(700) < legend.heightForWidth(120)
    legend.resize(120, legend.heightForWidth(120))
    legend.grab()
