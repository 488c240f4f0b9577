from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.prompt.attached_files import AttachedFiles
from app.widgets.transcript import reply_view, virtual_column
from app.widgets.transcript.prompt_view import PromptView
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.transcript import Transcript
from app.widgets.transcript.transcript_rows import PromptRow, ReplyRow
from app.widgets.transcript.virtual_column import VirtualColumn
from app.widgets.words.prose import Prose
from engine.values.prompts import Attachment
from tests.unit.app.widgets.messages import conversation, prompt, reply


def settled(qtbot: QtBot, column: VirtualColumn) -> None:
    qtbot.waitUntil(lambda: not column._ahead.isActive())


def at_end(column: VirtualColumn) -> bool:
    return column.verticalScrollBar().value() == column.verticalScrollBar().maximum()


def reply_views(transcript: Transcript) -> list[ReplyView]:
    return [view for view in transcript.column.viewport().findChildren(ReplyView) if not view.isHidden()]


def test_only_rows_near_the_visible_ones_have_widgets(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(2_000))
    settled(qtbot, transcript.column)
    assert len(transcript.messages) == 2_000
    assert 2 <= transcript.column.num_views < 60
    assert at_end(transcript.column)
    bar = transcript.column.verticalScrollBar()
    for share in (0.5, 0.1, 0.9, 0.0):
        bar.setValue(int(bar.maximum() * share))
        settled(qtbot, transcript.column)
        assert transcript.column.num_views < 60


def test_visible_rows_have_their_true_heights(transcript: Transcript) -> None:
    transcript.show_messages(conversation(400))
    bar = transcript.column.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    rows = transcript.column.visible_rows()
    for (row, top), (_, following) in itertools.pairwise(rows):
        view = transcript.column.view_of(row)
        assert view is not None
        assert view.height() == following - top
        assert view.y() == top


def test_scrolling_up_never_moves_what_is_in_sight(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(300))
    bar = transcript.column.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)  # far above, nothing is measured
    for _ in range(60):
        before = {id(row): top for row, top in transcript.column.visible_rows()}
        bar.setValue(bar.value() - 60)
        moved = {top - before[id(row)] for row, top in transcript.column.visible_rows() if id(row) in before}
        assert moved == {60}
        settled(qtbot, transcript.column)  # rows above are measured now, and correct the heights
        after = {top - before[id(row)] for row, top in transcript.column.visible_rows() if id(row) in before}
        assert after == {60}


def test_who_drags_the_bar_sees_all_messages_when_letting_go(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual_column, "DRAGGED_S", 0)
    transcript.show_messages(conversation(400))
    bar = transcript.column.verticalScrollBar()
    bar.setSliderDown(True)
    bar.setValue(bar.maximum() // 2)
    rows = [row for row, _ in transcript.column.visible_rows()]
    assert all(transcript.column.view_of(row) is None for row in rows), "none fits into a frame of no time"
    bar.setSliderDown(False)
    rows = [row for row, _ in transcript.column.visible_rows()]
    assert all(transcript.column.view_of(row) is not None for row in rows)


def test_a_bar_that_flies_over_pages_builds_nothing_on_its_way(transcript: Transcript) -> None:
    transcript.show_messages(conversation(400))
    bar = transcript.column.verticalScrollBar()
    bar.setSliderDown(True)
    bar.setValue(bar.maximum() // 2)
    assert all(transcript.column.view_of(row) is None for row, _ in transcript.column.visible_rows())
    bar.setSliderDown(False)


def test_a_dragged_bar_that_rests_shows_the_messages(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(400))
    bar = transcript.column.verticalScrollBar()
    bar.setSliderDown(True)
    bar.setValue(bar.maximum() // 2)

    def all_built() -> bool:
        return all(transcript.column.view_of(row) is not None for row, _ in transcript.column.visible_rows())

    qtbot.waitUntil(all_built)
    bar.setSliderDown(False)


def test_a_message_with_the_focus_scrolls_away_like_the_others(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(120))
    transcript.column.verticalScrollBar().setValue(0)
    view = transcript.column.view_of(transcript.column.visible_rows()[1][0])
    assert isinstance(view, ReplyView)
    transcript.activateWindow()
    view.block_views[0].setFocus()
    qtbot.waitUntil(view.block_views[0].hasFocus)
    transcript.column.scroll_to_end()
    assert not view.isHidden()  # the keyboard stays in it
    assert view.geometry().bottom() < 0


def test_another_width_keeps_the_first_visible_message(transcript: Transcript) -> None:
    transcript.show_messages(conversation(300))
    bar = transcript.column.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    row, top = transcript.column.visible_rows()[0]
    transcript.resize(600, 600)
    assert transcript.column.visible_rows()[0] == (row, top)


def test_home_and_end_lead_to_the_borders(transcript: Transcript) -> None:
    transcript.show_messages(conversation(300))
    QTest.keyClick(transcript.column, Qt.Key.Key_Home)
    assert transcript.column.verticalScrollBar().value() == 0
    QTest.keyClick(transcript.column, Qt.Key.Key_PageDown)
    assert 0 < transcript.column.verticalScrollBar().value() < 600
    QTest.keyClick(transcript.column, Qt.Key.Key_End)
    assert at_end(transcript.column)


def test_the_end_stays_in_sight_while_a_reply_grows(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(50))
    transcript.begin_reply()
    for number in range(60):
        transcript.append_reply_text(f"paragraph {number}\n\n")
    qtbot.waitUntil(lambda: not transcript._pending)
    assert at_end(transcript.column)


def test_who_has_scrolled_up_stays_there(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(50))
    transcript.begin_reply()
    transcript.append_reply_text("begin\n\n")
    assert not transcript.latest_button.isVisible()
    bar = transcript.column.verticalScrollBar()
    bar.setValue(bar.value() - 300)
    assert transcript.latest_button.isVisible()
    row, top = transcript.column.visible_rows()[0]
    for number in range(60):
        transcript.append_reply_text(f"paragraph {number}\n\n")
    qtbot.waitUntil(lambda: not transcript._pending)
    assert transcript.column.visible_rows()[0] == (row, top)
    QTest.mouseClick(transcript.latest_button, Qt.MouseButton.LeftButton)
    assert at_end(transcript.column)
    assert not transcript.latest_button.isVisible()


def test_a_new_prompt_leads_back_to_the_end(transcript: Transcript) -> None:
    transcript.show_messages(conversation(50))
    transcript.column.verticalScrollBar().setValue(0)
    transcript.append_message(prompt(50))
    assert at_end(transcript.column)


def test_a_finished_reply_keeps_its_widget(transcript: Transcript) -> None:
    transcript.append_message(prompt(0))
    transcript.begin_reply()
    transcript.append_reply_text("some *words*")
    (view,) = reply_views(transcript)
    transcript.finish_reply(reply(1, "some *words*"))
    assert reply_views(transcript) == [view]
    assert view.footer is not None
    assert view.footer.facts.words == "SmolLM2  ·  214 tokens  ·  30.9 tok/s  ·  stopped"


def test_the_final_text_replaces_what_was_streamed(transcript: Transcript) -> None:
    transcript.begin_reply()
    transcript.append_reply_text("streamed\n\n```\ncode\n```")
    transcript.finish_reply(reply(1, "final"))
    (view,) = reply_views(transcript)
    (prose,) = view.block_views
    assert isinstance(prose, Prose)
    assert prose.toPlainText() == "final"


def test_progress_is_shown_until_the_first_text(transcript: Transcript) -> None:
    transcript.begin_reply()
    transcript.show_prompt_progress(40, 100)
    (view,) = reply_views(transcript)
    assert view.waiting is not None
    assert view.waiting.words == "Reading the prompt… 40\u00a0%"
    transcript.append_reply_text("text")
    assert view.waiting is None


def test_an_abandoned_reply_is_gone(transcript: Transcript) -> None:
    transcript.append_message(prompt(0))
    transcript.begin_reply()
    transcript.append_reply_text("text")
    transcript.append_reply_text("more")
    transcript.abandon_reply()
    assert reply_views(transcript) == []
    transcript.append_reply_text("a late piece")
    assert [message.id for message in transcript.messages] == [0]


def test_every_reply_can_be_written_again_unless_one_is_being_written(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages((prompt(0), reply(1), prompt(2), reply(3)))

    def offers() -> list[bool]:
        views = sorted(reply_views(transcript), key=lambda view: view.y())
        return [view.footer is not None and not view.footer.regenerate_button.isHidden() for view in views]

    assert offers() == [True, True]
    transcript.set_busy(True)
    assert offers() == [False, False]
    transcript.set_busy(False)
    last = max(reply_views(transcript), key=lambda view: view.y())
    assert last.footer is not None
    with qtbot.waitSignal(transcript.message_actions.regenerate_requested) as asked:
        QTest.mouseClick(last.footer.regenerate_button, Qt.MouseButton.LeftButton)
    assert asked.args == [3]


def test_what_comes_after_a_message_is_cut_off(transcript: Transcript) -> None:
    transcript.show_messages((prompt(0), reply(1), prompt(2), reply(3)))
    transcript.show_note("a note")
    assert transcript.cut_after(2)
    assert [message.id for message in transcript.messages] == [0, 1, 2]
    assert not transcript.cut_after(3), "it is not there any more"
    assert [message.id for message in transcript.messages] == [0, 1, 2]
    assert transcript.cut_after(None)
    assert transcript.messages == ()


def test_replies_are_copied_as_they_were_written(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages((prompt(0), reply(1, "with *stars*")))
    (view,) = reply_views(transcript)
    assert view.footer is not None
    with qtbot.waitSignal(transcript.message_actions.copied) as copied:
        QTest.mouseClick(view.footer.copy_button, Qt.MouseButton.LeftButton)
    assert copied.args == ["with *stars*"]
    assert QApplication.clipboard().text() == "with *stars*"
    assert view.footer.copy_button.text() == "Copied"


def test_an_empty_conversation_offers_examples(qtbot: QtBot, transcript: Transcript) -> None:
    assert transcript.welcome.isVisible()
    with qtbot.waitSignal(transcript.example_chosen) as chosen:
        QTest.mouseClick(transcript.welcome.example_buttons[1], Qt.MouseButton.LeftButton)
    assert "e-mail" in str(chosen.args)
    transcript.append_message(prompt(0))
    assert not transcript.welcome.isVisible()
    transcript.clear()
    assert transcript.welcome.isVisible()


def test_notes_stand_above_a_growing_reply(transcript: Transcript) -> None:
    transcript.append_message(prompt(0))
    transcript.begin_reply()
    transcript.show_note("older messages are left out")
    rows = [type(row).__name__ for row, _ in transcript.column.visible_rows()]
    assert rows == ["PromptRow", "NoteRow", "GrowingRow"]


def test_another_theme_draws_messages_again(keeper: ThemeKeeper, transcript: Transcript) -> None:
    transcript.show_messages((prompt(0), reply(1, "a `word` of\n\n```py\nreturn\n```")))
    (view,) = reply_views(transcript)
    prose = view.block_views[0]
    assert isinstance(prose, Prose)
    before = transcript.grab().toImage()
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert keeper.theme.inline_code in prose.document().defaultStyleSheet()
    assert keeper.theme.inline_code in prose.document().toHtml()
    assert transcript.grab().toImage() != before


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40_000,
        "<img src='file:///etc/passwd'> ![x](file:///etc/passwd) [x](javascript:alert(1))",
        ">" * 3_000 + "deep",
        "```python\n" + "x = [1, 2]\n" * 3_000,
        "| a |\n|---|\n" + "| 1 |\n" * 300,
        "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER} \u202eright to left",
    ],
)
def test_hostile_replies_are_shown(qtbot: QtBot, transcript: Transcript, text: str) -> None:
    transcript.begin_reply()
    transcript.append_reply_text(text)
    transcript.finish_reply(reply(1, text))
    settled(qtbot, transcript.column)
    assert at_end(transcript.column)


def test_a_reply_that_was_scrolled_away_grows_on(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(200))
    transcript.begin_reply()
    transcript.append_reply_text("first ")
    transcript.column.verticalScrollBar().setValue(0)
    settled(qtbot, transcript.column)
    transcript.append_reply_text("second")
    transcript.finish_reply(reply(999, "first second"))
    transcript.column.scroll_to_end()
    last = max(reply_views(transcript), key=lambda view: view.y())
    (prose,) = last.block_views
    assert isinstance(prose, Prose)
    assert prose.toPlainText() == "first second"


def row_count(transcript: Transcript, wanted: Callable[[object], bool]) -> int:
    return sum(wanted(row) for row in transcript.rows)


def test_another_conversation_ends_a_growing_reply(transcript: Transcript) -> None:
    transcript.begin_reply()
    transcript.append_reply_text("text")
    transcript.show_messages((prompt(0), reply(1)))
    transcript.append_reply_text("a late piece")
    transcript.abandon_reply()
    assert row_count(transcript, lambda row: isinstance(row, ReplyRow)) == 1
    assert [message.id for message in transcript.messages] == [0, 1]


def test_flipping_in_the_middle_moves_nothing_above(qtbot: QtBot, transcript: Transcript) -> None:
    messages = conversation(200)
    transcript.show_messages(messages)
    bar = transcript.column.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settled(qtbot, transcript.column)
    (first, top), (second, below) = transcript.column.visible_rows()[:2]
    assert isinstance(first, PromptRow | ReplyRow)
    place = messages.index(first.message) + 1
    other = (*messages[:place], reply(900, "Something else.\n\n" * 40), prompt(901), reply(902))
    transcript.change_messages(other, {900: (messages[place].id, 900)})
    assert transcript.column.visible_rows()[0] == (first, top)
    assert transcript.column.visible_rows()[1][1] == below
    assert not at_end(transcript.column)
    transcript.change_messages(messages)
    settled(qtbot, transcript.column)
    (again, same_top), (third, same_below) = transcript.column.visible_rows()[:2]
    assert (again, same_top, same_below) == (first, top, below)
    assert isinstance(second, PromptRow | ReplyRow)
    assert isinstance(third, PromptRow | ReplyRow)
    assert third.message == second.message


def test_a_shorter_branch_leaves_no_hole(transcript: Transcript) -> None:
    messages = conversation(60)
    transcript.show_messages(messages)
    transcript.change_messages(messages[:2])
    assert transcript.column.verticalScrollBar().value() == 0
    assert transcript.column.following
    assert transcript.latest_button.isHidden()
    assert transcript.column.visible_rows()[0][1] == 0


def test_a_revision_outlives_its_widget(qtbot: QtBot, transcript: Transcript) -> None:
    transcript.show_messages(conversation(300))
    settled(qtbot, transcript.column)
    transcript.message_actions.revise(298)
    (row,) = [row for row in transcript.rows if isinstance(row, PromptRow) and row.message.id == 298]
    view = transcript.column.view_of(row)
    assert isinstance(view, PromptView)
    assert view.revision is not None
    assert view.revision.editor.hasFocus()
    view.revision.editor.setPlainText("in other words\n" * 3)
    assert view.height() > 80, "it has grown with its text"
    transcript.setFocus()
    view.revision.editor.clearFocus()
    bar = transcript.column.verticalScrollBar()
    bar.setValue(0)
    settled(qtbot, transcript.column)
    assert transcript.column.view_of(row) is None
    bar.setValue(bar.maximum())
    settled(qtbot, transcript.column)
    view = transcript.column.view_of(row)
    assert isinstance(view, PromptView)
    assert view.revision is not None
    assert view.revision.text == "in other words\n" * 3
    transcript.message_actions.end_revision(298)
    assert view.revision is None
    assert row.revision is None


def test_a_huge_message_is_shown_in_part_and_block_by_block(
    qtbot: QtBot, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []  # blocks, each time that the window was free
    show = ReplyView._show_wanted

    def counted(view: ReplyView) -> None:
        before = len(view.block_views)
        show(view)
        built.append(len(view.block_views) - before)

    monkeypatch.setattr(ReplyView, "_show_wanted", counted)
    text = "```\ncode\n```\n\n" + "some words\n\n" * 30_000
    transcript.show_messages((prompt(1, text), reply(2, text)))
    view = reply_views(transcript)[-1]
    qtbot.waitUntil(lambda: view.is_whole, timeout=30_000)
    assert max(built) <= 3
    assert view.cut is not None
    assert view.cut.text().endswith(
        f" of {len(text):,} characters are shown. To read the rest, copy the message or export the chat."
    )
    assert len(view.block_views) > 20
    transcript.resize(700, 600)
    qtbot.waitUntil(lambda: view.is_whole, timeout=30_000)
    assert not PromptRow(transcript._stage, prompt(1, text)).is_revisable


def test_blocks_that_are_not_shown_are_told_of(
    qtbot: QtBot, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_view, "_BLOCKS_SHOWN", 4)
    block = "words\n\n```\ncode\n```\n\n"
    transcript.show_messages((reply(1, block * 2), reply(2, block * 3)))
    whole, cut = reply_views(transcript)
    qtbot.waitUntil(lambda: whole.is_whole and cut.is_whole)
    assert whole.cut is None
    assert cut.cut is not None
    assert cut.cut.text().startswith("Only the beginning is shown.")
    transcript.begin_reply()
    transcript.append_reply_text(block * 3)
    transcript.show_pending()
    growing = reply_views(transcript)[-1]
    assert growing.cut is not None
    transcript.finish_reply(reply(3, "another text"))
    assert growing.cut is None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_long_reply_is_cut_alike_while_it_grows(
    qtbot: QtBot, transcript: Transcript, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(reply_view, "_SHOWN_LINES", 40)
    text = "a line\n\n" * 30
    transcript.begin_reply()
    for place in range(0, len(text), size):
        transcript.append_reply_text(text[place : place + size])
        transcript.show_pending()
    (view,) = reply_views(transcript)
    qtbot.waitUntil(lambda: view.is_whole)
    words, height = [prose.toPlainText() for prose in view.block_views if isinstance(prose, Prose)], view.arrange(700)
    assert "".join(words).count("a line") == 20
    assert view.cut is not None
    assert view.cut.text().startswith("The first 159 of 240 characters are shown.")
    transcript.finish_reply(reply(1, text))
    qtbot.waitUntil(lambda: view.is_whole)
    assert [prose.toPlainText() for prose in view.block_views if isinstance(prose, Prose)] == words
    assert view.cut.text().startswith("The first 159 of 240 characters are shown.")
    assert view.arrange(700) > height  # with the footer


def test_copying_from_an_opened_file_has_what_is_shown_by_marks(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    text = "a\u202eb\n\u200b\u200b‹U+202E›\x1bz\u202e"
    files = AttachedFiles(keeper, (Attachment("a.txt", text),))
    qtbot.addWidget(files)
    files.buttons[0].click()
    assert files.text.toPlainText() == "a‹U+202E›b\n‹U+200B ×2›‹U+202E›‹U+001B›z‹U+202E›"
    files.text.selectAll()
    files.text.copy()
    assert QGuiApplication.clipboard().text() == text
