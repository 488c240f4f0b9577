"""Documents as text. Those that mean harm end in a sentence, quickly and in little memory."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.backend.documents import apart, read_document, reading
from engine.values.errors import Cancelled, FileUnusable
from engine.values.passages import num_pages
from engine.values.stop_signal import StopSignal
from tests.fakes.documents import docx, docx_paragraph, drawn, odt, paragraph, pdf


def read(path: Path) -> str:
    return read_document(path, StopSignal()).text


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are read in this process, which keeps its doors open: a child takes a second to start."""
    monkeypatch.setattr(apart, "_shut_doors", lambda: None)
    monkeypatch.setattr(reading, "ask_child", lambda look, arguments, _is_stopped, _limits: look(*arguments))


@pytest.mark.usefixtures("here")
def test_pdf_pages_have_marks_paragraphs_and_tables(tmp_path: Path) -> None:
    text = "The quick brown fox jumps over the lazy dog, again and again, until all of the paragraph is said. "
    rows = [("Fruit", "Price", "Stock"), ("Apple", "1.20", "14"), ("Pear", "1.50", "7")]
    table = [(72 + 150 * x, 500 - 14 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    columns = drawn(
        *(
            (x, 700 - 14 * y, f"{side} {y} of a column of text")
            for y in range(9)
            for x, side in ((72, "left"), (330, "right"))
        )
    )
    path = pdf(tmp_path / "a.pdf", [drawn(*paragraph(text * 2), *table), columns, drawn((72, 700, "[Page 7]"))])
    read_text = read(path)
    assert read_text.startswith(
        f"[Page 1]\n{(text * 2).strip()}\n\n| Fruit | Price | Stock |\n|---|---|---|\n| Apple | 1.20 | 14 |"
    )
    left, right = read_text.index("left 8 of"), read_text.index("right 0 of")
    assert left < right, "one column after the other"
    assert num_pages(read_text) == 3, "a page cannot forge a mark"


@pytest.mark.usefixtures("here")
def test_docx_has_headings_lists_tables_and_the_pages_of_its_last_layout(tmp_path: Path) -> None:
    cells = "".join(f"<w:tc>{docx_paragraph(text)}</w:tc>" for text in ("a|b", "c"))
    row = f"<w:tr>{cells}</w:tr>"
    spanned = f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{docx_paragraph("both")}</w:tc></w:tr>'
    body = (
        docx_paragraph("Über", '<w:pStyle w:val="berschrift2"/>')
        + docx_paragraph("one", "<w:numPr/>")
        + f"<w:tbl>{row}{spanned}</w:tbl>"
        + "<w:p><w:r><w:t>be</w:t></w:r><w:del><w:delText>gone</w:delText></w:del><w:r><w:t>fore</w:t>"
        + "<w:lastRenderedPageBreak/><w:t>after</w:t><w:footnoteReference w:id='2'/></w:r></w:p>"
    )
    styles = '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    notes = f'<w:footnote w:id="2">{docx_paragraph(" aside")}</w:footnote>'
    assert read(docx(tmp_path / "a.docx", body, styles, notes)) == (
        "[Page 1]\n## Über\n\n- one\n\n| a\\|b | c |\n|---|---|\n| both |  |\n\nbefore\n\n[Page 2]\nafter (aside)"
    )


def _run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def _field(text: str, properties: str) -> str:
    inside = f"<w:sdtContent>{docx_paragraph(text)}</w:sdtContent>"
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr>{inside}</w:sdt>"


_SHOWN = "<w:vanish w:val='0'/>"
_GONE = "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            f"<w:p><w:moveFrom>{_run('away ')}</w:moveFrom>{_run('here')}<w:moveTo>{_run(' now')}</w:moveTo></w:p>",
            "here now",
        ),
        (
            f"<w:p>{_GONE}{_run('first ')}</w:p><w:p>{_run('second')}</w:p><w:p>{_run('third')}</w:p>",
            "first second\n\nthird",
        ),
        (f"<w:p>{_run('secret', '<w:vanish/>')}{_run('seen', _SHOWN)}</w:p>", "seen"),
        (_field("Tap here", "<w:showingPlcHdr/>") + _field("Filled in", ""), "Filled in"),
        (f"<w:p>{_run('di&#173;vide zero&#8203;width')}</w:p>", "divide zerowidth"),
    ],
    ids=["moved", "joined", "hidden", "placeholder", "unseen signs"],
)
def test_docx_is_read_as_accepted(body: str, text: str, tmp_path: Path) -> None:
    assert read(docx(tmp_path / "a.docx", body)) == text


@pytest.mark.usefixtures("here")
def test_a_note_of_two_paragraphs_has_a_blank_between(tmp_path: Path) -> None:
    notes = f'<w:footnote w:id="2">{docx_paragraph("one")}{docx_paragraph("two")}</w:footnote>'
    body = "<w:p><w:r><w:t>text</w:t><w:footnoteReference w:id='2'/></w:r></w:p>"
    assert read(docx(tmp_path / "a.docx", body, footnotes=notes)) == "text (one two)"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("opened", ["svg", "noscript", "template"])
def test_an_element_that_is_never_closed_hides_nothing(opened: str, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(f"<p>one<{opened}><p>two".encode())
    assert read(path) == "one\n\ntwo"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_line_that_names_the_separator_is_no_row(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"{line}\r\nOrt;Wert\r\nGödöllő;1,5\r\n".encode("cp1250"))
    assert read(path) == "| Ort | Wert |\n|---|---|\n| Gödöllő | 1,5 |"


@pytest.mark.usefixtures("here")
def test_odt_has_headings_lists_notes_and_tables(tmp_path: Path) -> None:
    body = (
        '<text:h text:outline-level="1">Title</text:h><text:list><text:list-item><text:p>one</text:p></text:list-item>'
        "</text:list><text:p>so<text:s text:c='2'/>it<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>aside</text:p></text:note-body></text:note> goes</text:p>"
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><table:table><table:table-row>"
        "<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )
    assert read(odt(tmp_path / "a.odt", body)) == "# Title\n\n- one\n\nso  it (aside) goes\n\n| a | b |\n|---|---|"


@pytest.mark.usefixtures("here")
def test_html_has_what_is_seen_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(
        '<meta charset="latin-1"><title>T</title><script>alert(1)</script><style>p{}</style><h2>Über</h2>'
        "<p>one\n two<br>"
        "three<ul><li><p>item<li>next</ul><pre>  a\n  b</pre><table><tr><th colspan=2>h<td>x<tr><td>1<td>2"
        "<td><table><tr><td>in<td>ner</table></table>".encode("latin-1")
    )
    assert read(path) == (
        "T\n\n## Über\n\none two\n\nthree\n\n- item\n\n- next\n\n"
        "  a\n  b\n\n| h |  | x |\n|---|---|---|\n| 1 | 2 | in ner |"
    )


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('a,b\n"1,5","x\ny"\n', "| a | b |\n|---|---|\n| 1,5 | x y |"),
        ("a;b;c\n1,5;2\n", "| a | b | c |\n|---|---|---|\n| 1,5 | 2 |"),
        ("a\tb\n1\t|\n", "| a | b |\n|---|---|\n| 1 | \\| |"),
    ],
)
@pytest.mark.usefixtures("here")
def test_values_are_a_table_whatever_separates_them(tmp_path: Path, raw: str, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(raw)
    assert read(path) == text


def test_other_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a,b = 1, 2\n")
    assert read(path) == "a,b = 1, 2\n"
    with pytest.raises(FileUnusable, match="no longer there"):
        read(tmp_path / "gone.pdf")


def test_reading_can_be_cancelled(tmp_path: Path) -> None:
    stop = StopSignal()
    stop.set()
    with pytest.raises(Cancelled, match=r"Reading a\.pdf was cancelled"):
        read_document(pdf(tmp_path / "a.pdf", [b""]), stop)


def _encrypted_pdf(path: Path) -> None:
    word = "<" + "00" * 32 + ">"
    locked = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O {word} /U {word} >> /ID [{word} {word}]"
    pdf(path, [drawn((72, 700, "secret"))], trailer=locked)


def _encrypted_odt(path: Path) -> None:
    namespace = 'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    odt(path, "", f"<manifest:manifest {namespace}><manifest:encryption-data/></manifest:manifest>")


def _flate_bomb(path: Path) -> None:
    pdf(path, [zlib.compress(b"BT /F 12 Tf " + b"(AAAAAAAA) Tj " * 8_000_000, 9)], filtered="/Filter /FlateDecode")


def _nested_arrays(path: Path) -> None:
    pdf(path, [b"[" * 1_000_000 + b"BT (x) Tj ET"])


def _zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        part.write(b"<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>")
        for _ in range(190):
            part.write(b" " * (1 << 20))


def _entities(path: Path) -> None:
    doubled = "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, 40))
    odt(path, "<text:p>&e39;</text:p>", before=f'<!DOCTYPE x [<!ENTITY e0 "boo">{doubled}]>')


def _external(path: Path) -> None:
    odt(path, "<text:p>&file;</text:p>", before='<!DOCTYPE x [<!ENTITY file SYSTEM "/etc/passwd">]>')


def _many_files(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}", b"")


HOSTILE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "damaged pdf": ("a.pdf", lambda path: path.write_bytes(b"%PDF-1.7\n" + b"\x00" * 1000), "is damaged"),
    "encrypted pdf": ("a.pdf", _encrypted_pdf, "is encrypted; save it without a password"),
    "pictures only": ("a.pdf", lambda path: pdf(path, [b"", b""]), r"only pictures of its pages; .*\(OCR\)"),
    "cycle of pages": ("a.pdf", lambda path: pdf(path, [], "/Kids [2 0 R 2 0 R] /Count 9"), "no text|is damaged"),
    "100,000 pages": (
        "a.pdf",
        lambda path: pdf(path, [drawn((72, 700, "x"))], f"/Kids [{'3 0 R ' * 100_000}] /Count 100000"),
        "has more than 5,000 pages; attach a part of it",
    ),
    "flate bomb": ("a.pdf", _flate_bomb, "takes too much time or memory|no text|million characters"),
    "nested arrays": ("a.pdf", _nested_arrays, "no text|takes too much time"),
    "old word": (
        "a.docx",
        lambda path: path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512)),
        "is encrypted",
    ),
    "no archive": ("a.docx", lambda path: path.write_bytes(b"PK\x03\x04" + bytes(100)), "is damaged"),
    "zip bomb": ("a.docx", _zip_bomb, "million characters"),
    "many files": ("a.docx", _many_files, "is damaged"),
    "deep xml": ("a.docx", lambda path: docx(path, "<w:p>" * 500_000), "is damaged|is empty"),
    "encrypted odt": ("a.odt", _encrypted_odt, "is encrypted"),
    "entities": ("a.odt", _entities, "is damaged"),
    "external entity": ("a.odt", _external, "is damaged"),
    "long line": ("a.csv", lambda path: path.write_text("x," * 5_000_000), "million characters"),
    "wide table": ("a.csv", lambda path: path.write_text("1," * 1_500_000), "million characters"),
    "large text": ("a.html", lambda path: path.write_text("<p>" + "y" * 21_000_000), "attach at most 20 MB"),
    "unclosed": ("a.html", lambda path: path.write_text("<a " * 2_000_000), "contains too much to read|is empty"),
}
_APART = ("flate bomb", "unclosed")  # these need the limits of a child


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in _APART])
def test_what_means_harm_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    _refused(tmp_path, kind)


@pytest.mark.parametrize("kind", _APART)
def test_what_takes_too_much_ends_in_one_as_well(tmp_path: Path, kind: str) -> None:
    _refused(tmp_path, kind)


def _refused(folder: Path, kind: str) -> None:
    name, make, words = HOSTILE[kind]
    make(folder / name)
    with pytest.raises(FileUnusable, match=words) as refusal:
        read(folder / name)
    assert str(refusal.value).startswith(name)
    assert str(refusal.value).endswith(".")


@pytest.mark.usefixtures("here")
def test_html_nested_100_000_deep_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<table><tr><td>" * 20_000 + "<div>" * 100_000 + "end")
    assert read(path) == "end"


@pytest.mark.usefixtures("here")
def test_scripts_in_a_pdf_do_nothing(tmp_path: Path) -> None:
    opened = "/OpenAction << /S /JavaScript /JS (app.alert\\(1\\); while\\(1\\);) >>"
    assert read(pdf(tmp_path / "a.pdf", [drawn((72, 700, "text"))], more=opened)) == "[Page 1]\ntext"


def _shut_in(folder: Path) -> str:
    import socket
    import subprocess

    apart._shut_doors()
    ways: dict[str, Callable[[], object]] = {
        "open": lambda: (folder / "a").open("w"),
        "connect": socket.socket,
        "start": lambda: subprocess.run(["/bin/true"], check=True),
    }
    done = []
    for name, way in ways.items():
        try:
            way()
        except OSError:
            continue
        done.append(name)
    return " ".join(done) or "nothing"


def test_the_child_can_open_nothing_once_it_reads(tmp_path: Path) -> None:
    from engine.speculation.model.apart.child import ask_child

    assert ask_child(_shut_in, (tmp_path,), lambda: False) == "nothing"
