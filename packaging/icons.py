"""Draws the app's icon in every size that a system asks for: PNGs, an .ico for Windows and an .icns for macOS.

    python packaging/icons.py OUT [SVG]

OUT is a folder; it then holds `slipstream-16.png` to `slipstream-1024.png`, `slipstream.ico` and `slipstream.icns`.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "resources" / "icons" / "slipstream.svg"
LINUX_SIZES = (16, 22, 24, 32, 48, 64, 96, 128, 256, 512)
SIZES = (*LINUX_SIZES, 1024)
_ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# Apple's names for the kinds of PNG, with the size in pixels.
_ICNS_KINDS = (
    (b"icp4", 16), (b"icp5", 32), (b"icp6", 64), (b"ic07", 128), (b"ic08", 256), (b"ic09", 512), (b"ic10", 1024),
    (b"ic11", 32), (b"ic12", 64), (b"ic13", 256), (b"ic14", 512),
)  # fmt: skip


def draw(svg: Path, sizes: tuple[int, ...]) -> dict[int, bytes]:
    """PNG files by size in pixels, with a transparent background."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    application = QGuiApplication.instance() or QGuiApplication([])
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise SystemExit(f"{svg} cannot be drawn.")
    pictures = {}
    for size in sizes:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")
        pictures[size] = bytes(data.data())
    del application
    return pictures


def ico(pictures: Mapping[int, bytes]) -> bytes:
    """A directory of pictures, then the pictures; Windows reads PNGs in it since Vista."""
    entries, bodies = b"", b""
    start = 6 + 16 * len(_ICO_SIZES)
    for size in _ICO_SIZES:
        picture = pictures[size]
        side = size % 256  # 0 stands for 256
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(picture), start + len(bodies))
        bodies += picture
    return struct.pack("<HHH", 0, 1, len(_ICO_SIZES)) + entries + bodies


def icns(pictures: Mapping[int, bytes]) -> bytes:
    body = b"".join(kind + struct.pack(">I", 8 + len(pictures[size])) + pictures[size] for kind, size in _ICNS_KINDS)
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def main(folder: Path, svg: Path = SOURCE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = draw(svg, SIZES)
    for size, picture in pictures.items():
        (folder / f"slipstream-{size}.png").write_bytes(picture)
    (folder / "slipstream.ico").write_bytes(ico(pictures))
    (folder / "slipstream.icns").write_bytes(icns(pictures))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
