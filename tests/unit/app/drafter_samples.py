"""Drafters as somebody has them who uses a large model."""

from __future__ import annotations

from pathlib import Path

from engine.values.drafters import DrafterChoice, DrafterOffer, DrafterProspect, DrafterRunner, DrafterSource

STARTER = DrafterSource("starter", "Starter", DrafterRunner.LLAMA_CPP, Path("/s.gguf"), 97_000_000, True, True)
BUILT_IN = DrafterSource("built-in", "Built-in drafter", DrafterRunner.TORCH, Path("/b"), 27_000_000, True, True)
SMALL = DrafterSource("1a2b", "qwen2.5-1.5b-instruct-q4_k_m", DrafterRunner.LLAMA_CPP, Path("/q.gguf"), 986_000_000)
OFFER = DrafterOffer(
    "Qwen/Qwen2.5-0.5B-Instruct-GGUF:qwen2.5-0.5b-instruct-q4_0.gguf", "Qwen 2.5 0.5B", 429_000_000, 2.1, 1.8
)
CHOICE = DrafterChoice(
    STARTER,
    (
        "With the starter, this model should write 1.8 times as fast as without speed-up: 54% of its first "
        "guesses are right, and a guess takes 4.6 ms."
    ),
    (
        DrafterProspect(STARTER, 0.54, 0.68, 1204, 0.0046, True, 1.83, 197_000_000),
        DrafterProspect(BUILT_IN, 0.3, 0.5, 0, 0.0031, False, 1.38, 150_000_000),
        DrafterProspect(SMALL, 0.66, 0.76, 0, 0.061, False, 1.2, 1_250_000_000),
    ),
    offer=OFFER,
)
