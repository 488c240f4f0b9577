"""Rotary position embedding: the angles by which queries and keys are turned (Su et al., arXiv 2104.09864)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Llama3Stretch:
    """How Llama 3.1 and later stretch the slow rotations for longer contexts, as in its `apply_scaling`."""

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_positions: int


@dataclass(frozen=True, slots=True)
class Rope:
    theta: float = 10_000.0
    position_divisor: float = 1.0  # "linear" scaling
    stretch: Llama3Stretch | None = None

    def tables(self, num_positions: int, head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and signed sines, float32, each of shape (num_positions, head_dim).

        A head x = [first half, second half] becomes x · cosine + [second half, first half] · sine: the sine carries
        the minus sign of the first half.
        """
        angles = torch.outer(torch.arange(num_positions, dtype=torch.float32), self._frequencies(head_dim))
        sine = angles.sin()
        return torch.cat((angles.cos(), angles.cos()), -1), torch.cat((-sine, sine), -1)

    def _frequencies(self, head_dim: int) -> torch.Tensor:
        """Radians per position, shape (head_dim / 2,)."""
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        frequencies = 1.0 / (self.theta**exponents) / self.position_divisor
        if self.stretch is None:
            return frequencies
        stretch = self.stretch
        turns = stretch.original_positions * frequencies / (2 * math.pi)  # within the original context
        share = (turns - stretch.low_frequency_factor) / (stretch.high_frequency_factor - stretch.low_frequency_factor)
        return torch.lerp(frequencies / stretch.factor, frequencies, share.clamp(0.0, 1.0))
