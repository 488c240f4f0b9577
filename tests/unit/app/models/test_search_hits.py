from __future__ import annotations

from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt

from app.models.search_hits import SearchHitsModel, plain_snippet
from engine.values.conversations import ConversationSummary, SearchHit

WHEN = datetime(2026, 3, 4, tzinfo=UTC)


def test_a_snippet_is_told_without_signs_of_markdown() -> None:
    model = SearchHitsModel()
    summary = ConversationSummary(1, "Boats", WHEN)
    model.set_hits((SearchHit(summary, 4, "a **boat**", ((4, 4),)), SearchHit(summary, None, "", ())))
    hit: SearchHit = model.index(0).data(SearchHitsModel.HitRole)
    assert (hit.snippet, hit.marks) == ("a boat", ((2, 4),))
    assert model.index(0).data(Qt.ItemDataRole.AccessibleDescriptionRole) == "a boat"


@pytest.mark.parametrize(
    ("snippet", "plain"),
    [
        ("nothing to do", "nothing to do"),
        ("…ange at Oxenholme. 2. **Saturday**: boat to", "…ange at Oxenholme. 2. Saturday: boat to"),
        ("take the boat more often: 1. **Friday…", "take the boat more often: 1. Friday…"),
        ("…urday**: boat and **more**", "…urday: boat and more"),
        ("## Boats ### and *more* of ***them***", "Boats and more of them"),
        ('see [the boats](https://a.b/c_d "Title") and ![a picture](x.png)', "see the boats and a picture"),
        ("write ```python print(boat)``` or `boat`", "write print(boat) or boat"),
        ("| a | b | |---|:--:| | 1 | 2 |", "| a | b | | 1 | 2 |"),
        (r"~~gone~~ 3\. \*stars\*", "gone 3. *stars*"),
    ],
)
def test_signs_go_and_words_stay(snippet: str, plain: str) -> None:
    assert plain_snippet(snippet, ())[0] == plain


@pytest.mark.parametrize(
    "snippet",
    [
        "2 * 3 * 4, 2*3*4 and 2**8**2",
        "snake_case_name, __init__, self._items",
        "def f(*args, **kwargs): ...",
        "C# and #1",
        "boats [1] (sailing)",
        "",
    ],
)
def test_what_is_no_sign_stays(snippet: str) -> None:
    assert plain_snippet(snippet, ()) == (snippet, ())


def test_marks_stay_on_their_words_and_what_is_marked_stays() -> None:
    snippet = "…2. **Saturday**: `boat` to [Boatle](x), **bold**"
    marks = tuple((snippet.index(word), len(word)) for word in ("Saturday", "boat", "Boatle", "**bold**"))
    plain, moved = plain_snippet(snippet, marks)
    assert plain == "…2. Saturday: boat to Boatle, **bold**"
    assert [plain[start : start + length] for start, length in moved] == ["Saturday", "boat", "Boatle", "**bold**"]
