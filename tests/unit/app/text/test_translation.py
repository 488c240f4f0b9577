"""The window in a language that exists for this test only: every word that is ready for translation is told apart."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, QTranslator
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot

from app.dialogs.settings_dialog import SettingsDialog
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.settings.declaration import shown_settings
from app.text.translation import Words, install_translations, translate
from app.theme import ThemeKeeper
from engine import origins
from engine.messages.origins import TARGET

SCRIPT = Path(__file__).parents[4] / "packaging" / "translations.py"
LRELEASE = Path(sys.executable).parent / "pyside6-lrelease"
GERMAN = QLocale(QLocale.Language.German)


def test_values_are_written_into_words_with_thousands_set_apart() -> None:
    here = Words("Here")
    assert here.tr("{used} of {size}: {share}", used=1204, size=81920, share="2 %") == "1,204 of 81,920: 2 %"
    assert here.tr("{number} token(s) in {seconds} s", "", 1, seconds="0.50") == "1 token in 0.50 s"
    assert here.tr("{number} download(s)", "", 2_000_000, number="2M") == "2M downloads"
    assert here.tr("as it {is}") == "as it {is}", "it may be formatted later"


@pytest.fixture
def translators(qapp: QApplication) -> Iterator[list[QTranslator]]:
    installed: list[QTranslator] = []
    yield installed
    for translator in installed:
        qapp.removeTranslator(translator)
        translator.deleteLater()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Every word of the app between «», as German."""
    if not LRELEASE.exists():
        pytest.skip("Qt's tools for translators are not here")
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    tree = ET.parse(tmp_path / "slipstream.ts")
    tree.getroot().set("language", "de_DE")
    for message in tree.getroot().iter("message"):
        translation = message.find("translation")
        assert translation is not None
        source = message.findtext("source") or ""
        translation.clear()
        if message.get("numerus") == "yes":
            for form in ("«one %n»", "«many %n»"):
                ET.SubElement(translation, "numerusform").text = form
        else:
            translation.text = f"«{source}»"
    tree.write(tmp_path / "slipstream_de.ts", "utf-8", xml_declaration=True)
    subprocess.run([LRELEASE, "-silent", tmp_path / "slipstream_de.ts"], check=True)
    return tmp_path


def test_the_window_comes_up_translated(
    qtbot: QtBot, qapp: QApplication, keeper: ThemeKeeper, folder: Path, translators: list[QTranslator]
) -> None:
    translators += install_translations(qapp, GERMAN, folder)
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
    qtbot: QtBot, qapp: QApplication, keeper: ThemeKeeper, translators: list[QTranslator]
) -> None:
    translators += install_translations(qapp, GERMAN)
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


@pytest.mark.skipif(not LRELEASE.exists(), reason="Qt's tools for translators are not here")
def test_the_labels_of_origins_are_collected_with_the_words_of_the_window(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    contexts = ET.parse(tmp_path / "slipstream.ts").getroot().iter("context")
    (labels,) = (context for context in contexts if context.findtext("name") == "Origin")
    assert {*(source.text for source in labels.iter("source"))} == {each.label for each in (*origins(), TARGET)}
