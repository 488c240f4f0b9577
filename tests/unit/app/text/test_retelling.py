"""What is shown is found again among the translations, and said in another language."""

from __future__ import annotations

import pytest

from app.text.languages import ENGLISH, Language, language_named
from app.text.retelling import Messages, Retelling

GERMAN, JAPANESE = (language_named(code) or ENGLISH for code in ("de", "ja"))
IN_GERMAN: Messages = {
    "A": {
        "Open a file…": "Datei öffnen…",
        "New chat  (Ctrl+N)": "Neuer Chat  (Strg+N)",
        "%n file(s)": ["%n Datei", "%n Dateien"],
        "{number} token(s) of {all}": ["{number} Token von {all}", "{number} Tokens von {all}"],
        "Takes {size} of memory": "Belegt {size} Speicher",
        "about {minutes} min": "etwa {minutes} Min.",
        "{number} GB": "{number} GB",
        "no limit": "ohne Grenze",
        "Save": "Speichern",
        "It is read, and what it says is shown.": "Es wird gelesen, und was es sagt, wird gezeigt.",
    }
}
IN_JAPANESE: Messages = {
    "A": {
        "%n file(s)": ["%n個のファイル"],
        "Save": "保存",
        "Takes {size} of memory": "メモリ {size}",
        "{number} GB": "{number} GB",
    }
}
SPOKEN: dict[str, tuple[Language, Messages]] = {
    "en": (ENGLISH, {}),
    "de": (GERMAN, IN_GERMAN),
    "ja": (JAPANESE, IN_JAPANESE),
}


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Save", "Speichern"),
        ("1 file", "1 Datei"),
        ("2,000 files", "2.000 Dateien"),
        ("1 token of 8,192", "1 Token von 8.192"),
        ("12 tokens of 8,192", "12 Tokens von 8.192"),
        ("Takes 1.5 GB of memory", "Belegt 1,5 GB Speicher"),
        ("Takes about 3 min of memory", "Belegt etwa 3 Min. Speicher"),
        ("Save · about 3 min", "Speichern · etwa 3 Min."),
        ("<p>Save</p><b>2 files</b>", "<p>Speichern</p><b>2 Dateien</b>"),
        ("No limit", "Ohne Grenze"),
        ("New chat  (Ctrl+N)", "Neuer Chat  (Strg+N)"),
        ("Open a file", "Datei öffnen"),
        ("  Save ", "  Speichern "),
        ("It is read, and what\nit says is shown.", "Es wird gelesen, und was es sagt, wird gezeigt."),
        ("somebody/a-model", "somebody/a-model"),
        ("A chat about boats, and more", "A chat about boats, and more"),
        ("", ""),
    ],
)
def test_texts_are_said_again_and_back(english: str, german: str) -> None:
    assert Retelling(SPOKEN["en"], SPOKEN["de"])(english) == german
    if "\n" not in english:
        assert Retelling(SPOKEN["de"], SPOKEN["en"])(german) == english


def test_from_one_translation_to_another() -> None:
    again = Retelling(SPOKEN["de"], SPOKEN["ja"])
    assert again("2.000 Dateien") == "2,000個のファイル"
    assert again("Belegt 1,5 GB Speicher") == "メモリ 1.5 GB"
    assert Retelling(SPOKEN["ja"], SPOKEN["de"])("1個のファイル") == "1 Datei"
    assert again("Datei öffnen…") == "Open a file…", "what is not translated is English"
