"""Word's documents (docx) and OpenDocument's (odt): XML in a zip archive, read piece by piece.

Entities, external or not, are in no such document: one with a document type is refused before any is looked at.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO
from xml.parsers import expat

from engine.backend.documents.flow import Flow
from engine.backend.documents.limits import check_length, damaged, encrypted, too_much

_PIECE = 1 << 16  # bytes
_MOST_XML = 200 << 20  # bytes of one part of the archive
_MOST_BLANKS = 100  # in a run
OLE = bytes.fromhex("d0cf11e0")  # of an encrypted docx, and of Word's older format

_BLANKS = re.compile(r"[ \t\r\n]+")
_Start = Callable[[str, dict[str, str]], None]


def read_docx(file: BinaryIO) -> str:
    """Raises Unreadable."""
    if file.read(4) == OLE:
        raise encrypted()
    with opened(file) as archive:
        styles = _Styles()
        if "word/styles.xml" in archive.namelist():
            parse(archive, "word/styles.xml", styles.start)
        notes = _Notes()
        for kind in ("footnotes", "endnotes"):
            if f"word/{kind}.xml" in archive.namelist():
                parse(archive, f"word/{kind}.xml", notes.start, notes.end, notes.text)
        body = _Docx(styles.levels, notes.texts)
        parse(archive, "word/document.xml", body.start, body.end, body.text)
    return body.flow.text


def read_odt(file: BinaryIO) -> str:
    """Raises Unreadable."""
    body = _Odt()
    parse_content(file, body.start, body.end, body.text)
    return body.flow.text


def parse_content(file: BinaryIO, start: _Start, end: Callable[[str], None], text: Callable[[str], None]) -> None:
    """Parses the content of an OpenDocument file, as `parse` does. Raises Unreadable."""
    with opened(file) as archive:
        manifest = _Manifest()
        if "META-INF/manifest.xml" in archive.namelist():
            parse(archive, "META-INF/manifest.xml", manifest.start)
        if manifest.is_encrypted:
            raise encrypted()
        parse(archive, "content.xml", start, end, text)


def opened(file: BinaryIO) -> zipfile.ZipFile:
    file.seek(0)
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise damaged() from error


def parse(
    archive: zipfile.ZipFile,
    name: str,
    start: _Start,
    end: Callable[[str], None] = lambda _name: None,
    text: Callable[[str], None] = lambda _text: None,
) -> None:
    """Reports every element by its name, without the prefix of a namespace. Raises Unreadable."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, values: start(tag.rpartition(":")[2], values)
    parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse
    try:
        about = archive.getinfo(name)
        if about.flag_bits & 1:
            raise encrypted()
        if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise damaged()
        if about.file_size > _MOST_XML:
            raise too_much()
        with archive.open(about) as part:
            while piece := part.read(_PIECE):
                parser.Parse(piece)
            parser.Parse(b"", True)
    except (KeyError, OSError, EOFError, zlib.error, zipfile.BadZipFile, expat.ExpatError) as error:
        raise damaged() from error


def _refuse(*_arguments: object) -> None:
    raise damaged()


class _Styles:
    """The levels of headings, by the names of their styles, which are translated; what they stand for is not."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self._style = ""

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "style":
            self._style = values.get("w:styleId", "")
        elif tag == "name":
            kind, _, level = values.get("w:val", "").lower().partition(" ")
            if kind == "heading" and level in "123456":
                self.levels[self._style] = int(level or 1)
            elif kind == "title":
                self.levels[self._style] = 1


class _Notes:
    """Footnotes and endnotes, by what refers to them."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self._note = ("", "")
        self._length = 0
        self._is_text = False

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag in ("footnote", "endnote"):
            self._note = (f"{tag}Reference", values.get("w:id", ""))
        if tag == "p" and self._note in self.texts:
            self.texts[self._note] += " "
        self._is_text = tag == "t"

    def end(self, _tag: str) -> None:
        self._is_text = False

    def text(self, text: str) -> None:
        if self._is_text:
            self._length += len(text)
            check_length(self._length)
            self.texts[self._note] = self.texts.get(self._note, "") + text


class _Docx:
    """The text with all changes accepted, without what is hidden or waits to be written. Pages are those that Word
    marked when it last laid the document out."""

    def __init__(self, levels: dict[str, int], notes: dict[tuple[str, str], str]) -> None:
        self.flow = Flow()
        self._levels = levels
        self._notes = notes
        self._prefix = ""
        self._is_text = False
        self._num_left_out = 0  # elements around this place that are shown elsewhere, or not at all
        self._is_hidden = False  # the run
        self._is_in_mark = False  # in what is said of the end of a paragraph
        self._joins = False  # the end of the paragraph is deleted: the next one goes on with it
        self._waits: list[bool] = []  # of the fields around this place, whether they are not filled in yet

    def start(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "Fallback":
                self._num_left_out += 1
            case "del" | "moveFrom" if self._is_in_mark:
                self._joins = True
            case "moveFrom":
                self._num_left_out += 1
            case "sdt":
                self._waits.append(False)
            case "showingPlcHdr" if self._waits:
                self._waits[-1] = _is_on(values)
            case "sdtContent" if self._waits and self._waits[-1]:
                self._num_left_out += 1
            case "pPr":
                self._is_in_mark = True
            case "r":
                self._is_hidden = False
            case "vanish" if not self._is_in_mark:
                self._is_hidden = _is_on(values)
            case "p" if self._joins:
                self._joins = False
            case "p":
                self._end_paragraph()
            case "pStyle" if level := self._levels.get(values.get("w:val", "")):
                self._prefix = "#" * level + " "
            case "numPr":
                self._prefix = self._prefix or "- "
            case "t":
                self._is_text = True
            case "footnoteReference" | "endnoteReference":
                if note := self._notes.get((tag, values.get("w:id", "")), "").strip():
                    self._add(f" ({note})")
            case "tab":
                self._add("\t")
            case "br" | "cr":
                self._add("\n")
            case "noBreakHyphen":
                self._add("-")
            case "lastRenderedPageBreak" if not self._num_left_out:
                self.flow.break_page()
            case "tbl":
                self.flow.begin_table()
            case "tr":
                self.flow.begin_row()
            case "tc":
                self.flow.begin_cell()
            case "gridSpan":
                self.flow.span(_number(values.get("w:val", "")))

    def end(self, tag: str) -> None:
        match tag:
            case "Fallback":
                self._num_left_out -= 1
            case "moveFrom" if not self._is_in_mark:
                self._num_left_out -= 1
            case "sdt" if self._waits:
                self._waits.pop()
            case "sdtContent" if self._waits and self._waits[-1]:
                self._num_left_out -= 1
            case "pPr":
                self._is_in_mark = False
            case "p" if not self._joins:
                self._end_paragraph()
            case "t":
                self._is_text = False
            case "tbl":
                self.flow.end_table()

    def text(self, text: str) -> None:
        if self._is_text:
            self._add(text)

    def _add(self, text: str) -> None:
        if not self._num_left_out and not self._is_hidden:
            self.flow.add(text)

    def _end_paragraph(self) -> None:
        self.flow.end_paragraph(self._prefix, is_exact=True)
        self._prefix = ""


class _Manifest:
    def __init__(self) -> None:
        self.is_encrypted = False

    def start(self, tag: str, _values: dict[str, str]) -> None:
        self.is_encrypted |= tag == "encryption-data"


_LEFT_OUT = frozenset(["tracked-changes", "annotation", "note-citation", "forms", "table-of-content-source"])


class _Odt:
    def __init__(self) -> None:
        self.flow = Flow()
        self._prefixes: list[str] = []  # of the paragraphs around this place
        self._num_left_out = 0
        self._is_item = False
        self._has_begun = False  # the first slide
        self._num_notes = 0  # footnotes stand in the middle of a paragraph

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag in _LEFT_OUT or self._num_left_out:
            self._num_left_out += 1
            return
        match tag:
            case "note-body":
                self._num_notes += 1
                self.flow.add(" (")
            case "p" | "h" if not self._num_notes:
                if self._prefixes:
                    self._end_paragraph()
                level = values.get("text:outline-level", "1")
                heading = "#" * (int(level) if level in "123456" else 6) + " "
                self._prefixes.append(heading if tag == "h" else "- " if self._is_item else "")
                self._is_item = False
            case "list-item":
                self._is_item = True
            case "s":
                self.flow.add(" " * min(_MOST_BLANKS, _number(values.get("text:c", ""))))
            case "tab":
                self.flow.add("\t")
            case "line-break":
                self.flow.add("\n")
            case "soft-page-break":
                self.flow.break_page()
            case "page":  # a slide
                if self._has_begun:
                    self.flow.break_page()
                self._has_begun = True
            case "table":
                self.flow.begin_table()
            case "table-row":
                self.flow.begin_row()
            case "table-cell" | "covered-table-cell":
                self.flow.begin_cell()

    def end(self, tag: str) -> None:
        if self._num_left_out:
            self._num_left_out -= 1
            return
        match tag:
            case "note-body":
                self._num_notes -= 1
                self.flow.add(")")
            case "p" | "h" if not self._num_notes:
                self._end_paragraph()
                if self._prefixes:
                    self._prefixes.pop()
            case "table":
                self.flow.end_table()

    def text(self, text: str) -> None:
        if self._prefixes and not self._num_left_out:
            self.flow.add(_BLANKS.sub(" ", text))

    def _end_paragraph(self) -> None:
        self.flow.end_paragraph(self._prefixes[-1] if self._prefixes else "", is_exact=True)
        if self._prefixes:
            self._prefixes[-1] = ""


def _is_on(values: dict[str, str]) -> bool:
    """What is there is on, unless it says that it is not."""
    return values.get("w:val", "true") not in ("0", "false", "off")


def _number(value: str) -> int:
    """1: it is none."""
    return int(value) if value.isdecimal() and len(value) < 6 else 1
