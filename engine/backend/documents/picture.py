"""Pictures, made so that any target can see them: upright, in RGB on white, no larger than one looks, and with nothing
of where and when they were taken. Runs in the child."""

from __future__ import annotations

import zlib
from hashlib import sha256
from io import BytesIO
from struct import unpack_from
from typing import BinaryIO

from PIL import Image, ImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from engine.backend.documents.limits import Unreadable
from engine.values.pictures import MOST_SIDE, Picture

MOST_PIXELS = 40_000_000  # in memory, where each takes four bytes
_READERS: dict[str, type[ImageFile.ImageFile]] = {  # one kind, one reader: none is tried on what it was not made for
    "png": PngImageFile,
    "jpeg": JpegImageFile,
    "gif": GifImageFile,
    "webp": WebPImageFile,
    "bmp": BmpImageFile,
    "tiff": TiffImageFile,
}
Image.preinit()  # what saving would import, while that can be opened
_ORIENTATION = 0x0112  # in Exif
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_STRIP_PIXELS = 1_000_000  # made smaller at once: a second picture of full size would take too much memory
_QUALITY = 92  # of JPEG
_MOST_FOR_PNG = 2  # times as large as JPEG may PNG be that is hardly compressed, before it is compressed well
_PLAIN_JPEG = frozenset(b"\xe0\xdb\xc0\xc4\xda")  # the only markers in what is written here


def read_picture(file: BinaryIO, kind: str) -> Picture:
    """Raises Unreadable, MemoryError, and whatever Pillow raises for what is damaged."""
    image = _READERS[kind](file)
    ratio = MOST_SIDE / max(*image.size, MOST_SIDE)
    image.draft("RGB", (max(1, int(image.width * ratio)), max(1, int(image.height * ratio))))  # JPEG alone has a draft
    if image.width * image.height > MOST_PIXELS:
        raise too_large()
    image.load()
    orientation = image.getexif().get(_ORIENTATION)
    image.fp = None
    if isinstance(image, WebPImageFile):
        image._decoder = None  # it and what was read from it take three times as much memory as the picture
    small = _made_small(image)
    if orientation in _UPRIGHT:
        small = small.transpose(_UPRIGHT[orientation])
    data = _written(small)
    return Picture(sha256(data).hexdigest(), data, *small.size)


def too_large() -> Unreadable:
    return Unreadable("{name} is too large; make it smaller and attach that.")


def _made_small(image: Image.Image) -> Image.Image:
    """A copy in RGB, reduced by a whole number first, strip by strip."""
    factor = max(1, max(image.size) // MOST_SIDE)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    rows = factor * max(1, _STRIP_PIXELS // image.width // factor)
    for top in range(0, image.height, rows):
        strip = _on_white(image, (0, top, image.width, min(top + rows, image.height)))
        small.paste(strip.reduce(factor), (0, top // factor))
    small.thumbnail((MOST_SIDE, MOST_SIDE), Image.Resampling.LANCZOS)
    return small


def _on_white(image: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    """A part of it, in RGB."""
    strip = image.crop(box)
    if image.mode[0] in "IF":  # whole numbers of 16 or 32 bits, or others: as bright as what is in it
        low, high = (0, 65535) if image.mode.startswith("I;16") else image.getextrema()
        scale = 255 / max(high - low, 1e-9)  # type: ignore[operator]
        strip = strip.convert("F").point(lambda value: value * scale + (-low * scale)).convert("L")  # type: ignore[operator]
    if not strip.has_transparency_data:
        return strip.convert("RGB")
    seen = strip.convert("RGBA")
    white = Image.new("RGB", strip.size, "white")
    white.paste(seen, mask=seen)
    return white


def _written(image: Image.Image) -> bytes:
    """A PNG, which loses nothing, unless a JPEG is smaller."""
    image.info.clear()
    jpeg, png = BytesIO(), BytesIO()
    image.save(jpeg, "JPEG", quality=_QUALITY, subsampling=0)
    image.save(png, "PNG", compress_level=1)
    if png.tell() < _MOST_FOR_PNG * jpeg.tell():
        png = BytesIO()
        image.save(png, "PNG", compress_level=6)
    return min(png, jpeg, key=BytesIO.tell).getvalue()


def size_of(data: bytes) -> tuple[int, int] | None:
    """The size of a picture that was written here, which is decoded whole; None for any other data."""
    is_png = data.startswith(b"\x89PNG")
    try:
        image = (PngImageFile if is_png else JpegImageFile)(BytesIO(data))
        is_plain = _is_plain_png(data) if is_png else _is_plain_jpeg(data)
        if not is_plain or image.mode != "RGB" or max(image.size) > MOST_SIDE:
            return None
        image.load()
    except Exception:  # whatever Pillow makes of it
        return None
    return image.size


def _is_plain_png(data: bytes) -> bool:
    """Checks that it holds pixels alone, and no more of them than its size says. Raises struct.error and zlib.error."""
    place, chunks = 8, []
    while place < len(data):
        length, name = unpack_from(">I4s", data, place)
        chunks.append((name, data[place + 8 : place + 8 + length]))
        place += 12 + length
    width, height, *form = unpack_from(">IIBBBBB", chunks[0][1])
    inflating = zlib.decompressobj()
    num_bytes = height * (1 + 3 * width)
    rows = inflating.decompress(b"".join(raw for _, raw in chunks[1:-1]), num_bytes + 1)
    names = [name for name, _ in chunks]
    return (
        (place, form) == (len(data), [8, 2, 0, 0, 0])
        and names == [b"IHDR", *[b"IDAT"] * (len(names) - 2), b"IEND"]
        and (len(rows), inflating.eof, inflating.unused_data) == (num_bytes, True, b"")
        and max(rows[:: 1 + 3 * width]) <= 4  # the kinds of filters
    )


def _is_plain_jpeg(data: bytes) -> bool:
    """Checks that it is a single scan and nothing else. Raises struct.error."""
    place, marker = 2, 0
    while marker != 0xDA:
        start, marker, length = unpack_from(">BBH", data, place)
        if start != 0xFF or marker not in _PLAIN_JPEG or (marker == 0xE0 and length != 16):
            return False
        place += 2 + length
    scan, end = data[place:-2], data[-2:]
    return end == b"\xff\xd9" and scan.count(b"\xff") == scan.count(b"\xff\x00")
