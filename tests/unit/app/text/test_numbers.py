from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale

from app.text.languages import ENGLISH
from app.text.numbers import decimal, formatted, read_number, read_whole, use_locale, whole


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    use_locale(ENGLISH.locale)


@pytest.mark.parametrize(
    ("locale", "number", "amount"),
    [
        ("en_US", "1,204", "81,920.50"),
        ("de_DE", "1.204", "81.920,50"),
        ("fr_FR", "1\u202f204", "81\u202f920,50"),
        ("ja_JP", "1,204", "81,920.50"),
        ("es_ES", "1204", "81.920,50"),
    ],
)
def test_numbers_are_written_as_the_language_does(locale: str, number: str, amount: str) -> None:
    use_locale(QLocale(locale))
    assert whole(1204) == number
    assert decimal(81920.5, 2) == amount


@pytest.mark.parametrize(
    ("form", "english", "german"),
    [
        (",", "12,345", "12.345"),
        (".1f", "12345.0", "12345,0"),
        (",.1f", "12,345.0", "12.345,0"),
        (".0f", "12345", "12345"),
        (".0%", "1,234,500\u00a0%", "1.234.500\u00a0%"),
        ("", "12345", "12345"),
        ("g", "12345", "12345"),
    ],
)
def test_formats_of_sentences(form: str, english: str, german: str) -> None:
    assert formatted(12345, form) == english
    use_locale(QLocale("de_DE"))
    assert formatted(12345, form) == german


def test_numbers_are_read_as_they_are_written() -> None:
    assert (read_whole("8,192"), read_whole("8192"), read_number("0.7")) == (8192, 8192, 0.7)
    use_locale(QLocale("de_DE"))
    assert (read_whole("8.192"), read_whole("8192"), read_number("0,7")) == (8192, 8192, 0.7)
    assert read_number(formatted(0.75, "g")) == 0.75


@pytest.mark.parametrize("text", ["", "a", "1 2 3", "--1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    for read in (read_whole, read_number):
        with pytest.raises(ValueError):  # noqa: PT011
            read(text)
