"""Bodies as they arrive: the same values as from a parser, within bounds."""

from __future__ import annotations

import asyncio
import json
import random
import tracemalloc
from base64 import b64encode
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from engine.backend.server.intake import Intake, Most
from engine.backend.server.pictures import PictureReader
from engine.backend.server.refusals import RequestRefused

MOST = Most(text_bytes=1 << 20, aside_bytes=1 << 20, values=1_000)
PICTURE = b64encode(random.Random(1).randbytes(60_000)).decode()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def read(body: bytes, step: int = 1 << 16, most: Most = MOST) -> tuple[dict[str, Any], dict[str, bytearray]]:
    intake = Intake(most)
    for start in range(0, len(body), step):
        intake.feed(body[start : start + step])
    return intake.finish(), intake.aside


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.booleans(), st.integers(1, 9))
def test_however_it_is_cut_a_body_has_the_values_that_were_sent(
    sent: dict[str, Any], is_plain: bool, step: int
) -> None:
    assert read(json.dumps(sent, ensure_ascii=is_plain).encode("utf-8", "surrogatepass"), step)[0] == sent


@pytest.mark.parametrize(
    "part", [{"image_url": {"url": PICTURE}}, {"image_url": PICTURE}, {"source": {"data": PICTURE}}]
)
@pytest.mark.parametrize("escaped", [{}, {"/": "\\/"}, {"+": "\\u002B", "/": "\\u002f"}])
def test_large_pictures_are_put_aside_however_a_client_escapes_them(part: Any, escaped: Any) -> None:
    body = json.dumps({"messages": [{"content": [part]}]}).replace(PICTURE, PICTURE.translate(str.maketrans(escaped)))
    for step in (7, 1_000, 1 << 20):
        found, aside = read(body.encode(), step)
        ((name, written),) = aside.items()
        assert written.decode() == PICTURE
        assert json.dumps(found) == json.dumps({"messages": [{"content": [part]}]}).replace(PICTURE, name)


@pytest.mark.parametrize("text", [PICTURE, PICTURE + " ends here.", "data:image/png;base64," + PICTURE + "\n"])
def test_a_long_text_of_base64_stays_a_text(text: str) -> None:
    sent = {"messages": [{"content": text, text: [text]}]}
    assert read(json.dumps(sent).encode(), 10_000) == (sent, {})


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"a":[' + b"[]," * 10**6, "1,000 values"),
        (b'{"a":[' + b'"",' * 10**6, "1,000 values"),
        (b'{"a":[' + b"1," * 10**6, "1,000 values"),
        (b'{"a":' + b"[" * 101, "within each other"),
        (b'{"a":"' + b"x" * (2 << 20), "pictures in this request are larger"),
        (b" " * (2 << 20), "1 MiB of text"),
        (b'{"a":"' + b"A " * (2 << 20), "1 MiB of text"),
        (b'{"a":"' + "é".encode() * (2 << 20), "1 MiB of text"),
        (b'{"a":"' + b"A" * 900_000 + b'","b":"' + b"x " * 600_000 + b'"}', "1 MiB of text"),
        (b'{"a":"\\u12', "no JSON"),
        (b'{"a":"\\u12xxxx"}', "no JSON"),
        (b"[]", "must be a JSON object"),
        (b"", "no body"),
    ],
)
def test_what_is_too_much_is_refused_before_it_is_held(body: bytes, sentence: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RequestRefused, match=sentence):
            read(body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 << 20


def test_texts_beyond_the_bound_are_refused_where_they_were_taken_for_pictures() -> None:
    sent = {"messages": [{"content": "A" * 700_000}, {"content": "B" * 700_000}]}
    with pytest.raises(RequestRefused, match="1 MiB of text"):
        read(json.dumps(sent).encode(), most=Most(1 << 20, 2 << 20, 1_000))


def test_memory_is_told_with_what_parsing_takes() -> None:
    intake = Intake(MOST)
    intake.feed(b'{"a":"' + "😀".encode() + b"x" * 100_000)
    assert intake.num_bytes >= 4 * 100_000


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,"])
@pytest.mark.parametrize("where", ["messages", "input"])
def test_a_picture_that_was_put_aside_is_read_as_any_other(prefix: str, where: str) -> None:
    noise = random.Random(2).randbytes(3 * 200 * 200)
    png = BytesIO()
    Image.frombytes("RGB", (200, 200), noise).save(png, "PNG")
    written = prefix + b64encode(png.getvalue()).decode()
    part = {"image_url": {"url": written}} if prefix else {"source": {"data": written}}
    found, aside = read(json.dumps({where: [{"output" if where == "input" else "content": [part]}]}).encode())
    (name,) = aside
    reader = PictureReader(aside, asyncio.Semaphore(1), sees=True)
    picture = asyncio.run(reader.read(name, "x") if prefix else reader.decode(name, "x"))
    assert (picture.width, picture.height) == (200, 200)
    assert not aside
    assert name in json.dumps(found)
