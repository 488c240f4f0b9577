"""What recall looks in: texts come, are merged, are forgotten, and whoever looks meanwhile finds all or none."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.recall import RecallTexts
from engine.values.learned import RecallText

MOST = 100  # places, more than there are


def text(message_id: int, tokens: Sequence[int], conversation_id: int = 1) -> RecallText:
    return RecallText(message_id, conversation_id, np.array(tokens, np.int32))


def filler(message_id: int, num_tokens: int, conversation_id: int = 1) -> RecallText:
    """A text that no other one resembles."""
    return text(message_id, range(1000 * message_id, 1000 * message_id + num_tokens), conversation_id)


def following(indexes: Sequence[SuffixIndex], *tail: int) -> list[list[int]]:
    """What came after these tokens, index by index, latest last."""
    places = [place for index in indexes for place in index.find(tail, MOST)]
    return [place.continuation(MOST) for place in places]


@pytest.fixture
def merging_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.recall._FEW_TOKENS", 10)


def test_nothing_is_found_in_an_empty_memory() -> None:
    remembered = RecallTexts()
    assert following(remembered.indexes, 1, 2) == []
    assert remembered.num_tokens == 0


def test_texts_are_found_that_were_there_and_that_came_since() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    remembered.add([text(2, [1, 2, 4]), text(3, [7, 8, 9])])
    remembered.add([text(4, [1, 2, 5])])
    assert following(remembered.indexes, 1, 2) == [[3], [4], [5]]
    assert following(remembered.indexes, 7, 8) == [[9]]
    assert remembered.num_tokens == 12


def test_no_text_goes_on_in_the_next_one() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3]), text(2, [4, 5, 6])])
    assert following(remembered.indexes, 2, 3) == []
    assert following(remembered.indexes, 3, 4) == []


def test_a_text_without_tokens_is_harmless() -> None:
    remembered = RecallTexts([text(1, []), text(2, [1, 2, 3])])
    remembered.add([text(3, [])])
    assert following(remembered.indexes, 1, 2) == [[3]]
    assert remembered.num_tokens == 3


def test_a_few_new_tokens_leave_the_large_index_alone() -> None:
    remembered = RecallTexts([filler(1, 100)])
    large = remembered.indexes[0]
    remembered.add([text(2, [1, 2, 3])])
    remembered.add([text(3, [1, 2, 4])])
    assert remembered.indexes[0] is large
    assert following(remembered.indexes[1:], 1, 2) == [[3], [4]]


@pytest.mark.usefixtures("merging_early")
def test_many_new_tokens_are_merged_with_the_others() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    remembered.add([filler(2, 10)])
    assert len(remembered.indexes) == 2
    remembered.add([text(3, [1])])  # one more than a few
    assert len(remembered.indexes) == 1
    assert remembered.num_tokens == 14
    assert following(remembered.indexes, 1, 2) == [[3]]
    assert following(remembered.indexes, 2000, 2001) == [list(range(2002, 2010))]
    remembered.add([text(4, [1, 2, 4])])
    assert following(remembered.indexes, 1, 2) == [[3], [4]]


@pytest.mark.usefixtures("merging_early")
def test_the_more_there_is_the_more_may_come_before_it_is_merged() -> None:
    remembered = RecallTexts([filler(1, 800)])
    remembered.add([filler(2, 100)])  # an eighth
    assert len(remembered.indexes) == 2
    remembered.add([filler(3, 1)])
    assert len(remembered.indexes) == 1


@pytest.mark.usefixtures("merging_early")
def test_the_message_decides_what_is_later_not_when_it_came() -> None:
    remembered = RecallTexts([text(5, [1, 2, 5]), text(3, [1, 2, 3])])
    assert following(remembered.indexes, 1, 2) == [[3], [5]]
    remembered.add([text(9, [1, 2, 9])])
    remembered.add([text(1, [1, 2, 1]), text(4, [1, 2, 4])])
    assert following(remembered.indexes[1:], 1, 2) == [[1], [4], [9]]
    remembered.add([filler(2, 10)])
    assert following(remembered.indexes, 1, 2) == [[1], [3], [4], [5], [9]]


def test_a_text_that_is_known_is_not_found_twice() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    remembered.add([text(1, [1, 2, 3])])
    remembered.add([text(2, [1, 2, 4])])
    remembered.add([text(2, [1, 2, 4])])
    assert following(remembered.indexes, 1, 2) == [[3], [4]]
    assert remembered.num_tokens == 6


def test_a_conversation_is_forgotten_wherever_its_texts_are() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3], conversation_id=1), text(2, [1, 2, 4], conversation_id=2)])
    remembered.add([text(3, [1, 2, 5], conversation_id=1), text(4, [1, 2, 6], conversation_id=2)])
    remembered.forget(1)
    assert following(remembered.indexes, 1, 2) == [[4], [6]]
    assert remembered.num_tokens == 6
    remembered.forget(2)
    assert following(remembered.indexes, 1, 2) == []
    remembered.add([text(1, [1, 2, 3], conversation_id=1)])
    assert following(remembered.indexes, 1, 2) == [[3]]


def test_forgetting_what_was_never_there_changes_nothing() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    before = remembered.indexes
    remembered.forget(7)
    assert remembered.indexes is before


@pytest.mark.usefixtures("merging_early")
def test_of_too_many_tokens_the_latest_whole_texts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.recall.MOST_TOKENS", 20)
    remembered = RecallTexts([filler(1, 10), filler(2, 6), filler(3, 6)])
    assert remembered.num_tokens == 12
    assert following(remembered.indexes, 1000, 1001) == []
    remembered.add([filler(4, 11)])  # more than a few, so that they are merged
    assert remembered.num_tokens == 17
    assert following(remembered.indexes, 2000, 2001) == []
    assert len(following(remembered.indexes, 3000, 3001)) == len(following(remembered.indexes, 4000, 4001)) == 1


@pytest.mark.usefixtures("merging_early")
def test_texts_older_than_all_that_fit_do_not_drive_out_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.recall.MOST_TOKENS", 20)
    remembered = RecallTexts([filler(8, 9), filler(9, 9)])
    remembered.add([filler(1, 11)])
    assert remembered.num_tokens == 18
    assert following(remembered.indexes, 1000, 1001) == []


@pytest.mark.usefixtures("merging_early")
def test_as_many_tokens_as_fit_exactly_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.speculation.proposers.recall.MOST_TOKENS", 20)
    assert RecallTexts([filler(1, 1), filler(2, 12), filler(3, 8)]).num_tokens == 20


def test_while_an_index_is_made_the_old_ones_are_looked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = RecallTexts([text(1, [1, 2, 3]), text(2, [1, 2, 4], conversation_id=2)])
    seen: list[list[list[int]]] = []

    def make_index(texts: Iterable[Sequence[int]]) -> SuffixIndex:
        seen.append(following(remembered.indexes, 1, 2))
        return SuffixIndex(texts)

    monkeypatch.setattr("engine.speculation.proposers.recall.SuffixIndex", make_index)
    remembered.add([text(3, [1, 2, 5])])
    remembered.add([filler(4, 9000)])
    remembered.forget(2)
    assert seen == [[[3], [4]], [[3], [4], [5]], [[3], [4], [5]]]
    assert following(remembered.indexes, 1, 2) == [[3], [5]]


def test_indexes_that_somebody_looks_in_never_change() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    seen = [(remembered.indexes, [[3]])]
    remembered.add([text(2, [1, 2, 4], conversation_id=2)])
    seen.append((remembered.indexes, [[3], [4]]))
    remembered.add([filler(3, 9000)])
    seen.append((remembered.indexes, [[3], [4]]))
    remembered.forget(2)
    assert following(remembered.indexes, 1, 2) == [[3]]
    assert [following(indexes, 1, 2) for indexes, _ in seen] == [found for _, found in seen]


@pytest.mark.usefixtures("merging_early")
def test_a_text_that_stays_is_found_once_whatever_comes_and_goes_meanwhile() -> None:
    remembered = RecallTexts([text(1, [1, 2, 3])])
    start, done = threading.Barrier(2), threading.Event()
    found: set[int] = set()

    def look() -> None:
        start.wait()
        while not done.is_set():
            found.add(len(following(remembered.indexes, 1, 2)))

    looking = threading.Thread(target=look)
    looking.start()
    start.wait()
    numbers = itertools.count(2)
    for conversation_id in range(2, 150):
        for _ in range(3):
            remembered.add([filler(next(numbers), 5, conversation_id)])
        remembered.forget(conversation_id)
    while not found and looking.is_alive():  # it had no turn yet
        looking.join(0.01)
    done.set()
    looking.join()
    assert found == {1}
    assert remembered.num_tokens == 3
