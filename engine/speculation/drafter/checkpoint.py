"""Loads a drafter from a folder in Hugging Face's format onto the device that it will run on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path

import psutil
import torch

from engine.speculation.drafter.choice import weight_bytes
from engine.speculation.drafter.config_file import MIN_POSITIONS, read_config, shape_of
from engine.speculation.drafter.interface import TurnVocabulary
from engine.speculation.drafter.loading import expected_weights, load_weights
from engine.speculation.drafter.matrices import WeightForm, best_form
from engine.speculation.drafter.model import LlamaDrafter, cache_bytes, most_held
from engine.speculation.drafter.shape import LlamaShape
from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.values.errors import DrafterUnusable

_LEAST_BITS = 4  # of a stored weight
_BYTES = {WeightForm.INT8: 1, WeightForm.DENSE: 4}  # of a weight in memory, at most


def choose_device(wanted: str | None = None) -> str:
    """The device: the `wanted` one ("cpu", "cuda", "cuda:1", "mps"), by default the best. Raises DrafterUnusable when
    it is not there."""
    available = _available()
    if wanted is None:
        return available[0]
    if wanted in available or (_is_cuda_index(wanted) and "cuda" in available):
        return wanted
    offered = " or ".join(available)
    raise DrafterUnusable(
        "The drafter cannot run on “{wanted}” on this computer; choose {offered}.", wanted=wanted, offered=offered
    )


def number_type(device: str) -> torch.dtype:
    """bfloat16 is slower than float32 for single steps on a CPU, and not supported by all of Apple's chips."""
    return torch.bfloat16 if device.startswith("cuda") else torch.float32


def _available() -> list[str]:
    devices = ["cuda"] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def _is_cuda_index(wanted: str) -> bool:
    match = re.fullmatch(r"cuda:(\d{1,3})", wanted)
    return match is not None and int(match[1]) < torch.cuda.device_count()


@dataclass(frozen=True, slots=True)
class LoadedDrafter:
    model: LlamaDrafter
    tokenizer: TurnVocabulary
    name: str
    fingerprint: str  # sha256 of its shape, its weights (a sample of each) and its tokenizer; the same on any device


def load_drafter(
    folder: Path,
    device: str | None = None,
    threads: int | None = None,
    max_held: int | None = None,
    form: WeightForm | None = None,
    read_tokenizer: Callable[[Path], TurnVocabulary] = DrafterTokenizer.from_folder,
) -> LoadedDrafter:
    """Loads a drafter. `form` of the matrices: by default the fastest. `threads` applies to all of torch in this
    process. `read_tokenizer`: `TokenizerApart` for a folder from an unknown source.

    Raises DrafterUnusable, which says what is wrong with the folder.
    """
    config = read_config(folder)
    shape = shape_of(config, folder.name)
    chosen = choose_device(device)
    form = form or best_form(chosen)
    check_room(folder, shape, form, max_held)
    tokenizer = read_tokenizer(folder)
    if threads is not None:
        torch.set_num_threads(threads)
    weights, fingerprint = load_weights(folder, shape, chosen, number_type(chosen), form)
    identity = hashlib.sha256(f"{shape}\n{fingerprint}\n{tokenizer.fingerprint}".encode())
    return LoadedDrafter(LlamaDrafter(shape, weights, max_held), tokenizer, folder.name, identity.hexdigest())


def check_room(folder: Path, shape: LlamaShape, form: WeightForm, max_held: int | None = None) -> None:
    """Raises DrafterUnusable."""
    num_weights = sum(prod(size) for _name, size in expected_weights(shape))
    stored = weight_bytes(folder)
    if stored and stored < num_weights * _LEAST_BITS // 8:  # missing weights are reported when they are read
        raise DrafterUnusable(
            "The weights in {folder} are cut short or damaged: its config.json describes {num_weights:,} "
            "weights, and {stored:,} bytes are there; download the drafter again.",
            folder=folder,
            num_weights=num_weights,
            stored=stored,
        )
    if most_held(shape) < MIN_POSITIONS:
        raise DrafterUnusable(
            "{name} takes far more memory per token than its weights take; choose another drafter.",
            name=folder.name,
        )
    total = psutil.virtual_memory().total
    needed = num_weights * _BYTES[form] + cache_bytes(shape, most_held(shape, max_held))
    if needed > total:
        raise DrafterUnusable(
            "{name} takes {needed:.1f} GB as a drafter, but this computer has {total:.1f} GB of memory; "
            "choose a smaller drafter.",
            name=folder.name,
            needed=needed / 1e9,
            total=total / 1e9,
        )
