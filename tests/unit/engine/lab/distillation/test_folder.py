"""A drafter is written as it runs, and read back to be trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.lab.distillation.cut import Cut
from engine.lab.distillation.folder import read_drafter, write_drafter
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.model.chat.families import CHATML
from engine.values.errors import DrafterUnusable
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, reference_logits, save
from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level

TOKENS = [5, 9, 300, 41, 7]


@pytest.fixture
def cut() -> Cut:
    return Cut(random_llama(), json.loads(byte_level().to_str()), CHATML, num_outputs=200)


def test_what_is_written_can_be_used_and_is_nearly_the_same(cut: Cut, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "drafter"
    write_drafter(folder, cut, "# A card")
    names = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(file.name for file in folder.iterdir()) == names
    drafter = load_drafter(folder, "cpu", form=WeightForm.DENSE)
    expected = reference_logits(cut.model, TOKENS)[-1, :200].numpy()
    np.testing.assert_allclose(drafter.model.read(TOKENS), expected, atol=0.1)
    assert drafter.tokenizer.end == 2
    assert (folder / "README.md").read_text() == "# A card"


def test_reading_it_back_loses_nothing_more(cut: Cut, tmp_path: Path) -> None:
    write_drafter(tmp_path / "one", cut, "")
    again = read_drafter(tmp_path / "one")
    assert (again.num_outputs, again.end_of_turn, again.chat_template) == (200, "<|im_end|>", CHATML)
    write_drafter(tmp_path / "two", again, "")
    one, two = (load_drafter(tmp_path / name, "cpu") for name in ("one", "two"))
    assert one.fingerprint == two.fingerprint
    np.testing.assert_array_equal(one.model.read(TOKENS), two.model.read(TOKENS))
    assert again.model.lm_head.weight.data_ptr() == again.model.model.embed_tokens.weight.data_ptr()
    with torch.no_grad():
        assert torch.isfinite(again.model(torch.tensor([TOKENS])).logits).all()


def test_a_drafter_of_others_can_be_trained_on(tmp_path: Path) -> None:
    """In 16 bits, with a head of its own, without a chat template, and with the end named as older files do."""
    model: Any = random_llama(tie_word_embeddings=False)
    folder = save(model.to(torch.bfloat16), tmp_path / "theirs")
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<|im_end|>"}}))
    cut = read_drafter(folder)
    assert (cut.chat_template, cut.end_of_turn, cut.num_outputs) == (None, "<|im_end|>", 512)
    write_drafter(tmp_path / "ours", cut, "")
    theirs, ours = (load_drafter(folder, "cpu").model.read(TOKENS) for folder in (folder, tmp_path / "ours"))
    np.testing.assert_array_equal(theirs, ours)


def test_a_folder_that_is_there_is_replaced_as_a_whole_and_only_on_demand(cut: Cut, tmp_path: Path) -> None:
    folder = tmp_path / "drafter"
    folder.mkdir()
    (folder / "leftover.txt").write_text("old")
    with pytest.raises(DrafterUnusable, match="exists already"):
        write_drafter(folder, cut, "")
    assert [each.name for each in tmp_path.iterdir()] == ["drafter"]
    assert (folder / "leftover.txt").exists()
    write_drafter(folder, cut, "", replace=True)
    assert not (folder / "leftover.txt").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["drafter"]


def test_what_cannot_be_trained_on_is_refused_in_a_sentence(cut: Cut, tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        read_drafter(tmp_path / "nothing")
    folder = tmp_path / "drafter"
    write_drafter(folder, cut, "")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(DrafterUnusable, match="cannot be trained on"):
        read_drafter(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DrafterUnusable, match="lacks a tokenizer"):
        read_drafter(folder)
