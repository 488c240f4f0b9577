"""Choosing models in the real window, with the real engine and the starter target."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.library.library import connect_library
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.main_window import MainWindow
from app.theme import apply_theme
from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, TargetOptions, TargetSettings, starter_path
from engine.speculation.model.files.sources import StarterQuantization, starter_source
from engine.values.events import Event, ReplyFinished, TargetReady
from tests.fakes.chats import Chats
from tests.fakes.ear import Broke, Ear

pytestmark = [
    pytest.mark.starter,
    pytest.mark.usefixtures("sound_models"),
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
_PATIENCE_MS = 60_000
_FOR_ALL = TargetSettings(context_size=1024)


class Desk:
    """A person in front of the window."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self._keeper = apply_theme(qapp)
        self.window = MainWindow(self._keeper)
        self.bridge = EngineBridge(EngineConfig(folder))
        greedy = SamplingSettings(temperature=0)
        chats = Chats(self.window, self.bridge, ReplySettings(greedy, 16), _FOR_ALL)
        self.target = chats.target
        self.library = connect_library(self.window, self._keeper, self.bridge, chats.target, folder, greedy)
        self.dialog = self.library.dialog
        self.picker = self.window.target_bar.picker
        self._ear = Ear(self.bridge)
        qtbot.addWidget(self.window)
        self.window.show()
        chats.start(STARTER)
        self.library.list_all()
        self.until(lambda: len(self.heard(TargetReady)) == 1)
        self.until(lambda: any(row.tag == "In use" for row in self.picker.view.rows.rows))

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def heard(self, kind: type[Event]) -> list[Event]:
        return [event for event in self._ear.events if isinstance(event, kind)]

    @property
    def listed(self) -> list[str]:
        return [row.title for row in self.dialog.library.view.rows.rows]

    @property
    def loaded(self) -> TargetReady:
        last = self.heard(TargetReady)[-1]
        assert isinstance(last, TargetReady)
        return last

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()
        self._keeper.deleteLater()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qtbot, qapp, tmp_path / "store")
    yield desk
    desk.close()


def test_a_model_is_added_chosen_during_a_reply_set_up_and_removed(desk: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "second-Q8_0.gguf"
    shutil.copyfile(starter_path(), copy)
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    desk.dialog.dropped.emit((copy, tmp_path / "broken.gguf"))
    desk.until(lambda: "One file was skipped: " in desk.dialog.words.text())
    assert "second-Q8_0" in desk.listed
    (starter,) = (title for title in desk.listed if title.endswith("(starter)"))

    # chosen with the keyboard, while a reply is under way
    desk.window.prompt_box.submitted.emit("Count to three.")
    desk.window.target_bar.open_picker()
    QTest.keyClicks(desk.picker.search, "second")
    desk.until(lambda: desk.picker.note.text().startswith("Takes about"))
    QTest.keyClick(desk.picker.search, Qt.Key.Key_Return)
    desk.until(lambda: len(desk.heard(TargetReady)) == 2)
    assert len(desk.heard(ReplyFinished)) == 1, "the reply came first"
    assert desk.loaded.target.path == str(copy)
    assert desk.loaded.target.context_size == 1024
    assert desk.window.target_bar.name.text() == "second-Q8_0"

    # its own context length, at once
    desk.window.library_action.trigger()
    page = desk.dialog.library
    assert page.target is not None
    assert page.target.path == copy
    assert not page.details.form.load_again_button.isVisible()
    desk.until(lambda: page.details.form.memory.text().startswith("Takes about"))
    before = page.details.form.memory.text()
    page.details.form.fields["context_size"].setValue(4096)
    desk.until(lambda: page.details.form.memory.text() not in (before, ""))
    QTest.mouseClick(page.details.form.load_again_button, Qt.MouseButton.LeftButton)
    desk.until(lambda: len(desk.heard(TargetReady)) == 3)
    assert desk.loaded.target.context_size == 4096
    desk.until(lambda: not page.details.form.load_again_button.isVisible())

    # back to the starter, and away with the file
    page.view.point_at(str(starter_path()))
    QTest.mouseClick(page.details.use_button, Qt.MouseButton.LeftButton)
    desk.until(lambda: len(desk.heard(TargetReady)) == 4)
    assert desk.window.target_bar.name.text() == starter.removesuffix(" (starter)")
    page.view.point_at(str(copy))
    QTest.mouseClick(page.details.remove_button, Qt.MouseButton.LeftButton)
    (box,) = desk.dialog.findChildren(QMessageBox)
    check = box.checkBox()
    assert check is not None
    check.setChecked(True)
    remove = next(button for button in box.findChildren(QPushButton) if button.text() == "Remove")
    QTest.mouseClick(remove, Qt.MouseButton.LeftButton)
    desk.until(lambda: desk.listed == [starter])
    assert not copy.exists()
    assert desk.heard(Broke) == []


def test_a_model_whose_file_moved_is_located_and_keeps_its_settings(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "second-Q8_0.gguf"
    shutil.copyfile(starter_path(), copy)
    with copy.open("ab") as file:  # another model than the starter
        file.write(bytes(32))
    desk.library.choose(str(copy))
    desk.until(lambda: len(desk.heard(TargetReady)) == 2)
    desk.until(lambda: "second-Q8_0" in desk.listed)
    desk.dialog.library.options_changed.emit(copy, TargetOptions(TargetSettings(context_size=2048)))
    desk.window.starter_action.trigger()
    desk.until(lambda: len(desk.heard(TargetReady)) == 3)

    moved = copy.rename(tmp_path / "moved.gguf")
    desk.library.choose(str(copy))
    desk.until(lambda: bool(desk.window.notices.shown))
    (notice,) = desk.window.notices.shown.values()
    starter = desk.loaded.target.name
    assert notice.words.text().startswith(f"The file of second-Q8_0 is no longer in {tmp_path}. {starter} keeps")
    assert desk.window.toasts.shown == ()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_arguments: (str(moved), ""))
    (locate,) = notice.buttons
    QTest.mouseClick(locate, Qt.MouseButton.LeftButton)
    desk.until(lambda: len(desk.heard(TargetReady)) == 4)
    assert (desk.loaded.target.path, desk.loaded.target.context_size) == (str(moved), 2048)
    assert not desk.window.notices.shown
    desk.until(lambda: len(desk.listed) == 2 and "moved" in desk.listed)  # in place of the entry


def test_the_starter_in_another_form_goes_back_to_how_it_came_at_once(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    form = StarterQuantization(tmp_path / "store", starter_source().identity)
    made = tmp_path / "store" / "starter-made.gguf"
    made.parent.mkdir()
    shutil.copyfile(starter_path(), made)
    form.use(made)
    desk = Desk(qtbot, qapp, tmp_path / "store")
    try:
        assert desk.loaded.target.path == str(form.path)
        desk.window.library_action.trigger()
        desk.dialog.library.details.quantizations_button.click()
        (forms,) = desk.window.findChildren(QuantizationsDialog)
        assert forms.starter_words.text() == "The starter model uses Q4_1."
        desk.until(lambda: len(forms.table.rows) > 5)
        assert all(row.size_bytes for row in forms.table.rows[1:] if not row.problem)
        QTest.mouseClick(forms.reset_button, Qt.MouseButton.LeftButton)
        desk.until(lambda: len(desk.heard(TargetReady)) == 2)
        assert desk.loaded.target.path == str(starter_path())
        assert forms.words.text() == "The starter model uses its original quantization from now on."
        assert not forms.reset_button.isVisible()
        desk.until(lambda: desk.target.in_use is not None and desk.target.in_use.path == str(starter_path()))

        # a form that goes while it is in use
        form.use(shutil.copyfile(starter_path(), made))
        desk.target.load_again()
        desk.until(lambda: len(desk.heard(TargetReady)) == 3)
        assert desk.loaded.target.path == str(form.path)
        form.use(None, is_wish=True)
        desk.target.load_again()
        desk.until(lambda: len(desk.heard(TargetReady)) == 4)
        assert desk.loaded.target.path == str(starter_path())
        assert desk.heard(Broke) == []
    finally:
        desk.close()
