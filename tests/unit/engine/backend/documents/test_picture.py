"""Pictures, made so that any target can see them. Those that mean harm end in a sentence, quickly and in little
memory."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from engine.backend.documents import apart, check_pictures, read_attached, read_picture, reading
from engine.backend.documents.picture import size_of
from engine.values.conversations import TextFile
from engine.values.errors import FileUnusable
from engine.values.pictures import MOST_SIDE, Picture
from engine.values.stop_signal import StopSignal

STOP = StopSignal()
WHERE = b"taken at home"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are read in this process, which keeps its doors open: a child takes a while to start."""
    monkeypatch.setattr(apart, "_shut_doors", lambda: None)
    monkeypatch.setattr(reading, "ask_child", lambda look, arguments, _is_stopped, _limits: look(*arguments))


def two_sides(size: tuple[int, int] = (40, 20)) -> Image.Image:
    """Red on the left, and blue on the right."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (size[0] // 2, 0, *size))
    return image


def written(image: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def seen(data: bytes, name: str = "a") -> Image.Image:
    """What comes of a pasted file, which is to be plain, and named by its digest."""
    picture = read_picture(Path(name), data, STOP)
    assert picture.digest == sha256(picture.data).hexdigest()
    assert size_of(picture.data) == (picture.width, picture.height)
    assert WHERE not in picture.data
    return Image.open(BytesIO(picture.data))


def are_near(left: object, right: tuple[int, ...]) -> bool:
    assert isinstance(left, tuple)
    return all(abs(one - other) < 12 for one, other in zip(left, right, strict=True))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_any_kind_is_read_whatever_it_is_called(tmp_path: Path, kind: str) -> None:
    frames = {"save_all": True, "append_images": [Image.new("RGB", (40, 20), "black")]} if kind == "GIF" else {}
    path = tmp_path / "a.txt"
    path.write_bytes(written(two_sides(), kind, **frames))
    picture = read_attached(path, STOP)
    assert isinstance(picture, Picture)
    image = Image.open(BytesIO(picture.data))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (40, 20))
    assert are_near(image.getpixel((5, 10)), (255, 0, 0))
    assert are_near(image.getpixel((35, 10)), (0, 0, 255))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_it_stands_upright_and_tells_nothing_beside_its_pixels(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, WHERE.decode()
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", WHERE.decode())
    options = {"pnginfo": text} if kind == "PNG" else {}
    data = written(two_sides(), kind, exif=exif, icc_profile=WHERE, **options)
    assert WHERE in data
    image = seen(data)
    assert image.size == (20, 40)
    assert are_near(image.getpixel((10, 5)), (255, 0, 0)), "the left side is now above"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode: str) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (4, 0, 8, 8))
    shown = seen(written(image.convert(mode), "PNG"))
    assert [shown.getpixel((x, 4)) for x in (1, 6)] == [(255, 255, 255), (0, 0, 0)]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("size", "becomes"), [((5000, 500), (2048, 205)), ((1, 60_000), (1, 2048)), ((3000, 1), (2048, 1))]
)
def test_a_large_one_becomes_as_large_as_one_looks(size: tuple[int, int], becomes: tuple[int, int]) -> None:
    image = seen(written(two_sides(size), "PNG"))
    assert image.size == becomes
    if becomes[0] > 1:
        assert are_near(image.getpixel((becomes[0] - 1, 0)), (0, 0, 255))


@pytest.mark.usefixtures("here")
def test_a_photo_becomes_a_jpeg_and_shades_of_16_bits_stay() -> None:
    noise = Image.effect_noise((200, 100), 80).convert("RGB")
    assert seen(written(noise, "PNG")).format == "JPEG"
    shades = Image.new("I;16", (2, 1))
    shades.putpixel((1, 0), 32768)
    shown = seen(written(shades, "PNG"))
    assert [shown.getpixel((x, 0)) for x in (0, 1)] == [(0, 0, 0), (127, 127, 127)]


@pytest.mark.usefixtures("here")
def test_only_what_is_written_here_passes_as_it_is() -> None:
    noise = Image.effect_noise((20, 10), 80).convert("RGB")
    png, jpeg = (read_picture(Path("a"), written(each, "PNG"), STOP).data for each in (two_sides(), noise))
    assert check_pictures([png, jpeg], STOP) == [(40, 20), (20, 10)]
    header = png[:33]
    bomb = header + _chunk(b"IDAT", zlib.compress(bytes(20 * 121 + 1))) + _chunk(b"IEND", b"")
    noted = Image.Exif()
    noted[0x010E] = "x"
    others = {
        "cut": png[:-20],
        "cut jpeg": jpeg[:-2],
        "more behind": png + b"PK",
        "more behind jpeg": jpeg + b"\xff\xd9",
        "more pixels": bomb,
        "words": header + _chunk(b"tEXt", b"a\0b") + png[33:],
        "words in jpeg": written(noise, "JPEG", exif=noted),
        "progressive": written(noise, "JPEG", progressive=True),
        "grey": written(noise.convert("L"), "PNG"),
        "large": written(Image.new("RGB", (MOST_SIDE + 1, 1)), "PNG"),
        "gif": written(noise, "GIF"),
        "nothing": b"",
    }
    for kind, data in others.items():
        assert check_pictures([data, png], STOP) == [None, (40, 20)], kind


@pytest.mark.usefixtures("here")
def test_a_drawing_of_vectors_is_text_and_text_is_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert isinstance(read_attached(path, STOP), TextFile)
    path.write_text("BMP is a kind of picture.")
    assert isinstance(read_attached(path, STOP), TextFile)
    with pytest.raises(FileUnusable, match="is not a picture that Slipstream can read"):
        read_picture(Path("Pasted picture"), b"BMP is", STOP)


def test_a_child_reads_them_with_all_doors_shut() -> None:
    noise = Image.effect_noise((300, 200), 80).convert("RGB")
    picture = read_picture(Path("a"), written(noise, "TIFF", compression="tiff_lzw"), STOP)
    assert check_pictures([picture.data, b"", written(two_sides(), "PNG")], STOP) == [(300, 200), None, (40, 20)]


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _png(size: tuple[int, int], rows: bytes, *more: bytes, depth: int = 8, color: int = 2) -> bytes:
    header = struct.pack(">IIBBBBB", *size, depth, color, 0, 0, 0)
    chunks = [_chunk(b"IHDR", header), *more, _chunk(b"IDAT", rows), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _with_size(data: bytes, place: int, form: str, *size: int) -> bytes:
    return data[:place] + struct.pack(form, *size) + data[place + struct.calcsize(form) :]


def _many_scans() -> bytes:
    """A progressive JPEG that says a thousand times what it said last."""
    data = written(Image.new("RGB", (6000, 6000)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * 20_000 + data[-2:]


def _frames() -> bytes:
    one = b"\x21\xf9\x04\x00\x01\x00\x00\x00\x2c\0\0\0\0\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00"
    return b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff" + one * 10_000 + b";"


def _tiff(*tags: tuple[int, int, int, int], next_at: int = 0) -> bytes:
    """`tags`: number, type, count, value."""
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<I", next_at)


_BAD_OFFSETS = ((256, 3, 1, 64), (257, 3, 1, 64), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 2**31))
_LARGE = "is too large; make it smaller and attach that"
_ODD = "is damaged, or takes too much time or memory"
_RGB = two_sides()
_GIF, _BMP = written(_RGB, "GIF"), written(_RGB, "BMP")
_WEBP = written(_RGB, "WEBP", save_all=True, append_images=[Image.new("RGB", _RGB.size)])
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {  # an empty sentence: it may as well be read
    "png bomb": (lambda: _png((60_000, 60_000), zlib.compress(bytes(1000)), depth=1, color=0), _LARGE),
    "png of words": (lambda: _png((9, 9), b"", _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(80_000_000)))), _ODD),
    "png of nothing": (lambda: _png((0, 0), b""), _ODD),
    "cut png": (lambda: written(_RGB, "PNG")[:60], _ODD),
    "cut jpeg": (lambda: written(_RGB, "JPEG")[:300], _ODD),
    "cut webp": (lambda: written(_RGB, "WEBP")[:40], _ODD),
    "cut tiff": (lambda: written(_RGB, "TIFF")[:100], _ODD),
    "jpeg of scans": (_many_scans, ""),
    "large gif": (lambda: _with_size(_GIF, 6, "<HH", 65535, 65535), _LARGE),
    "gif of 10,000 frames": (_frames, ""),
    "large bmp": (lambda: _with_size(_BMP, 18, "<ii", 2**30, 2**30), _LARGE),
    "bmp below nothing": (lambda: _with_size(_BMP, 18, "<ii", -5, 2**31 - 1), _LARGE),
    "large webp": (lambda: _with_size(_WEBP, 24, "<HBHB", 65535, 0, 65535, 0), _ODD),
    "bad offsets": (lambda: _tiff(*_BAD_OFFSETS), _ODD),
    "circle": (lambda: _tiff(*_BAD_OFFSETS, next_at=8), _ODD),
    "many values": (lambda: _tiff((256, 4, 2**31, 8), (257, 4, 2**32 - 1, 8)), _ODD),
    "gif and page": (lambda: _GIF + b"<script>alert(1)</script>", ""),
    "jpeg and archive": (lambda: written(_RGB, "JPEG") + b"PK\x03\x04" + WHERE, ""),
    "heic": (lambda: b"\0\0\0\x18ftypheic" + bytes(100), "save it as PNG or JPEG and attach that"),
}
_APART = ("large webp", "many values")  # these need the limits of a child
_LONG = ("jpeg of scans",)  # this takes all the time there is: the attacks try it


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in _APART + _LONG])
def test_what_means_harm_ends_in_a_sentence(kind: str) -> None:
    _refused(kind)


def test_what_takes_too_much_ends_in_one_as_well() -> None:
    for kind in _APART:
        _refused(kind)


def _refused(kind: str) -> None:
    make, words = HOSTILE[kind]
    data = make()
    if not words:
        assert WHERE not in read_picture(Path("a.png"), data, STOP).data
        return
    with pytest.raises(FileUnusable, match=words) as refusal:
        read_picture(Path("a.png"), data, STOP)
    assert str(refusal.value).startswith("a.png")
    assert str(refusal.value).endswith(".")
