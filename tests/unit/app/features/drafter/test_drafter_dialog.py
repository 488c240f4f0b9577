from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.features.drafter.drafter_dialog import DrafterDialog
from app.theme import ThemeKeeper
from app.widgets.table import _SCREEN_SHARE
from engine.values.drafters import DrafterChoice
from tests.unit.app.drafter_samples import CHOICE, OFFER
from tests.unit.app.library_samples import QWEN, TARGETS

EXAMPLES = ("owner/one", "owner/two")


@pytest.fixture
def dialog(qtbot: QtBot, keeper: ThemeKeeper) -> DrafterDialog:
    assert keeper  # the style is applied
    dialog = DrafterDialog(EXAMPLES)
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    return dialog


def use(qtbot: QtBot, dialog: DrafterDialog) -> tuple[str, bool]:
    with qtbot.waitSignal(dialog.chosen) as chosen:
        QTest.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
    assert chosen.args is not None
    choice, is_own = chosen.args
    return str(choice), bool(is_own)


def rows(dialog: DrafterDialog) -> list[list[str]]:
    table = dialog.table
    items = [[table.item(row, column) for column in range(table.columnCount())] for row in range(table.rowCount())]
    return [["" if item is None else item.text() for item in row] for row in items]


def test_automatic_is_the_first_choice_and_for_all_models(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert use(qtbot, dialog) == ("automatic", False)


@pytest.mark.parametrize("word", ["automatic", "built-in", "starter", "starter-torch"])
def test_ours_are_one_click_away(qtbot: QtBot, dialog: DrafterDialog, word: str) -> None:
    QTest.mouseClick(dialog.form.ours[word], Qt.MouseButton.LeftButton)
    assert use(qtbot, dialog) == (word, False)


def test_the_hubs_examples_are_offered_and_any_other_name_can_be_typed(qtbot: QtBot, dialog: DrafterDialog) -> None:
    names = dialog.form.hub_name
    assert tuple(names.itemText(place) for place in range(names.count())) == EXAMPLES
    dialog.form.from_hub.setChecked(True)
    assert use(qtbot, dialog)[0] == "owner/one"
    dialog.form.ours["built-in"].setChecked(True)
    editor = names.lineEdit()
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, " owner/three:x.gguf ")
    assert dialog.form.from_hub.isChecked()
    assert use(qtbot, dialog)[0] == "owner/three:x.gguf"


def test_a_file_or_a_folder_is_typed_or_chosen(
    qtbot: QtBot, dialog: DrafterDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    QTest.keyClicks(dialog.form.path, "/models/x")
    assert dialog.form.from_path.isChecked()
    assert use(qtbot, dialog)[0] == "/models/x"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_arguments: str(tmp_path))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_arguments: (str(tmp_path / "x.gguf"), ""))
    for button, path in ((dialog.form.folder_button, tmp_path), (dialog.form.file_button, tmp_path / "x.gguf")):
        dialog.form.ours["built-in"].setChecked(True)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        assert use(qtbot, dialog)[0] == str(path)
    dialog.form.path.clear()
    assert use(qtbot, dialog)[0] == ""


def test_a_model_of_the_library_is_chosen_from_a_list(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert not dialog.form.from_library.isEnabled()
    dialog.form.show_models(TARGETS)
    dialog.form.from_library.setChecked(True)
    dialog.form.models.setCurrentIndex(1)
    assert use(qtbot, dialog)[0] == str(QWEN.path)
    dialog.form.show_models(TARGETS[1:])
    assert use(qtbot, dialog)[0] == str(QWEN.path)  # the list has changed, not the choice


@pytest.mark.parametrize(
    ("choice", "is_here", "shown"),
    [
        ("built-in", True, "built-in"),
        ("/models/x", True, "/models/x"),
        ("owner/one", False, "owner/one"),
        ("a/b", True, str(Path("a/b").absolute())),  # never a name on the hub
        ("owner/one:x.gguf", False, "owner/one:x.gguf"),
        (str(QWEN.path), True, str(QWEN.path)),
        (QWEN.name, True, str(QWEN.path)),
    ],
)
def test_the_choice_of_before_is_shown(
    qtbot: QtBot, dialog: DrafterDialog, choice: str, is_here: bool, shown: str
) -> None:
    dialog.form.show_models(TARGETS)
    dialog.form.show_choice(choice, is_here)
    assert use(qtbot, dialog)[0] == shown
    assert dialog.form.from_library.isChecked() == (str(QWEN.path) == shown)


def test_it_can_be_for_the_model_in_use_alone(qtbot: QtBot, dialog: DrafterDialog) -> None:
    dialog.form.show_scope("Tiny", True)
    assert dialog.form.scope.currentText() == "Only Tiny"
    assert use(qtbot, dialog) == ("automatic", True)
    dialog.form.show_scope("", False)
    assert dialog.form.scope.count() == 1
    assert use(qtbot, dialog) == ("automatic", False)


def test_all_who_could_draft_are_side_by_side(dialog: DrafterDialog) -> None:
    dialog.show_choice(CHOICE, "qwen")
    assert rows(dialog) == [
        ["✓ Starter", "1.83\u00a0×", "54\u00a0% (1,204 seen)", "4.6 ms", "197 MB"],
        ["Built-in drafter", "1.38\u00a0×", "30\u00a0%, expected", "about 3.1 ms", "150 MB"],
        ["qwen2.5-1.5b-instruct-q4_k_m", "1.20\u00a0×", "66\u00a0%, expected", "about 61.0 ms", "1.2 GB"],
    ]
    bold = [item.font().bold() for row in range(3) if (item := dialog.table.item(row, 0)) is not None]
    assert bold == [True, False, False]
    dialog.show_choice(DrafterChoice(None, "There is no drafter for this model."), "qwen")
    assert not dialog.table.isVisible()


def test_an_offer_is_taken_with_one_click(qtbot: QtBot, dialog: DrafterDialog) -> None:
    dialog.show_choice(replace(CHOICE, offer=None), "qwen")
    assert not dialog.offer.isVisible()
    dialog.show_choice(CHOICE, "qwen")
    assert "With Qwen 2.5 0.5B as its drafter, qwen should be 2.1×" in dialog.offer_words.text()
    assert "429 MB" in dialog.offer_words.text()
    with qtbot.waitSignal(dialog.offer_taken) as taken:
        QTest.mouseClick(dialog.offer_button, Qt.MouseButton.LeftButton)
    assert taken.args == [OFFER.hub_name]


def test_a_download_can_be_stopped_and_nothing_else_begun_meanwhile(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert not dialog.cancel_button.isVisible()
    dialog.show_downloading(True)
    dialog.show_progress(0.5)
    assert (dialog.progress.value(), dialog.progress.maximum()) == (500, 1000)
    assert not dialog.use_button.isEnabled()
    assert not dialog.offer_button.isEnabled()
    with qtbot.waitSignal(dialog.cancel_requested):
        QTest.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
    assert not dialog.cancel_button.isEnabled()
    dialog.show_downloading(False)
    assert dialog.use_button.isEnabled()
    assert not dialog.progress.isVisible()


def test_closing_does_not_stop_a_download(qtbot: QtBot, dialog: DrafterDialog) -> None:
    dialog.show_downloading(True)
    with qtbot.assertNotEmitted(dialog.cancel_requested):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_all_of_it_fits_a_small_screen(dialog: DrafterDialog) -> None:
    many = tuple(replace(CHOICE.prospects[0], speedup=1 + place / 10) for place in range(9))
    dialog.show_state("The starter drafts for qwen.", CHOICE.why)
    dialog.show_choice(replace(CHOICE, prospects=many), "qwen")
    dialog.show_words("Downloading owner/one: 1.5 of 3.0 MB.")
    dialog.show_downloading(True)
    QApplication.processEvents()
    assert dialog.minimumSizeHint().width() <= 1366
    assert dialog.minimumSizeHint().height() <= 0.9 * 768


def test_all_columns_of_the_table_are_in_sight(dialog: DrafterDialog) -> None:
    dialog.show_choice(CHOICE, "SmolLM2")
    QApplication.processEvents()
    assert dialog.table.isVisible()
    table = dialog.table
    room = int(table.screen().availableSize().width() * _SCREEN_SHARE)
    assert table.width() >= min(table.horizontalHeader().length() + table.verticalScrollBar().sizeHint().width(), room)
