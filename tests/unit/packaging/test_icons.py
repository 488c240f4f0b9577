from __future__ import annotations

import runpy
import struct
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

SCRIPT = Path(__file__).parents[3] / "packaging" / "icons.py"


@pytest.fixture
def icons(qapp: QApplication, tmp_path: Path) -> Path:  # noqa: ARG001 - Qt draws only with an application
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    return tmp_path


def test_there_is_a_picture_of_every_size(icons: Path) -> None:
    sizes = sorted(int(path.stem.rpartition("-")[2]) for path in icons.glob("slipstream-*.png"))
    assert sizes == [16, 22, 24, 32, 48, 64, 96, 128, 256, 512, 1024]
    for size in sizes:
        picture = QImage(str(icons / f"slipstream-{size}.png"))
        assert (picture.width(), picture.height()) == (size, size)
        assert picture.pixelColor(0, 0).alpha() == 0, "the ground is transparent"
        assert picture.pixelColor(size // 2, size // 4).alpha() == 255


def test_windows_finds_every_picture_where_the_file_says(icons: Path) -> None:
    data = (icons / "slipstream.ico").read_bytes()
    reserved, kind, count = struct.unpack_from("<HHH", data)
    assert (reserved, kind, count) == (0, 1, 7)
    end = 0
    for index in range(count):
        width, height, _, _, _, depth, length, start = struct.unpack_from("<BBBBHHII", data, 6 + 16 * index)
        picture = QImage.fromData(data[start : start + length])
        assert (picture.width() % 256, picture.height() % 256, depth) == (width, height, 32)
        end = start + length
    assert end == len(data)


def test_macos_finds_every_picture_where_the_file_says(icons: Path) -> None:
    data = (icons / "slipstream.icns").read_bytes()
    assert data[:4] == b"icns"
    assert struct.unpack_from(">I", data, 4)[0] == len(data)
    place, kinds = 8, []
    while place < len(data):
        length = struct.unpack_from(">I", data, place + 4)[0]
        kinds.append(data[place : place + 4])
        assert not QImage.fromData(data[place + 8 : place + length]).isNull()
        place += length
    assert place == len(data)
    assert len(set(kinds)) == len(kinds) == 11
