"""What is translated is right, and what is translated once stays so: nothing is lost, nothing is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.text.languages import TRANSLATED, Language, language_named
from tests.translations import __main__ as command
from tests.translations import files
from tests.translations.checking import problems
from tests.translations.collecting import Message, collected

GERMAN, FRENCH, JAPANESE = (language_named(code) or TRANSLATED[0] for code in ("de", "fr", "ja"))


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    return collected()


@pytest.mark.parametrize("language", TRANSLATED, ids=lambda language: language.code)
def test_no_placeholder_tag_or_key_is_lost(language: Language, messages: list[Message]) -> None:
    wrong = [(each.source, problem) for each, problem in command.wrong(language, messages)]
    assert not wrong, f"mend these in resources/translations/{language.code}.json"


@pytest.mark.parametrize("language", TRANSLATED, ids=lambda language: language.code)
def test_everything_is_translated(language: Language, messages: list[Message]) -> None:
    known = files.read(language)
    if not known:
        pytest.skip("nobody has begun with it")
    missing = [each.source for each in files.missing(messages, known)]
    assert not missing, f"make translations ARGS='--export {language.code} FOLDER'"


def test_messages_are_found_where_they_are_said(messages: list[Message]) -> None:
    found = {(each.context, each.source): each for each in messages}
    assert not found["MainWindow", "New chat"].is_plural
    assert found["Amounts", "{number} page(s)"].is_plural, "said by `translate` with a number"
    assert found["engine", "{reason} ({number:,} more file(s) (was|were) left out.)"].is_plural
    assert ("engine", "{name} is cut short; download it again.") in found
    assert ("Settings", "Temperature") in found
    assert len(messages) == len(found) > 1500


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("{name} is damaged.", "Sie ist beschädigt."),
        ("{name} is damaged.", "{Name} ist beschädigt."),
        ("{size:.1f} GiB", "{size} GiB"),
        ("Save all", "Alle {what} speichern"),
        ("Open <b>all</b>", "Alle öffnen"),
        ("Run `make setup`.", "Starten Sie `make Einrichtung`."),
        ("Search  (Ctrl+F)", "Suchen"),
        ("Search  (Ctrl+F)", "Suchen  (Strg+G)"),
        ("Open…", "Öffnen"),
        ("Done.", "Fertig"),
        ("Done", "Fertig."),
        (" and more", "und mehr"),
        ("One\nTwo", "Eins Zwei"),
        ("Slipstream is open.", "Das Programm ist offen."),
        ("&Copy", "Kopieren"),
        ("Words", " "),
    ],
)
def test_what_is_wrong_is_found(source: str, translation: str) -> None:
    assert problems(Message("Here", source), translation, GERMAN)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("{name} is damaged.", "Beschädigt ist {name}."),
        ("Search  (Ctrl+F)", "Suchen  (Strg+F)"),
        ("Send with Shift+Enter", "Mit Umschalt+Enter senden"),
        ("Open <b>all</b>…", "<b>Alle</b> öffnen…"),
        ("&Copy", "&Kopieren"),
    ],
)
def test_what_is_right_passes(source: str, translation: str) -> None:
    assert not problems(Message("Here", source), translation, GERMAN)


def test_japanese_ends_its_sentences_in_its_own_way() -> None:
    assert not problems(Message("Here", "{name} is damaged."), "{name}は壊れています。", JAPANESE)


def test_plurals_have_every_form_of_the_language() -> None:
    message = Message("Here", "%n file(s)", is_plural=True)
    assert not problems(message, ["eine Datei", "%n Dateien"], GERMAN)
    assert not problems(message, ["%n個のファイル"], JAPANESE)
    for forms in ("%n Dateien", ["%n Dateien"], ["eine Datei", "Dateien"], ["%n Datei(s)", "%n Datei(s)"], ["", "%n"]):
        assert problems(message, forms, GERMAN), forms


def test_a_value_of_the_engine_may_begin_with_a_capital_elsewhere() -> None:
    message = Message("engine", "{Drafter} is ready.")
    assert not problems(message, "Bereit ist {drafter}.", GERMAN)
    assert problems(message, "Es ist bereit.", GERMAN)


@pytest.mark.parametrize(
    ("translation", "is_right"),
    [
        ("Schreib {Empfänger} über {clipboard}, {Ton:freundlich}.", True),
        ("Schreib {Empfänger} über {Kopiertes}, {Ton:freundlich}.", False),
        ("Schreib {Empfänger} über {clipboard}, {Ton}.", False),
        ("Schreib über {clipboard}, {Ton:freundlich}.", False),
    ],
)
def test_variables_of_example_prompts_are_translated_and_none_is_lost(translation: str, is_right: bool) -> None:
    message = Message("PromptExamples", "Write to {recipient} about {clipboard}, {tone:friendly}.")
    assert (problems(message, translation, GERMAN) == []) == is_right


def test_what_is_filled_in_is_taken_over_and_what_is_wrong_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        command, "collected", lambda: [Message("A", "Save"), Message("A", "{n} of {m}"), Message("B", "Save")]
    )
    monkeypatch.setattr(files, "read", lambda _language: known)
    monkeypatch.setattr(files, "write", lambda _language, now: known.update(now))
    known: files.Known = {}
    assert command._export(GERMAN, tmp_path, "", False) == 0
    path = tmp_path / "de-01.json"
    content = json.loads(path.read_text("utf-8"))
    assert [each["source"] for each in content["entries"]] == ["Save", "{n} of {m}"], "the same words once"
    content["entries"][0]["translation"] = "Speichern"
    content["entries"][1]["translation"] = "{n} von vielen"
    path.write_text(json.dumps(content))
    assert command._import(path) == 1
    assert known == {("A", "Save"): "Speichern"}
    assert "It lacks {m}." in capsys.readouterr().out


def test_files_hold_what_they_were_given(tmp_path: Path) -> None:
    known: files.Known = {("B", "b “c” \n"): "d", ("A", "%n file(s)"): ["一", "二"], ("A", "a"): "ä"}
    files.write(GERMAN, known, tmp_path)
    assert files.read(GERMAN, tmp_path) == known
    assert '      "a": "ä"' in (tmp_path / "de.json").read_text("utf-8").splitlines(), "an entry on a line"
