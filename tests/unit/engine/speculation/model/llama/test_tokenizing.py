"""Texts on which llama.cpp's tokenizers would end the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from engine.speculation.model.llama.tokenizing import _tokenize
from engine.speculation.model.llama.vocabulary import VocabularyFile, load_vocabulary
from engine.values.errors import TargetUnusable
from tests.fakes.tiny_models import byte_pairs, tiny_llama

LONG = 50_000  # characters of a word: half of them are more than the stack lasts for


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def vocabulary_in(path: Path, opened: ExitStack) -> VocabularyFile:
    file = load_vocabulary(path)
    opened.callback(file.close)
    return file


def spelled(file: VocabularyFile, text: str) -> str:
    return b"".join(file.vocabulary.pieces[token] for token in file.tokenize(text)).decode()


@pytest.mark.parametrize("words", ["deepseek-llm", "tekken", "falcon", "bloom", "default", "exaone-moe", "superbpe"])
def test_a_word_of_any_length_is_split_where_std_regex_would_overflow_the_stack(
    tmp_path: Path, words: str, opened: ExitStack
) -> None:
    file = vocabulary_in(byte_pairs(tmp_path / "words.gguf", words), opened)
    for letters in ("a", " ", "1", "!", "中", "ab "):
        text = (letters * LONG)[:LONG]
        assert spelled(file, text) == text, letters


def test_a_text_without_such_words_is_split_as_llama_cpp_splits_it(tmp_path: Path, opened: ExitStack) -> None:
    file = vocabulary_in(byte_pairs(tmp_path / "words.gguf", "deepseek-llm"), opened)
    text = "aaa (aa) 1,234.5 — aa\n\n  aa! " * 1000
    assert file.tokenize(text) == _tokenize(file._tokenizer._vocab, text, True)


def test_a_long_word_is_not_cut_inside_of_a_mark(tmp_path: Path, opened: ExitStack) -> None:
    file = vocabulary_in(byte_pairs(tmp_path / "words.gguf", "deepseek-llm"), opened)
    for length in range(4080, 4100):
        assert file.tokenize("a" * length + "<|mark|>" + "a" * 5000).count(1) == 1
        assert 1 not in file.spell("a" * length + "<|mark|>" + "a" * 5000)


def test_many_marks_take_no_time_by_their_square(tmp_path: Path, opened: ExitStack) -> None:
    file = vocabulary_in(byte_pairs(tmp_path / "words.gguf", "gpt-2"), opened)
    start = time.process_time()
    assert file.tokenize("<|mark|>" * 200_000) == [1] * 200_000
    assert time.process_time() - start < 10  # else two minutes


@pytest.mark.parametrize("make", [partial(byte_pairs, words="gpt-2"), partial(byte_pairs, words="tekken"), tiny_llama])
def test_many_marks_are_found_as_llama_cpp_finds_them(
    tmp_path: Path, make: Callable[[Path], Path], opened: ExitStack
) -> None:
    file = vocabulary_in(make(tmp_path / "words.gguf"), opened)
    text = "ab <s>  aa\n<|mark|><|mark|>a<s><s> a<|mark" * 200
    assert file.tokenize(text) == _tokenize(file._tokenizer._vocab, text, True)
    assert file.spell(text) == _tokenize(file._tokenizer._vocab, text, False)


def test_what_a_vocabulary_without_bytes_cannot_write_is_replaced(tmp_path: Path, opened: ExitStack) -> None:
    file = vocabulary_in(tiny_llama(tmp_path / "words.gguf", byte_tokens="byte {}"), opened)
    assert file.tokenize("ab 😀\nc\ud83d") == file.tokenize("ab   c ")
    assert file.spell("é") == file.spell(" ")


def test_with_bytes_nothing_is_replaced(tmp_path: Path, opened: ExitStack) -> None:
    file = vocabulary_in(tiny_llama(tmp_path / "words.gguf"), opened)
    assert spelled(file, "ab 😀\n") == " ab 😀\n"


def test_one_that_cannot_write_a_byte_and_would_never_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetUnusable, match="cannot write every text"):
        load_vocabulary(tiny_llama(tmp_path / "words.gguf", tokenizer="rwkv"))
