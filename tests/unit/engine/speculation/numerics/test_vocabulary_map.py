"""Strings from bytes, and the file they are kept in."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.speculation.numerics.vocabulary_map import MAX_STRING, NO_TOKEN, VocabularyMap, fingerprint, open_map


class GreedyTokenizer:
    """A drafter's tokenizer that takes the longest piece at each place."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = tuple(pieces)
        self._tokens = {piece: token for token, piece in enumerate(pieces) if piece}
        self._longest = max(map(len, pieces))

    def encode(self, data: bytes) -> list[int] | None:
        tokens: list[int] = []
        start = 0
        while start < len(data):
            for end in range(min(len(data), start + self._longest), start, -1):
                if (token := self._tokens.get(data[start:end])) is not None:
                    tokens.append(token)
                    start = end
                    break
            else:
                return None
        return tokens

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        return [self.encode(item) for item in items]


DRAFTER = GreedyTokenizer([b"", b"a", b"b", b"c", b"ab", b" the", b"\xc3", b"\xa4"])


def map_of(target_pieces: Sequence[bytes], special: frozenset[int] = frozenset()) -> VocabularyMap:
    return VocabularyMap.build(target_pieces, special, DRAFTER.pieces, DRAFTER.encode_many)


def string(made: VocabularyMap, token: int) -> list[int]:
    row = made.strings[token].tolist()
    return [value for value in row if value >= 0]


def test_a_token_of_equal_bytes_has_a_string_of_one() -> None:
    made = map_of([b"ab", b" the"])
    assert string(made, 0) == [4]
    assert string(made, 1) == [5]


def test_a_longer_token_is_what_the_drafters_tokenizer_makes_of_it() -> None:
    assert string(map_of([b"abc the"]), 0) == [4, 3, 5]


def test_halves_of_a_character_are_bytes_like_any_others() -> None:
    made = map_of([b"\xc3", b"a\xc3", "ä".encode()])
    assert [string(made, token) for token in range(3)] == [[6], [1, 6], [6, 7]]


def test_special_empty_unspellable_and_too_long_tokens_have_no_string() -> None:
    made = map_of([b"a", b"", b"xyz", b"c" * (MAX_STRING + 1), b"c" * MAX_STRING], frozenset({0}))
    assert [len(string(made, token)) for token in range(5)] == [0, 0, 0, 0, MAX_STRING]
    assert made.order.tolist() == [4]


def test_a_token_that_the_tokenizer_cannot_make_falls_back_to_the_draft_token_of_equal_bytes() -> None:
    def none_for_ab(items: Sequence[bytes]) -> list[list[int] | None]:
        return [None if item == b"ab" else DRAFTER.encode(item) for item in items]

    made = VocabularyMap.build([b"ab", b"a"], frozenset(), DRAFTER.pieces, none_for_ab)
    assert string(made, 0) == [4]


def test_where_line_breaks_join_what_is_before_they_are_taken_as_before_a_letter() -> None:
    tokenizer = GreedyTokenizer([b".", b"\n", b"\n\n", b"a", b"b\n"])

    def cut_before_letters(items: Sequence[bytes]) -> list[list[int] | None]:
        """As GPT-2's tokenizer does: of white space before a letter the last character stands alone."""
        special = {b".\n\na": [0, 1, 1, 3], b"\n\na": [1, 1, 3]}
        return [special.get(item) or tokenizer.encode(item) for item in items]

    joined, apart = (
        VocabularyMap.build(pieces, frozenset(), tokenizer.pieces, cut_before_letters)
        for pieces in ([b".\n\n", b"\n\n", b"b\n"], [b"\n\n", b"b\n"])
    )
    assert [string(joined, token) for token in range(3)] == [[0, 1, 1], [1, 1], [4]]
    assert [string(apart, token) for token in range(2)] == [[2], [4]]


def test_of_twins_the_last_has_the_string() -> None:
    made = map_of([b"a", b"b", b"a"])  # a byte token, then the normal one
    assert string(made, 0) == []
    assert string(made, 2) == [1]
    assert made.order.tolist() == [2, 1]


def test_the_order_is_that_of_the_rows() -> None:
    made = map_of([b"cab", b"c", b"b", b"ca", b"cc", b"a"])
    rows = [string(made, token) for token in made.order]
    assert rows == sorted(rows)
    assert len(rows) == 6


def test_a_vocabulary_that_shares_no_byte_makes_an_empty_map() -> None:
    made = map_of([b"x", b"y"])
    assert len(made.order) == 0
    assert len(made.only_direct().order) == 0


def test_only_direct_keeps_the_strings_of_one() -> None:
    made = map_of([b"abc", b"ab"]).only_direct()
    assert made.order.tolist() == [1]
    assert string(made, 0) == []


def test_the_map_cannot_be_changed() -> None:
    made = map_of([b"a"])
    with pytest.raises(ValueError, match="read-only"):
        made.strings[0, 0] = 3


def test_a_fingerprint_tells_apart_borders_bytes_and_specials() -> None:
    pieces = [b"a", b"bc"]
    others = [
        fingerprint([b"ab", b"c"], frozenset()),
        fingerprint([b"a", b"bd"], frozenset()),
        fingerprint(pieces, frozenset({1})),
        fingerprint([*pieces, b""], frozenset()),
    ]
    assert len({fingerprint(pieces, frozenset()), *others}) == 5
    assert fingerprint(tuple(pieces), frozenset()) == fingerprint(pieces, frozenset())


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    made = map_of([b"cab", b"a", b"x", b"a"])
    path = tmp_path / "deep" / "map.npz"
    made.save(path, "target", "drafter")
    found = VocabularyMap.load(path, "target", "drafter")
    assert found is not None
    assert np.array_equal(found.strings, made.strings)
    assert np.array_equal(found.order, made.order)
    assert found.num_draft_tokens == made.num_draft_tokens
    assert [entry.name for entry in path.parent.iterdir()] == ["map.npz"]


def test_a_file_of_other_vocabularies_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    map_of([b"a"]).save(path, "target", "drafter")
    assert VocabularyMap.load(path, "target", "another") is None
    assert VocabularyMap.load(path, "another", "drafter") is None


@pytest.mark.parametrize("kept", [0, 1, 40, 200, -1, -60])
def test_a_file_cut_short_is_not_loaded(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "map.npz"
    map_of([b"a", b"abc"]).save(path, "target", "drafter")
    path.write_bytes(path.read_bytes()[:kept])
    assert VocabularyMap.load(path, "target", "drafter") is None


def test_a_file_with_a_flipped_byte_is_never_loaded_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    made = map_of([b"a", b"abc"])
    made.save(path, "target", "drafter")
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        found = VocabularyMap.load(path, "target", "drafter")
        assert found is None or np.array_equal(found.strings, made.strings)


def test_foreign_files_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "map.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert VocabularyMap.load(path, "target", "drafter") is None
    path.write_text("not an archive")
    assert VocabularyMap.load(path, "target", "drafter") is None
    np.savez(path, made_of=np.array([{}], dtype=object))  # an object array: a pickle, which is never read
    assert VocabularyMap.load(path, "target", "drafter") is None
    assert VocabularyMap.load(tmp_path, "target", "drafter") is None


def test_open_map_builds_once(tmp_path: Path) -> None:
    builds = []

    def build() -> VocabularyMap:
        builds.append(1)
        return map_of([b"a", b"abc"])

    first = open_map(tmp_path / "maps", "target", "drafter", build)
    second = open_map(tmp_path / "maps", "target", "drafter", build)
    assert builds == [1]
    assert np.array_equal(first.strings, second.strings)
    open_map(tmp_path / "maps", "target", "another", build)
    assert builds == [1, 1]


def test_open_map_mends_a_damaged_file(tmp_path: Path) -> None:
    open_map(tmp_path, "target", "drafter", lambda: map_of([b"a"]))
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"damaged")
    assert len(open_map(tmp_path, "target", "drafter", lambda: map_of([b"a"])).order) == 1
    assert VocabularyMap.load(path, "target", "drafter") is not None


def test_a_folder_that_cannot_be_written_breaks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with caplog.at_level(logging.INFO, "slipstream.vocabulary_map"):
        made = open_map(blocked / "maps", "target", "drafter", lambda: map_of([b"a"]))
    assert len(made.order) == 1
    assert "not kept" in caplog.text


def test_strings_with_tokens_that_cannot_be_guessed_are_left_out() -> None:
    """A trimmed head guesses the first tokens only."""
    pieces = [b"a", b"b", b"ab", b"ba", b" the"]
    made = VocabularyMap.build(pieces, frozenset(), DRAFTER.pieces, DRAFTER.encode_many, num_outputs=4)
    assert made.num_draft_tokens == 4
    assert [row[row != NO_TOKEN].tolist() for row in made.strings] == [[1], [2], [], [2, 1], []]
