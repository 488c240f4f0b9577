"""Embeddings over HTTP, with a tiny model that llama.cpp really runs beside a fake target."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.values.serving import ServerSettings
from tests.fakes.served import ANYWHERE, Served, served
from tests.fakes.target import FakeTarget, says
from tests.fakes.tiny_models import tiny_bert, tiny_llama

PATH = "/v1/embeddings"


def beside(folder: Path, model: Path) -> Any:
    return served(folder, FakeTarget(says("Hello.")), ServerSettings(port=ANYWHERE, embeddings=model))


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("finder")
    with beside(folder / "data", tiny_bert(folder / "tiny.gguf")) as found:
        yield found


def test_each_text_has_a_vector_in_numbers_or_bytes(finder: Served) -> None:
    told = finder.ask({"input": ["abc", "a b", "abc"], "model": "any"}, PATH).json()
    assert (told["object"], told["model"]) == ("list", "tiny")
    assert [each["index"] for each in told["data"]] == [0, 1, 2]
    first, other, again = (each["embedding"] for each in told["data"])
    assert first == pytest.approx(again, abs=1e-6)
    assert first != pytest.approx(other, abs=1e-3)
    assert sum(number * number for number in first) == pytest.approx(1)
    assert told["usage"] == {"prompt_tokens": 10, "total_tokens": 10}  # with a mark before and behind each
    packed = finder.ask({"input": "abc", "encoding_format": "base64"}, PATH).json()["data"][0]["embedding"]
    assert struct.unpack("<64f", base64.b64decode(packed)) == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "input"),
        ({"input": []}, "1 to 256 texts"),
        ({"input": ["a"] * 257}, "1 to 256 texts"),
        ({"input": [[1, 2, 3]]}, "Send texts"),
        ({"input": [1, 2, 3]}, "Send texts"),
        ({"input": ["a", " "]}, "must not be empty"),
        ({"input": "a" * 100_001}, "100,000 characters"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "dimensions": 32}, "vectors of 64 numbers"),
        ({"input": ["a", "a " * 600]}, "Text 2 has 602 tokens, but tiny can read at most 512 at once"),
    ],
)
def test_what_has_none_gets_a_sentence(finder: Served, body: object, words: str) -> None:
    response = finder.ask(body, PATH)
    assert response.status_code == 400
    assert words in response.json()["error"]["message"]


def test_they_take_their_turn_among_replies(finder: Served) -> None:
    assert finder.ask({"input": "abc", "dimensions": 64}, PATH).status_code == 200
    assert finder.said("Hi.")["choices"][0]["message"]["content"] == "Hello."
    assert finder.ask({"input": "a " * 600}, PATH).json()["error"]["code"] == "context_length_exceeded"


def test_a_chat_model_makes_none(tmp_path: Path) -> None:
    with served(tmp_path / "data", FakeTarget(says("Hello."))) as found:
        refused = found.ask({"input": "abc"}, PATH)
        assert refused.status_code == 501
        assert "a model made for finding texts" in refused.json()["error"]["message"]
        assert found.ask({"input": 7}, PATH).status_code == 400
    with beside(tmp_path / "other", tiny_llama(tmp_path / "llama.gguf")) as found:
        refused = found.ask({"input": "abc"}, PATH)
        assert refused.status_code == 501
        assert "llama.gguf makes no embeddings" in refused.json()["error"]["message"]
        assert found.said("Hi.")["choices"][0]["message"]["content"] == "Hello."
