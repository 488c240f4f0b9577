"""Texts whose encoding is not said, or said wrongly."""

from __future__ import annotations

import pytest

from engine.backend.documents.encodings import decoded


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Straße, Größe: 3 m³ für 4 €", "cp1252"),
        ("Élève naïf, œuvre, où ?", "cp1252"),
        ("Ações e limões", "cp1252"),
        ("Rødgrød på ø, Ærø", "cp1252"),
        ("¿Cuánto? Mañana", "cp1252"),
        ("Tőzsde, hűtő, kérés", "cp1250"),
        ("Tőzsde, hűtő, kérés", "iso8859-2"),
        ("Zażółć gęślą jaźń; był", "cp1250"),
        ("Příliš žluťoučký kůň", "cp1250"),
        ("Čaša, žena, đak", "cp1250"),
        ("Şehir, ağaç, İzmir", "cp1254"),
        ("Žvirblis, ąžuolas, šiaurė", "cp1257"),
        ("Съешь ещё этих булок", "cp1251"),
        ("Съешь ещё этих булок", "koi8-r"),
        ("Ξεσκεπάζω την ψυχή", "cp1253"),
        ("今天天气很好，我们去公园散步。", "gb18030"),
        ("今天天氣很好，我們去公園散步。", "big5"),
        ("今日はいい天気ですね。散歩しましょう。", "shift_jis"),
        ("오늘은 날씨가 아주 좋습니다", "euc_kr"),
        ("a;b\n東京;ü\n", "utf-16-le"),
        ("a;b\n東京;ü\n", "utf-16-be"),
        ("a;ü", "utf-16"),
        ("a;ü", "utf-8-sig"),
    ],
)
def test_the_letters_are_those_that_were_written(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_what_a_file_says_of_itself_counts_unless_it_is_utf_8() -> None:
    assert decoded("naïve ş".encode("iso8859-9"), "ISO-8859-9") == "naïve ş"
    assert decoded("Größe “x”".encode("cp1252"), "iso-8859-1") == "Größe “x”", "as browsers read it"
    assert decoded("漢字と仮名".encode(), "shift_jis") == "漢字と仮名"
    assert decoded("Größe".encode("cp1252"), "utf-8") == "Größe"
    assert decoded("Größe".encode("cp1252"), "klingon") == "Größe"


def test_a_file_that_was_cut_within_a_letter_stays_legible() -> None:
    assert decoded(("größer " * 30 + "ü").encode()[:-1]) == "größer " * 30 + "\ufffd"


@pytest.mark.parametrize("raw", [b"\0\1\2\3" * 20, bytes(range(256)), b"\x7fELF\2\1\1\0" + bytes(60), b"a\0b"])
def test_what_is_no_text_is_none(raw: bytes) -> None:
    assert decoded(raw) is None
