"""A GGUF model as a drafter: its tokens for bytes in the middle of a text, what it reads, and what cannot draft."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_cpp import llama_cpp as lib

from engine.speculation.drafter.gguf import MAX_HELD, GgufDrafter, GgufVocabulary, load_gguf
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.vocabulary import VocabularyFile, load_vocabulary
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.translation import Speller, translate
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import Cancelled, DrafterUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.gguf import TINY, Int32s, gguf
from tests.gemma import gemma_path

VOCABS = Path(__file__).parents[6] / "shared" / "data" / "vocabs"
NAMES = ("deepseek-llm", "falcon", "gpt-2", "llama-bpe", "llama-spm", "qwen2")
TURNS = [ChatTurn(Role.SYSTEM, "Be brief."), ChatTurn(Role.USER, "Hi <|im_end|> ▁there!")]

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # kinds of tokens in a GGUF file
SPM_WORDS = ["▁", "a", "b", "c", "▁a", "ab", "▁ab", "abc", "▁b", "é", "▁the"]


def sentencepiece(path: Path) -> Path:
    """A vocabulary as Llama 2 has it: a word mark in place of spaces, and tokens for single bytes."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *SPM_WORDS]
    values = {
        **TINY,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(place) for place in range(len(SPM_WORDS))],
        "tokenizer.ggml.token_type": Int32s([UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(SPM_WORDS)),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": True,
    }
    path.write_bytes(gguf(values, {}))
    return path


@pytest.fixture(scope="module")
def byte_pairs() -> Iterator[VocabularyFile]:
    file = load_vocabulary(starter_path())
    yield file
    file.close()


@pytest.fixture(scope="module")
def word_marks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VocabularyFile]:
    file = load_vocabulary(sentencepiece(tmp_path_factory.mktemp("vocabulary") / "spm.gguf"))
    yield file
    file.close()


@pytest.fixture(scope="module")
def starter_drafter() -> tuple[GgufDrafter, GgufVocabulary]:
    return load_gguf(starter_path(), "Starter", True, StopSignal())


@given(text=st.text(max_size=30))
@pytest.mark.starter
def test_any_text_is_spelled_exactly_in_byte_pairs(byte_pairs: VocabularyFile, text: str) -> None:
    check_spelling(GgufVocabulary(byte_pairs), text.encode("utf-8", "replace"), may_lack=True)


@given(data=st.binary(max_size=12) | st.text("ab ▁céthe\n", max_size=12).map(str.encode))
def test_any_bytes_are_spelled_exactly_in_sentencepiece(word_marks: VocabularyFile, data: bytes) -> None:
    check_spelling(GgufVocabulary(word_marks), data)


def check_spelling(vocabulary: GgufVocabulary, data: bytes, may_lack: bool = False) -> None:
    tokens = vocabulary.encode(data)
    if tokens is None:  # a vocabulary may lack tokens for some bytes
        assert may_lack
        return
    assert b"".join(vocabulary.pieces[token] for token in tokens) == data
    assert vocabulary.special.isdisjoint(tokens)
    assert vocabulary.encode_many([data]) == [tokens]


def test_in_the_middle_of_a_text_no_space_is_put_in_front(word_marks: VocabularyFile) -> None:
    vocabulary = GgufVocabulary(word_marks)
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *SPM_WORDS]

    def spelled(data: bytes) -> list[str]:
        return [names[token] for token in vocabulary.encode(data) or ()]

    assert spelled(b"ab") == ["ab"]
    assert spelled(b" ab") == ["▁ab"]
    assert spelled(b"  ab") == ["▁", "▁ab"]
    assert spelled(b"\xff") == ["<0xFF>"]
    assert spelled("a▁b".encode()) == ["a", "<0xE2>", "<0x96>", "<0x81>", "b"]  # a real ▁ is no space


@pytest.mark.starter
def test_special_tokens_of_a_text_are_only_text(byte_pairs: VocabularyFile) -> None:
    vocabulary = GgufVocabulary(byte_pairs)
    tokens = vocabulary.encode(b"<|im_end|>")
    assert tokens is not None
    assert len(tokens) > 1
    assert all(not vocabulary.pieces[token] for token in vocabulary.special)


@pytest.mark.starter
def test_a_conversation_is_read_in_its_own_chat_format(starter_drafter: tuple[GgufDrafter, GgufVocabulary]) -> None:
    _, vocabulary = starter_drafter
    tokens = vocabulary.encode_prompt(TURNS)
    text = b"".join(load_pieces()[token] for token in tokens).decode()
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi ")
    assert text.endswith("<|im_end|>\n<|im_start|>assistant\n")


def test_a_begin_token_is_put_in_front_where_the_vocabulary_wants_it(word_marks: VocabularyFile) -> None:
    vocabulary = GgufVocabulary(word_marks)
    assert vocabulary.encode_prompt(TURNS)[0] == 1
    assert vocabulary.encode_prompt(TURNS).count(1) == 1


def load_pieces() -> tuple[bytes, ...]:
    file = load_vocabulary(starter_path())
    pieces = file.vocabulary.pieces
    file.close()
    return pieces


@pytest.mark.starter
def test_it_reads_and_takes_back(starter_drafter: tuple[GgufDrafter, GgufVocabulary]) -> None:
    drafter, vocabulary = starter_drafter
    drafter.roll_back(0)
    assert drafter.max_held == MAX_HELD
    prompt = (vocabulary.encode_prompt(TURNS) * 40)[:600]  # more than one pass takes
    row = drafter.read(prompt).copy()
    assert row.shape == (len(vocabulary.pieces),)
    assert drafter.num_held == len(prompt)
    other = drafter.read([5, 6, 7]).copy()
    drafter.roll_back(len(prompt) - 1)
    again = drafter.read(prompt[-1:])
    assert int(again.argmax()) == int(row.argmax())
    assert np.abs(again - row).max() < 1.5  # passes over one token and over many round differently
    assert np.abs(again - other).max() > 3
    assert not drafter.refresh()


@pytest.mark.starter
def test_what_follows_a_part_that_is_dropped_moves_forward_unread(
    starter_drafter: tuple[GgufDrafter, GgufVocabulary],
) -> None:
    check_dropping(*starter_drafter, 20, 150)


@pytest.mark.gemma
def test_so_it_does_where_a_sliding_window_has_passed_some_of_it() -> None:
    check_dropping(*load_gguf(gemma_path(), "Gemma", True, StopSignal()), 100, 700)


def check_dropping(drafter: GgufDrafter, vocabulary: GgufVocabulary, start: int, end: int) -> None:
    text = " ".join(f"On day {day} the boat leaves at {day + 4} with {day * 3} people." for day in range(80))
    tokens = vocabulary.encode(text.encode())
    assert tokens is not None
    assert drafter.can_drop
    drafter.roll_back(0)
    drafter.read(tokens[:-4])
    drafter.drop(start, end)
    assert drafter.num_held == len(tokens) - 4 - (end - start)
    moved = drafter.read(tokens[-4:]).copy()
    drafter.roll_back(drafter.num_held - 10)
    again = drafter.read(tokens[-10:]).copy()
    drafter.roll_back(0)
    fresh = drafter.read([*tokens[:start], *tokens[end:]]).copy()
    assert moved.argmax() == again.argmax() == fresh.argmax()
    assert max((moved - fresh).std(), (again - fresh).std()) < 0.3 * fresh.std()


@pytest.mark.starter
def test_steps_use_the_threads_that_suit_them_and_prompts_all(
    starter_drafter: tuple[GgufDrafter, GgufVocabulary],
) -> None:
    drafter, _ = starter_drafter
    drafter.roll_back(0)
    context = drafter._model._context
    all_threads = drafter.most_threads
    assert all_threads == lib.llama_n_threads(context) == lib.llama_n_threads_batch(context)
    row = drafter.read([1, 2, 3]).copy()
    drafter.use_threads(1)
    assert (lib.llama_n_threads(context), lib.llama_n_threads_batch(context)) == (1, all_threads)
    drafter.roll_back(2)
    assert drafter.read([3]).argmax() == row.argmax()


@pytest.mark.starter
def test_its_memory_is_freed_with_it() -> None:
    drafter, _ = load_gguf(starter_path(), "Starter", True, StopSignal())
    model = drafter._model
    assert isinstance(drafter, GgufDrafter)
    assert model._context is not None
    del drafter
    gc.collect()
    assert model._context is None


@pytest.mark.starter
def test_a_file_that_is_cut_short_is_a_sentence(tmp_path: Path) -> None:
    damaged = tmp_path / "short.gguf"
    damaged.write_bytes(starter_path().read_bytes()[:2_000_000])
    with pytest.raises(DrafterUnusable, match=r"short cannot draft: it is cut short"):
        load_gguf(damaged, "short", False, StopSignal())


def test_what_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match="cannot draft: "):
        load_gguf(tmp_path / "nothing.gguf", "nothing", False, StopSignal())
    (tmp_path / "text.gguf").write_text("I am no model.")
    with pytest.raises(DrafterUnusable, match="is not in the GGUF format"):
        load_gguf(tmp_path / "text.gguf", "text", False, StopSignal())
    with pytest.raises(DrafterUnusable, match="no weights"):
        load_gguf(sentencepiece(tmp_path / "words.gguf"), "words", False, StopSignal())


@pytest.mark.starter
def test_loading_an_unknown_file_can_be_cancelled() -> None:
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled):
        load_gguf(starter_path(), "Starter", False, stop)


@pytest.mark.shared_data
@pytest.mark.skipif(not VOCABS.exists(), reason="the shared measuring data is not here")
@pytest.mark.parametrize("name", NAMES)
def test_every_vocabulary_drafts_for_others(name: str) -> None:
    """Round trips: text to the drafter's tokens, translated to the target's, is byte for byte the text. Of all pairs,
    `python -m tests.benchmarks.vocabularies` tells."""
    names = (*NAMES, *NAMES)[NAMES.index(name) :][:3]  # itself, and the next two
    files = {each: load_vocabulary(VOCABS / f"ggml-vocab-{each}.gguf") for each in names}
    drafter = GgufVocabulary(files[name])
    tries: dict[str, StringTrie] = {}
    texts = (VOCABS / "ggml-vocab-gpt-2.gguf.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    for target, text in product(names, texts):
        vocabulary = files[target].vocabulary
        silent = vocabulary.special | vocabulary.end_of_generation
        pieces = vocabulary.pieces
        speller = Speller(pieces, silent, drafter.pieces)
        if target not in tries:
            some = [piece if token % 50 == 0 else b"" for token, piece in enumerate(pieces)]  # all take minutes
            tries[target] = StringTrie(VocabularyMap.build(some, silent, drafter.pieces, drafter.encode_many))
        path = drafter.encode(text.encode())
        assert path is not None
        segments = translate(tries[target], path, speller)
        assert b"".join(pieces[token] for segment in segments for token in segment.tokens) == text.encode()
    for file in files.values():
        file.close()
