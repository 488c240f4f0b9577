"""Files that are read as text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.backend.exchange import read_text
from engine.values.errors import FileUnusable


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("grün\r\nblau\r".encode(), "grün\nblau\n"),
        ("grün".encode("utf-8-sig"), "grün"),
        ("grün 𝄞".encode("utf-16"), "grün 𝄞"),
        (b"\xfe\xff" + "grün".encode("utf-16-be"), "grün"),
        ("grün".encode("utf-32"), "grün"),
        ("grün – “so”".encode("cp1252"), "grün – “so”"),
        (b"latin \x81", "latin \x81"),
    ],
)
def test_text_is_read_in_the_usual_encodings(tmp_path: Path, raw: bytes, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(raw)
    file = read_text(path)
    assert (file.text, file.num_bytes) == (text, len(raw))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\x7fELF\x00\x01", "is not a text file"),
        (b"\xff\xfe\x00\xd8", "is not a text file"),
        (b" \n ", "is empty"),
        (b"x" * 1_500_000, r"is 1\.5 MB; attach text of at most 1 MB"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, raw: bytes, words: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(raw)
    with pytest.raises(FileUnusable, match=words):
        read_text(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("gone", "pipe", "."):
        with pytest.raises(FileUnusable, match=r"choose another file|is not a file; choose a text file"):
            read_text(tmp_path / name)
