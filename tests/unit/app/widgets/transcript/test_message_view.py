from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.transcript.footers import ReplyFooter, details, facts
from app.widgets.transcript.prompt_view import PromptView
from engine.values.replies import ReplyStatistics
from tests.unit.app.widgets.messages import STATISTICS, prompt, reply


def test_prompts_are_plain_text(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    view = PromptView(keeper, Pictures(), "**not bold**\n<b>nor this</b>")
    qtbot.addWidget(view)
    assert view.prose.toPlainText() == "**not bold**\n<b>nor this</b>"


def test_short_prompts_have_small_bubbles(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    view = PromptView(keeper, Pictures(), "Hi")
    qtbot.addWidget(view)
    view.arrange(700)
    assert view.prose.width() < 60
    assert view.prose.geometry().right() < 700


def test_long_prompts_are_shortened_until_asked_for(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    view = PromptView(keeper, Pictures(), "a line of words\n" * 500)
    qtbot.addWidget(view)
    short = view.arrange(700)
    with qtbot.waitSignal(view.height_changed):
        QTest.mouseClick(view.all_button, Qt.MouseButton.LeftButton)
    assert view.arrange(700) > 5 * short
    assert view.prose.toPlainText().count("a line") == 500


def test_facts_name_only_what_is_known() -> None:
    assert facts(reply(1))[0] == "SmolLM2  ·  214 tokens  ·  30.9 tok/s  ·  stopped"
    assert facts(prompt(1)) == ("",)


def test_numbers_leave_a_replys_line_first_and_why_it_ended_never(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    footer = ReplyFooter(keeper)
    qtbot.addWidget(footer)
    footer.set_message(replace(reply(1), statistics=replace(DRAFTED, plain_error=0.04)))
    with qtbot.waitExposed(footer):
        footer.show()
    footer.set_continue(True)
    footer.flipper.set_siblings((1, 2), 1)
    told = []
    for width in (*range(900, 200, -4), *range(200, 900, 4)):
        footer.resize(width, footer.height())
        QApplication.processEvents()
        for part in (footer.copy_button, footer.continue_button, footer.flipper):
            assert part.width() >= part.sizeHint().width()
        told.append(footer.facts.text())
        assert footer.facts.px(told[-1]) <= footer.facts.width()
    assert list(dict.fromkeys(told)) == [
        "SmolLM2  ·  214 tokens  ·  30.9 tok/s  ·  1.5× faster  ·  stopped",
        "SmolLM2  ·  30.9 tok/s  ·  1.5× faster  ·  stopped",
        "SmolLM2  ·  1.5× faster  ·  stopped",
        "SmolLM2  ·  stopped",
        "stopped",
    ]
    assert told[0] == told[-1]


def test_details_tell_what_was_reused() -> None:
    assert "412 tokens; read for this reply: 38, already known: 374" in details(STATISTICS)


def test_a_reply_that_was_drafted_for_tells_how_it_went() -> None:
    statistics = replace(STATISTICS, num_rounds=100, num_drafted=180, num_accepted=60)
    assert "×" not in facts(replace(reply(1), statistics=statistics))[0], "how fast plain decoding is, nobody knows"
    assert "180 tokens, 60 accepted, in 100 rounds" in details(statistics)


DRAFTED = replace(STATISTICS, num_rounds=100, num_drafted=180, num_accepted=114, plain_tokens_per_s=20.0)


@pytest.mark.parametrize(
    ("statistics", "claim"),
    [
        (replace(DRAFTED, plain_error=0.04), "1.5× faster"),
        (replace(DRAFTED, plain_error=0.04, plain_tokens_per_s=30.0), ""),  # normal speed
        (replace(DRAFTED, plain_error=0.3), ""),  # hardly known
        (replace(DRAFTED, plain_error=0.04, reply_tokens=20), ""),  # too short
        (replace(DRAFTED, num_drafted=0, num_accepted=0), ""),
    ],
)
def test_a_ratio_is_claimed_where_it_means_something(statistics: ReplyStatistics, claim: str) -> None:
    told = facts(replace(reply(1), statistics=statistics))[0]
    assert (claim in told) if claim else ("×" not in told)


def test_details_say_how_sure_a_ratio_is() -> None:
    told = details(replace(DRAFTED, plain_error=0.04))
    assert "Without guesses: 20.0 tokens a second, ± 4\u00a0%" in told
    assert "Ratio: 1.5× ± 0.1" in told
    assert "1.5× faster" in told.splitlines()
