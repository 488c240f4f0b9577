"""The hyperparameters of a Llama-type model; nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Llama3Stretch:
    """How Llama 3.1 and later stretch the slow rotations for longer contexts, as in their `apply_scaling`."""

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_positions: int


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary position embedding: the angles by which queries and keys are rotated (Su et al., arXiv 2104.09864)."""

    theta: float = 10_000.0
    position_divisor: float = 1.0  # "linear" scaling
    stretch: Llama3Stretch | None = None


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """The hyperparameters of a Llama-type model. Its text is part of a drafter's fingerprint."""

    vocabulary: int
    outputs: int  # the first tokens of the vocabulary, which it can guess
    hidden: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    feed_forward: int
    max_positions: int
    norm_epsilon: float
    rope: Rope
    tied: bool  # the head is the embedding
    qkv_bias: bool = False
    attention_out_bias: bool = False
    mlp_bias: bool = False

    @property
    def num_layer_weights(self) -> int:
        heads = 2 * (self.num_heads + self.num_kv_heads) * self.head_dim
        return self.num_layers * self.hidden * (heads + 3 * self.feed_forward)

    @property
    def widest(self) -> int:
        """The most numbers that are computed at once for one token."""
        return max((self.num_heads + 2 * self.num_kv_heads) * self.head_dim, 2 * self.feed_forward, self.hidden)
