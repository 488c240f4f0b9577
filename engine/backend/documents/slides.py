"""Slides of PowerPoint (pptx) and books (epub), in the order in which people see them."""

from __future__ import annotations

import posixpath
from typing import BinaryIO
from urllib.parse import unquote
from zipfile import ZipFile

from engine.backend.documents.encodings import decoded
from engine.backend.documents.flow import Flow
from engine.backend.documents.html import read_html
from engine.backend.documents.limits import check_length, check_pages, encrypted, too_much
from engine.backend.documents.office import OLE, opened, parse
from engine.backend.documents.sheets import parts_like, places_of

_SHOW, _BOOK = "ppt/presentation.xml", "META-INF/container.xml"
_MOST_CHAPTER_BYTES = 20 << 20
_NUMBERS = frozenset({"dt", "ftr", "sldNum", "sldImg"})  # placeholders that say nothing of the slide


def read_pptx(file: BinaryIO) -> str:
    """A page for each slide, with its notes at the end. Hidden slides are left out. Raises Unreadable."""
    if file.read(4) == OLE:
        raise encrypted()
    with opened(file) as archive:
        order: list[str] = []

        def start(tag: str, values: dict[str, str]) -> None:
            if tag == "sldId":
                order.append(values.get("r:id", ""))

        names = frozenset(archive.namelist())
        if _SHOW in names:
            parse(archive, _SHOW, start)
        places = places_of(archive, _SHOW)
        slides = [places[each] for each in order if places.get(each) in names]
        flow, is_first = Flow(), True
        for place in slides or parts_like(archive, r"ppt/slides/[^/]+\.xml"):
            slide = _read_slide(archive, place)
            if slide is None:
                continue
            if not is_first:
                flow.break_page()
            is_first = False
            notes = [_read_slide(archive, part) for part in places_of(archive, place).values() if "notesSlide" in part]
            for text in (slide, *(f"Notes: {note}" for note in notes if note)):
                flow.add(text)
                flow.end_paragraph(is_exact=True)
    return flow.text


def _read_slide(archive: ZipFile, place: str) -> str | None:
    """None for a slide that is hidden."""
    reader = _Slide()
    parse(archive, place, reader.start, reader.end, reader.text)
    return None if reader.is_hidden else reader.flow.text


class _Slide:
    def __init__(self) -> None:
        self.flow = Flow()
        self.is_hidden = False
        self._is_text = self._is_number = self._is_title = False

    def start(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "sld":
                self.is_hidden = values.get("show") in ("0", "false")
            case "sp":
                self._is_number = self._is_title = False
            case "ph":
                self._is_number = values.get("type", "") in _NUMBERS
                self._is_title = values.get("type", "") in ("title", "ctrTitle")
            case "t":
                self._is_text = not self._is_number
            case "br":
                self.flow.add("\n")
            case "tbl":
                self.flow.begin_table()
            case "tr":
                self.flow.begin_row()
            case "tc":
                self.flow.begin_cell()

    def end(self, tag: str) -> None:
        match tag:
            case "t":
                self._is_text = False
            case "p":
                self.flow.end_paragraph("# " if self._is_title else "", is_exact=True)
            case "tbl":
                self.flow.end_table()

    def text(self, text: str) -> None:
        if self._is_text:
            self.flow.add(text)


def read_epub(file: BinaryIO) -> str:
    """The chapters in their order. Raises Unreadable."""
    with opened(file) as archive:
        names = frozenset(archive.namelist())
        if "META-INF/rights.xml" in names:
            raise encrypted()
        about = _Package()
        if _BOOK in names:
            parse(archive, _BOOK, about.start)
        if about.place:
            parse(archive, about.place, about.start)
        folder, texts, length = posixpath.dirname(about.place), list[str](), 0
        hrefs = [posixpath.join(folder, unquote(about.parts[each])) for each in about.order if each in about.parts]
        chapters = [*filter(names.__contains__, map(posixpath.normpath, hrefs))]
        chapters = chapters or parts_like(archive, r"(?i).+\.x?html?")
        check_pages(len(chapters))
        for name in chapters:
            text = read_html(_chapter(archive, name))
            length += len(text)
            check_length(length)
            texts.append(text)
    return "\n\n".join(filter(None, texts))


def _chapter(archive: ZipFile, name: str) -> str:
    about = archive.getinfo(name)
    if about.flag_bits & 1:
        raise encrypted()
    if about.file_size > _MOST_CHAPTER_BYTES:
        raise too_much()
    with archive.open(about) as part:
        text = decoded(part.read(_MOST_CHAPTER_BYTES))
    if text is None:
        raise encrypted()
    return text


class _Package:
    """The list of what a book is made of, and where that list is."""

    def __init__(self) -> None:
        self.place = ""
        self.parts: dict[str, str] = {}
        self.order: list[str] = []

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "rootfile":
            self.place = self.place or values.get("full-path", "")
        elif tag == "item" and "html" in values.get("media-type", ""):
            self.parts[values.get("id", "")] = values.get("href", "")
        elif tag == "itemref" and values.get("linear", "yes") != "no":
            self.order.append(values.get("idref", ""))
