"""Runs Llama-type models for drafting: a few tokens at a time, as little between the matrix products as possible.

Queries, keys and values are one matrix, and so are gate and up. On a CPU the products take and give bfloat16 (see
`matrices`), while states, norms and the cache are float32.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from engine.drafter.interface import LogitRow
from engine.drafter.matrices import Embedding, Matrix

_LEAST = 1e-6  # probability


@dataclass(frozen=True, slots=True, eq=False)
class AcceptanceHead:
    """How likely a guess is to be accepted: a logistic regression on its probability and on the state behind it.

    SpecDec++ and OmniDraft (arXiv 2405.19715, 2507.02659) train a network of several layers on many replies of others;
    one user's replies are few, and a regression held small by a penalty predicts better from them (decision 14).
    """

    of_state: torch.Tensor  # float32 [hidden]
    of_probability: torch.Tensor  # float32 [3]: of log q, of log(1 − q), and what is always added

    def chance(self, state: torch.Tensor, probability: float) -> float:
        """That the drafter's likeliest token, of probability q, is accepted; `state` [hidden] is what it came from."""
        certain = min(max(probability, _LEAST), 1 - _LEAST)
        likely, unlikely, always = self.of_probability.tolist()
        score = likely * math.log(certain) + unlikely * math.log1p(-certain) + always
        score += float(torch.dot(self.of_state, state))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def features(probabilities: torch.Tensor) -> torch.Tensor:
    """[guesses, 3], as `AcceptanceHead.of_probability` weighs them."""
    certain = probabilities.clamp(_LEAST, 1 - _LEAST)
    return torch.stack((certain.log(), torch.log1p(-certain), torch.ones_like(certain)), 1)


@dataclass(frozen=True, slots=True)
class Llama3Stretch:
    """How Llama 3.1 and later stretch the slow rotations for longer contexts, as in its `apply_scaling`."""

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_positions: int


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary position embedding: the angles that turn queries and keys (Su et al., arXiv 2104.09864)."""

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


DEFAULT_MAX_HELD = 2048  # tokens
_CHUNK = 256  # tokens of a prompt that are read in one pass


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """The numbers that make a Llama-type model what it is."""

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


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """The head dimensions are in the order of Hugging Face checkpoints."""

    attention_norm: torch.Tensor  # [hidden]
    qkv: Matrix  # hidden to (heads + 2 kv_heads) * head_dim: queries, then keys, then values
    attention_out: Matrix  # heads * head_dim to hidden
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: Matrix  # hidden to 2 feed_forward: gate, then up
    down: Matrix  # feed_forward to hidden


@dataclass(frozen=True, slots=True, eq=False)
class LlamaWeights:
    embedding: Embedding
    layers: tuple[LayerWeights, ...]
    final_norm: torch.Tensor  # [hidden]; its device and kind of float are those of the states
    head: Matrix  # hidden to outputs
    acceptance: AcceptanceHead | None = None  # that was learned


class LlamaDrafter:
    """A Llama-type model and the one sequence it has read: see `engine.drafter.interface.Drafter`."""

    def __init__(self, shape: LlamaShape, weights: LlamaWeights, max_held: int | None = None) -> None:
        """Runs where the weights are and in their type. `max_held` is at most the positions it was made for."""
        self.shape = shape
        self.weights = weights
        self._max_held = min(shape.max_positions, max_held or DEFAULT_MAX_HELD)
        self._num_held = 0
        self._num_turned = shape.num_heads + shape.num_kv_heads  # heads that are turned by position
        device, dtype = weights.final_norm.device, weights.final_norm.dtype
        self._on_cpu = device.type == "cpu"
        cache = (1, shape.num_kv_heads, self._max_held, shape.head_dim)
        with torch.inference_mode():
            self._keys = [torch.zeros(cache, device=device, dtype=dtype) for _ in range(shape.num_layers)]
            self._values = [torch.zeros(cache, device=device, dtype=dtype) for _ in range(shape.num_layers)]
            halves = (self._max_held, 1, 2, shape.head_dim // 2)
            cosine, sine = shape.rope.tables(self._max_held, shape.head_dim)
            self._cosine = cosine.view(halves).to(device, dtype)
            self._sine = sine.view(halves).to(device, dtype)
            # Which tokens a chunk may look at, wherever it ends: a part of this strip is its mask.
            strip = torch.full((_CHUNK, self._max_held + _CHUNK), -torch.inf).triu(self._max_held + 1)
            self._mask_strip = strip.to(device, dtype)
            self._no_states = torch.zeros((1, shape.hidden), device=device, dtype=dtype)
            self._logits = torch.zeros((1, shape.outputs), device=device, dtype=dtype)
            self._final_state = self._no_states
        self._offered: deque[LlamaWeights] = deque(maxlen=1)
        self._row: LogitRow | None = None
        if self._on_cpu and dtype is torch.float32:
            self._row = self._logits[0].numpy()

    @property
    def num_held(self) -> int:
        return self._num_held

    @property
    def max_held(self) -> int:
        return self._max_held

    def read(self, tokens: Sequence[int]) -> LogitRow:
        """See `Drafter.read`. Raises ValueError for no tokens, more than fit, or tokens outside the vocabulary."""
        if not tokens or self._num_held + len(tokens) > self._max_held:
            raise ValueError(f"cannot read {len(tokens)} tokens while {self._num_held} of {self._max_held} are held")
        if min(tokens) < 0 or max(tokens) >= self.shape.vocabulary:
            raise ValueError("a token is outside the drafter's vocabulary")
        with torch.inference_mode():
            for start in range(0, len(tokens), _CHUNK):
                chunk = tokens[start : start + _CHUNK]
                self._read_chunk(chunk, is_last=start + _CHUNK >= len(tokens))
                self._num_held += len(chunk)
            if self._row is not None:
                return self._row
            row: LogitRow = self._logits[0].to("cpu", torch.float32).numpy()
            return row

    def roll_back(self, num_kept: int) -> None:
        """See `Drafter.roll_back`. Raises ValueError when fewer tokens are held."""
        if not 0 <= num_kept <= self._num_held:
            raise ValueError(f"cannot keep {num_kept} of {self._num_held} tokens")
        self._num_held = num_kept

    def chance(self, probability: float) -> float:
        """See `Drafter.chance`."""
        head = self.weights.acceptance
        return probability if head is None else head.chance(self._final_state[0].to("cpu", torch.float32), probability)

    def offer(self, weights: LlamaWeights) -> None:
        """Other weights of the same shape and form, to be taken with the next `refresh`. From any thread."""
        self._offered.append(weights)

    def refresh(self) -> bool:
        """See `Drafter.refresh`."""
        try:
            self.weights = self._offered.pop()
        except IndexError:
            return False
        self._num_held = 0
        return True

    def _read_chunk(self, tokens: Sequence[int], is_last: bool) -> None:
        """Fills the cache for `tokens`; the last chunk also leaves the logits after its last token."""
        weights, inner = self.weights, self.shape.feed_forward
        states = weights.embedding.look_up(tokens)  # [tokens, hidden]
        turn = (self._cosine.narrow(0, self._num_held, len(tokens)), self._sine.narrow(0, self._num_held, len(tokens)))
        final_layer = len(weights.layers) - 1
        for index, layer in enumerate(weights.layers):
            heads = layer.qkv.times(self._norm(states, layer.attention_norm))
            queries = self._remember(index, heads, turn)
            if index == final_layer:
                if not is_last:
                    return
                # Nothing looks at the other states of the final layer.
                queries, states = queries[:, :, -1:], states[-1:]
            mixed = self._attend(index, queries, len(tokens))
            states = layer.attention_out.added(states, mixed)
            gate_up = layer.gate_up.times(self._norm(states, layer.mlp_norm))
            gated = functional.silu(gate_up.narrow(1, 0, inner)).mul_(gate_up.narrow(1, inner, inner))
            states = layer.down.added(states, gated)
        self._final_state = self._norm(states, weights.final_norm)
        self._logits.copy_(weights.head.times(self._final_state))

    def _norm(self, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """RMSNorm, [rows, hidden]."""
        if self._on_cpu and len(states) == 1:
            # torch has no kernel of its own for it on a CPU; this takes a third of the time of composing it.
            row = states[0]
            mean_square = torch.dot(row, row).item() / self.shape.hidden + self.shape.norm_epsilon
            return torch.addcmul(self._no_states, states, weight, value=mean_square**-0.5)
        return functional.rms_norm(states, (self.shape.hidden,), weight, self.shape.norm_epsilon)

    def _remember(self, index: int, heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Turns queries and keys by their positions, and puts keys and values into the cache.

        `heads` is [tokens, (heads + 2 kv_heads) * head_dim], `turn` the cosines and sines of these positions. Returns
        the queries, [1, heads, tokens, head_dim].
        """
        shape, start, size = self.shape, self._num_held, len(heads)
        halves = heads.view(size, -1, 2, shape.head_dim // 2).narrow(1, 0, self._num_turned)
        turned = torch.addcmul(halves * turn[0], halves.flip(2), turn[1])
        turned = turned.view(1, size, self._num_turned, shape.head_dim).transpose(1, 2)
        values = heads.view(1, size, -1, shape.head_dim).transpose(1, 2).narrow(1, self._num_turned, shape.num_kv_heads)
        self._keys[index].narrow(2, start, size).copy_(turned.narrow(1, shape.num_heads, shape.num_kv_heads))
        self._values[index].narrow(2, start, size).copy_(values)
        return turned.narrow(1, 0, shape.num_heads)

    def _attend(self, index: int, queries: torch.Tensor, num_new: int) -> torch.Tensor:
        """The last rows of `num_new` new tokens over all tokens: [1, heads, rows, head_dim] to [rows, inputs]."""
        num_rows = queries.shape[2]
        end = self._num_held + num_new
        mask = None
        if num_rows > 1:
            first = end - num_rows  # the position of the first row
            mask = self._mask_strip[:num_rows, self._max_held - first : self._max_held - first + end]
        mixed = functional.scaled_dot_product_attention(
            queries,
            self._keys[index].narrow(2, 0, end),
            self._values[index].narrow(2, 0, end),
            attn_mask=mask,
            enable_gqa=self.shape.num_heads != self.shape.num_kv_heads,
        )
        return mixed.transpose(1, 2).reshape(num_rows, -1)
