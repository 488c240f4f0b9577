"""Finding conversations by words."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.storage import Repository, search, texts
from engine.backend.storage.texts import holds_all, snippet_of, wanted_words
from engine.values.conversations import Role, SearchHit
from engine.values.replies import Thought
from engine.values.tools import ToolCall


def chat(repository: Repository, title: str, *texts: str, incognito: bool = False) -> int:
    number = repository.create_conversation(title, "", incognito).id
    parent = None
    for text in texts:
        parent = repository.add_message(number, parent, Role.USER, text).id
    return number


def found(repository: Repository, words: str) -> list[int]:
    return [hit.conversation.id for hit in repository.search(words)]


def marked(hit: SearchHit) -> list[str]:
    return [hit.snippet[start : start + length] for start, length in hit.marks]


@pytest.mark.parametrize(
    "words",
    ["straße", "STRASSE", "Strasse", "ÜBER", "über die", "die über", "100%", "a_b", "KELVIN", "regenbogen\nstraße"],
)
def test_words_are_found_whatever_their_case(repository: Repository, words: str) -> None:
    wanted = chat(repository, "Colours", "Hello", "Der Regenbogen über DIE Straße: 100% von a_b in \u212aelvin")
    chat(repository, "Other", "Strand, uber, 100 und aXb")
    assert found(repository, words) == [wanted]


def test_all_words_must_occur_in_the_title_and_one_message(repository: Repository) -> None:
    both = chat(repository, "Trip to Lisbon", "The budget is small.")
    chat(repository, "Other trip", "No money.", "The budgie sings.")
    chat(repository, "Third", "a trip", "a budget")
    assert found(repository, "trip budget") == [both]
    (hit,) = repository.search("trip budget")
    assert marked(hit) == ["budget"]
    (hit,) = repository.search("lisbon")
    assert (hit.message_id, hit.snippet, hit.marks) == (None, "", ())


def test_the_last_used_comes_first_and_incognito_chats_are_found_while_they_are_there(repository: Repository) -> None:
    first = chat(repository, "first", "zebra")
    secret = chat(repository, "secret", "Zebra", incognito=True)
    last = chat(repository, "zebra")
    assert found(repository, "zebra") == [last, secret, first]
    repository.delete_conversations([secret])
    repository.delete_conversations([first])
    assert found(repository, "zebra") == [last]
    repository.restore_conversations([first])
    repository.forget_conversation(last)
    assert found(repository, "zebra") == [first]


def test_a_message_of_the_current_branch_is_preferred(repository: Repository) -> None:
    number = repository.create_conversation("chat", "").id
    prompt = repository.add_message(number, None, Role.USER, "zebra zebra")
    repository.add_message(number, prompt.id, Role.ASSISTANT, "zebra, left behind")
    repository.add_message(number, prompt.id, Role.ASSISTANT, "no such animal")
    (hit,) = repository.search("zebra")
    assert hit.message_id == prompt.id
    (hit,) = repository.search("left behind")
    assert hit.message_id == prompt.id + 1


@pytest.mark.parametrize("words", ["", "  \n", "%", "_", "\\", "'", "x" * 60_000, "\ud800", "a\0b"])
def test_odd_words_find_nothing(repository: Repository, words: str) -> None:
    chat(repository, "Some title", "Some text")
    assert repository.search(words) == ()


def test_a_search_can_be_stopped(repository: Repository) -> None:
    for number in range(5):
        chat(repository, f"{number}", "zebra")
    assert repository.search("zebra", lambda: True) == ()


def test_a_snippet_shows_the_words_in_one_line() -> None:
    text = "Far away\n\nand long ago " * 20 + "the STRASSE\twas wide. " + "And so on. " * 40
    snippet, marks = snippet_of(lambda: [text], wanted_words("straße wide"))
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert [snippet[start : start + length] for start, length in marks] == ["STRASSE", "wide"]
    assert "\n" not in snippet


def plain_snippet(text: str, words: Sequence[str]) -> tuple[str, int]:
    """The line, and where it begins, as found in the whole text at once."""
    folded = text.casefold()
    origins = [index for index, character in enumerate(text) for _ in character.casefold()]
    places = [place for word in words if (place := folded.find(word)) >= 0]
    begin = max(0, origins[min(places)] - 36) if places else 0
    if begin:
        space = max(text.find(" ", begin, begin + 36), text.find("\n", begin, begin + 36))
        begin = space + 1 if 0 <= space < begin + 18 else begin
    line = " ".join(text[begin : begin + 180].split())
    return ("…" if begin else "") + line + ("…" if begin + 180 < len(text) else ""), begin


LETTERS = st.sampled_from(
    ["ß", "s", "S", "ﬃ", "f", "I", "İ", "i", "\u0307", "ΐ", " ", "\n", "é", "😀", "ς", "Σ", "a" * 40]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LETTERS, max_size=40).map("".join), st.lists(LETTERS, max_size=9).map("".join), st.integers(1, 9))
def test_a_text_in_pieces_is_searched_as_a_whole_one(
    monkeypatch: pytest.MonkeyPatch, text: str, words: str, size: int
) -> None:
    monkeypatch.setattr(texts, "_WINDOW", size)
    pieces = [text[start : start + size + 2] for start in range(0, len(text), size + 2)]
    wanted = wanted_words(words)
    assert holds_all(pieces, wanted) == all(word in text.casefold() for word in wanted)
    assert snippet_of(lambda: pieces, wanted)[0] == plain_snippet(text, wanted)[0]


def test_no_character_vanishes_where_it_is_folded() -> None:
    assert all(chr(number).casefold() for number in range(sys.maxunicode + 1))


def test_a_long_message_is_found_in_little_memory_and_the_search_of_it_stops(repository: Repository) -> None:
    number = chat(repository, "long", "ü word " * 500_000 + "the Needle at the end")
    tracemalloc.start()
    try:
        (hit,) = repository.search("needle")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (hit.conversation.id, marked(hit)) == (number, ["Needle"])
    assert most < 12 * 2**20, "the bytes of the text, and little more"
    looks = iter([False, False])
    assert repository.search("no such words", lambda: next(looks, True)) == ()
    assert list(looks) == [], "it looked whether to stop while it read the text"


def test_long_thoughts_and_calls_are_searched_like_short_ones(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = repository.create_conversation("chat", "").id
    thoughts = (Thought(0, "The first.", 1.0, 2, True), Thought(0, "A Straße.", 1.0, 2, True))
    calls = (ToolCall("1", "s", "forecast", '{"city": "Zürich"}'), ToolCall("2", "s", "clock", "{}"))
    prompt = repository.add_message(number, None, Role.USER, "Hi")
    repository.add_message(number, prompt.id, Role.ASSISTANT, "x", thoughts=thoughts, calls=calls)
    for words in ("straße first", "ZÜRICH forecast", "clock", "not there"):
        short = repository.search(words)
        monkeypatch.setattr(search, "_LONG_BYTES", 1)
        assert repository.search(words) == short
        assert len(short) == (words != "not there")
        monkeypatch.undo()


@given(st.text(max_size=60), st.text(max_size=8))
def test_marks_lie_within_the_snippet(text: str, words: str) -> None:
    snippet, marks = snippet_of(lambda: [text], wanted_words(words))
    ends = [0, *(place for start, length in marks for place in (start, start + length)), len(snippet)]
    assert ends == sorted(ends)
