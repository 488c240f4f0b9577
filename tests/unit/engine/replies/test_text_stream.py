from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.replies.text import TextStream


def feed(stream: TextStream, pieces: list[bytes]) -> tuple[list[str], str]:
    shown = [stream.push(piece) for piece in pieces]
    return shown, "".join(shown) + stream.finish()


@given(st.text(), st.data())
def test_any_cut_gives_the_text_and_never_half_a_character(text: str, data: st.DataObject) -> None:
    text = text.encode("utf-8", "ignore").decode()
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    shown, whole = feed(TextStream(), pieces)
    assert whole == text
    assert "�" not in "".join(shown) or "�" in text


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    _, whole = feed(TextStream(), [b"a\xff", b"b"])
    assert whole == "a\ufffdb"


def test_a_character_that_is_cut_off_at_the_end_is_left_out() -> None:
    _, whole = feed(TextStream(), [b"a", b"\xf0\x9f"])
    assert whole == "a"


@given(st.text("abc", max_size=30), st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_text_ends_before_the_first_stop_string(text: str, stops: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    pieces = [text[a:b].encode() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    stream = TextStream(stops)
    released = ""
    consumed = ""
    for piece in pieces:
        consumed += piece.decode()
        released += stream.push(piece)
        if stream.stopped:
            break
    first = min((place for stop in stops if (place := consumed.find(stop)) >= 0), default=None)
    assert stream.stopped == (first is not None)
    assert released + stream.finish() == (consumed if first is None else consumed[:first])


def test_what_may_become_a_stop_string_is_held_back_until_it_is_certain() -> None:
    stream = TextStream(["END"])
    assert stream.push(b"the E") == "the "
    assert stream.push(b"N") == ""
    assert stream.push(b"emy") == "ENemy"
