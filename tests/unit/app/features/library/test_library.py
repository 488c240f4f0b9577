"""Choosing models: on a bridge without an engine, with the controllers of chats beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton

from app.features.library.library import connect_library
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.features.library.sampling_fields import PRESETS
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import STARTER, SamplingSettings, TargetOptions, TargetSettings
from engine.backend.library.library_service import LibraryService
from engine.values.drafters import DrafterChoice
from engine.values.errors import Cancelled
from engine.values.events import DrafterChosen, Event, TargetInfo, TargetReady, TargetsListed
from engine.values.targets import Added, HeadMethod, LibraryTarget, LoadOrder, MemoryEstimate
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.drafter_samples import CHOICE
from tests.unit.app.library_samples import GONE, HEAD, LARGE, MAMBA, QWEN, SMALL, STARTER_TARGET, TARGETS

FOR_ALL = TargetSettings(threads=3)
QWEN_SETTINGS = TargetSettings(context_size=16_384, threads=3)


class Desk:
    def __init__(self, window: MainWindow, keeper: ThemeKeeper, bridge: FakeBridge, folder: Path) -> None:
        self.window = window
        self.bridge = bridge
        self.chats = Chats(window, bridge, target=FOR_ALL)
        self.library = connect_library(window, keeper, bridge, self.chats.target, folder, SamplingSettings())
        self.dialog = self.library.dialog
        self.chats.start(STARTER)
        self.library.list_all()
        self.tell(ready(STARTER_TARGET, self.bridge.loads[0]), TargetsListed(TARGETS))
        bridge.take()
        bridge.all_asked.clear()

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    @property
    def service(self) -> LibraryService:
        return self.bridge.engine.library

    def asked(self, method: object) -> list[tuple[object, ...]]:
        """What the method was asked with, first to last."""
        return [each.args for each in self.bridge.asked(method)]

    def estimate(self, path: Path) -> Asked:
        """The last question for this model's memory."""
        return [each for each in self.bridge.asked(self.service.estimate) if each.args[0] == path][-1]

    def estimated(self, path: Path, estimate: MemoryEstimate) -> None:
        self.estimate(path).answer(estimate)

    def add(self, added: Added, listed: tuple[LibraryTarget, ...]) -> None:
        """Ends the last adding."""
        self.tell(TargetsListed(listed))
        self.bridge.asked(self.service.add)[-1].answer(added)

    def question(self) -> QMessageBox:
        boxes = [box for owner in (self.window, self.dialog) for box in owner.findChildren(QMessageBox)]
        return next(box for box in boxes if box.isVisible())

    def answer(self, words: str) -> None:
        button = next(button for button in self.question().findChildren(QPushButton) if button.text() == words)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        QCoreApplication.processEvents()


def ready(target: LibraryTarget, command: LoadOrder) -> TargetReady:
    return TargetReady(TargetInfo(target.name, str(target.path), "llama", 8192, target.size_bytes, 2), command)


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper, tmp_path: Path) -> Desk:
    return Desk(window, keeper, FakeBridge(), tmp_path)


# Choosing


def test_a_model_that_fits_is_loaded_with_its_own_settings(desk: Desk) -> None:
    desk.window.target_bar.picker.chosen.emit(QWEN.reference)
    assert desk.asked(desk.service.estimate) == [(QWEN.path, QWEN_SETTINGS)]
    assert desk.bridge.orders == []
    desk.estimated(QWEN.path, SMALL)
    assert desk.bridge.loads[-1] == LoadOrder(str(QWEN.path), QWEN.options.settings, for_all=FOR_ALL)
    desk.tell(ready(QWEN, desk.bridge.loads[-1]))
    assert desk.chats.keeper.settings.target == str(QWEN.path)
    rows = {row.key: row.tag for row in desk.window.target_bar.picker.view.rows.rows}
    assert rows[QWEN.reference] == "In use"
    assert rows[STARTER_TARGET.reference] == ""


def test_a_model_is_loaded_as_what_it_was_when_it_was_listed(desk: Desk) -> None:
    desk.tell(TargetsListed((STARTER_TARGET, replace(QWEN, identity="file:1"))))
    options = TargetOptions(TargetSettings(threads=2))
    desk.dialog.library.options_changed.emit(QWEN.path, options)
    desk.window.target_bar.target_chosen.emit(str(QWEN.path))
    expected = LoadOrder(str(QWEN.path), options.settings, for_all=FOR_ALL, identity="file:1")
    assert desk.bridge.loads[-1] == expected


def test_one_that_does_not_fit_is_asked_about_in_numbers(desk: Desk) -> None:
    desk.window.target_bar.picker.chosen.emit(MAMBA.reference)
    desk.estimated(MAMBA.path, LARGE)
    assert desk.question().text() == "mamba takes about 45.1 GB of memory, and 10.0 GB are free."
    num_loads = len(desk.bridge.loads)
    desk.answer("Load anyway")
    assert desk.bridge.loads[num_loads:] == [LoadOrder(str(MAMBA.path), anyway=True, for_all=FOR_ALL)]


def test_a_file_from_elsewhere_that_was_refused_is_asked_about_too(desk: Desk) -> None:
    desk.window.target_bar.target_chosen.emit("/elsewhere/huge.gguf")
    desk.bridge.refuse("huge takes more memory than there is.")
    desk.estimated(Path("/elsewhere/huge.gguf"), LARGE)
    assert desk.question().text().startswith("huge takes about 45.1 GB")
    desk.answer("Load anyway")
    assert desk.bridge.loads[-1] == LoadOrder("/elsewhere/huge.gguf", anyway=True, for_all=FOR_ALL)


def test_a_loading_that_was_cancelled_is_not_asked_about(desk: Desk) -> None:
    desk.window.target_bar.target_chosen.emit("/elsewhere/huge.gguf")
    desk.window.target_bar.cancel_requested.emit()
    desk.bridge.refuse(Cancelled("Loading huge.gguf was cancelled."))
    assert desk.asked(desk.service.estimate) == []


def test_who_cancels_before_the_answer_comes_is_not_asked_either(desk: Desk) -> None:
    desk.window.target_bar.picker.chosen.emit(MAMBA.reference)
    desk.window.target_bar.cancel_requested.emit()
    desk.estimated(MAMBA.path, LARGE)
    desk.window.target_bar.target_chosen.emit("/elsewhere/huge.gguf")
    desk.bridge.refuse("huge takes more memory than there is.")
    desk.window.target_bar.picker.chosen.emit(QWEN.reference)  # something else is wanted
    desk.estimated(Path("/elsewhere/huge.gguf"), LARGE)
    assert not any(box.isVisible() for box in desk.window.findChildren(QMessageBox))


def test_one_that_failed_for_other_reasons_is_not_asked_about(desk: Desk) -> None:
    desk.window.target_bar.target_chosen.emit("/elsewhere/old.gguf")
    num_loads = len(desk.bridge.loads)
    desk.bridge.refuse("It is too old.")
    desk.estimated(Path("/elsewhere/old.gguf"), SMALL)
    assert len(desk.bridge.loads) == num_loads
    assert not any(box.isVisible() for box in desk.window.findChildren(QMessageBox))


def test_nothing_is_loaded_where_the_question_is_declined(desk: Desk) -> None:
    num_loads = len(desk.bridge.loads)
    desk.window.target_bar.picker.chosen.emit(MAMBA.reference)
    desk.estimated(MAMBA.path, LARGE)
    desk.answer("Cancel")
    assert len(desk.bridge.loads) == num_loads
    assert desk.window.target_bar.name.text() == "smol"


def test_the_latest_choice_counts(desk: Desk) -> None:
    num_loads = len(desk.bridge.loads)
    desk.window.target_bar.picker.chosen.emit(MAMBA.reference)
    desk.window.target_bar.picker.chosen.emit(QWEN.reference)
    desk.estimated(MAMBA.path, SMALL)
    desk.estimated(QWEN.path, SMALL)
    assert [load.target for load in desk.bridge.loads[num_loads:]] == [str(QWEN.path)]


def test_where_memory_cannot_be_estimated_loading_says_what_is_wrong(desk: Desk) -> None:
    desk.window.target_bar.picker.chosen.emit(MAMBA.reference)
    desk.estimate(MAMBA.path).fail("The file is gone.")
    assert desk.bridge.loads[-1].target == str(MAMBA.path)
    assert desk.window.toasts.shown == ()


def test_the_model_in_use_is_not_loaded_again_but_ends_another_loading(desk: Desk) -> None:
    desk.window.target_bar.target_chosen.emit(str(MAMBA.path))
    loading = desk.bridge.loading[-1]
    desk.window.target_bar.picker.chosen.emit(STARTER_TARGET.reference)
    assert loading.request.signal.is_set()
    assert desk.asked(desk.service.estimate) == []


def test_the_starter_is_loaded_by_its_name(desk: Desk) -> None:
    desk.tell(ready(QWEN, LoadOrder(str(QWEN.path))))
    desk.window.target_bar.picker.chosen.emit(STARTER_TARGET.reference)
    desk.estimated(STARTER_TARGET.path, SMALL)
    assert desk.bridge.loads[-1].target == STARTER


def test_a_choice_during_a_reply_waits_for_it_and_can_be_taken_back(desk: Desk) -> None:
    desk.window.prompt_box.submitted.emit("Hi")
    desk.window.target_bar.picker.chosen.emit(QWEN.reference)
    desk.estimated(QWEN.path, SMALL)
    assert desk.window.target_bar.state.words == "Loads when the reply is finished"
    QTest.mouseClick(desk.window.target_bar.cancel_button, Qt.MouseButton.LeftButton)
    assert desk.bridge.loading[-1].request.signal.is_set()
    assert desk.window.target_bar.name.text() == "smol"
    desk.bridge.refuse("Loading was cancelled.")
    assert desk.window.toasts.shown == (), "the user knows"


def test_the_shortcut_opens_the_picker(desk: Desk) -> None:
    desk.window.choose_action.trigger()
    assert desk.window.target_bar.picker.isVisible()
    assert desk.bridge.asked(desk.service.report), "files may have gone meanwhile"


# What is set for one model


def test_what_is_set_is_told_to_the_engine(desk: Desk) -> None:
    desk.window.library_action.trigger()
    page = desk.dialog.library
    assert page.target == STARTER_TARGET, "the one in use"
    form = page.details.form
    assert not form.load_again_button.isVisibleTo(form)
    form.sampling.preset.setCurrentText("Creative")
    form.sampling.preset.activated.emit(form.sampling.preset.currentIndex())
    creative = TargetOptions(sampling=dict(PRESETS)["Creative"])
    assert desk.asked(desk.service.change_options) == [(STARTER_TARGET.path, creative)]
    assert not form.load_again_button.isVisibleTo(form), "that needs no loading"


def test_a_longer_context_is_estimated_and_loaded_on_a_press(desk: Desk) -> None:
    desk.window.library_action.trigger()
    form = desk.dialog.library.details.form
    form.fields["context_size"].setValue(4096)
    own = TargetSettings(context_size=4096)
    assert (STARTER_TARGET.path, TargetOptions(own)) in desk.asked(desk.service.change_options)
    wanted = TargetSettings(context_size=4096, threads=3)
    assert desk.estimate(STARTER_TARGET.path).args == (STARTER_TARGET.path, wanted)
    desk.estimated(STARTER_TARGET.path, SMALL)
    assert form.memory.text().startswith("Takes about 4.6 GB of memory; 10.0 GB are free.")
    assert form.load_again_button.isVisibleTo(form)
    QTest.mouseClick(form.load_again_button, Qt.MouseButton.LeftButton)
    desk.estimated(STARTER_TARGET.path, SMALL)
    assert desk.bridge.loads[-1] == LoadOrder(STARTER, TargetSettings(context_size=4096), for_all=FOR_ALL)
    desk.tell(ready(STARTER_TARGET, desk.bridge.loads[-1]))
    assert not form.load_again_button.isVisibleTo(form)


def test_why_memory_cannot_be_estimated_is_told_in_its_place(desk: Desk) -> None:
    desk.window.library_action.trigger()
    desk.estimate(STARTER_TARGET.path).fail("The file is gone.")
    assert desk.dialog.library.details.form.memory.text() == "The file is gone."


def test_a_listing_does_not_change_what_is_being_typed(desk: Desk) -> None:
    desk.window.library_action.trigger()
    form = desk.dialog.library.details.form
    form.has_prompt.setChecked(True)
    form.prompt.setPlainText("Answer in ver")
    desk.tell(TargetsListed(TARGETS))
    assert form.prompt.toPlainText() == "Answer in ver"
    desk.dialog.library.view.point_at(QWEN.reference)
    last = desk.asked(desk.service.change_options)[-1]
    assert last == (STARTER_TARGET.path, TargetOptions(system_prompt="Answer in ver"))
    assert form.prompt.toPlainText() == "Be brief."


# Adding and removing


def test_what_is_added_is_told_and_can_be_used(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (["/new/tiny.gguf"], ""))
    desk.window.target_bar.picker.add_files_requested.emit()
    assert desk.asked(desk.service.add) == [((Path("/new/tiny.gguf"),),)]
    tiny = replace(MAMBA, name="tiny", path=Path("/new/tiny.gguf"))
    desk.add(Added((tiny,), ()), (*TARGETS, tiny))
    (toast,) = desk.window.toasts.shown
    assert toast.words.text() == "tiny is now in the library."
    assert toast.action_button is not None
    QTest.mouseClick(toast.action_button, Qt.MouseButton.LeftButton)
    desk.estimated(tiny.path, SMALL)
    assert desk.bridge.loads[-1].target == str(tiny.path)


def test_what_was_left_out_of_a_folder_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "/new")
    desk.window.library_action.trigger()
    desk.dialog.library.add_folder_requested.emit()
    new = tuple(replace(MAMBA, name=name, path=Path(f"/new/{name}.gguf")) for name in ("a", "b"))
    desk.add(Added(new, ("c.gguf is cut short.",)), (*TARGETS, *new))
    assert desk.dialog.words.text() == "2 models were added. One file was skipped: c.gguf is cut short."
    desk.dialog.show_hub()
    assert desk.dialog.words.text() == "", "that is not about finding models"
    desk.dialog.open_library()
    assert desk.window.toasts.shown == ()


def test_nothing_new_is_told_and_so_is_a_failure(desk: Desk) -> None:
    desk.dialog.dropped.emit((QWEN.path,))
    nothing_new = "Nothing new was found: everything is in the library already."
    desk.add(Added((), ()), TARGETS)
    assert desk.dialog.words.text() == nothing_new
    desk.dialog.dropped.emit((QWEN.path, Path("/new/c.gguf")))
    desk.add(Added((), ("c.gguf is cut short.",)), TARGETS)
    assert desk.dialog.words.text() == f"{nothing_new} One file was skipped: c.gguf is cut short."
    desk.dialog.dropped.emit((Path("/new/c.gguf"),))
    desk.tell(TargetsListed(TARGETS))
    desk.bridge.asked(desk.service.add)[-1].fail("c.gguf is cut short.")
    assert desk.dialog.words.text() == "c.gguf is cut short."
    assert desk.window.toasts.shown[-1].words.text() == "c.gguf is cut short.", "the window of the library is closed"


def test_files_and_folders_can_be_dropped(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "note.txt").touch()
    mime = QMimeData()
    names = [str(tmp_path), str(tmp_path / "x.gguf"), str(tmp_path / "note.txt")]
    mime.setUrls([QUrl.fromLocalFile(name) for name in names])
    args = (Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(5, 5), *args)
    desk.dialog.dragEnterEvent(enter)
    assert enter.isAccepted()
    desk.dialog.dropEvent(QDropEvent(QPoint(5, 5), *args))
    assert desk.asked(desk.service.add) == [((tmp_path, tmp_path / "x.gguf"),)]


def test_removing_asks_and_deletes_only_what_was_ticked(desk: Desk) -> None:
    desk.window.library_action.trigger()
    page = desk.dialog.library
    assert not page.details.remove_button.isEnabled(), "the starter stays"
    page.view.point_at(QWEN.reference)
    QTest.keyClick(page.view, Qt.Key.Key_Delete)
    box = desk.question().checkBox()
    assert box is not None
    assert "4.7 GB" in box.text()
    box.setChecked(True)
    desk.answer("Remove")
    assert desk.asked(desk.service.remove) == [(QWEN.path, True)]
    desk.tell(TargetsListed(tuple(target for target in TARGETS if target != QWEN)))
    assert page.target == STARTER_TARGET


def test_the_file_of_the_model_in_use_is_not_deleted(desk: Desk) -> None:
    desk.tell(ready(MAMBA, LoadOrder(str(MAMBA.path))))
    desk.window.library_action.trigger()
    desk.dialog.library.remove_requested.emit(MAMBA.path)
    box = desk.question().checkBox()
    assert box is not None
    assert not box.isEnabled()
    desk.answer("Remove")
    assert desk.asked(desk.service.remove) == [(MAMBA.path, False)]


def test_a_drafter_made_for_one_model_says_what_it_is_and_cannot_be_used(desk: Desk) -> None:
    desk.window.library_action.trigger()
    desk.dialog.dropped.emit((HEAD.path,))
    desk.add(Added((HEAD,), ()), (*TARGETS, replace(QWEN, brings=HEAD.head), HEAD))
    assert desk.dialog.words.text() == "It is a drafter made for one model."
    details = desk.dialog.library.details
    desk.dialog.library.view.point_at(HEAD.reference)
    assert (details.state.text(), details.state.property("kind")) == (HEAD.problem, "quiet")
    assert not details.use_button.isEnabled()
    assert details.remove_button.isEnabled()
    assert not details.form.isVisibleTo(details)


def test_the_page_of_a_model_names_the_drafter_that_it_brings_or_why_it_is_not_used(desk: Desk) -> None:
    desk.window.library_action.trigger()
    details = desk.dialog.library.details
    desk.tell(TargetsListed((replace(QWEN, brings=HeadMethod.EAGLE3),)))
    assert details.state.text() == "It is drafted for. Brings its own drafter (EAGLE-3)."
    desk.tell(TargetsListed((replace(QWEN, unfit_drafter="eagle3.gguf is cut short."),)))
    assert details.state.text() == "It is drafted for. eagle3.gguf is cut short."


def test_a_file_that_is_gone_can_be_removed_but_not_used(desk: Desk) -> None:
    desk.window.library_action.trigger()
    details = desk.dialog.library.details
    desk.dialog.library.view.point_at(GONE.reference)
    assert details.state.text() == "The file is gone; plug it in."
    assert not details.use_button.isEnabled()
    assert details.remove_button.isEnabled()
    assert not details.form.isVisibleTo(details)
    assert desk.asked(desk.service.estimate)[1:] == [], "of the starter only"


def test_what_fails_is_told_where_the_user_looks(desk: Desk) -> None:
    desk.library.list_all()
    desk.bridge.asked(desk.service.report)[-1].fail("The store is locked.")
    assert [toast.words.text() for toast in desk.window.toasts.shown] == ["The store is locked."]
    desk.window.toasts.clear()
    desk.window.library_action.trigger()
    desk.library._remove(MAMBA.path, True)
    desk.bridge.asked(desk.service.remove)[-1].fail("mamba cannot be deleted.")
    assert desk.dialog.words.text() == "mamba cannot be deleted."
    assert desk.window.toasts.shown == ()


def test_what_holds_for_all_may_change_meanwhile(desk: Desk) -> None:
    desk.window.library_action.trigger()
    form = desk.dialog.library.details.form
    desk.chats.keeper.note(threads=5)
    desk.dialog.library.set_for_all(SamplingSettings(temperature=1.5))
    assert form.sampling.fields["temperature"].value() == 1.5
    assert desk.estimate(STARTER_TARGET.path).args[1] == TargetSettings(threads=5)
    form.sampling.preset.setCurrentText("Custom")
    form.sampling.preset.activated.emit(form.sampling.preset.currentIndex())
    assert form.sampling.sampling == SamplingSettings(temperature=1.5)


def test_a_model_that_is_still_looked_at_gives_way_to_the_one_in_use(desk: Desk) -> None:
    num_loads = len(desk.bridge.loads)
    desk.library.choose(QWEN.reference)
    desk.library.choose(STARTER_TARGET.reference)
    desk.estimated(QWEN.path, SMALL)
    assert len(desk.bridge.loads) == num_loads


def test_it_says_who_drafts_for_each_model(desk: Desk) -> None:
    desk.window.library_action.trigger()
    details = desk.dialog.library.details
    assert details.drafter.text() == "default"
    desk.tell(DrafterChosen(STARTER_TARGET.name, CHOICE))
    assert details.drafter.text() == "automatic (the starter)"
    fixed = replace(CHOICE, is_fixed=True)
    desk.tell(DrafterChosen(STARTER_TARGET.name, fixed))
    assert details.drafter.text() == "the starter, chosen for all models"
    desk.tell(DrafterChosen(STARTER_TARGET.name, DrafterChoice(None, "No drafter pays.")))
    assert details.drafter.text() == "automatic (none)"
    desk.dialog.library.view.point_at(QWEN.reference)
    assert details.drafter.text() == "default"
    assert not details.drafter_button.isVisible()
    own = replace(QWEN, options=replace(QWEN.options, drafter="/d/owner--tiny"))
    desk.tell(TargetsListed((STARTER_TARGET, own)))
    assert details.drafter.text() == "owner--tiny, chosen for this model"
    desk.dialog.library.view.point_at(STARTER_TARGET.reference)
    opened: list[bool] = []
    desk.window.drafter_action.triggered.connect(lambda: opened.append(True))
    QTest.mouseClick(details.drafter_button, Qt.MouseButton.LeftButton)
    assert len(opened) == 1


def test_other_options_leave_the_drafter_of_a_model_alone(desk: Desk) -> None:
    desk.window.library_action.trigger()
    desk.dialog.library.view.point_at(QWEN.reference)
    own = replace(QWEN, options=replace(QWEN.options, drafter="starter"))
    desk.tell(TargetsListed((STARTER_TARGET, own)))  # chosen in the dialog of drafters meanwhile
    form = desk.dialog.library.details.form
    QTest.mouseClick(form.reset_button, Qt.MouseButton.LeftButton)
    assert desk.asked(desk.service.change_options) == [(QWEN.path, TargetOptions(drafter="starter"))]
    assert not form.reset_button.isEnabled()
    form.sampling.preset.setCurrentText("Precise")
    form.sampling.preset.activated.emit(form.sampling.preset.currentIndex())
    changed = TargetOptions(sampling=PRESETS[0][1], drafter="starter")
    assert desk.asked(desk.service.change_options)[1:] == [(QWEN.path, changed)]


# Quantizations


def test_forms_are_looked_at_from_a_model_and_one_of_them_is_used(desk: Desk) -> None:
    desk.window.library_action.trigger()
    desk.dialog.library.view.point_at(QWEN.reference)
    desk.dialog.library.details.quantizations_button.click()
    assert desk.asked(desk.bridge.engine.tuning.offers) == [(QWEN.path,)]
    (forms,) = desk.window.findChildren(QuantizationsDialog)
    assert forms.isVisible()
    assert forms.heading.text() == QWEN.name
    forms.use_requested.emit(MAMBA.reference)
    desk.estimated(MAMBA.path, SMALL)
    assert desk.bridge.loads[-1].target == str(MAMBA.path)
