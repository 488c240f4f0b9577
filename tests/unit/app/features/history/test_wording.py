from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import date

import pytest

from app.features.history.columns import cells, csv_text
from app.features.history.figures import Grouping, HistoryRow, by_text, points, rows
from app.features.history.wording import (
    exceptions_words,
    headline,
    learned_words,
    note_words,
    paying_rows,
    plot_words,
    point_words,
    thinking_words,
)
from app.text.speed import hindrance_words
from engine.values.history import History, Portion, Tally, TotalSpeedup
from engine.values.outlook import Outlook, Span
from engine.values.replies import TextKind
from engine.values.speed import Hindrance
from tests.unit.app.features.history.made import ago, history, portion, tally

WEEK = "Over the last 7 days"


@pytest.mark.parametrize(
    ("speedup", "words"),
    [
        (
            TotalSpeedup(1.34, 0.03, 212, 840),
            "Over the last 7 days a typical reply came 1.34× ± 0.03 as fast as without speed-up (212 replies). "
            "Together, speed-up saved about 14 minutes.",
        ),
        (
            TotalSpeedup(0.94, 0.01, 1, -30),
            "Over the last 7 days a typical reply came 0.94× ± 0.01 as fast as without speed-up (1 reply). "
            "Together, speed-up cost about 30 seconds.",
        ),
        (
            TotalSpeedup(1.01, 0.02, 3, 1),
            "Over the last 7 days a typical reply came at normal speed: 1.01× ± 0.02 (3 replies). Together, speed-up "
            "saved about 1 second.",
        ),
        (
            TotalSpeedup(1.5, 0.0, 1, 0.5),
            "Over the last 7 days a typical reply came 1.50× as fast as without speed-up (1 reply).",
        ),
        (
            TotalSpeedup(1.03, 0.37, 2, 1),
            "Over the last 7 days too little was written to tell whether speed-up helps: 1.03× ± 0.37 (2 replies).",
        ),
        (None, "Over the last 7 days no reply could be compared with writing without speed-up."),
    ],
)
def test_the_headline_is_honest(speedup: TotalSpeedup | None, words: str) -> None:
    assert headline(speedup, WEEK) == words


def test_the_headline_says_what_kept_replies_from_being_faster_where_they_were_not() -> None:
    costly = Tally(num_replies=4, num_unpaid=2, num_unrepeated=1, ratios=(1.0,) * 4)
    assert headline(costly.speedup, WEEK, costly.hindrance).endswith(
        f"normal speed: 1.00× (4 replies). Most often, {hindrance_words(Hindrance.COSTS)}."
    )
    mixed = replace(costly, num_unpaid=1)
    assert mixed.hindrance is Hindrance.UNKNOWN, "no reason stands for most of them"
    fast = replace(costly, ratios=(1.4,) * 4)
    assert "Most often" not in headline(fast.speedup, WEEK, fast.hindrance)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"num_slow": 1}, "1 of 120 replies was slower than without speed-up; the log says why."),
        (
            {"num_slow": 3, "num_repeating": 2},
            (
                "3 of 120 replies were slower than without speed-up; the log says why. 2 replies that kept "
                "repeating themselves are left out."
            ),
        ),
        ({"num_repeating": 1}, "1 reply that kept repeating itself is left out."),
    ],
)
def test_slow_replies_and_endless_ones_are_told_of(changes: dict[str, int], words: str) -> None:
    assert exceptions_words(replace(tally(num_replies=120), **changes)) == words  # type: ignore[arg-type]


def test_thinking_is_told_from_answering() -> None:
    thinking = replace(tally(), num_thought=50, thought_s=20.0)  # of 200 tokens in 60 s
    assert thinking_words(thinking) == "Thinking: 2.5 tokens/s (25\u00a0% of all tokens); answering: 3.8 tokens/s."
    assert thinking_words(tally()) == ""


def test_a_point_tells_when_and_how_many() -> None:
    (point,) = points([portion(date(2026, 3, 1))], Grouping.DAY)
    assert point_words(point, Grouping.DAY) == "1 March 2026\n1.50× ± 0.03, 2 replies compared"
    assert point_words(point, Grouping.CHAT) == "1 chat, 1 March 2026\n1.50× ± 0.03, 2 replies compared"
    assert plot_words([point], Grouping.DAY) == "Each point is one day. At 1, speed-up makes no difference."
    assert plot_words([], Grouping.CHAT) == "Each point is one chat. At 1, speed-up makes no difference."


@pytest.mark.usefixtures("drafter_and_recall")
def test_the_cells_of_a_row() -> None:
    row = HistoryRow("Tiny", TextKind.CODE, tally())
    who = "Drafter 75\u00a0%, earlier text 25\u00a0%"
    assert cells(row) == ("Code", "2", "200", "3.3", "1.50× ± 0.03", "1.67", "50\u00a0%", who)
    assert cells(HistoryRow("Tiny", None, Tally())) == ("All kinds", "0", "0", "–", "–", "–", "–", "–")


def test_the_table_is_exported_with_its_digits() -> None:
    text = csv_text(
        [*rows([portion(date(2026, 3, 1), target='A "b", c')]), HistoryRow("Old", None, Tally(num_replies=1))]
    )
    first, second = csv.DictReader(io.StringIO(text))
    assert first["model"] == 'A "b", c'
    assert (first["kind"], first["replies"], first["tokens"], first["seconds"]) == ("prose", "2", "200", "60")
    assert (first["ratio"], first["ratio_error"], first["compared_replies"], first["saved_s"]) == (
        "1.5",
        "0.03",
        "2",
        "30",
    )
    assert (first["tokens_per_round"], first["accepted_share"]) == ("1.66667", "0.5")
    assert (first["drafter_share"], first["recall_share"]) == ("0.75", "0.25")
    assert second["kind"] == "all"
    assert {second[name] for name in ("ratio", "saved_s", "tokens_per_s", "accepted_share", "drafter_share")} == {""}


def test_what_was_learned_is_told_in_plain_words() -> None:
    assert learned_words(History()) == ("Nothing has been learned yet.",)
    ngrams, recall, learning, adapter = learned_words(history())
    assert ngrams.startswith("1,200 word patterns ")
    assert recall == "4,567 tokens of 3 messages are reused when they come up again."
    assert learning.endswith("the drafter has spent 2 minutes learning while no reply was being written.")
    assert adapter.endswith("for Tiny: after 40 replies, 0.90 → 1.15 guesses are accepted in each round, in use.")
    unknown = replace(history(), adapters=tuple(replace(note, before=0.0, after=0.0) for note in history().adapters))
    assert learned_words(unknown)[-1].endswith(": learned from 40 replies; the next ones will show what that brings.")
    assert "→" not in note_words(unknown.adapters[0])


OUTLOOK = Outlook("Tiny", None, Span(95, 100, 105), Span(0.97, 1.0, 1.1), Span(1.1, 1.3, 1.6))
COPIES = "about 1.3× (1.1 to 1.6), estimated for Tiny"


def test_where_it_pays_is_told_by_own_replies_and_else_by_an_estimate() -> None:
    def rows(*portions: Portion, outlook: Outlook | None = OUTLOOK) -> tuple[tuple[str, str], ...]:
        return paying_rows(by_text(portions), outlook)

    again = replace(portion(ago(1), figures=tally(1.8)), reuses=True)
    code = portion(ago(1), kind=TextKind.CODE, figures=tally(1.2))
    prose = portion(ago(1), figures=tally(1.0))
    assert rows() == (
        ("Text that comes again", COPIES),
        ("New text", "about 1.0× (1.0 to 1.1), estimated for Tiny"),
    )
    assert rows(outlook=None) == ()
    assert [name for name, _ in rows(prose, code, again)] == ["Text that comes again", "Code", "Prose"]
    assert rows(again)[0] == ("Text that comes again", "1.80× ± 0.04, 2 replies")
    assert rows(prose) == (("Text that comes again", COPIES), ("Prose", "1.00× ± 0.02, 2 replies"))
    assert rows(prose, outlook=None) == (("Prose", "1.00× ± 0.02, 2 replies"),)
