"""Tables, slides, books, rich text, mails and notebooks."""

from __future__ import annotations

import json
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from engine.backend.documents import apart, reading
from engine.backend.documents.reading import read_attached
from engine.values.conversations import TextFile
from engine.values.errors import FileUnusable
from engine.values.stop_signal import StopSignal

_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are read in this process, which keeps its doors open."""
    monkeypatch.setattr(apart, "_shut_doors", lambda: None)
    monkeypatch.setattr(reading, "ask_child", lambda look, arguments, _is_stopped, _limits: look(*arguments))


def text_of(path: Path) -> str:
    found = read_attached(path, StopSignal())
    assert isinstance(found, TextFile)
    return found.text


def archive(path: Path, **parts: str) -> Path:
    """`__` stands for a slash, `_dot_` for a dot."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return path


def relations(**targets: str) -> str:
    listed = "".join(f'<Relationship Id="{name}" Target="{target}"/>' for name, target in targets.items())
    return f"<Relationships>{listed}</Relationships>"


def workbook(path: Path, rows: str, more_sheets: str = "", styles: str = "", texts: str = "", about: str = "") -> Path:
    return archive(
        path,
        xl__workbook_dot_xml=(
            f'<workbook xmlns:r="{_REL}"><workbookPr {about}/><sheets><sheet name="First" r:id="a"/>{more_sheets}'
            "</sheets></workbook>"
        ),
        xl___rels__workbook_dot_xml_dot_rels=relations(a="worksheets/sheet7.xml", b="/xl/worksheets/sheet2.xml"),
        xl__worksheets__sheet7_dot_xml=f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
        xl__worksheets__sheet2_dot_xml=(
            '<x:worksheet xmlns:x="y"><x:row><x:c r="B1"><x:v>5</x:v></x:c></x:row></x:worksheet>'
        ),
        xl__styles_dot_xml=f"<styleSheet>{styles}</styleSheet>",
        xl__sharedStrings_dot_xml=f"<sst>{texts}</sst>",
    )


def test_a_workbook_has_its_cells_as_people_see_them(tmp_path: Path) -> None:
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>When</t></is></c>'
        '<c r="D1" t="str"><v>Share</v></c></row>'
        '<row><c r="A2" t="b"><v>1</v></c><c r="B2"><f>1+1</f><v>12.300000000000001</v></c>'
        '<c r="C2" s="1"><v>45000</v></c><c r="D2" s="2"><v>0.125</v></c></row>'
        '<row hidden="1"><c r="A3"><v>99</v></c></row>'
        '<row><c r="C4" s="3"><v>45000.75</v></c><c r="D4" t="e"><v>#REF!</v></c></row>'
    )
    styles = (
        '<numFmts><numFmt numFmtId="170" formatCode="[$-407]dd\\.mm\\.yyyy hh:mm"/></numFmts>'
        '<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/></cellXfs>'
    )
    texts = "<si><r><t>Na</t></r><r><t>me</t></r><rPh><t>ネーム</t></rPh></si>"
    assert text_of(workbook(tmp_path / "a.xlsx", rows, styles=styles, texts=texts)) == (
        "| Name |  | When | Share |\n|---|---|---|---|\n"
        "| TRUE | 12.3 | 2023-03-15 | 12.5 % |\n|  |  | 2023-03-15 18:00 | #REF! |"
    )


def test_sheets_have_their_names_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    row = '<row><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
    others = '<sheet name="Second" r:id="b"/>'
    assert text_of(workbook(tmp_path / "a.xlsx", row, others)) == (
        "## First\n\n| 1 | 2 |\n|---|---|\n\n## Second\n\n|  | 5 |\n|---|---|"
    )
    hidden = others.replace("name", 'state="hidden" name')
    assert "Second" not in text_of(workbook(tmp_path / "b.xlsx", row, hidden))


def test_dates_count_from_where_the_workbook_says(tmp_path: Path) -> None:
    row = '<row><c r="A1" s="0"><v>0.5</v></c><c r="B1" s="0"><v>1462</v></c></row>'
    styles = '<cellXfs><xf numFmtId="22"/></cellXfs>'
    path = workbook(tmp_path / "a.xlsx", row, styles=styles, about='date1904="1"')
    assert text_of(path) == "| 12:00 | 1908-01-02 |\n|---|---|"


def test_an_open_document_sheet_repeats_cells_and_rows_within_bounds(tmp_path: Path) -> None:
    namespaces = 'xmlns:table="t" xmlns:text="x" xmlns:office="o"'
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    body = (
        f"<office:document-content {namespaces}><table:table table:name='Plan'>"
        f"<table:table-row>{cell.format('', 'Day')}{cell.format('', 'Hours')}</table:table-row>"
        f"<table:table-row table:number-rows-repeated='2'>{cell.format('', 'Mo')}"
        f"{cell.format('', '1,5')}<office:annotation><text:p>note</text:p></office:annotation></table:table-row>"
        "<table:table-row table:number-rows-repeated='1048570'><table:table-cell "
        "table:number-columns-repeated='16384'/></table:table-row></table:table></office:document-content>"
    )
    assert text_of(archive(tmp_path / "a.ods", content_dot_xml=body)) == (
        "| Day | Hours |\n|---|---|\n| Mo | 1,5 |\n| Mo | 1,5 |"
    )


def slide(text: str, kind: str = "", about: str = "") -> str:
    return (
        f'<p:sld xmlns:p="p" xmlns:a="a" {about}>'
        f'<p:sp><p:ph type="{kind}"/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>'
        '<p:sp><p:ph type="sldNum"/><a:p><a:t>12</a:t></a:p></p:sp></p:sld>'
    )


def test_slides_come_in_their_order_with_notes_and_without_hidden_ones(tmp_path: Path) -> None:
    order = '<p:sldId r:id="z"/><p:sldId r:id="y"/><p:sldId r:id="x"/>'
    path = archive(
        tmp_path / "a.pptx",
        ppt__presentation_dot_xml=f'<p:presentation xmlns:p="p" xmlns:r="{_REL}">{order}</p:presentation>',
        ppt___rels__presentation_dot_xml_dot_rels=relations(
            x="slides/slide1.xml", y="slides/s2.xml", z="slides/s3.xml"
        ),
        ppt__slides__slide1_dot_xml=slide("Last"),
        ppt__slides__s2_dot_xml=slide("Gone", about='show="0"'),
        ppt__slides__s3_dot_xml=slide("First", "title"),
        ppt__slides___rels__s3_dot_xml_dot_rels=relations(n="../notesSlides/notesSlide1.xml"),
        ppt__notesSlides__notesSlide1_dot_xml=slide("Say hello."),
    )
    assert text_of(path) == "[Page 1]\n# First\n\nNotes: Say hello.\n\n[Page 2]\nLast"


def test_a_book_has_its_chapters_in_order(tmp_path: Path) -> None:
    items = "".join(
        f'<item id="{name}" href="text/{name}%201.xhtml" media-type="application/xhtml+xml"/>'
        for name in ("one", "two")
    )
    path = archive(
        tmp_path / "a.epub",
        **{"META-INF__container_dot_xml": '<container><rootfile full-path="OPS/book.opf"/></container>'},
        OPS__book_dot_opf=f'<package>{items}<spine><itemref idref="two"/><itemref idref="one"/></spine></package>',
        **{"OPS__text__one 1_dot_xhtml": "<h1>One</h1><p>Über"},
        **{"OPS__text__two 1_dot_xhtml": "<h1>Two</h1><p>b"},
    )
    assert text_of(path) == "# Two\n\nb\n\n# One\n\nÜber"
    locked = archive(tmp_path / "b.epub", **{"META-INF__rights_dot_xml": "<rights/>"})
    with pytest.raises(FileUnusable, match="is encrypted"):
        text_of(locked)


@pytest.mark.parametrize(
    ("rich", "plain"),
    [
        (rb"{\rtf1\ansi\ansicpg1250{\fonttbl{\f0 A;}}\f0 Gy\'f5r\par {\b bold}\line x\tab y}", "Győr\n\nbold\nx\ty"),
        (rb"{\rtf1\ansi\uc1 \u26085?\u26412? \u8364\'80 {\*\generator Word;}ok}", "日本 € ok"),
        (rb"{\rtf1 a{\pict\bin5 }}}}}b}{\v hidden}c\{d\}\~e}", "ac{d}\xa0e"),
        (b"{\\rtf1\\ansi\\ansicpg932 \\'93\\'fa\\'96\\'7b}", "日本"),
        (b"{\\rtf1\r\nli\r\nne}", "line"),
    ],
)  # fmt: skip
def test_rich_text_is_read_without_its_controls(rich: bytes, plain: str, tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_bytes(rich)
    assert text_of(path) == plain


def test_a_mail_has_its_heads_its_text_and_the_names_of_what_is_attached(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Jörg <j@example.org>", "Größe"
    mail.set_content("Grüß dich,\nbis bald", charset="iso-8859-1")
    mail.add_alternative("<p>no</p>", subtype="html")
    mail.add_attachment(b"\0", maintype="image", subtype="png", filename="plan.png")
    path = tmp_path / "a.eml"
    path.write_bytes(mail.as_bytes())
    assert text_of(path) == "From: Jörg <j@example.org>\nSubject: Größe\n\nGrüß dich,\nbis bald\n\nAttached: plan.png"
    only = EmailMessage()
    only.set_content("<p>one<br>two", subtype="html")
    path.write_bytes(only.as_bytes())
    assert text_of(path) == "one\n\ntwo"


def test_a_notebook_has_words_code_and_what_it_wrote_without_pictures(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "text": ["1\n", "2\n"]},
        {"data": {"text/plain": ["<Figure>"], "image/png": "A" * 9_000}},
        {"traceback": ["\x1b[31mNameError\x1b[0m"]},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "print(1)\n", "outputs": outputs},
        {"cell_type": "code", "source": [], "outputs": []},
        "odd",
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "julia"}}}))
    assert text_of(path) == ("# Title\nwords\n\n```julia\nprint(1)\n```\n\n```text\n1\n2\n<Figure>\nNameError\n```")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("old.doc", b"\xd0\xcf\x11\xe0\0", "save it as .docx and attach that"),
        ("old.xls", b"\xd0\xcf\x11\xe0\0", "save it as .xlsx and attach that"),
        ("talk.key", b"PK\3\4\0", "save it as .pptx and attach that"),
        ("novel.mobi", b"BOOK\0\0", "save it as PDF and attach that"),
        ("all.zip", b"PK\3\4\0", "is an archive; unpack it"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\0", "is encrypted"),
        ("a.pptx", b"PK\3\4 nothing", "is damaged"),
        ("a.epub", b"text", "is damaged"),
        ("a.ipynb", b"[]", "is damaged"),
        ("a.rtf", b"{\\rtf1" + b"{" * 5_000, "is damaged"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(name: str, data: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FileUnusable, match=sentence):
        text_of(path)
