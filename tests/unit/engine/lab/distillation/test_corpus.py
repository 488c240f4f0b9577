"""Conversations as a target wrote them, read back as turns, and the labels beside them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from engine.lab.distillation.corpus import corpus_files, read_labels, read_lessons, write_labels
from engine.speculation.learning.samples import Labels
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import FileUnusable
from tests.unit.engine.speculation.learning.made import ids, lesson

PIECES = [bytes([value]) for value in range(256)] + [b"<|im_start|>", b"<|im_end|>"]
START, END = 256, 257


def conversation(prompt: str, reply: str, finished: bool = True) -> str:
    before = [START, *b"system\nBe brief.", END, *b"\n", START, *b"user\n", *prompt.encode(), END, *b"\n"]
    before += [START, *b"assistant\n"]
    return json.dumps({"ids": [*before, *reply.encode(), *([END] if finished else [])], "a": len(before)})


def test_a_line_is_a_reply_and_the_turns_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(conversation("Grüße?", "Hallo\nda") + "\n" + conversation("More", "cut", finished=False) + "\n")
    first, second = read_lessons(path, PIECES)
    assert first.turns == (ChatTurn(Role.SYSTEM, "Be brief."), ChatTurn(Role.USER, "Grüße?"))
    assert first.reply.tolist() == [*b"Hallo\nda", END]
    assert second.reply.tolist() == [*b"cut"]
    assert (first.line, second.line) == (0, 1)


def test_turns_may_be_given_where_the_template_is_another(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = {"ids": [*b"[INST] A [/INST] B"], "a": 16, "turns": [{"role": "user", "text": "A"}]}
    path.write_text(json.dumps(line))
    (lesson,) = read_lessons(path, PIECES)
    assert lesson.turns == (ChatTurn(Role.USER, "A"),)
    assert lesson.reply.tolist() == [*b" B"]


def test_a_folder_stands_for_its_files_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "about.json"):
        (tmp_path / name).write_text("{}")
    assert corpus_files([tmp_path, Path("c.xz")]) == [tmp_path / "a.jsonl", tmp_path / "b.jsonl", Path("c.xz")]
    with pytest.raises(FileUnusable, match="no conversation"):
        corpus_files([])


def test_a_corpus_may_be_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.xz"
    with lzma.open(path, "wt") as file:
        file.write(conversation("A", "B"))
    assert [lesson.reply.tolist() for lesson in read_lessons(path, PIECES)] == [[*b"B", END]]


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[1]",
        '{"ids": [1, 2]}',
        '{"ids": [1, 9999], "a": 1}',
        '{"ids": [1, -1], "a": 1}',
        '{"ids": 3, "a": 1}',
        '{"ids": [1, 2], "a": 3}',
        '{"ids": [1, 2], "a": true}',
        '{"ids": [1, 99999999999999], "a": 1}',
        '{"ids": [1, 2], "a": 1, "turns": [{"role": "pope", "text": "A"}]}',
    ],
)
def test_a_line_that_is_no_conversation_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(conversation("A", "B") + "\n" + line)
    with pytest.raises(FileUnusable, match="Line 2"):
        list(read_lessons(path, PIECES))


def test_a_file_that_is_missing_or_cut_short_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="cannot be read"):
        list(read_lessons(tmp_path / "nothing.jsonl", PIECES))
    path = tmp_path / "a.jsonl.xz"
    path.write_bytes(lzma.compress(conversation("A", "B").encode())[:-20])
    with pytest.raises(FileUnusable, match="cannot be read"):
        list(read_lessons(path, PIECES))


LESSONS = {line: lesson(ids(text), line) for line, text in ((3, b"The fox"), (5, b"!!"), (9, b"a dog"))}


def _write(path: Path, lines: list[int]) -> None:
    num_rows = sum(len(LESSONS[line].reply) for line in lines)
    tokens = np.arange(2 * num_rows, dtype=np.int32).reshape(num_rows, 2)
    write_labels(path, lines, [Labels(tokens, -tokens.astype(np.float16))])


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
