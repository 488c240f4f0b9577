"""Runs in a process of its own: reads a document or a picture, with all doors shut."""

from __future__ import annotations

import base64
import codecs
import json
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from engine.backend.documents.encodings import decoded
from engine.backend.documents.limits import Unreadable, check_length, too_much
from engine.speculation.model.apart.sandbox import confine
from engine.values.sentences import packed

MOST_TEXT_BYTES = 20_000_000  # of a document that is itself text
_PROCESSOR_S = 8  # a manual of 400 pages takes two
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # hyphens and borders that nobody sees, within words
_PAGES = [*(f"cp{page}" for page in (437, 850, 874, 932, 936, 949, 950, *range(1250, 1259)))]  # of rich text
_DECLARED = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,200}encoding)\s*=\s*["']?([\w-]{1,40})""", re.IGNORECASE
)


def read(path: Path, kind: str) -> str:
    """JSON: its text, or what is said of it after its name."""
    try:
        with path.open("rb") as file:
            text = _read(file, kind)
        check_length(len(text))
    except Unreadable as refusal:
        return json.dumps({"refusal": packed(refusal.sentence)})
    except (MemoryError, RecursionError):
        return json.dumps({"refusal": packed(too_much().sentence)})
    return json.dumps({"text": text.translate(_UNSEEN)})


def read_picture(source: Path | bytes, kind: str) -> str:
    """JSON: the fields of a `Picture`, what is said of it after its name, or null."""
    from engine.backend.documents.picture import read_picture, too_large

    with ExitStack() as opened:
        file = BytesIO(source) if isinstance(source, bytes) else opened.enter_context(source.open("rb"))
        _shut_doors()
        try:
            found = read_picture(file, kind)
        except Unreadable as refusal:
            return json.dumps({"refusal": packed(refusal.sentence)})
        except MemoryError:
            return json.dumps({"refusal": packed(too_large().sentence)})
        except Exception:  # whatever Pillow makes of it
            return json.dumps(None)
    data = base64.b64encode(found.data).decode()
    return json.dumps({"digest": found.digest, "data": data, "width": found.width, "height": found.height})


def sizes_of(pictures: Sequence[bytes]) -> str:
    """JSON: widths and heights of pictures as `read_picture` makes them, null for any other."""
    from engine.backend.documents.picture import size_of

    _shut_doors()
    return json.dumps([size_of(data) for data in pictures])


def _read(file: BinaryIO, kind: str) -> str:
    """All modules are there before the doors are shut."""
    if kind == "pdf":
        from engine.backend.documents.pdf import read_pdf

        _shut_doors()
        return read_pdf(file)
    if kind in ("docx", "odt"):
        from engine.backend.documents.office import read_docx, read_odt

        codecs.lookup("cp437")  # for names in archives
        _shut_doors()
        return read_docx(file) if kind == "docx" else read_odt(file)
    if kind in ("xlsx", "ods", "pptx", "epub"):
        from engine.backend.documents.sheets import read_ods, read_xlsx
        from engine.backend.documents.slides import read_epub, read_pptx

        codecs.lookup("cp437")
        decoded("ß語".encode("shift_jis", "replace"))  # imports what it needs
        _shut_doors()
        return {"xlsx": read_xlsx, "ods": read_ods, "pptx": read_pptx, "epub": read_epub}[kind](file)
    from engine.backend.documents.flow import read_table
    from engine.backend.documents.html import read_html
    from engine.backend.documents.letters import read_mail, read_notebook, read_rtf

    raw = file.read(MOST_TEXT_BYTES)
    if kind in ("rtf", "eml"):
        for name in _PAGES:
            codecs.lookup(name)
        decoded("ß語".encode("shift_jis", "replace"))
        _shut_doors()
        return read_rtf(raw) if kind == "rtf" else read_mail(raw)
    text = _decoded(raw, kind)
    _shut_doors()
    return {"html": read_html, "ipynb": read_notebook, "csv": read_table}[kind](text)


def _decoded(raw: bytes, kind: str) -> str:
    declared = _DECLARED.search(raw[:4096]) if kind == "html" else None
    text = decoded(raw, declared[1].decode() if declared else "")
    if text is None:
        raise Unreadable("{name} is not a text file, although its name says so; attach another file.")
    return text


def _shut_doors() -> None:
    """Leaves this process unable to open or change a file, reach the network, start a program or compute for long,
    whatever a document makes of it."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_S, _PROCESSOR_S))
    confine()
