"""Pictures of the documents: what they show is real or called an illustration, and an animation holds its frames."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

from tests.pictures.animation import write_animation
from tests.pictures.real import CAPTION, DOCUMENTS, NAMES, Film, side_by_side, write_caption

ROOT = Path(__file__).parents[2]
PICTURE = re.compile(r"^!\[[^\]]*\]\((?:docs/)?pictures/([\w-]+?)(?:-light)?\.png\)\n\n(.*)$", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_picture_is_of_a_real_reply_or_says_that_it_is_an_illustration(document: Path) -> None:
    pictures = PICTURE.findall((ROOT / document).read_text("utf-8"))
    assert len(pictures) == (ROOT / document).read_text("utf-8").count("![")
    for name, caption in pictures:
        assert CAPTION.match(caption) if name in NAMES else caption.startswith("*Illustration"), name


def test_a_caption_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for document in DOCUMENTS:
        (tmp_path / document).write_text("Before.\n\n*A real reply, 1.1×.*\n\n*Illustration*\n", "utf-8")
    write_caption("*A real reply, 1.5×.*", tmp_path)
    for document in DOCUMENTS:
        text = (tmp_path / document).read_text("utf-8")
        assert text == "Before.\n\n*A real reply, 1.5×.*\n\n*Illustration*\n"


def test_two_films_run_side_by_side_in_real_time(qapp: QApplication) -> None:  # noqa: ARG001
    slow = Film("Without", ((0.0, filled("red")), (0.25, filled("black"))), 0.25)
    quick = Film("With", ((0.0, filled("red")), (0.1, filled("blue"))), 0.1)
    frames = side_by_side((slow, quick))
    below = frames[0][0].height() - 1
    shown = [[QColor(image.pixel(x, below)).name() for x in (0, image.width() - 1)] for image, _ in frames]
    red, black, blue = (QColor(name).name() for name in ("red", "black", "blue"))
    assert shown == [[red, red], [red, blue], [red, blue], [black, blue]]
    assert [seconds for _, seconds in frames[:-1]] == [0.1] * 3


def filled(colour: str) -> QImage:
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    return image


def test_an_animation_holds_its_frames_and_their_times(tmp_path: Path) -> None:
    frames = []
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    for place, seconds in ((3, 0.1), (3, 0.2), (20, 0.5), (39, 2.0)):
        image = image.copy()
        image.setPixelColor(place, place % 30, QColor(place, 0, 200))
        frames.append((image, seconds))
    write_animation(tmp_path / "a.png", frames)
    found = decoded((tmp_path / "a.png").read_bytes())
    assert [round(seconds, 3) for _, seconds in found] == [0.3, 0.5, 2.0], "equal frames are one"
    for (picture, _), (wanted, _) in zip(found, frames[1:], strict=True):
        assert [QColor(*picture[y, x]) for y in range(30) for x in range(40)] == [
            wanted.pixelColor(x, y) for y in range(30) for x in range(40)
        ]


def decoded(data: bytes) -> list[tuple[np.ndarray, float]]:
    """The frames, [height, width, 3], as a browser puts them together, and how long each is shown."""
    at, chunks = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    width, height = struct.unpack(">II", dict(chunks)[b"IHDR"][:8])
    palette = np.frombuffer(dict(chunks)[b"PLTE"], np.uint8).reshape(-1, 3)
    canvas, frames, numbers = np.zeros((height, width, 3), np.uint8), [], []
    area, seconds = (0, 0, 0, 0), 0.0
    for kind, body in chunks:
        if kind == b"fcTL":
            numbers.append(struct.unpack(">I", body[:4])[0])
            area, (share, whole) = struct.unpack(">IIII", body[4:20]), struct.unpack(">HH", body[20:24])
            seconds = share / whole
        elif kind in (b"IDAT", b"fdAT"):
            if kind == b"fdAT":
                numbers.append(struct.unpack(">I", body[:4])[0])
            pixels = np.frombuffer(zlib.decompress(body if kind == b"IDAT" else body[4:]), np.uint8)
            rows = pixels.reshape(area[1], 1 + area[0])
            assert not rows[:, 0].any(), "no filter"
            canvas[area[3] : area[3] + area[1], area[2] : area[2] + area[0]] = palette[rows[:, 1:]]
            frames.append((canvas.copy(), seconds))
    assert numbers == list(range(len(numbers)))
    return frames
