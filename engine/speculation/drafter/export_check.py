"""Loads a drafter that was written for another program there, and compares what it computes with what we compute."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.speculation.drafter.gguf import load_gguf
from engine.speculation.drafter.interface import FloatRow
from engine.speculation.drafter.merged import MergedDrafter
from engine.values.errors import AdapterUnusable, DrafterUnusable
from engine.values.exports import ExportCheck
from engine.values.stop_signal import StopSignal

TEXTS = (
    "The capital of France is Paris. The capital of Germany is",
    "def add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return",
    "1, 2, 3, 4, 5, 6, 7, 8,",
    "Dear Anna, thank you for your letter. I am",
)
_MOST_DIFFERENT = 0.05  # of the probability, on average: rounding to 8 bits moves a hundredth
_VLLM_S = 600.0
_VLLM = """
import sys
from vllm import LLM
LLM(model=sys.argv[1], max_model_len=256, enforce_eager=True)
"""

Read = Callable[[Sequence[int]], FloatRow]  # tokens to the logits after the last of them


def check_gguf(path: Path, drafter: MergedDrafter) -> ExportCheck:
    """Raises AdapterUnusable where it computes something else, and DrafterUnusable where llama.cpp refuses it."""
    model, _ = load_gguf(path, path.name, True, StopSignal())

    def read(tokens: Sequence[int]) -> FloatRow:
        model.roll_back(0)
        return model.read(tokens)

    return ExportCheck((_compared("llama.cpp", read, drafter),))


def check_folder(folder: Path, drafter: MergedDrafter) -> ExportCheck:
    """Does what `check_gguf` does with transformers, whose config and loader vLLM uses as well."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # it may raise anything
        raise DrafterUnusable("transformers refuses the exported drafter: {reason}", reason=error) from error

    def read(tokens: Sequence[int]) -> FloatRow:
        with torch.inference_mode():
            row: FloatRow = model(torch.tensor([tokens])).logits[0, -1].to(torch.float32).numpy()
            return row

    return ExportCheck((_compared("transformers", read, drafter),))


def check_vllm(folder: Path) -> ExportCheck:
    """Has vLLM load the folder, if it is installed. Raises DrafterUnusable if it refuses."""
    if importlib.util.find_spec("vllm") is None:
        why = "vLLM is not installed here: that it loads this folder and drafts with it is not proven."
        return ExportCheck(unproven=(why,))
    try:
        done = subprocess.run(
            [sys.executable, "-c", _VLLM, folder], capture_output=True, text=True, timeout=_VLLM_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ExportCheck(unproven=(f"vLLM did not load it within {_VLLM_S / 60:.0f} minutes.",))
    if done.returncode:
        raise DrafterUnusable("vLLM refuses the exported drafter: {reason}", reason=done.stderr.strip()[-400:])
    return ExportCheck(("vLLM loads it.",), ("That vLLM drafts with it is not proven.",))


def _compared(program: str, read: Read, drafter: MergedDrafter) -> str:
    ours, texts = drafter.computed(), drafter.samples
    moved, num_same = [], 0
    for tokens in texts:
        ours.roll_back(0)
        own, theirs = ours.read(tokens), read(tokens)
        if not np.isfinite(theirs).all():
            raise _differs(program)
        mine = np.full(len(theirs), -np.inf, np.float32)  # of tokens that it cannot guess
        mine[: len(own)] = own[: len(theirs)]
        num_same += int(mine.argmax() == theirs.argmax())
        moved.append(float(np.abs(_chances(mine) - _chances(theirs)).sum()) / 2)
    if np.mean(moved) > _MOST_DIFFERENT:
        raise _differs(program)
    return (
        f"{program} loads it and computes what Slipstream computes: {num_same} of {len(texts)} likeliest next tokens "
        f"are the same, and {np.mean(moved):.1%} of the probability differs."
    )


def _chances(logits: FloatRow) -> FloatRow:
    powers = np.exp(logits - logits.max())
    chances: FloatRow = powers / powers.sum()
    return chances


def _differs(program: str) -> AdapterUnusable:
    return AdapterUnusable(
        "{program} does not compute the same as Slipstream with the exported drafter; nothing was kept.",
        program=program,
    )
