"""A drafter made of a GGUF file: the same weights, the same guesses, and complete or not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.speculation.drafter import from_gguf
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.from_gguf import GgufWeights, torch_folder
from engine.speculation.drafter.loading import SCALES
from engine.speculation.drafter.matrices import Int4Groups, Int8Rows
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import Target
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import Cancelled, DrafterUnusable, MendableError
from engine.values.stop_signal import StopSignal
from tests.fakes import gguf

_REPLY = 20  # tokens
_QUESTIONS = ("Tell me about lighthouses.", "Write a Python function that merges two sorted lists.")


@pytest.fixture(scope="module")
def weights(starter_weights: GgufWeights) -> GgufWeights:
    return starter_weights


@contextmanager
def opened_already(weights: GgufWeights) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_gguf, "GgufWeights", lambda _path: weights)
        yield


@pytest.fixture(scope="module")
def data_dir(weights: GgufWeights, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with opened_already(weights):
        torch_folder(starter_path(), folder)
    return folder


@pytest.mark.starter
@pytest.mark.timeout(300)
def test_it_guesses_what_llama_cpp_computes(data_dir: Path, fresh_starter: Target) -> None:
    folder = torch_folder(starter_path(), data_dir, lambda: True)  # it is there: nothing to cancel
    drafter = load_drafter(folder, "cpu")
    assert drafter.tokenizer.end is not None
    hits = []
    for question in _QUESTIONS:
        tokens = drafter.tokenizer.encode_prompt([ChatTurn(Role.USER, question)])
        fresh_starter.roll_back(0)
        drafter.model.roll_back(0)
        row, guess = fresh_starter.evaluate(tokens, 1, StopSignal())[0], drafter.model.read(tokens)
        for _ in range(_REPLY):
            token = int(row.argmax())
            hits.append(int(guess.argmax()) == token)
            row, guess = fresh_starter.evaluate([token], 1, StopSignal())[0], drafter.model.read([token])
    assert np.mean(hits) >= 0.95


@pytest.mark.starter
@pytest.mark.timeout(300)
def test_weights_are_stored_as_they_are_or_rounded_to_8_bits(weights: GgufWeights) -> None:
    first = weights.layer(0)
    for stored in weights.stored():
        name, *rest = stored
        if name.startswith("model.layers.1."):
            break
        if not name.startswith("model.layers.0.") or not rest:
            continue
        assert stored[name].dtype is torch.uint8
        found = Int4Groups(stored[name], stored[name + SCALES]).dense()
        torch.testing.assert_close(found, first[name.removeprefix("model.layers.0.")], atol=2e-3, rtol=2e-3)
    embedding = next(iter(weights.stored()))
    rows = Int8Rows(*embedding.values())
    assert ((rows.dense() - weights.embedding).abs() <= 0.51 * rows.scales[:, None]).all()


@pytest.mark.starter
@pytest.mark.timeout(300)
def test_cancelled_it_leaves_nothing(weights: GgufWeights, tmp_path: Path) -> None:
    with opened_already(weights), pytest.raises(Cancelled):
        torch_folder(starter_path(), tmp_path, lambda: True)
    assert not list((tmp_path / "drafters").iterdir())


def test_other_models_are_refused_in_a_sentence(tmp_path: Path) -> None:
    other = gguf.write(tmp_path / "other.gguf", {"general.architecture": "mamba"})
    with pytest.raises(DrafterUnusable, match=r"“mamba” and cannot run in torch; choose the file itself"):
        torch_folder(other, tmp_path)
    with pytest.raises(DrafterUnusable, match="cannot run in torch"):
        torch_folder(gguf.write(tmp_path / "no-model.gguf"), tmp_path)
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03")
    with pytest.raises(MendableError):
        torch_folder(tmp_path / "cut.gguf", tmp_path)
    assert not list(tmp_path.glob("drafters/*"))
