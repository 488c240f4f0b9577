from __future__ import annotations

from datetime import date

from app.models.target_rows import suggestion_row
from app.text.suggestions import READING, details, rank, speed_words
from engine.values.targets import HubFile, Purpose, Suggestion

GB = 1_000_000_000


def suggested(name: str, size_gb: float, tokens_per_s: float) -> Suggestion:
    file = HubFile("owner/model", f"{name}.gguf", int(size_gb * GB), "Q4_K_M")
    return Suggestion(name, Purpose.CHAT, file, "MIT", 1.0, (), date(2026, 1, 1), tokens_per_s)


LARGE, MIDDLE, CODE, SMALL = (
    suggested("large", 9, 2.0),
    suggested("middle", 5, 8.0),
    suggested("code", 4.5, 9.0),
    suggested("small", 1, 40.0),
)
ALL = LARGE, MIDDLE, CODE, SMALL


def order(*suggestions: Suggestion, memory: float = 64, disk: float = 500) -> list[str]:
    advice = rank(suggestions, int(memory * GB), int(disk * GB), {})
    assert [each.is_best for each in advice[1:]] == [False] * (len(advice) - 1)
    return [each.suggestion.name for each in advice]


def test_what_fits_and_writes_faster_than_people_read_is_first_in_the_order_of_the_list() -> None:
    assert order(*ALL) == ["middle", "code", "small", "large"]
    assert order(*ALL, memory=9) == ["code", "small", "middle", "large"], "the middle one is tight"
    assert order(*ALL, disk=5.7) == ["code", "small", "middle", "large"], "for two there is no room"
    assert 5 < READING < 6


def test_the_slow_ones_go_by_their_speed_and_where_nothing_was_measured_the_list_holds() -> None:
    slow = [suggested(name, 1, speed) for name, speed in (("a", 1.0), ("b", 3.0), ("c", 2.0))]
    assert order(*slow, SMALL) == ["small", "b", "c", "a"]
    assert order(*(suggested(each.name, 1, 0.0) for each in ALL)) == ["large", "middle", "code", "small"]


def test_none_is_best_where_none_fits_and_what_is_offered_no_more_is_last() -> None:
    assert not any(each.is_best for each in rank(ALL, GB, 500 * GB, {}))
    gone = rank(ALL, 64 * GB, 500 * GB, {MIDDLE.file: None, CODE.file: CODE.file})
    assert [each.suggestion.name for each in gone] == ["code", "small", "large", "middle"]
    assert [(each.is_best, each.is_checked) for each in gone] == [
        (True, True),
        (False, False),
        (False, False),
        (False, True),
    ]


def test_a_speed_is_told_as_exactly_as_an_estimate_may_be() -> None:
    assert [speed_words(speed) for speed in (0.0, 1.04, 4.96, 12.3)] == [
        "",
        "about 1.0 tok/s",
        "about 5.0 tok/s",
        "about 12 tok/s",
    ]


def test_what_is_slower_than_people_read_is_not_called_best() -> None:
    quick, slow = (rank((each,), 64 * GB, 500 * GB, {})[0] for each in (SMALL, LARGE))
    assert [suggestion_row(each).tag for each in (quick, slow)] == ["best here", "fastest here, but slow"]
    assert "slower than most people read" in details(slow, "hub", "It fits.")[1]
