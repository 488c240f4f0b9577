"""Tokenizers that are put together in steps are those that the library reads in one go."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer

from engine.drafter.assembly import digest_of, model_of, tokenizer_of
from engine.drafter.choice import built_in_source
from engine.drafter.tokenizer import DrafterTokenizer
from tests.unit.engine.drafter.tokenizers_made import byte_level, composing_byte_level, unigram, word_marks

_MOST_TRIES = 12  # a machine whose memory others keep busy is slow for seconds
_MOST_S = 0.05  # in which the window may stand still


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


def test_others_run_while_the_built_in_tokenizer_is_read() -> None:
    """Other programs may hold them up, too, but not every time."""
    assert any(_longest_wait_s() < _MOST_S for _ in range(_MOST_TRIES))


def _longest_wait_s() -> float:
    """Of a thread that wants Python's lock every millisecond, as time that this process computes meanwhile."""
    waits: list[float] = []
    is_read = threading.Event()

    def beat() -> None:
        while not is_read.is_set():
            began = time.process_time()
            time.sleep(0.001)
            waits.append(time.process_time() - began)

    beating = threading.Thread(target=beat)
    beating.start()
    try:
        tokenizer = DrafterTokenizer.from_folder(built_in_source().path)
        tokenizer.encode_many(tokenizer.pieces)
    finally:
        is_read.set()
        beating.join()
    return max(waits)
