from __future__ import annotations

from typing import get_args

import pytest

from app.settings.look import Spoken
from app.text.languages import LANGUAGES, SYSTEM, TRANSLATED, chosen_language, language_named, language_of


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["de-AT", "en-US"], "de"),
        (["es_MX"], "es"),
        (["fr"], "fr"),
        (["ja_JP.UTF-8"], "ja"),
        (["zh-Hans-CN"], "zh_CN"),
        (["zh_SG"], "zh_CN"),
        (["zh-Hant-TW", "ja"], "ja"),
        (["zh_TW"], "en"),
        (["nl-BE", "fr-BE"], "fr"),
        (["en-GB", "de"], "en"),
        (["xx"], "en"),
        ([], "en"),
    ],
)
def test_the_language_of_the_system_is_the_first_that_can_be_spoken(wanted: list[str], code: str) -> None:
    assert chosen_language(SYSTEM, wanted).code == code


def test_a_choice_counts_more_than_the_system() -> None:
    assert chosen_language("ja", ["de"]).code == "ja"
    assert chosen_language("en", ["de"]).code == "en"


def test_the_settings_offer_all_languages() -> None:
    assert get_args(Spoken) == (SYSTEM, "en", *(each.code for each in TRANSLATED))
    assert all(language_named(each.code) is each for each in LANGUAGES)


@pytest.mark.parametrize(
    ("code", "places"),
    [("en", "10111"), ("de", "10111"), ("es", "10111"), ("fr", "00111"), ("ja", "00000"), ("zh_CN", "00000")],
)
def test_plural_forms(code: str, places: str) -> None:
    """Of none, one, two, 21 and a million."""
    language = language_of(code)
    assert language is not None
    assert "".join(str(language.form_of(number)) for number in (0, 1, 2, 21, 1_000_000)) == places
