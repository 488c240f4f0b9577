"""Labels are kept beside the corpus that they speak of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import FileUnusable
from engine.learning.labels import read_labels, write_labels
from tests.unit.engine.learning.made import ids, lesson

LESSONS = {line: lesson(ids(text), line) for line, text in ((3, b"The fox"), (5, b"!!"), (9, b"a dog"))}


def _write(path: Path, lines: list[int]) -> None:
    num_rows = sum(len(LESSONS[line].reply) for line in lines)
    tokens = np.arange(2 * num_rows, dtype=np.int32).reshape(num_rows, 2)
    write_labels(path, lines, tokens, -tokens.astype(np.float16))


def test_every_lesson_gets_its_own_rows(tmp_path: Path) -> None:
    first, second = tmp_path / "0.safetensors", tmp_path / "1.safetensors"
    _write(first, [9, 3])
    _write(second, [5])
    labels = read_labels([first, second], LESSONS)
    assert {line: len(label.tokens) for line, label in labels.items()} == {
        line: len(each.reply) for line, each in LESSONS.items()
    }
    assert labels[9].tokens[0].tolist() == [0, 1]
    assert labels[3].tokens[0].tolist() == [2 * len(LESSONS[9].reply), 2 * len(LESSONS[9].reply) + 1]
    assert (labels[3].log_probabilities == -labels[3].tokens).all()


def test_labels_of_another_corpus_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.safetensors"
    _write(path, [3, 5])
    for lessons in ({3: LESSONS[3]}, {3: LESSONS[3], 5: LESSONS[9]}):
        with pytest.raises(FileUnusable, match="do not fit the corpus"):
            read_labels([path], lessons)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(FileUnusable, match="remove the file"):
        read_labels([path], LESSONS)
