"""Rich text (rtf), mails (eml) and notebooks (ipynb): text files whose own text is not all that stands in them."""

from __future__ import annotations

import json
import re
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any

from engine.backend.documents.encodings import decoded
from engine.backend.documents.html import read_html
from engine.backend.documents.limits import check_length, damaged

_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\bin(\d{1,9}) ?|\\([a-z]{1,32})(-?\d{1,10})? ?|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)",
    re.DOTALL,
)
_SIGNS = {
    **{b"par": "\n\n", b"sect": "\n\n", b"line": "\n", b"page": "\n\n", b"tab": "\t", b"cell": "\t", b"row": "\n"},
    **{b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”"},
    **{b"bullet": "•"},
}
# Groups that are not shown: tables of fonts, colours and styles, what the document says of itself, pictures, fields.
_UNSEEN = frozenset(
    b"fonttbl colortbl stylesheet info pict object themedata colorschememapping latentstyles datastore generator "
    b"listtable listoverridetable rsidtbl header headerl headerr headerf footer footerl footerr footerf fldinst "
    b"xmlnstbl mmathPr bkmkstart bkmkend revtbl annotation atnid atnauthor".split()
)
_MOST_GROUPS = 1_000  # within each other
_HEADS = ("From", "To", "Cc", "Date", "Subject")
_MOST_OUTPUT = 20_000  # characters of what a cell of a notebook wrote
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINES = re.compile(r"\n{3,}")


def read_rtf(raw: bytes) -> str:
    """Raises Unreadable."""
    if not raw.lstrip().startswith(b"{\\rtf"):
        text = decoded(raw)
        if text is None:
            raise damaged()
        return text
    reader = _Rtf()
    place = 0
    while found := _TOKEN.match(raw, place):
        place = found.end() + reader.take(found)
    return _LINES.sub("\n\n", reader.text).strip()


class _Rtf:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._bytes = b""  # not decoded yet: a letter may be of two
        self._page = "cp1252"
        self._length = 0
        self._groups: list[tuple[bool, int]] = []  # of the groups around this place, what follows
        self._is_seen, self._skips = True, 1  # signs to pass over after one of Unicode
        self._to_skip = 0

    @property
    def text(self) -> str:
        self._settle()
        return "".join(self._parts)

    def take(self, found: re.Match[bytes]) -> int:
        """How many bytes more to pass over."""
        letter, size, word, number, sign, brace, plain = found.groups()
        if size is not None:
            return int(size)
        if letter is not None:
            self._put(bytes.fromhex(letter.decode()))
        elif plain is not None:
            self._put(plain)
        elif brace is not None:
            self._enter_or_leave(brace == b"{")
        elif sign is not None:
            self._sign(sign)
        elif word is not None:
            self._word(word, int(number) if number else None)
        return 0

    def _enter_or_leave(self, is_begun: bool) -> None:
        self._settle()
        self._to_skip = 0
        if is_begun:
            if len(self._groups) == _MOST_GROUPS:
                raise damaged()
            self._groups.append((self._is_seen, self._skips))
        elif self._groups:
            self._is_seen, self._skips = self._groups.pop()

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":  # a group that only some programs know
            self._is_seen = False
        elif sign in b"\r\n":
            self._add("\n\n")
        elif sign == b"~":
            self._add("\u00a0")
        elif sign == b"_":
            self._add("-")
        elif sign in b"\\{}":
            self._put(sign)

    def _word(self, word: bytes, number: int | None) -> None:
        if word in _UNSEEN:
            self._settle()
            self._is_seen = False
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word == b"u" and number is not None:
            self._add(chr(number % 65_536))
            self._to_skip = self._skips
        elif word == b"uc" and number is not None:
            self._skips = max(0, number)
        elif word == b"v":
            self._settle()
            self._is_seen = number == 0
        elif word == b"plain" and self._groups:
            self._is_seen = self._groups[-1][0]
        elif word == b"ansicpg" and number:
            self._page = f"cp{number}"

    def _put(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if self._is_seen:
            self._bytes += data[skipped:]

    def _add(self, text: str) -> None:
        self._settle()
        if self._is_seen:
            self._length += len(text)
            check_length(self._length)
            self._parts.append(text)

    def _settle(self) -> None:
        if self._bytes:
            data, self._bytes = self._bytes, b""
            try:
                text = data.decode(self._page, "replace")
            except LookupError:
                text = data.decode("cp1252", "replace")
            self._length += len(text)
            check_length(self._length)
            self._parts.append(text)


def read_mail(raw: bytes) -> str:
    """Its heads, its text, and the names of what is attached. Raises Unreadable."""
    message = BytesParser(policy=policy.default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    heads = [f"{name}: {value}" for name in _HEADS if (value := str(message.get(name, "")).strip())]
    body = message.get_body(("plain", "html"))
    text = "" if body is None else _text_of(body)
    names = [each.get_filename() or each.get_content_type() for each in message.iter_attachments()]
    attached = f"Attached: {', '.join(names)}" if names else ""
    return "\n\n".join(filter(None, ("\n".join(heads), text.strip(), attached)))


def _text_of(part: Any) -> str:
    raw = part.get_payload(decode=True)
    text = decoded(raw, part.get_content_charset("")) if isinstance(raw, bytes) else ""
    if text is None:
        raise damaged()
    return read_html(text) if part.get_content_subtype() == "html" else text


def read_notebook(text: str) -> str:
    """Its words and code, and what the code wrote, without pictures. Raises Unreadable."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged() from error
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        raise damaged()
    about: Any = found.get("metadata")
    language: Any = about.get("kernelspec", {}) if isinstance(about, dict) else {}
    name = language.get("language", "python") if isinstance(language, dict) else "python"
    parts: list[str] = []
    for cell in cells:
        if not isinstance(cell, dict) or not (source := _lines(cell.get("source")).strip("\n")).strip():
            continue
        if cell.get("cell_type") != "code":
            parts.append(source)
            continue
        parts.append(f"```{name}\n{source}\n```")
        outputs = cell.get("outputs")
        written = "".join(map(_written, outputs)) if isinstance(outputs, list) else ""
        if written.strip():
            parts.append(f"```text\n{written[:_MOST_OUTPUT].rstrip()}\n```")
    return "\n\n".join(parts)


def _written(output: Any) -> str:
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    plain = data.get("text/plain") if isinstance(data, dict) else None
    text = _lines(output.get("text")) or _lines(plain) or _lines(output.get("traceback"))
    return _COLOURS.sub("", text) + ("" if text.endswith("\n") or not text else "\n")


def _lines(value: Any) -> str:
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""
