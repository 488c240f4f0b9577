"""Loads a drafter from a folder in Hugging Face's format."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.drafter.config_file import read_config, shape_of
from engine.drafter.device import choose_device, number_type
from engine.drafter.loading import load_weights
from engine.drafter.matrices import WeightForm, best_form
from engine.drafter.model import LlamaDrafter
from engine.drafter.tokenizer import DrafterTokenizer


@dataclass(frozen=True, slots=True)
class LoadedDrafter:
    model: LlamaDrafter
    tokenizer: DrafterTokenizer
    name: str
    fingerprint: str  # sha256 of its shape, its weights (a sample of each) and its tokenizer; the same on any device


def load_drafter(
    folder: Path,
    device: str | None = None,
    threads: int | None = None,
    max_held: int | None = None,
    form: WeightForm | None = None,
) -> LoadedDrafter:
    """`form` of the matrices: by default the fastest. `threads` is for all of torch in this process.

    Raises DrafterUnusable with what is wrong with the folder.
    """
    config = read_config(folder)
    shape = shape_of(config, folder.name)
    tokenizer = DrafterTokenizer.from_folder(folder)
    chosen = choose_device(device)
    if threads is not None:
        torch.set_num_threads(threads)
    loaded = load_weights(folder, shape, chosen, number_type(chosen), form or best_form(chosen))
    identity = f"{shape}\n{loaded.fingerprint}\n{tokenizer.fingerprint}"
    return LoadedDrafter(
        LlamaDrafter(shape, loaded.weights, max_held),
        tokenizer,
        folder.name,
        hashlib.sha256(identity.encode()).hexdigest(),
    )
