"""Small documents of several formats, made on the spot; sound ones, and ones that mean harm."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OPEN = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
)


def drawn(*lines: tuple[float, float, str]) -> bytes:
    """What draws these texts, each at a place in points, in 12 points."""
    parts = ["BT /F 12 Tf"]
    for x, y, text in lines:
        letters = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        parts.append(f"1 0 0 1 {x} {y} Tm ({letters}) Tj")
    return "\n".join([*parts, "ET"]).encode("cp1252")


def paragraph(text: str, top: float = 720, widest: int = 70) -> list[tuple[float, float, str]]:
    """Lines of about as many characters, broken between words."""
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > widest:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [(72, top - 14 * number, line) for number, line in enumerate(lines)]


def pdf(
    path: Path, pages: Sequence[bytes], kids: str = "", more: str = "", trailer: str = "", filtered: str = ""
) -> Path:
    """With these contents of pages. `kids` replaces what the tree says of them, `more` follows in the catalogue,
    `filtered` is said of each content."""
    fonts = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >> >> >>"
    numbers = range(3, 3 + 2 * len(pages), 2)
    listed = kids or f"/Kids [{' '.join(f'{number} 0 R' for number in numbers)}] /Count {len(pages)}"
    objects = [f"<< /Type /Catalog /Pages 2 0 R {more} >>".encode(), f"<< /Type /Pages {listed} >>".encode()]
    for number, content in zip(numbers, pages, strict=True):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {fonts} /Contents {number + 1} 0 R >>"
        objects += [
            page.encode(),
            f"<< /Length {len(content)} {filtered} >>\nstream\n".encode() + content + b"\nendstream",
        ]
    raw = bytearray(b"%PDF-1.7\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(raw))
        raw += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    end = len(raw)
    raw += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    raw += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    raw += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{end}\n%%EOF\n".encode()
    path.write_bytes(raw)
    return path


def docx(path: Path, body: str, styles: str = "", footnotes: str = "") -> Path:
    """`body`: the XML inside of it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {_WORD}><w:body>{body}</w:body></w:document>")
        if styles:
            archive.writestr("word/styles.xml", f"<w:styles {_WORD}>{styles}</w:styles>")
        if footnotes:
            archive.writestr("word/footnotes.xml", f"<w:footnotes {_WORD}>{footnotes}</w:footnotes>")
    return path


def docx_paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def odt(path: Path, body: str, manifest: str = "", before: str = "") -> Path:
    """`before`: what stands before the root element."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/manifest.xml", manifest if manifest else f"<manifest:manifest {manifest}/>")
        root = f"<office:document-content {_OPEN}><office:body><office:text>"
        archive.writestr("content.xml", f"{before}{root}{body}</office:text></office:body></office:document-content>")
    return path
