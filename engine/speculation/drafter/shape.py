"""The hyperparameters of a Llama-type model; nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass, field


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
class Windows:
    """Layers that see the last few tokens alone: all but every so many-th one."""

    num_tokens: int  # the token itself included
    period: int
    rope: Rope  # of these layers


@dataclass(frozen=True, slots=True)
class Variant:
    """What other families do in addition to what Llama does. They learn, but `drafter.model` does not run them."""

    head_norms: bool = False  # each head of queries and keys is normalized before it is rotated
    post_norms: bool = False  # what attention and the MLP add is normalized, too
    gelu: bool = False  # is what the gate passes through, instead of SiLU
    scales_embedding: bool = False  # by the root of the hidden size
    windows: Windows | None = None


PLAIN = Variant()
MOST_WEIGHTS = 700_000_000  # of a drafter that learns: a larger one takes too long for a step


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
    variant: Variant = field(default=PLAIN, repr=False)  # not in the text: drafters with a fingerprint are plain

    @property
    def ropes(self) -> frozenset[Rope]:
        windows = self.variant.windows
        return frozenset({self.rope} if windows is None else {self.rope, windows.rope})

    def windows_of(self, layer: int) -> Windows | None:
        """The windows, if the layer is one of those that have one."""
        windows = self.variant.windows
        return None if windows is None or (layer + 1) % windows.period == 0 else windows

    @property
    def num_layer_weights(self) -> int:
        heads = 2 * (self.num_heads + self.num_kv_heads) * self.head_dim
        return self.num_layers * self.hidden * (heads + 3 * self.feed_forward)

    @property
    def widest(self) -> int:
        """The most numbers that are computed at once for one token."""
        return max((self.num_heads + 2 * self.num_kv_heads) * self.head_dim, 2 * self.feed_forward, self.hidden)
