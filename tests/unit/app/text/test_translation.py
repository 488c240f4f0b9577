"""The window in a language that exists for this test only: every word that is ready for translation is told apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot

from app.features.settings.settings_dialog import SettingsDialog
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.settings.declaration import shown_settings
from app.settings.shortcuts import native
from app.text.languages import ENGLISH, TRANSLATED, Language, language_named
from app.text.numbers import use_locale
from app.text.preset_examples import example_prompts
from app.text.speed import ratio_words
from app.text.tool_calls import seconds_words
from app.text.translation import (
    ENGINE,
    TRANSLATIONS,
    Forms,
    Translators,
    Words,
    _telling,
    install_translations,
    told,
    translate,
    translated,
)
from app.theme import ThemeKeeper
from app.widgets.option_row import range_words
from app.widgets.prompt.prompt_filling import CLIPBOARD, pieces
from engine import origins
from engine.values.config import TargetOptions
from engine.values.events import (
    ConversationsListed,
    DeletedErased,
    DrafterChosen,
    Event,
    SpeculationChanged,
    StoreBehind,
    TargetReady,
    TargetsListed,
)
from engine.values.origins import SERVER, TARGET
from engine.values.requests import Failure
from engine.values.sentences import say
from engine.values.speed import Hindrance, SpeedOutcome, SpeedVerdict
from engine.values.targets import Added, LibraryTarget
from tests.translations.collecting import collected
from tests.translations.files import Known, write

GERMAN = language_named("de") or ENGLISH
Speak = Callable[[Language, Path], Translators]


def test_values_are_written_into_words_with_thousands_set_apart() -> None:
    here = Words("Here")
    assert here.tr("{used} of {size}: {share}", used=1204, size=81920, share="2 %") == "1,204 of 81,920: 2 %"
    assert here.tr("{number} token(s) in {seconds} s", "", 1, seconds="0.50") == "1 token in 0.50 s"
    assert here.tr("{number} download(s)", "", 2_000_000, number="2M") == "2M downloads"
    assert here.tr("as it {is}") == "as it {is}", "it may be formatted later"


@pytest.fixture
def speak(qapp: QApplication) -> Iterator[Callable[[Language, Path], Translators]]:
    made: list[Translators] = []

    def install(language: Language, folder: Path) -> Translators:
        made.append(install_translations(qapp, language, folder))
        return made[-1]

    yield install
    for each in made:
        each.remove()
    use_locale(ENGLISH.locale)


def test_keys_numbers_and_examples_are_those_of_the_language(speak: Speak) -> None:
    english = {piece.name for prompt in example_prompts() for piece in pieces(prompt.text)} - {"", CLIPBOARD}
    for language in TRANSLATED:
        translators = speak(language, TRANSLATIONS)
        asked = [piece.name for prompt in example_prompts() for piece in pieces(prompt.text)]
        assert english - {*asked}, f"{language.code}: what is asked for"
        assert asked.count(CLIPBOARD) == 1
        for keys in ("Ctrl+Shift+N", "Ctrl+Enter", "Esc"):
            named = dict(language.keys)
            assert native(keys).split("+")[:-1] == [named.get(each, each) for each in keys.split("+")[:-1]]
        translators.remove()
    speak(GERMAN, TRANSLATIONS)
    assert ratio_words(SpeedVerdict(SpeedOutcome.FASTER, Hindrance.UNKNOWN, 31.0, 20.0, 0.04)) == "1,6× ± 0,1"
    assert seconds_words(0.84) == "0,8\u00a0s"
    penalty = next(each for each in shown_settings(AppSettings) if each.label == "Repetition penalty")
    assert range_words(penalty) == "Wählen Sie eine Zahl von 0,1 bis 10."
    assert native("Ctrl+Shift+Del") == "Strg+Umschalt+Entf"
    spanish = language_named("es") or ENGLISH
    speak(spanish, TRANSLATIONS)
    assert native("Ctrl+Shift+Del; Esc; Enter; PgUp") == "Ctrl+Mayús+Supr, Esc, Enter, Re Pág"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every word of the app between «», as German."""
    folder = tmp_path_factory.mktemp("translations")
    known: Known = {}
    for message in collected():
        forms: Forms = ["«one %n»", "«many %n»"] if message.is_plural else f"«{message.source}»"
        known[message.context, message.source] = forms
    write(GERMAN, known, folder)
    return folder


def test_the_window_comes_up_translated(qtbot: QtBot, keeper: ThemeKeeper, folder: Path, speak: Speak) -> None:
    speak(GERMAN, folder)
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    assert window.transcript.welcome.starter_button.text() == "«Chat with the starter model»"
    assert window.transcript.welcome.example_buttons[0].text() == "«How rainbows form»"
    dialog = SettingsDialog(keeper, shown_settings(AppSettings))
    qtbot.addWidget(dialog)
    assert dialog.windowTitle() == "«Settings»"
    assert dialog.pages.item(1).text() == "«Appearance»"
    row = dialog.rows["temperature"]
    assert row.name == "«Temperature»"
    assert row.reset_button.accessibleName() == "«Reset “«Temperature»” to its default»", "words of a base class"
    dialog.search.setText("«Temperature»")
    assert dialog.num_found.text() == "«one 1»"
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(buttons)
    assert buttons.buttons()[0].text() == "Abbrechen", "Qt's own words, too"


def test_without_a_translation_everything_is_english_and_plurals_are_right(
    qtbot: QtBot, keeper: ThemeKeeper, tmp_path: Path, speak: Speak
) -> None:
    speak(GERMAN, tmp_path)
    dialog = SettingsDialog(keeper, shown_settings(AppSettings))
    qtbot.addWidget(dialog)
    dialog.search.setText("temperature")
    assert dialog.num_found.text() == "1 setting found"
    dialog.search.setText("top")
    assert re.fullmatch(r"\d+ settings found", dialog.num_found.text())


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 boxes, files, replies"), (1, "1 box, file, reply"), (2, "2 boxes, files, replies")],
)
@pytest.mark.usefixtures("qapp")
def test_english_plurals(number: int, words: str) -> None:
    assert translate("A", "%n box(es), file(s), repl(y|ies)", "", number) == words


@pytest.mark.usefixtures("qapp")
def test_brackets_without_a_number_stay() -> None:
    assert translate("A", "file(s)") == "file(s)"


def test_the_labels_of_origins_are_collected_with_the_words_of_the_window() -> None:
    labels = {each.source for each in collected() if each.context == "Origin"}
    assert labels == {each.label for each in (*origins(), TARGET, SERVER)}


def test_what_the_engine_says_is_translated(speak: Speak, tmp_path: Path) -> None:
    known: Known = {
        (ENGINE, "{name} takes {size:.1f} GiB; {reason}."): "{size:.1f} GiB nimmt {name}; {reason}.",
        (ENGINE, "it is {share:.0%} of {total:,} MB"): "es sind {share:.0%} von {total:,} MB",
        (ENGINE, "{number:,} file(s) (was|were) left out."): ["eine Datei fehlt", "{number:,} Dateien fehlen"],
    }
    write(GERMAN, known, tmp_path)
    speak(GERMAN, tmp_path)
    part = say("it is {share:.0%} of {total:,} MB", share=0.25, total=12000)
    sentence = say("{name} takes {size:.1f} GiB; {reason}.", name="a", size=1.26, reason=part)
    assert translated(sentence) == "1,3 GiB nimmt a; es sind 25\u00a0% von 12.000 MB."
    left_out = "{number:,} file(s) (was|were) left out."
    assert [translated(say(left_out, number=number)) for number in (1, 2000)] == [
        "eine Datei fehlt",
        "2.000 Dateien fehlen",
    ]
    assert translated("As it is.") == "As it is."
    assert translated(say("Unknown {name}.", name="a")) == "Unknown a."


def test_events_come_out_in_the_users_language(speak: Speak, tmp_path: Path) -> None:
    known: Known = {(ENGINE, "{name} is damaged."): "{name} ist beschädigt."}
    write(GERMAN, known, tmp_path)
    speak(GERMAN, tmp_path)
    sentence = say("{name} is damaged.", name="a.gguf")
    failed = told(Failure(sentence))
    assert failed == Failure("a.gguf ist beschädigt.")
    target = LibraryTarget("a", Path("a.gguf"), 1, None, False, None, sentence, TargetOptions(), "")
    listed = told(TargetsListed((target, replace(target, problem=""))))
    assert [each.problem for each in listed.targets] == ["a.gguf ist beschädigt.", ""]
    assert told(Added((), (sentence,))).left_out == ("a.gguf ist beschädigt.",)
    unchanged = ConversationsListed(())
    assert told(unchanged) is unchanged


def test_every_field_that_tells_is_reached() -> None:
    """However deep it is within an event."""
    holding = {event for event in Event.__subclasses__() if _telling(event)}  # type: ignore[arg-type]
    telling = {TargetsListed, TargetReady, SpeculationChanged, DrafterChosen, DeletedErased}
    assert telling | {StoreBehind} <= holding
