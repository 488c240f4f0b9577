"""Translation against a plain search for the longest match, and byte for byte on real vocabularies."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_cpp import llama_cpp as lib

from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.translation import Segment, SegmentKind, Speller, Translation, align, translate
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from engine.values.errors import TargetMissing, TargetUnusable
from tests.unit.engine.speculation.numerics.test_vocabulary_map import GreedyTokenizer

String = tuple[int, ...]

NUM_DRAFT = 4
DRAFT_PIECES = [bytes([token]) for token in range(NUM_DRAFT)]
UNSPELLABLE = 3

strings = st.lists(st.integers(0, NUM_DRAFT - 1), min_size=1, max_size=4).map(tuple)
tries = st.lists(strings, min_size=1, max_size=10)
paths = st.lists(st.integers(0, NUM_DRAFT - 1), max_size=30)


def trie_of(strings: list[String]) -> StringTrie:
    return StringTrie(
        VocabularyMap.build(
            [bytes(string) for string in strings],
            frozenset(),
            DRAFT_PIECES,
            lambda items: [list(item) for item in items],
        )
    )


def spell(draft_token: int) -> String | None:
    """Two target tokens beyond the trie's for each draft token but one."""
    return None if draft_token == UNSPELLABLE else (100 + draft_token, 200 + draft_token)


def slow_segmentation(given_strings: list[String], path: list[int]) -> list[tuple[String, int]]:
    of_string = {string: token for token, string in enumerate(given_strings)}  # of equal ones the last
    segments: list[tuple[String, int]] = []
    while path:
        for length in range(len(path), 0, -1):
            if tuple(path[:length]) in of_string:
                segments.append(((of_string[tuple(path[:length])],), length))
                break
        else:
            spelled = spell(path[0])
            if spelled is None:
                return segments
            length = 1
            segments.append((spelled, 1))
        path = path[length:]
    return segments


@given(tries, paths)
def test_translation_takes_the_longest_match_at_each_place(given_strings: list[String], path: list[int]) -> None:
    segments = translate(trie_of(given_strings), path, spell)
    assert [(segment.tokens, segment.num_draft) for segment in segments] == slow_segmentation(given_strings, path)


@given(tries, paths)
def test_pushed_one_by_one_it_is_the_same_at_every_step(given_strings: list[String], path: list[int]) -> None:
    trie = trie_of(given_strings)
    translation = Translation(trie, spell)
    going_on = True
    for length, draft_token in enumerate(path, start=1):
        going_on = translation.push(draft_token)
        whole = slow_segmentation(given_strings, path[:length])
        assert list(translation.finish()) == [token for tokens, _ in whole for token in tokens]
        assert [(segment.tokens, segment.num_draft) for segment in translation.segments] == whole[
            : len(translation.segments)
        ]
        assert translation.settled == [token for segment in translation.segments for token in segment.tokens]
        if not going_on:
            assert sum(num_draft for _, num_draft in slow_segmentation(given_strings, path)) < len(path)
            return
        tail = path[length - len(translation.open) : length]
        assert translation.node is trie.node(tail)
        assert len(translation.open) == 0 or translation.node.children


@given(tries, paths, paths)
def test_what_is_settled_stands_whatever_follows(given_strings: list[String], path: list[int], more: list[int]) -> None:
    translation = Translation(trie_of(given_strings), spell)
    for draft_token in path:
        translation.push(draft_token)
    settled = list(translation.settled)
    for draft_token in more:
        translation.push(draft_token)
    assert translation.settled[: len(settled)] == settled
    assert translation.finish()[: len(settled)] == tuple(settled)


def test_a_tail_that_fails_to_become_a_token_is_matched_anew() -> None:
    trie = trie_of([(0,), (0, 1, 2), (1,)])
    translation = Translation(trie, spell)
    assert translation.push(0)
    assert translation.settled == []  # [0 1 2] is still possible
    assert translation.push(1)
    assert translation.finish() == (0, 2)
    assert translation.push(1)
    assert translation.settled == [0, 2, 2]


def test_kinds_tell_how_a_segment_came_about() -> None:
    segments = translate(trie_of([(0,), (0, 1)]), [0, 0, 1, 2], spell)
    assert segments == [
        Segment((0,), 1, SegmentKind.DIRECT),
        Segment((1,), 2, SegmentKind.MERGED),
        Segment((102, 202), 1, SegmentKind.SPELLED),
    ]


def test_nothing_is_taken_after_what_cannot_be_spelled() -> None:
    translation = Translation(trie_of([(0,)]), spell)
    assert translation.push(0)
    assert not translation.push(UNSPELLABLE)
    assert not translation.push(0)
    assert translation.finish() == (0,)


def test_the_speller_takes_the_longest_pieces_and_no_special_ones() -> None:
    target = [b"a", b"b", b"ab", b"abc", b"", b"b"]
    speller = Speller(target, frozenset({3}), [b"abcab", b"abb", b"", b"x"])
    assert speller(0) is None  # no c but in a special token
    assert speller(1) == (2, 5)  # of twins the last
    assert speller(2) is None
    assert speller(3) is None
    assert speller(1) == (2, 5)


def test_a_token_of_pages_is_not_spelled() -> None:
    assert Speller([b"a"], frozenset(), [b"a" * 5000])(0) is None


def test_groups_end_where_both_sides_have_a_border() -> None:
    target = [b"in", b"credible", b" story", b"", b"!"]
    draft = [b"inc", b"red", b"ible", b" st", b"ory", b"", b"!!"]
    groups = list(align([0, 1, 2, 3, 4], target, [0, 1, 2, 3, 4, 5, 6], draft))
    assert groups == [([0, 1], [0, 1, 2]), ([2], [3, 4])]  # "!" is half of "!!"


def test_alignment_ends_where_the_bytes_differ() -> None:
    assert list(align([0, 1, 0], [b"a", b"b"], [0, 1, 0], [b"a", b"c"])) == [([0], [0])]


@given(st.binary(max_size=40), st.sets(st.integers(1, 39)), st.sets(st.integers(1, 39)))
def test_groups_are_whole_and_smallest(data: bytes, target_cuts: set[int], draft_cuts: set[int]) -> None:
    def cut(cuts: set[int]) -> list[bytes]:
        borders = [0, *sorted(border for border in cuts if border < len(data)), len(data)]
        return [data[start:end] for start, end in pairwise(borders) if end > start]

    target, draft = cut(target_cuts), cut(draft_cuts)
    groups = list(align(range(len(target)), target, range(len(draft)), draft))
    assert [token for group, _ in groups for token in group] == list(range(len(target)))
    assert [token for _, group in groups for token in group] == list(range(len(draft)))
    shared = {border for border in target_cuts & draft_cuts if border < len(data)}
    assert len(groups) == (len(shared) + 1 if data else 0)
    for target_group, draft_group in groups:
        assert b"".join(target[token] for token in target_group) == b"".join(draft[token] for token in draft_group)


def test_a_vocabulary_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetMissing):
        load_vocabulary(tmp_path / "absent.gguf")
    for content in (b"not one", b"GGUF", b"GGUF" + bytes(60)):
        path = tmp_path / "bad.gguf"
        path.write_bytes(content)
        with pytest.raises(TargetUnusable, match=r"download it again|not in the GGUF format"):
            load_vocabulary(path)


DATA = Path(__file__).parents[6] / "shared" / "data"
VOCABULARIES = ("llama-spm", "llama-bpe", "qwen2", "gpt-2", "deepseek-llm", "falcon")
TIDIED = frozenset({"llama-bpe", "gpt-2"})


@pytest.fixture(scope="module")
def drafter() -> Iterator[GreedyTokenizer]:
    """The first 8,000 tokens of GPT-2, its 256 bytes among them."""
    if not DATA.is_dir():
        pytest.skip(f"the shared measuring data is not in {DATA}")
    file = load_vocabulary(DATA / "vocabs" / "ggml-vocab-gpt-2.gguf")
    yield GreedyTokenizer(file.vocabulary.pieces[:8000])
    file.close()


@pytest.fixture(scope="module")
def texts(drafter: GreedyTokenizer) -> list[str]:  # noqa: ARG001 - skips where there is no data
    samples = (DATA / "vocabs" / "ggml-vocab-gpt-2.gguf.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    with (DATA / "traces" / "llama-3-8b-instruct.jsonl").open(encoding="utf-8") as file:
        replies = [json.loads(next(file))["response"] for _ in range(10)]
    return [text for text in samples + replies if text]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", VOCABULARIES)
def test_on_a_real_vocabulary_every_byte_survives(name: str, drafter: GreedyTokenizer, texts: list[str]) -> None:
    file = load_vocabulary(DATA / "vocabs" / f"ggml-vocab-{name}.gguf")
    pieces, special = file.vocabulary.pieces, file.vocabulary.special
    trie = StringTrie(VocabularyMap.build(pieces, special, drafter.pieces, drafter.encode_many))
    for token in range(0, len(pieces), 17):
        string = trie.string_of(token)
        assert not string or b"".join(drafter.pieces[part] for part in string) == pieces[token]
    spell = Speller(pieces, special, drafter.pieces)
    for text in texts:
        tokens = file.tokenize(text)
        data = b"".join(pieces[token] for token in tokens)
        assert data in (text.encode(), b" " + text.encode())  # SentencePiece puts a space before a text
        path = drafter.encode(data)
        assert path is not None
        segments = translate(trie, path, spell)
        assert b"".join(pieces[token] for segment in segments for token in segment.tokens) == data
    file.close()


@pytest.mark.shared_data
@pytest.mark.parametrize("name", VOCABULARIES)
def test_our_bytes_are_those_of_llama_cpps_detokenizer(name: str, drafter: GreedyTokenizer) -> None:  # noqa: ARG001
    """Each token after an "a", because the detokenizer takes the space off the first one. Where a vocabulary asks for
    it, it also tidies spaces before punctuation, which tokens themselves do not."""
    file = load_vocabulary(DATA / "vocabs" / f"ggml-vocab-{name}.gguf")
    pieces, special = file.vocabulary.pieces, file.vocabulary.special
    anchor = next(token for token, piece in enumerate(pieces) if piece == b"a" and token not in special)
    pair = (lib.llama_token * 2)(anchor, anchor)
    buffer = ctypes.create_string_buffer(2048)
    different = []
    for token in set(range(0, len(pieces), 3)) - special:
        pair[1] = token
        length = lib.llama_detokenize(file._tokenizer._vocab, pair, 2, buffer, len(buffer), False, True)
        told = buffer.raw[1:length]
        if told != pieces[token] and (
            name not in TIDIED or told.replace(b" ", b"") != pieces[token].replace(b" ", b"")
        ):
            different.append((token, pieces[token], told))
    file.close()
    assert different == []
