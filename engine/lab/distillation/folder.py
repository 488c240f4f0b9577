"""A drafter as a folder in Hugging Face's format: config, weights, tokenizer with its chat template, card."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from transformers import LlamaConfig, LlamaForCausalLM

from engine.lab.distillation.cut import Cut
from engine.lab.distillation.work import write_whole, writing_to
from engine.speculation.drafter.config_file import NUM_OUTPUTS, read_config
from engine.speculation.drafter.files import TokenizerFiles, read_json
from engine.speculation.drafter.loading import SCALES
from engine.speculation.drafter.matrices import Int8Rows
from engine.values.errors import DrafterUnusable

_WEIGHTS = "model.safetensors"
_EMBEDDING = "model.embed_tokens.weight"
_HEAD = "lm_head.weight"


def write_drafter(folder: Path, cut: Cut, card: str, replace: bool = False) -> None:
    """Writes matrices as int8 rows with a scale each, as a CPU runs them. For the rest see `write_folder`."""
    write_folder(folder, _files(cut, card), replace)


def write_folder(folder: Path, files: Mapping[str, bytes], replace: bool = False) -> None:
    """Writes a folder that is complete or not there. It replaces another one only with `replace`. Raises
    DrafterUnusable and FileUnusable."""
    with writing_to(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    try:
        for name, content in files.items():
            write_whole(new / name, content)
        with writing_to(folder.parent):
            new.chmod(0o755)
            for file in new.iterdir():
                file.chmod(0o644)
            if replace and folder.exists():
                old = folder.rename(new.with_name(new.name + ".old"))
                new.rename(folder)
                shutil.rmtree(old)
                return
        if folder.exists():
            raise DrafterUnusable(f"{folder} exists already; remove it, or choose another folder.")
        with writing_to(folder.parent):
            new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def read_drafter(folder: Path) -> Cut:
    """A drafter in float32, to be trained further. Raises DrafterUnusable."""
    config, files = read_config(folder), TokenizerFiles.read(folder)
    tokenizer, end = read_json(folder / "tokenizer.json"), files.text("eos")
    if tokenizer is None or end is None:
        raise DrafterUnusable(f"{folder} lacks a tokenizer.json or an end of turn, and cannot be trained on.")
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
    return Cut(model, tokenizer, files.template, min(int(outputs), model.config.vocab_size), end)


def _files(cut: Cut, card: str) -> dict[str, bytes]:
    config = cut.model.config.to_dict()
    config |= {NUM_OUTPUTS: cut.num_outputs, "architectures": ["LlamaForCausalLM"], "dtype": "int8"}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": cut.end_of_turn}
    if cut.chat_template is not None:
        about["chat_template"] = cut.chat_template
    return {
        "config.json": json.dumps(config, indent=2).encode(),
        _WEIGHTS: save(_int8(cut.model), metadata={"format": "pt"}),
        "tokenizer.json": json.dumps(cut.tokenizer, ensure_ascii=False).encode(),
        "tokenizer_config.json": json.dumps(about, indent=2).encode(),
        "README.md": card.encode(),
    }


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
