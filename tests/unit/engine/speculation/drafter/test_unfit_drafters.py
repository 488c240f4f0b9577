"""Files that cannot draft, each with a model in it that llama.cpp really loads, or would: told in a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from engine.speculation.drafter.gguf import GgufVocabulary, _most_held, load_gguf
from engine.speculation.model.files import estimate as estimating
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.llama.preflight import preflight
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_bert, tiny_llama, tiny_mamba


def refusal(path: Path, trusted: bool = False) -> str:
    with pytest.raises(DrafterUnusable) as caught:
        load_gguf(path, path.stem, trusted, StopSignal())
    return str(caught.value)


def test_a_tiny_llama_drafts(tmp_path: Path) -> None:
    drafter, vocabulary = load_gguf(tiny_llama(tmp_path / "tiny.gguf"), "tiny", False, StopSignal())
    prompt = vocabulary.encode_prompt([ChatTurn(Role.USER, "a cab")])
    tokens = vocabulary.encode(b" abc and the \xff")
    assert tokens is not None
    row = drafter.read([*prompt, *tokens]).copy()
    assert row.shape == (len(vocabulary.pieces),)
    assert np.isfinite(row).all()
    drafter.roll_back(len(prompt))
    assert drafter.num_held == len(prompt)
    assert np.abs(drafter.read(tokens) - row).max() < 0.01


@pytest.mark.parametrize("trusted", [False, True])
def test_a_recurrent_model_loads_but_cannot_take_back(tmp_path: Path, trusted: bool) -> None:
    recurrent = tiny_mamba(tmp_path / "recurrent.gguf")
    preflight(recurrent, StopSignal())
    assert refusal(recurrent, trusted) == (
        "recurrent cannot draft: it cannot roll back what it has read; choose another drafter."
    )


@pytest.mark.parametrize("trusted", [False, True])
def test_an_embedding_model_writes_no_text(tmp_path: Path, trusted: bool) -> None:
    embeddings = tiny_bert(tmp_path / "embeddings.gguf")
    assert refusal(embeddings, trusted) == (
        "embeddings cannot draft: it finds and compares texts but cannot write any; choose a chat model."
    )


@pytest.mark.parametrize("make", [tiny_llama, tiny_mamba, tiny_bert])
@pytest.mark.parametrize("share", [0.0001, 0.02, 0.5, 0.9999])
def test_a_file_that_is_cut_short_is_to_be_downloaded_again(
    tmp_path: Path, make: Callable[[Path], Path], share: float
) -> None:
    path = make(tmp_path / "short.gguf")
    os.truncate(path, int(path.stat().st_size * share))
    assert refusal(path) == "short cannot draft: it is cut short; download it again."


@pytest.mark.parametrize(
    ("hostile", "why"),
    [
        ({"byte_tokens": "b"}, "it is damaged: llama.cpp cannot open it; download it again."),
        ({"tokenizer": "rwkv"}, "it has a vocabulary that cannot write every text; choose another model."),
        ({"tokenizer": "t5"}, "it has a vocabulary that no chat model has; choose a chat model."),
    ],
)
def test_a_vocabulary_that_would_end_the_process_is_found_in_another_one(
    tmp_path: Path, hostile: dict[str, str], why: str
) -> None:
    """llama.cpp ends where many tokens have one name, and never ends where bytes that begin tokens are none."""
    assert refusal(tiny_llama(tmp_path / "hostile.gguf", **hostile)) == f"hostile cannot draft: {why}"


def test_a_vocabulary_that_leaves_characters_out_spells_the_others(tmp_path: Path) -> None:
    """Even the one that is put between texts, to split many in one call."""
    file = load_vocabulary(tiny_bert(tmp_path / "words.gguf"))
    assert file.spell("\x01") == []
    assert GgufVocabulary(file).encode_many([b"abc", b"\xff", b"a"]) == [[5, 6, 7], None, [5]]
    file.close()


def test_what_takes_more_memory_than_is_free_is_refused_in_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_llama(tmp_path / "large.gguf")
    monkeypatch.setattr(estimating, "free_memory", lambda: 2**17)
    assert refusal(path) == (
        "large cannot draft: it takes about 0.0 GB of memory with a context of 512 tokens, but only 0.0 GB are free; "
        "close other programs, or choose a smaller drafter."
    )


def test_a_context_has_room_beside_the_weights(tmp_path: Path) -> None:
    facts = facts_of(tiny_llama(tmp_path / "wide.gguf"))
    assert facts.memory is not None
    assert _most_held(facts) == 512, "what it was trained for"
    wide = replace(facts, memory=replace(facts.memory, token_bytes=1 << 20))
    assert _most_held(wide) == 128
    with pytest.raises(DrafterUnusable, match="far more memory per token"):
        _most_held(replace(facts, memory=replace(facts.memory, token_bytes=1 << 30)))


def test_a_file_larger_than_all_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where what the estimate takes for free would be enough for it."""
    path = tiny_llama(tmp_path / "huge.gguf")
    os.truncate(path, 3 << 40)  # sparse: it takes no room on the disk
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=2**34, available=2**50))
    assert refusal(path) == (
        "huge cannot draft: it takes 3298.5 GB, but this computer has 17.2 GB of memory; choose a smaller model or "
        "quantization."
    )
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=2**34, available=2**33))
    assert refusal(path).startswith("huge cannot draft: it takes about 3298.5 GB of memory with a context of 512 ")


def test_another_file_under_the_same_name_is_looked_at_anew(tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "same.gguf")
    drafter, _vocabulary = load_gguf(path, "same", False, StopSignal())
    first = drafter.read([1, 5]).copy()
    tiny_mamba(tmp_path / "other.gguf").replace(path)
    assert "cannot roll back" in refusal(path)
    drafter.roll_back(1)
    assert np.abs(drafter.read([5]) - first).max() < 0.01, "the one that is loaded goes on"
