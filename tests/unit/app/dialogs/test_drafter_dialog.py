from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.dialogs.drafter_dialog import DrafterDialog
from app.theme import ThemeKeeper

EXAMPLES = ("owner/one", "owner/two")


@pytest.fixture
def dialog(qtbot: QtBot, keeper: ThemeKeeper) -> DrafterDialog:
    assert keeper  # the style is applied
    dialog = DrafterDialog("built-in", EXAMPLES)
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    return dialog


def use(qtbot: QtBot, dialog: DrafterDialog) -> str:
    with qtbot.waitSignal(dialog.chosen) as chosen:
        QTest.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
    assert chosen.args is not None
    return str(chosen.args[0])


def test_the_built_in_drafter_is_the_first_choice(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert use(qtbot, dialog) == "built-in"


def test_the_hubs_examples_are_offered_and_any_other_name_can_be_typed(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert tuple(dialog.hub_name.itemText(place) for place in range(dialog.hub_name.count())) == EXAMPLES
    dialog.from_hub.setChecked(True)
    assert use(qtbot, dialog) == "owner/one"
    dialog.built_in.setChecked(True)
    editor = dialog.hub_name.lineEdit()
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, " owner/three ")
    assert dialog.from_hub.isChecked()
    assert use(qtbot, dialog) == "owner/three"


def test_a_folder_is_typed_or_chosen(
    qtbot: QtBot, dialog: DrafterDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    QTest.keyClicks(dialog.folder, "/models/x")
    assert dialog.from_folder.isChecked()
    assert use(qtbot, dialog) == "/models/x"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_arguments: str(tmp_path))
    dialog.built_in.setChecked(True)
    QTest.mouseClick(dialog.browse_button, Qt.MouseButton.LeftButton)
    assert use(qtbot, dialog) == str(tmp_path)


@pytest.mark.parametrize(
    ("choice", "is_folder"), [("built-in", False), ("/models/x", True), ("owner/one", False), ("a/b", True)]
)
def test_the_choice_of_before_is_shown(qtbot: QtBot, dialog: DrafterDialog, choice: str, is_folder: bool) -> None:
    dialog.show_choice(choice, is_folder)
    assert use(qtbot, dialog) == (str(Path(choice).absolute()) if is_folder else choice)  # never a name on the hub
    assert dialog.from_folder.isChecked() == is_folder


def test_a_download_can_be_stopped_and_nothing_else_begun_meanwhile(qtbot: QtBot, dialog: DrafterDialog) -> None:
    assert not dialog.cancel_button.isVisible()
    dialog.show_downloading(True)
    dialog.show_progress(0.5)
    assert (dialog.progress.value(), dialog.progress.maximum()) == (500, 1000)
    assert not dialog.use_button.isEnabled()
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
