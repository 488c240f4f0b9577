"""A drafter as a folder in Hugging Face's form: config, weights, tokenizer with its chat template, card."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from engine.drafter.config_file import NUM_OUTPUTS, read_config
from engine.drafter.json_file import read_json
from engine.drafter.loading import SCALES
from engine.drafter.matrices import Int8Rows
from engine.errors import DrafterUnusable
from engine.learning.cut import Cut

_WEIGHTS = "model.safetensors"
_EMBEDDING = "model.embed_tokens.weight"
_HEAD = "lm_head.weight"


def write_drafter(folder: Path, cut: Cut, card: str) -> None:
    """The folder, whole or not at all; it replaces one that is there. Matrices are int8 rows with a scale each, as a
    CPU runs them. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    try:
        config = cut.model.config.to_dict() | {
            NUM_OUTPUTS: cut.num_outputs,
            "architectures": ["LlamaForCausalLM"],
            "dtype": "int8",
        }
        (unfinished / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
        save_file(_int8(cut.model), unfinished / _WEIGHTS, metadata={"format": "pt"})
        (unfinished / "tokenizer.json").write_text(json.dumps(cut.tokenizer, ensure_ascii=False), "utf-8")
        about = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": cut.end_of_turn,
            "chat_template": cut.chat_template,
        }
        (unfinished / "tokenizer_config.json").write_text(json.dumps(about, indent=2), "utf-8")
        (unfinished / "README.md").write_text(card, "utf-8")
        unfinished.chmod(0o755)
        for file in unfinished.iterdir():
            file.chmod(0o644)
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def read_drafter(folder: Path) -> Cut:
    """A drafter, in float32 and ready to be trained on. Raises DrafterUnusable."""
    config = read_config(folder)
    tokenizer, about = read_json(folder / "tokenizer.json"), read_json(folder / "tokenizer_config.json") or {}
    template, end = about.get("chat_template"), about.get("eos_token")
    if tokenizer is None or not isinstance(template, str) or not isinstance(end, str):
        raise DrafterUnusable(
            f"{folder} lacks a tokenizer.json, a chat template or an end of turn; only a complete drafter can be "
            "trained on."
        )
    try:
        stored = load_file(folder / _WEIGHTS)
        weights = {}
        for name, weight in stored.items():
            if weight.dtype is torch.int8:
                weights[name] = Int8Rows(weight, stored[name + SCALES]).dense()
            elif not name.endswith(SCALES):
                weights[name] = weight.to(torch.float32)
        model = LlamaForCausalLM(LlamaConfig(**config))
        if model.config.tie_word_embeddings:
            weights.setdefault(_HEAD, weights[_EMBEDDING])
        model.load_state_dict(weights)
    except (OSError, KeyError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise DrafterUnusable(f"The drafter in {folder} cannot be trained on ({error}).") from error
    outputs = config.get(NUM_OUTPUTS, model.config.vocab_size)
    return Cut(model, tokenizer, template, min(int(outputs), model.config.vocab_size), end)


def _int8(model: Any) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    for name, weight in model.state_dict().items():
        if name == _HEAD and model.config.tie_word_embeddings:
            continue
        if weight.ndim == 2:
            rows = Int8Rows.of(weight.cpu())
            tensors[name], tensors[name + SCALES] = rows.values.contiguous(), rows.scales
        else:
            tensors[name] = weight.detach().to("cpu", torch.float32).contiguous()
    return tensors
