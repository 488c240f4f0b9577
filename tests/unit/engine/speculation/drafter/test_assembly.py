"""Tokenizers that are put together in steps are those that the library reads in one go."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from engine.speculation.drafter.choice import built_in_source
from engine.speculation.drafter.tokenizer import digest_of, model_of, tokenizer_of
from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level, composing_byte_level, unigram, word_marks

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
