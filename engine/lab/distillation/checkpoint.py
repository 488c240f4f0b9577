"""What it takes to go on with a training: weights, the moments of the optimizer, and how far it was, in one file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from engine.errors import WorkUnusable
from engine.learning.files import write_whole

_OPTIMIZER = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class TrainingState:
    step: int = 0
    epoch: int = 0  # whole ones
    batch: int = 0  # of this epoch, the next one
    seconds: float = 0.0  # of training so far


def save_checkpoint(path: Path, model: Any, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
    """Raises WorkUnusable."""
    tensors: dict[str, torch.Tensor] = {}
    for name, weight in model.named_parameters():
        tensors[name] = weight.detach()
        for part, value in optimizer.state.get(weight, {}).items():
            tensors[f"{part}:{name}"] = value
    write_whole(path, save(tensors, metadata={"state": json.dumps(asdict(state))}))


def load_checkpoint(path: Path, model: Any, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Raises WorkUnusable when the file is damaged, or of a drafter of another shape."""
    try:
        with safe_open(path, "pt") as file, torch.no_grad():
            state = TrainingState(**json.loads(file.metadata()["state"]))
            kept = set(file.keys())
            for name, weight in model.named_parameters():
                found = file.get_tensor(name)
                if found.shape != weight.shape:
                    raise ValueError(f"{name} has another shape")
                weight.copy_(found)
                if f"{_OPTIMIZER[0]}:{name}" in kept:
                    optimizer.state[weight] = {
                        part: file.get_tensor(f"{part}:{name}").to(weight.device) for part in _OPTIMIZER
                    }
            return state
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise WorkUnusable(
            f"The training in {path} cannot be gone on with ({error}); remove the file to start it again."
        ) from error
