"""Finding conversations by words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.messages.conversations import Role, SearchHit
from engine.storage import Repository
from engine.storage.texts import snippet_of, wanted_words


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
    repository.delete_conversation(secret)
    repository.delete_conversation(first)
    assert found(repository, "zebra") == [last]
    repository.restore_conversation(first)
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
    snippet, marks = snippet_of(text, wanted_words("straße wide"))
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert [snippet[start : start + length] for start, length in marks] == ["STRASSE", "wide"]
    assert "\n" not in snippet


@given(st.text(max_size=60), st.text(max_size=8))
def test_marks_lie_within_the_snippet(text: str, words: str) -> None:
    snippet, marks = snippet_of(text, wanted_words(words))
    ends = [0, *(place for start, length in marks for place in (start, start + length)), len(snippet)]
    assert ends == sorted(ends)
