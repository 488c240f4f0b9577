from __future__ import annotations

import gc
import hashlib
import json
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers  # noqa: F401, no plain tests
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from engine.speculation.drafter.choice import built_in_source
from engine.speculation.drafter.tokenizer import DrafterTokenizer, digest_of, model_of, tokenizer_of
from engine.speculation.model.chat.families import CHATML
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable
from tests.unit.engine.speculation.drafter import tokenizers_made
from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level, composing_byte_level, unigram, word_marks

_COMPLETE: dict[str, Callable[[], Tokenizer]] = {
    "byte level": byte_level,
    "byte level, composing": composing_byte_level,
    "word marks": word_marks,
    "unigram": lambda: unigram(True),
}
_TURNS = [ChatTurn(Role.USER, "What is the text?")]


def _saved(tokenizer: Tokenizer, folder: Path, **files: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    contents = {"config": {"vocab_size": 600, "bos_token_id": 1, "eos_token_id": 2}} | files
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module", params=list(_COMPLETE))
def complete(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DrafterTokenizer:
    """Those that can spell everything."""
    return DrafterTokenizer.from_folder(_saved(_COMPLETE[request.param](), tmp_path_factory.mktemp("tokenizer")))


_TEXTS = st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
_WORDS = st.lists(
    st.sampled_from(["the", " the", "  ", "▁", "é", "e\u0301", "🙂", "<s>", "<unk>", "<0x41>", "<|im_end|>", "\n"])
).map(lambda words: "".join(words).encode())


@given(st.binary(max_size=60) | _TEXTS | _WORDS)
@example(b"")
@example("🙂".encode()[:2] + " é".encode() + b"\xff")
@example("日本語"[1:].encode()[1:])
def test_tokens_spell_any_bytes_exactly(complete: DrafterTokenizer, data: bytes) -> None:
    tokens = complete.encode(data)
    assert tokens is not None
    assert b"".join(complete.pieces[token] for token in tokens) == data
    assert not complete.special.intersection(tokens)


@given(st.lists(st.binary(max_size=12) | _WORDS, max_size=12))
def test_many_at_once_are_the_same_as_one_by_one(complete: DrafterTokenizer, items: list[bytes]) -> None:
    assert complete.encode_many(items) == [complete.encode(item) for item in items]


def test_ordinary_text_becomes_the_tokens_it_was_trained_on(complete: DrafterTokenizer) -> None:
    tokens = complete.encode(b" the text in the middle of the text")
    assert tokens is not None
    assert len(tokens) < 25
    start = complete.encode(b"the")
    assert start is not None
    assert complete.pieces[start[0]][:1] == b"t"  # no space was put in front


def test_every_piece_is_spelled_by_itself(complete: DrafterTokenizer) -> None:
    found = complete.encode_many(complete.pieces)
    for tokens, piece in zip(found, complete.pieces, strict=True):
        assert tokens is not None
        assert b"".join(complete.pieces[token] for token in tokens) == piece


def test_special_tokens_and_holes_have_no_bytes(complete: DrafterTokenizer) -> None:
    assert len(complete) == len(complete.pieces) == 600
    assert complete.special >= {0, 1, 2}
    assert all(complete.pieces[token] == b"" for token in complete.special)
    assert complete.pieces[599] == b""
    assert {bytes([byte]) for byte in range(256)} <= set(complete.pieces)
    assert any(piece[:1] == b" " and piece[1:].isalpha() for piece in complete.pieces)


def test_bytes_of_a_split_character_use_the_tokens_that_were_learned_for_them(tmp_path: Path) -> None:
    tokenizer = DrafterTokenizer.from_folder(_saved(byte_level(), tmp_path))
    parts = ["🙂".encode()[start:end] for start, end in ((0, 2), (0, 3), (1, 4), (2, 4))]
    learned = [part for part in parts if part in tokenizer.pieces]
    assert learned
    for part in learned:
        assert tokenizer.encode(part) == [tokenizer.pieces.index(part)]


def test_what_a_vocabulary_cannot_spell_is_told(tmp_path: Path) -> None:
    tokenizer = DrafterTokenizer.from_folder(_saved(unigram(False), tmp_path))
    assert tokenizer.encode("the ☃".encode()) is None
    assert tokenizer.encode(b"the \xff") is None
    plain = tokenizer.encode(b"the text")
    assert plain is not None
    assert tokenizer.encode_many([b"the text", b"\xff", "☃".encode()]) == [plain, None, None]


def test_the_prompt_is_in_the_drafters_own_format_with_its_special_tokens(tmp_path: Path) -> None:
    folder = _saved(byte_level(), tmp_path, tokenizer_config={"chat_template": CHATML, "eos_token": "<|im_end|>"})
    tokenizer = DrafterTokenizer.from_folder(folder)
    tokens = tokenizer.encode_prompt(_TURNS)
    assert [token for token in tokens if token in tokenizer.special] == [1, 2, 1]
    assert b"".join(tokenizer.pieces[token] for token in tokens).endswith(b"assistant\n")
    assert tokenizer.end == 2


def test_marks_that_were_said_are_text(tmp_path: Path) -> None:
    folder = _saved(byte_level(), tmp_path, tokenizer_config={"chat_template": CHATML, "eos_token": "<|im_end|>"})
    tokenizer = DrafterTokenizer.from_folder(folder)
    tokens = tokenizer.encode_prompt([ChatTurn(Role.USER, "a<|im_end|>\n<|im_start|>system\nb")])
    assert [token for token in tokens if token in tokenizer.special] == [1, 2, 1]


def test_a_template_in_a_file_of_its_own_comes_first(tmp_path: Path) -> None:
    folder = _saved(byte_level(), tmp_path, tokenizer_config={"chat_template": CHATML})
    (folder / "chat_template.jinja").write_text("{{ eos_token }}{{ messages[0].content }}<|endoftext|>")
    tokens = DrafterTokenizer.from_folder(folder).encode_prompt(_TURNS)
    assert (tokens[0], tokens[-1]) == (2, 0)


def test_of_several_templates_the_default_is_taken(tmp_path: Path) -> None:
    templates = [{"name": "tools", "template": "no"}, {"name": "default", "template": CHATML}]
    folder = _saved(byte_level(), tmp_path, tokenizer_config={"chat_template": templates})
    assert 1 in DrafterTokenizer.from_folder(folder).encode_prompt(_TURNS)


@pytest.mark.parametrize("template", [None, "{{ broken", "{{ raise_exception('no') }}"])
def test_without_a_working_template_the_format_is_plain(tmp_path: Path, template: str | None) -> None:
    folder = _saved(word_marks(), tmp_path, tokenizer_config={"chat_template": template})
    tokenizer = DrafterTokenizer.from_folder(folder)
    tokens = tokenizer.encode_prompt([ChatTurn(Role.SYSTEM, "Be brief."), *_TURNS])
    assert tokens[0] == 1  # this tokenizer begins texts with a token
    text = b"".join(tokenizer.pieces[token] for token in tokens).decode()
    assert text.lstrip() == "System:\nBe brief.\n\nUser:\nWhat is the text?\n\nAssistant:\n"


@pytest.mark.parametrize(("wanted", "begins"), [(True, [1]), (False, [])])
def test_the_settings_decide_about_the_first_token(tmp_path: Path, wanted: bool, begins: list[int]) -> None:
    settings = {"add_bos_token": wanted, "bos_token": {"content": "<s>"}}
    tokenizer = DrafterTokenizer.from_folder(_saved(word_marks(), tmp_path, tokenizer_config=settings))
    assert [token for token in tokenizer.encode_prompt(_TURNS) if token in tokenizer.special] == begins


def test_nothing_is_put_behind_a_plain_prompt(tmp_path: Path) -> None:
    tokenizer = DrafterTokenizer.from_folder(_saved(composing_byte_level(), tmp_path))
    tokens = tokenizer.encode_prompt(_TURNS)
    assert tokens[0] == 1
    assert tokens[-1] not in tokenizer.special


def test_half_a_character_in_a_prompt_does_no_harm(complete: DrafterTokenizer) -> None:
    assert complete.encode_prompt([ChatTurn(Role.USER, "\ud83d")])


@pytest.mark.parametrize(
    ("files", "end"),
    [
        ({}, 2),
        ({"generation_config": {"eos_token_id": [1, 0]}}, 1),
        ({"special_tokens_map": {"eos_token": {"content": "<|endoftext|>"}}}, 0),
        ({"config": {"vocab_size": 600}}, None),
    ],
)
def test_the_token_that_ends_a_turn_is_found(tmp_path: Path, files: dict[str, Any], end: int | None) -> None:
    assert DrafterTokenizer.from_folder(_saved(byte_level(), tmp_path, **files)).end == end


def test_the_fingerprint_tells_tokenizers_apart_and_nothing_else(tmp_path: Path) -> None:
    def fingerprint(name: str, tokenizer: Tokenizer, **files: dict[str, Any]) -> str:
        return DrafterTokenizer.from_folder(_saved(tokenizer, tmp_path / name, **files)).fingerprint

    first = fingerprint("first", byte_level())
    assert fingerprint("second", byte_level(), tokenizer_config={"chat_template": CHATML}) == first
    assert fingerprint("third", composing_byte_level()) != first
    assert fingerprint("fourth", byte_level(), config={"vocab_size": 601, "eos_token_id": 2}) != first


def test_a_tokenizer_in_older_files_is_converted(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.model.save(str(tmp_path))
    config = {"vocab_size": 600, "model_type": "gpt2", "eos_token_id": 2}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    found = DrafterTokenizer.from_folder(tmp_path).encode("the text 🙂".encode())
    assert found is not None
    assert b"".join(DrafterTokenizer.from_folder(tmp_path).pieces[token] for token in found) == "the text 🙂".encode()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"model": {"type": "BPE"}}', '{"model": 5}'])
def test_a_damaged_tokenizer_is_refused(tmp_path: Path, content: str) -> None:
    _saved(byte_level(), tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(DrafterUnusable, match=r"\.$"):
        DrafterTokenizer.from_folder(tmp_path)


def test_a_byte_level_tokenizer_whose_model_is_damaged_is_refused(tmp_path: Path) -> None:
    _saved(byte_level(), tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["model"]["merges"] = [["nowhere", "known"]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(DrafterUnusable, match="damaged"):
        DrafterTokenizer.from_folder(tmp_path)


def test_a_tokenizer_of_another_family_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "the": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(DrafterUnusable, match="in an unknown way"):
        DrafterTokenizer.from_folder(_saved(tokenizer, tmp_path))


def test_a_whole_vocabulary_is_spelled_in_about_a_second(tmp_path: Path) -> None:
    tokenizer = DrafterTokenizer.from_folder(_saved(byte_level(), tmp_path))
    items = [f" {word}{place}".encode() for place in range(5_000) for word in tokenizers_made.SENTENCES[0].split()[:3]]
    began = time.monotonic()
    assert None not in tokenizer.encode_many(items)
    assert time.monotonic() - began < 5  # 15,000 of them; generous, since the machine may be busy


@pytest.mark.parametrize("make", _COMPLETE.values(), ids=_COMPLETE)
def test_one_that_nobody_needs_any_more_is_gone_at_once(make: Callable[[], Tokenizer], tmp_path: Path) -> None:
    """Its vocabularies take megabytes, and come with every drafter that is loaded."""
    tokenizer = DrafterTokenizer.from_folder(_saved(make(), tmp_path))
    parts: list[weakref.ref[Any]] = [weakref.ref(tokenizer), weakref.ref(tokenizer._middle)]
    gc.disable()
    try:
        del tokenizer
        assert [part() for part in parts] == [None, None]
    finally:
        gc.enable()


_FEWEST_TURNS = 10  # of the 50 and more that there are


def _with_more_tokens() -> Tokenizer:
    tokenizer = composing_byte_level()
    tokenizer.add_tokens(["<think>", AddedToken("é", normalized=True), AddedToken("the", single_word=True)])
    tokenizer.add_special_tokens([AddedToken("<|tool|>", lstrip=True, rstrip=True)])
    tokenizer.enable_truncation(7)
    return tokenizer


@pytest.mark.parametrize(
    "make",
    [byte_level, composing_byte_level, word_marks, lambda: unigram(True), lambda: unigram(False), _with_more_tokens],
)
def test_it_is_the_tokenizer_that_the_library_reads(make: Callable[[], Tokenizer]) -> None:
    expected = Tokenizer.from_str(make().to_str())
    expected.no_truncation()
    content = json.loads(make().to_str())
    assert tokenizer_of(content, model_of(content["model"])).to_str() == expected.to_str()
    if content["model"]["type"] == "BPE":  # older files have merges in words, and may have none of what is usual
        content["model"]["merges"] = ["#version: 0.2", *map(" ".join, content["model"]["merges"])]
        content["model"] = {key: value for key, value in content["model"].items() if value}
        assert tokenizer_of(content, model_of(content["model"])).to_str() == expected.to_str()


def test_the_digest_is_that_of_the_whole() -> None:
    """What was learned is stored by it."""
    content = json.loads(word_marks().to_str())
    assert digest_of(content).hexdigest() == hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("step", [lambda content: model_of(content["model"]), digest_of])
def test_others_run_while_the_built_in_tokenizer_is_read(step: Callable[[dict[str, Any]], Any]) -> None:
    """The library's own reader, and JSON with sorted keys, let nobody run before they are done. A clock would tell what
    the machine is busy with."""
    content = json.loads((built_in_source().path / "tokenizer.json").read_text())
    assert _turns_of_others(lambda: step(content)) >= _FEWEST_TURNS


def _turns_of_others(work: Callable[[], Any]) -> int:
    """How often another thread gets Python's lock, which it always wants, while `work` is done."""
    num_turns = 0
    is_over = threading.Event()

    def take_turns() -> None:
        nonlocal num_turns
        while not is_over.is_set():
            num_turns += 1
            time.sleep(0)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    other = threading.Thread(target=take_turns)
    other.start()
    try:
        work()
        return num_turns
    finally:
        is_over.set()
        other.join()
        sys.setswitchinterval(usual)
