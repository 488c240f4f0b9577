"""Heads as torch runs them: one product for all of them, and one with the target's own output matrix.

With h the target's state, e the embedding of the pending token and r the size of usual states, head k guesses by the
logits O (h + r SiLU(Wₖ [h / r, e /

e

] + bₖ)). Medusa's heads (arXiv 2401.10774) see h alone, and have to guess what was drawn from it, too; knowing it is
what gains most in Hydra (arXiv 2402.05109). O has the rows of the target's output matrix for its most frequent tokens,
which are read from the target's file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch.nn import functional

from engine.speculation.drafter.files import open_file
from engine.speculation.drafter.gguf_shape import is_readable, read_rows
from engine.speculation.drafter.heads_folder import WEIGHTS, HeadsConfig, check_target, damaged, read_heads_config
from engine.speculation.drafter.matrices import DenseMatrix, Int8Matrix, Int8Rows
from engine.speculation.model.files.gguf_header import TensorPlace, read_header
from engine.speculation.model.files.model_files import part_paths
from engine.values.errors import DrafterUnusable

NUM_GUESSES = 4  # of each head, the likeliest
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"
_LONGEST_HEADER = 4096  # bytes, of a file of four tensors
_AT_ONCE = 4096  # rows that are spread out to float32


@dataclass(frozen=True, slots=True, eq=False)
class HeadWeights:
    """The learned weights, and the target's tokens that they are for."""

    matrix: Int8Rows  # [heads · hidden, 2 hidden]
    bias: torch.Tensor  # float32 [heads · hidden]
    outputs: torch.Tensor  # int32 [outputs]: the tokens that can be guessed
    scale: float  # r

    @property
    def hidden(self) -> int:
        return self.matrix.values.shape[1] // 2

    @property
    def num_heads(self) -> int:
        return len(self.bias) // self.hidden


class TargetMatrices:
    """The embeddings and the output matrix in a target's file, of which single rows are read."""

    def __init__(self, path: Path) -> None:
        """Raises DrafterUnusable where they cannot be read, and what reading a header does."""
        tensors = read_header(path).tensors
        embedding = tensors.get(_EMBEDDING)
        output = tensors.get(_OUTPUT, embedding)
        if embedding is None or output is None or len(part_paths(path)) > 1 or not _is_pair(embedding, output):
            raise DrafterUnusable(
                "The matrices of {name} cannot be read for heads; choose another drafter.", name=path.name
            )
        self._path = path
        self._embedding = embedding
        self._output = output

    @property
    def hidden(self) -> int:
        return self._output.shape[0]

    @property
    def num_tokens(self) -> int:
        return self._output.shape[1]

    def embeddings(self, tokens: npt.NDArray[np.int32]) -> torch.Tensor:
        """float32 [tokens, hidden], each of mean square 1."""
        rows = self._rows(self._embedding, tokens)
        return rows / rows.square().mean(-1, keepdim=True).sqrt().clamp_min_(torch.finfo(torch.float32).tiny)

    def outputs(self, tokens: npt.NDArray[np.int32]) -> Int8Rows:
        """[tokens, hidden]"""
        parts = [
            Int8Rows.of(self._rows(self._output, tokens[start : start + _AT_ONCE]))
            for start in range(0, len(tokens), _AT_ONCE)
        ]
        return Int8Rows(torch.cat([part.values for part in parts]), torch.cat([part.scales for part in parts]))

    def _rows(self, place: TensorPlace, tokens: npt.NDArray[np.int32]) -> torch.Tensor:
        return torch.from_numpy(read_rows(self._path, place, ((token, token + 1) for token in tokens.tolist())))


def _is_pair(embedding: TensorPlace, output: TensorPlace) -> bool:
    same = embedding.shape == output.shape and len(output.shape) == 2
    return same and is_readable(embedding) and is_readable(output)


class TorchHeads:
    """Implements `drafter.interface.Heads`."""

    def __init__(self, weights: HeadWeights, target: TargetMatrices) -> None:
        self.hidden = weights.hidden
        self._num_heads = weights.num_heads
        self._scale = weights.scale
        self._tokens: list[int] = weights.outputs.tolist()
        self._matrix = _runnable(weights.matrix, weights.bias)
        self._output = _runnable(target.outputs(weights.outputs.numpy()))
        self._target = target

    @torch.inference_mode()
    def guess(self, state: npt.NDArray[np.float32], pending: int) -> tuple[list[list[int]], list[list[float]]]:
        own = torch.tensor(state)[None]
        known = self._target.embeddings(np.array([pending], np.int32))
        added = functional.silu(self._matrix.times(torch.cat((own / self._scale, known), 1)).to(torch.float32))
        states = own + self._scale * added.view(self._num_heads, self.hidden)
        probabilities = self._output.times(states).to(torch.float32).softmax(-1)
        best, places = probabilities.topk(min(NUM_GUESSES, len(self._tokens)))
        return [[self._tokens[place] for place in row] for row in places.tolist()], best.tolist()


def _runnable(rows: Int8Rows, bias: torch.Tensor | None = None) -> Int8Matrix | DenseMatrix:
    return Int8Matrix(rows, bias) if rows.can_run else DenseMatrix(rows.dense().t().contiguous(), bias)


def load_heads(folder: Path, target: Path) -> TorchHeads:
    """Loads the heads of a folder for the target in a file. Nothing is read before it is known to have the right size.
    Raises DrafterUnusable, and what reading the target's header does."""
    config = read_heads_config(folder)
    check_target(config, target, folder)
    matrices = TargetMatrices(target)
    if config.hidden_size != matrices.hidden:
        raise damaged(folder)
    weights = _read(folder, config)
    if weights.outputs.min() < 0 or weights.outputs.max() >= matrices.num_tokens:
        raise damaged(folder)
    return TorchHeads(weights, matrices)


def save_heads(weights: HeadWeights) -> bytes:
    tensors = {
        "weight": weights.matrix.values,
        "scales": weights.matrix.scales,
        "bias": weights.bias,
        "outputs": weights.outputs,
    }
    return save(tensors, metadata={"format": "pt"})


def _read(folder: Path, config: HeadsConfig) -> HeadWeights:
    rows = config.num_heads * config.hidden_size
    expected = {
        "weight": (torch.int8, (rows, 2 * config.hidden_size)),
        "scales": (torch.float32, (rows,)),
        "bias": (torch.float32, (rows,)),
        "outputs": (torch.int32, (config.num_outputs,)),
    }
    try:
        with open_file(folder / WEIGHTS) as file:
            data = file.read(config.num_bytes + _LONGEST_HEADER)
        found = load(data)
    except (OSError, ValueError, SafetensorError) as error:
        raise damaged(folder) from error
    if {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in found.items()} != expected:
        raise damaged(folder)
    if not all(found[name].isfinite().all() for name in ("scales", "bias")):
        raise damaged(folder)
    return HeadWeights(Int8Rows(found["weight"], found["scales"]), found["bias"], found["outputs"], config.scale)
