"""Runs Llama-type models for drafting: a few tokens at a time, with little work between the matrix products.

Queries, keys and values are one matrix, and so are gate and up. On a CPU the products are in bfloat16 (see `matrices`),
while states, norms and the cache are float32.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.drafter.matrices import Embedding, Int8Matrix, Matrix
from engine.speculation.drafter.shape import LlamaShape, Rope

_NEAR = 1 / 64  # of the largest logit: twice the steps of bfloat16
_MOST_NEAR = 64  # tokens


def rope_tables(rope: Rope, num_positions: int, head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and signed sines, float32, each of shape (num_positions, head_dim).

    A head x = [first half, second half] becomes x · cosine + [second half, first half] · sine: the minus sign of the
    first half is in the sine.
    """
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float32), frequencies(rope, head_dim))
    sine = angles.sin()
    return torch.cat((angles.cos(), angles.cos()), -1), torch.cat((-sine, sine), -1)


def frequencies(rope: Rope, head_dim: int) -> torch.Tensor:
    """Radians per position, shape (head_dim / 2,)."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / (rope.theta**exponents) / rope.position_divisor
    if rope.stretch is None:
        return frequencies
    stretch = rope.stretch
    turns = stretch.original_positions * frequencies / (2 * math.pi)  # within the original context
    share = (turns - stretch.low_frequency_factor) / (stretch.high_frequency_factor - stretch.low_frequency_factor)
    return torch.lerp(frequencies / stretch.factor, frequencies, share.clamp(0.0, 1.0))


DEFAULT_MAX_HELD = 2048  # tokens
_CHUNK_SIZE = 512  # tokens of a prompt that are read in one pass
_CHUNK_BYTES = 32 << 20  # of a wide matrix product, for which fewer tokens are read: enough for one of 16,384 numbers
_FLOAT_BYTES = 4
_CACHE_BYTES = 128 << 20  # or more, where the weights take more, too


def most_held(shape: LlamaShape, wanted: int | None = None) -> int:
    """The number of tokens a drafter of this shape holds: what is `wanted`, the positions it was made for, and no more
    than its cache has room for next to its weights. Those of known drafters have room for `DEFAULT_MAX_HELD`."""
    room = max(_CACHE_BYTES, 2 * shape.num_layer_weights) // cache_bytes(shape, 1)
    return min(shape.max_positions, wanted or DEFAULT_MAX_HELD, room)


def cache_bytes(shape: LlamaShape, num_held: int) -> int:
    """The bytes of the keys and values of `num_held` tokens."""
    return 2 * shape.num_layers * shape.num_kv_heads * shape.head_dim * num_held * _FLOAT_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """The weights of one layer. The head dimensions are in the order of Hugging Face checkpoints."""

    attention_norm: torch.Tensor  # [hidden]
    qkv: Matrix  # hidden to (heads + 2 kv_heads) * head_dim: queries, then keys, then values
    attention_out: Matrix  # heads * head_dim to hidden
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: Matrix  # hidden to 2 feed_forward: gate, then up
    down: Matrix  # feed_forward to hidden
    # Those that a variant has.
    query_norm: torch.Tensor | None = None  # [head_dim]
    key_norm: torch.Tensor | None = None  # [head_dim]
    attention_post_norm: torch.Tensor | None = None  # [hidden]
    mlp_post_norm: torch.Tensor | None = None  # [hidden]


@dataclass(frozen=True, slots=True, eq=False)
class LlamaWeights:
    embedding: Embedding
    layers: tuple[LayerWeights, ...]
    final_norm: torch.Tensor  # [hidden]; its device and kind of float are those of the states
    head: Matrix  # hidden to outputs


class LlamaDrafter:
    """A Llama-type model and the one sequence it has read: the `Drafter` of `drafter.interface`, with a cache of
    fixed size. Other weights, such as those with a learned adapter, can be offered to it from other threads."""

    def __init__(self, shape: LlamaShape, weights: LlamaWeights, max_held: int | None = None) -> None:
        """Runs on the device of the weights and in their type. It holds at most `max_held` tokens, and at most the
        positions it was made for."""
        self.shape = shape
        self.weights = weights
        self.max_held = most_held(shape, max_held)
        self.num_held = 0
        self._chunk_size = min(_CHUNK_SIZE, max(1, _CHUNK_BYTES // (_FLOAT_BYTES * shape.widest)))
        device, dtype = weights.final_norm.device, weights.final_norm.dtype
        self._on_cpu = device.type == "cpu"
        self.most_threads = torch.get_num_threads() if self._on_cpu else 1
        self._num_threads = self.most_threads  # of a step
        cache = (2 * shape.num_kv_heads, self.max_held, shape.head_dim)
        with torch.inference_mode():
            # Keys, then values of each layer.
            self._caches = [torch.zeros(cache, device=device, dtype=dtype) for _ in range(shape.num_layers)]
            self._keys_and_values = [torch.chunk(cache, 2) for cache in self._caches]
            halves = (self.max_held, 1, 2, shape.head_dim // 2)
            cosine, sine = rope_tables(shape.rope, self.max_held, shape.head_dim)
            self._cosine = cosine.view(halves).to(device, dtype)
            self._sine = sine.view(halves).to(device, dtype)
            # How much of queries, keys and values is rotated, and how much stays as it is.
            parts = torch.tensor([shape.num_heads, shape.num_kv_heads, shape.num_kv_heads])
            rotated = torch.tensor([shape.head_dim**-0.5, 1.0, 0.0]).repeat_interleave(parts)  # scales queries, too
            self._rotated = rotated.view(-1, 1, 1).to(device, dtype)
            self._unrotated = (rotated == 0).view(-1, 1, 1).to(device, dtype)
            # A part of this strip is the attention mask of a chunk, wherever the chunk ends.
            strip = torch.full((self._chunk_size, self.max_held + self._chunk_size), -torch.inf)
            strip.triu_(self.max_held + 1)
            self._mask_strip = strip.to(device, dtype)
            self._no_states = torch.zeros((1, shape.hidden), device=device, dtype=dtype)
            self._logits = torch.zeros((1, shape.outputs), device=device, dtype=dtype)
            self._final_state = self._no_states
        self._offered: deque[LlamaWeights] = deque(maxlen=1)
        self._original = self._learned = weights
        self._row: LogitRow | None = None
        if self._on_cpu and dtype is torch.float32:
            self._row = self._logits[0].numpy()

    def read(self, tokens: Sequence[int]) -> LogitRow:
        """See `Drafter.read`. Raises ValueError for no tokens, more than fit, or tokens outside the vocabulary."""
        if not tokens or self.num_held + len(tokens) > self.max_held:
            raise ValueError(f"cannot read {len(tokens)} tokens while {self.num_held} of {self.max_held} are held")
        if min(tokens) < 0 or max(tokens) >= self.shape.vocabulary:
            raise ValueError("a token is outside the drafter's vocabulary")
        if len(tokens) > 1 or self._num_threads == self.most_threads:
            return self._read(tokens)
        torch.set_num_threads(self._num_threads)  # for all of torch, so it is taken back at once
        try:
            return self._read(tokens)
        finally:
            torch.set_num_threads(self.most_threads)

    def _read(self, tokens: Sequence[int]) -> LogitRow:
        with torch.inference_mode():
            size = self._chunk_size
            for start in range(0, len(tokens), size):
                chunk = tokens[start : start + size]
                self._read_chunk(chunk, is_last=start + size >= len(tokens))
                self.num_held += len(chunk)
            if self._row is not None:
                self._tell_apart(self._row)
                return self._row
            row: LogitRow = self._logits[0].to("cpu", torch.float32).numpy()
            return row

    def _tell_apart(self, row: LogitRow) -> None:
        """Computes the likeliest tokens' logits exactly where bfloat16 hardly tells them apart: without it, one in a
        hundred of the starter's next tokens would be another one."""
        head, most = self.weights.head, row.max()
        near = np.flatnonzero(row >= most - abs(most) * _NEAR)[:_MOST_NEAR]
        if len(near) > 1 and isinstance(head, Int8Matrix):
            row[near] = head.exact(self._final_state[0], torch.from_numpy(near)).numpy()

    def roll_back(self, num_kept: int) -> None:
        """See `Drafter.roll_back`. Raises ValueError when fewer tokens are held."""
        if not 0 <= num_kept <= self.num_held:
            raise ValueError(f"cannot keep {num_kept} of {self.num_held} tokens")
        self.num_held = num_kept

    can_drop = True

    def drop(self, start: int, end: int) -> None:
        """See `Drafter.drop`. Keys are turned back by as many positions as their tokens move."""
        assert 0 <= start <= end <= self.num_held
        num_dropped, num_moved = end - start, self.num_held - end
        with torch.inference_mode():
            cosine, sine = self._cosine[num_dropped], self._sine[num_dropped]  # [1, 2, head_dim / 2]
            for keys, values in self._keys_and_values:
                moved = keys.narrow(1, end, num_moved)
                halves = moved.view(len(keys), num_moved, 2, -1)
                keys.narrow(1, start, num_moved).copy_((halves * cosine - halves.flip(2) * sine).view_as(moved))
                values.narrow(1, start, num_moved).copy_(values.narrow(1, end, num_moved).clone())
        self.num_held -= num_dropped

    def use_threads(self, num_threads: int) -> None:
        self._num_threads = num_threads

    def offer(self, weights: LlamaWeights) -> None:
        """Offers other weights of the same shape and form, which the next `refresh` takes. From any thread."""
        self._offered.append(weights)

    def refresh(self, is_original: bool = False) -> bool:
        with suppress(IndexError):
            self._learned = self._offered.pop()
        wanted = self._original if is_original else self._learned
        if wanted is self.weights:
            return False
        self.weights, self.num_held = wanted, 0
        return True

    def _read_chunk(self, tokens: Sequence[int], is_last: bool) -> None:
        """Fills the cache for `tokens`; the last chunk also leaves the logits after its last token."""
        weights = self.weights
        states = weights.embedding.look_up(tokens)  # [tokens, hidden]
        cosine, sine = (table.narrow(0, self.num_held, len(tokens)) for table in (self._cosine, self._sine))
        cosine, sine = torch.addcmul(self._unrotated, cosine, self._rotated), sine * self._rotated
        final_layer = len(weights.layers) - 1
        for index, layer in enumerate(weights.layers):
            heads = layer.qkv.times(self._norm(states, layer.attention_norm))
            queries = self._rotate_and_cache(index, heads, cosine, sine)
            if index == final_layer:
                if not is_last:
                    return
                # The other states of the final layer are not needed.
                queries, states = queries[:, -1:], states[-1:]
            mixed = self._attend(index, queries, len(tokens))
            states = layer.attention_out.added(states, mixed)
            gate, up = layer.gate_up.times(self._norm(states, layer.mlp_norm)).chunk(2, 1)
            states = layer.down.added(states, functional.silu(gate).mul_(up))
        self._final_state = self._norm(states, weights.final_norm)
        self._logits.copy_(weights.head.times(self._final_state))

    def _norm(self, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """RMSNorm, [rows, hidden]."""
        if self._on_cpu and len(states) == 1:
            # torch composes it on a CPU, which takes three times as long.
            row = states[0]
            mean_square = torch.dot(row, row).item() / self.shape.hidden + self.shape.norm_epsilon
            return torch.addcmul(self._no_states, states, weight, value=mean_square**-0.5)
        return functional.rms_norm(states, (self.shape.hidden,), weight, self.shape.norm_epsilon)

    def _rotate_and_cache(
        self, index: int, heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
    ) -> torch.Tensor:
        """Rotates queries and keys by their positions, and puts keys and values into the cache.

        `heads` is [tokens, (heads + 2 kv_heads) * head_dim], cosine and sine are [tokens, heads + 2 kv_heads, 2,
        head_dim / 2]. Returns the queries, scaled for attention, [heads, tokens, head_dim].
        """
        shape, size = self.shape, len(heads)
        halves = heads.view(size, -1, 2, shape.head_dim // 2)
        rotated = torch.addcmul(halves * cosine, halves.flip(2), sine).view(size, -1, shape.head_dim).transpose(0, 1)
        new = rotated.narrow(0, shape.num_heads, 2 * shape.num_kv_heads)
        self._caches[index].narrow(1, self.num_held, size).copy_(new)
        return rotated.narrow(0, 0, shape.num_heads)

    def _attend(self, index: int, queries: torch.Tensor, num_new: int) -> torch.Tensor:
        """Attention of the last rows of `num_new` tokens to all: [heads, rows, head_dim] to [rows, inputs]."""
        num_heads, num_rows, head_dim = queries.shape
        end = self.num_held + num_new
        keys, values = (part.narrow(1, 0, end) for part in self._keys_and_values[index])
        if num_rows == 1:  # three plain products take a third of the time
            chances = torch.bmm(queries.reshape(len(keys), -1, head_dim), keys.transpose(1, 2)).softmax(-1)
            return torch.bmm(chances, values).view(1, -1)
        first = end - num_rows  # the position of the first row
        mixed = functional.scaled_dot_product_attention(
            queries[None],
            keys[None],
            values[None],
            attn_mask=self._mask_strip[:num_rows, self.max_held - first : self.max_held - first + end],
            scale=1.0,
            enable_gqa=num_heads != len(keys),
        )
        return mixed[0].transpose(0, 1).reshape(num_rows, -1)
