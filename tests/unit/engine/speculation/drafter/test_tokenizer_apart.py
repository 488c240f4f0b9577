"""Tokenizers of folders from anywhere run in a process of their own, which alone they can end."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.drafter.tokenizer_apart import TokenizerApart
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable
from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level

_TURNS = [ChatTurn(Role.USER, "What is the text? \ud83d"), ChatTurn(Role.ASSISTANT, "The dog.")]


def _saved(folder: Path, **changes: Any) -> Path:
    content = json.loads(byte_level().to_str())
    (folder / "tokenizer.json").write_text(json.dumps(content | changes))
    (folder / "config.json").write_text('{"vocab_size": 600, "eos_token_id": 2}')
    return folder


def _split_by(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_only]}}


def test_it_is_the_same_tokenizer(tmp_path: Path) -> None:
    folder = _saved(tmp_path)
    ours, apart = DrafterTokenizer.from_folder(folder), TokenizerApart(folder)
    assert (apart.pieces, apart.special, apart.end) == (ours.pieces, ours.special, ours.end)
    assert apart.fingerprint == ours.fingerprint
    items = [b"the dog", "🙂".encode()[:3], b"", b"\xff " * 5] * 1000
    assert apart.encode_many(items) == ours.encode_many(items)
    assert apart.encode(items[1]) == ours.encode(items[1])
    assert apart.encode_prompt(_TURNS) == ours.encode_prompt(_TURNS)
    process = psutil.Process(apart._child._process.pid or 0)
    del apart
    gc.collect()
    assert not process.is_running(), "it ends with its drafter"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (_split_by("(?:x+x+)+y"), "x" * 60),  # the library gives up after a while, with a panic
        (_split_by("(?:(?:x*x*x*x*)z)?"), "x" * 3000),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": "y" * 10_000_000}}, "x" * 400),
    ],
)
def test_a_rule_that_is_harmless_until_some_text_comes_ends_only_its_process(
    tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    apart = TokenizerApart(_saved(tmp_path, **changes))
    assert apart.encode(b"the dog") is not None
    began = time.monotonic()
    with pytest.raises(DrafterUnusable, match="takes too long or too much memory"):
        apart.encode(text.encode())
    assert time.monotonic() - began < 20
    with pytest.raises(DrafterUnusable):
        apart.encode(b"the dog")


def test_what_is_wrong_is_said_in_the_same_sentence(tmp_path: Path) -> None:
    folder = _saved(tmp_path, model={"type": "BPE"})
    sentences = []
    for read in (DrafterTokenizer.from_folder, TokenizerApart):
        with pytest.raises(DrafterUnusable) as caught:
            read(folder)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]
