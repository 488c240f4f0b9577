"""The target's own distribution at every token of a reply, as far as its likeliest tokens go, and the files that keep
it.

A file is safetensors: `records` (the lines of the corpus it speaks of, int32), and for all reply tokens of these lines
in order `tokens` (int32, [n, k]) and `log_probabilities` (float16, [n, k]): natural logarithms, at temperature 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from engine.errors import FileUnusable
from engine.learning.corpus import CorpusLesson
from engine.learning.files import write_whole

NUM_LIKELIEST = 24  # tokens of a label


@dataclass(frozen=True, slots=True)
class Labels:
    """For the n tokens of one reply: what the target thought before it wrote each of them."""

    tokens: npt.NDArray[np.int32]  # shape (n, k), the target's, likeliest first
    log_probabilities: npt.NDArray[np.float16]  # shape (n, k)


def write_labels(
    path: Path, lines: Sequence[int], tokens: npt.NDArray[np.int32], logs: npt.NDArray[np.float16]
) -> None:
    """Raises FileUnusable."""
    write_whole(path, save({"records": np.array(lines, np.int32), "tokens": tokens, "log_probabilities": logs}))


def read_labels(files: Sequence[Path], lessons: Mapping[int, CorpusLesson]) -> dict[int, Labels]:
    """By line; `lessons` are those of the corpus file that the labels belong to. Raises FileUnusable."""
    found: dict[int, Labels] = {}
    for path in files:
        try:
            content = load_file(path)
            lines, tokens, logs = content["records"], content["tokens"], content["log_probabilities"]
            start = 0
            for line in lines.tolist():
                end = start + len(lessons[line].reply)
                found[line] = Labels(tokens[start:end], logs[start:end])
                start = end
            if tokens.shape != logs.shape or tokens.ndim != 2 or start != len(tokens):
                raise ValueError("the labels are of other conversations")
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise FileUnusable(f"The labels in {path} do not fit the corpus ({error}); remove the file.") from error
    return found
