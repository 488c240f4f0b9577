"""All that is learned as the user wants it: on a bridge without an engine, and with the real one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QTableWidget, QWidget
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.personalization.personal import PersonalController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from engine import EngineConfig, LearningSettings
from engine.doors import Doors
from engine.values.events import (
    DeletedErased,
    DrafterLearned,
    Event,
    LearnedChanged,
    LearnedGrew,
    LearningChanged,
    SpeculationChanged,
    TargetInfo,
    TargetReady,
)
from engine.values.learned import (
    ImportOutcome,
    LearnedState,
    LearnedSummary,
    LearningProgress,
    PracticeState,
    ProfileSummary,
)
from engine.values.targets import LoadOrder
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import unsaved
from tests.fakes.ear import Broke, Ear
from tests.unit.app.learned_made import IN_USE, NOTHING, WHEN, benefit, learned
from tests.unit.app.learned_made import compared as compared_replies

READY = TargetReady(TargetInfo("Tiny", "/t.gguf", "llama", 1000, 10, 2), LoadOrder("t"))
PROFILE = Path("/home/me/me.slipstream")


def state(summary: LearnedSummary, progress: LearningProgress | None = None) -> LearnedState:
    """With a loaded model that has a drafter."""
    return LearnedState(summary, IN_USE, IN_USE[0], progress)


class Desk:
    def __init__(self, window: MainWindow, bridge: FakeBridge | EngineBridge) -> None:
        self.window = window
        self.bridge = bridge
        bridge.unhandled.connect(window.toasts.show_error)
        self.settings = unsaved(AppSettings(learning_share=0.25))
        self.controller = PersonalController(window, bridge, self.settings)
        self.dialog = self.controller.dialog

    def tell(self, *events: Event) -> None:
        assert isinstance(self.bridge, FakeBridge)
        self.bridge.tell(*events)

    def open(self) -> None:
        """With one model that has two adapters, the second of them in use."""
        self.tell(READY)
        self.window.personal_action.trigger()
        self.read(state(learned()))

    @property
    def engine(self) -> Doors:
        return self.bridge.engine

    @property
    def asked(self) -> list[Asked]:
        """What was asked for besides reading, first to last."""
        assert isinstance(self.bridge, FakeBridge)
        return [each for each in self.bridge.all_asked if each.method != self.engine.personal.read_learned]

    @property
    def calls(self) -> list[tuple[object, ...]]:
        return [each.call for each in self.asked]

    @property
    def readings(self) -> list[Asked]:
        assert isinstance(self.bridge, FakeBridge)
        return self.bridge.asked(self.engine.personal.read_learned)

    def read(self, learned: LearnedState) -> None:
        """The answer to all readings that wait, and to one more."""
        self.tell(LearnedChanged())
        for reading in self.readings:
            if not reading.request.future.done():
                reading.answer(learned)

    @property
    def words(self) -> str:
        return self.dialog.words.text() if self.dialog.status.isVisible() else ""

    @property
    def toasts(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]


@pytest.fixture
def desk(window: MainWindow) -> Desk:
    return Desk(window, FakeBridge())


def test_the_menu_opens_the_dialog_and_asks_what_is_learned(desk: Desk) -> None:
    QTest.keyClick(desk.window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert desk.dialog.isVisible()
    assert len(desk.readings) == 1
    assert desk.dialog.learned.notice.text() == "Loading…"
    desk.readings[0].answer(LearnedState(NOTHING, None))
    assert desk.dialog.learned.notice.text().startswith("Nothing has been learned yet.")
    desk.read(state(learned()))
    assert not desk.dialog.learned.notice.isVisible()
    assert len(desk.dialog.learned.cards) == 1
    assert desk.dialog.learning.share_words.text() == "a quarter of the time"
    desk.dialog.show_page(desk.dialog.learning)
    assert not desk.dialog.learning.cannot_learn.isVisible()
    desk.tell(LearningChanged(is_learning=False, can_learn=False))
    assert desk.dialog.learning.cannot_learn.isVisible()


def test_how_to_learn_is_told_to_the_engine_and_kept(desk: Desk) -> None:
    desk.open()
    desk.dialog.show_page(desk.dialog.learning)
    QTest.keyClick(desk.dialog.learning.on_battery, Qt.Key.Key_Space)
    QTest.keyClick(desk.dialog.learning.enabled, Qt.Key.Key_Space)
    wanted = LearningSettings(enabled=False, share=0.25, on_battery=True)
    assert isinstance(desk.bridge, FakeBridge)
    changes = [each.args for each in desk.bridge.asked(desk.bridge.engine.learning.change)]
    assert changes == [(LearningSettings(share=0.25, on_battery=True),), (wanted,)]
    assert desk.settings.settings.learning_settings() == wanted
    desk.dialog.learning.changed.emit(wanted)
    assert len(desk.bridge.asked(desk.bridge.engine.learning.change)) == 2, "nothing new"


def test_practice_is_shown_as_it_goes_on_and_its_answers_are_erased(desk: Desk) -> None:
    desk.open()
    box = desk.dialog.learning.practice
    desk.dialog.show_page(desk.dialog.learning)
    assert "Load a model" in box.estimate.text()
    desk.tell(LearningChanged(is_learning=False, is_self_distilling=True))
    desk.read(replace(state(learned()), practice=PracticeState(7000, 25.0)))
    assert box.progress.text().startswith("The drafter has read 7,000 tokens")
    box.tokens.setCurrentIndex(box.tokens.findData(100_000))
    assert desk.settings.settings.learning_settings().self_distillation_tokens == 100_000
    box.erase_requested.emit()
    assert desk.calls[-1] == ("erase_self_distilled",)
    assert not box.erase_button.isEnabled()
    desk.asked[-1].answer(None)
    assert desk.words == "All practice answers are erased. What the drafter learned from them stays."
    assert box.erase_button.isEnabled()


def test_another_adapter_is_used_and_that_can_be_taken_back(desk: Desk) -> None:
    desk.open()
    (card,) = desk.dialog.learned.cards
    one, as_it_came = card.use_buttons
    assert (one.accessibleName(), as_it_came.accessibleName()) == (
        "Use for Tiny, Model v0: Snapshot 1",
        "Use for Tiny, Model v0: Original drafter",
    )
    QTest.mouseDClick(one, Qt.MouseButton.LeftButton)
    one.click()
    as_it_came.click()
    assert desk.calls == [("use_adapter", IN_USE, 1)], "one at a time"
    desk.asked[-1].answer(2)
    assert desk.words == "Snapshot 1 is used from the next reply on."
    desk.dialog.undo_button.click()
    assert desk.calls[1:] == [("use_adapter", IN_USE, 2)]
    assert not desk.dialog.undo_button.isVisible()
    desk.asked[-1].answer(1)
    desk.read(state(learned(used=2)))
    (card,) = desk.dialog.learned.cards
    card.use_buttons[1].click()
    assert desk.calls[2:] == [("use_adapter", IN_USE, None)]
    desk.asked[-1].answer(2)
    assert desk.words == "The original drafter is used from the next reply on."


def test_an_adapter_of_a_model_that_is_not_loaded_waits_for_it(desk: Desk) -> None:
    desk.open()
    desk.dialog.learned.adapter_chosen.emit("v9", "d", 1)
    desk.asked[-1].answer(1)
    assert desk.words == "Snapshot 1 will be used once its model and drafter are loaded."
    assert not desk.dialog.undo_button.isVisible(), "nothing changed"


def test_a_profile_is_exported_where_the_user_says(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    desk.dialog.show_page(desk.dialog.profile)
    page = desk.dialog.profile
    assert not page.with_recall.isChecked()
    page.export_button.click()
    chooser = page.findChild(QFileDialog)
    assert isinstance(chooser, QFileDialog)
    assert (chooser.acceptMode(), chooser.defaultSuffix()) == (QFileDialog.AcceptMode.AcceptSave, "slipstream")
    chooser.fileSelected.emit(str(PROFILE))
    chooser.close()
    qtbot.waitUntil(lambda: page.findChild(QFileDialog) is None)
    assert desk.calls == [("export_profile", PROFILE, False)]
    assert desk.words == "Exporting to me.slipstream…"
    assert not page.export_button.isEnabled()
    desk.asked[-1].answer(2_300_000)
    assert desk.words == "Exported to me.slipstream (2.3 MB). It contains no text that you typed."
    page.with_recall.click()
    page.export_requested.emit(str(PROFILE), page.with_recall.isChecked())
    assert desk.calls[-1] == ("export_profile", PROFILE, True)
    desk.asked[-1].answer(2_300_000)
    assert "It contains text that you typed" in desk.words


def show_profile(desk: Desk) -> None:
    desk.dialog.profile.opened.emit(str(PROFILE))
    assert desk.calls == [("summarize_profile", PROFILE)]
    desk.asked[-1].answer(ProfileSummary(WHEN, "0.1.0", learned(2)))


def test_a_profile_is_looked_at_before_it_is_merged(desk: Desk) -> None:
    desk.open()
    show_profile(desk)
    page = desk.dialog.profile
    assert page.preview.isVisible()
    assert page.name.text() == "me.slipstream"
    assert "Tiny, Model v0 (loaded now): 2 snapshots" in page.contents.text()
    assert "Model v1 (not used here yet): 2 snapshots" in page.contents.text()
    assert "takes effect once a model with its vocabulary is loaded" in page.misfits.text()
    assert desk.words == ""
    page.merge_button.click()
    page.merge_button.click()
    assert desk.calls[1:] == [("import_profile", PROFILE, False)]
    desk.asked[-1].answer(ImportOutcome(3, 2, 1, 0))
    assert desk.words == "Imported me.slipstream. New: 3 word patterns, 2 snapshots (1 now in use), 0 texts to reuse."
    assert not page.preview.isVisible()
    assert page.import_button.isVisible()


def test_replies_are_compared_with_one_click_and_a_row_opens_its_chat(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    card, compared = desk.dialog.learned.cards[0], desk.dialog.compared
    assert not card.compare.isVisible(), "nothing was scored"
    desk.read(state(replace(learned(), benefits={IN_USE: benefit()})))
    card = desk.dialog.learned.cards[0]
    card.compare.click()
    assert desk.calls == [("compare", IN_USE)]
    desk.asked[-1].answer(compared_replies(8))
    assert compared.isVisible()
    assert compared.words.text().startswith("Without what was learned, your last 8 replies would have taken 25.0")
    rows = [[cell(compared.table, row, column) for column in range(5)] for row in range(2)]
    assert rows == [
        ["8 replies", "", "2.00", "2.50", "+25.0\u00a0% ± 0.0\u00a0%"],
        ["Chat 8", "3 March 2026", "2.00", "2.50", "+25\u00a0%"],
    ]
    assert compared.table.rowCount() == 9
    QTest.keyClick(compared.table, Qt.Key.Key_Return)
    assert compared.isVisible(), "the totals are of no chat"
    QTest.keyClick(compared.table, Qt.Key.Key_Down)
    with qtbot.waitSignal(desk.window.conversations.chosen) as chosen:
        QTest.keyClick(compared.table, Qt.Key.Key_Return)
    assert chosen.args == [8]
    assert not compared.isVisible()
    assert not desk.dialog.isVisible()


def test_replies_that_are_gone_meanwhile_are_not_compared(desk: Desk) -> None:
    desk.open()
    desk.read(state(replace(learned(), benefits={IN_USE: benefit()})))
    desk.dialog.learned.cards[0].compare.click()
    desk.asked[-1].answer(())
    assert desk.dialog.compared.words.text() == "None of these replies is left."
    assert desk.dialog.compared.table.rowCount() == 0


def cell(table: QTableWidget, row: int, column: int) -> str:
    found = table.item(row, column)
    assert found is not None
    return found.text()


def test_replacing_says_first_what_goes(desk: Desk) -> None:
    desk.open()
    show_profile(desk)
    page = desk.dialog.profile
    page.replace_button.click()
    assert len(desk.calls) == 1
    assert "2 snapshots, 1,234 word patterns" in page.question.words.text()
    page.question.no_button.click()
    assert page.merge_button.isVisible()
    page.replace_button.click()
    page.question.yes_button.click()
    assert desk.calls[1:] == [("import_profile", PROFILE, True)]
    desk.asked[-1].answer(ImportOutcome(0, 0, 0, 0))
    assert desk.words.startswith("Imported me.slipstream. It replaced what was learned here.")


def test_a_profile_may_be_dropped_on_the_dialog_and_on_the_window(desk: Desk) -> None:
    def drop(receiver: QWidget, path: Path) -> bool:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        enter = QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, buttons, keys)
        enter.ignore()
        QApplication.sendEvent(receiver, enter)
        if enter.isAccepted():
            QApplication.sendEvent(receiver, QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, buttons, keys))
        return enter.isAccepted()

    for receiver in (desk.window, desk.dialog):
        assert drop(receiver, PROFILE)
        assert desk.calls[-1] == ("summarize_profile", PROFILE)
        assert desk.dialog.isVisible()
        desk.asked[-1].answer(ProfileSummary(WHEN, "0.1.0", learned()))
        assert desk.dialog.profile.preview.isVisible(), "also where nothing is known yet"
    assert not drop(desk.dialog, Path("/x.txt")), "which the window would attach"


def test_what_was_learned_is_forgotten_after_a_second_word(desk: Desk) -> None:
    desk.open()
    page = desk.dialog.forget
    desk.dialog.show_page(page)
    page.learned_button.click()
    assert "Your chats, models and settings stay" in page.learned_question.words.text()
    page.learned_question.no_button.click()
    assert desk.calls == []
    page.learned_button.click()
    page.learned_question.yes_button.click()
    page.forget_learned.emit()
    assert desk.calls == [("forget_learned",)]
    desk.asked[-1].answer()
    desk.read(state(NOTHING))
    assert desk.words.startswith("What was learned is forgotten.")
    assert [card.vocabulary for card in desk.dialog.learned.cards] == [IN_USE[0]], "the model is still loaded"


def test_everything_is_forgotten_after_two_steps_and_the_reply_is_stopped(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    page = desk.dialog.forget
    desk.dialog.show_page(page)
    page.everything_button.click()
    question = page.everything_question
    question.yes_button.click()
    assert desk.calls == []
    question.condition.click()
    with qtbot.waitSignal(desk.window.prompt_box.stop_requested):
        question.yes_button.click()
    assert desk.calls == [("forget_everything",)]
    desk.asked[-1].answer(12)
    assert desk.words == "Everything is forgotten: 12 chats, and everything learned."
    page.everything_button.click()
    assert not question.condition.isChecked()
    assert not question.yes_button.isEnabled()


def test_what_could_not_be_erased_is_told_once_and_stays_on_the_page(desk: Desk) -> None:
    desk.open()
    page = desk.dialog.forget
    desk.dialog.show_page(page)
    desk.tell(DeletedErased(()))
    assert not page.left.isVisible()
    desk.tell(DeletedErased(("There is no room.",)), DeletedErased(("There is no room.",)))
    assert page.left.isVisible()
    assert page.left.text() == "There is no room."
    assert desk.toasts == ["There is no room."]
    desk.tell(DeletedErased(()))
    assert not page.left.isVisible()


def test_what_fails_is_told_in_the_engines_words(desk: Desk) -> None:
    desk.open()
    show_profile(desk)
    page = desk.dialog.profile
    page.merge_button.click()
    desk.asked[-1].fail("The profile is damaged.")
    assert desk.words == "The profile is damaged."
    assert desk.dialog.status.property("level") == "error"
    assert page.merge_button.isEnabled()
    assert desk.toasts == []
    page.opened.emit(str(PROFILE))
    desk.dialog.close()
    desk.asked[-1].fail("The profile is damaged.")
    assert desk.toasts == ["The profile is damaged."]
    assert not page.preview.isVisibleTo(page), "nor is the one before taken for it"


def test_what_ends_while_the_dialog_is_closed_is_told_in_the_window(desk: Desk) -> None:
    desk.open()
    desk.dialog.forget.forget_learned.emit()
    desk.dialog.close()
    desk.asked[-1].answer()
    assert desk.toasts == [
        "What was learned is forgotten. Your chats are still here, and their text is reused until you delete them or "
        "forget everything."
    ]


def test_what_cannot_be_read_is_told(desk: Desk) -> None:
    desk.window.personal_action.trigger()
    desk.readings[-1].fail("The disk is full.")
    assert desk.words == "The disk is full."
    assert desk.dialog.learned.notice.text() == "What was learned cannot be read."


def test_what_is_shown_follows_what_is_learned_and_loaded(desk: Desk) -> None:
    desk.tell(READY, DrafterLearned(3, 5))
    assert desk.readings == [], "nobody looks"
    desk.open()
    num_before = len(desk.readings)
    ready = SpeculationChanged("Tiny", "The drafter is ready.", True)
    for events, num_asked in (
        ([DrafterLearned(3, 5)], 1),
        ([ready, SpeculationChanged("Tiny", "Drafter guesses 3 ahead.", True)], 2),
        ([READY], 3),
    ):
        desk.tell(*events)
        assert len(desk.readings) == num_before + num_asked


def test_what_there_would_be_without_learning_is_seen_at_once(desk: Desk) -> None:
    desk.open()
    other = IN_USE[0], "e"
    for pairs, heads in (
        ([IN_USE], ["Tokens per pass"]),
        ([IN_USE, other], ["The drafter in use: ", "Another drafter: "]),
    ):
        shown = learned()
        shown = replace(shown, adapters=dict.fromkeys(pairs, shown.adapters[IN_USE]))
        desk.read(state(replace(shown, benefits=dict.fromkeys(pairs, benefit()))))
        (card,) = desk.dialog.learned.cards
        texts = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
        found = [text for text in texts if text.lower().endswith("tokens per pass")]
        assert all(text.startswith(head) for text, head in zip(found, heads, strict=True))
        assert texts.count("+12\u00a0% ± 2\u00a0%") == len(pairs)


def test_cards_stay_open_and_focused_where_they_were(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    with qtbot.waitExposed(desk.dialog):
        desk.dialog.activateWindow()
    first = desk.dialog.learned.cards[0]
    assert first.toggle.isChecked(), "that of the loaded model"
    desk.read(state(learned(2)))
    first, second = desk.dialog.learned.cards
    assert (first.toggle.isChecked(), second.toggle.isChecked()) == (True, False)
    first.toggle.click()
    second.toggle.click()
    second.use_buttons[0].setFocus()
    desk.read(state(learned(2, used=1)))
    first, second = desk.dialog.learned.cards
    assert (first.toggle.isChecked(), second.toggle.isChecked()) == (False, True)
    assert second.toggle.text() == "Hide 2 snapshots"
    assert desk.dialog.learned.focusWidget() is second.toggle
    desk.read(state(learned(2, used=1)))
    assert desk.dialog.learned.cards == (first, second), "nothing new"


# With the real engine


@pytest.fixture
def real(window: MainWindow, tmp_path: Path) -> Iterator[tuple[Desk, EngineBridge, Ear]]:
    data_dir = tmp_path / "data"
    data_dir.write_text("no folder")
    bridge = EngineBridge(EngineConfig(data_dir))
    yield Desk(window, bridge), bridge, Ear(bridge)
    assert bridge.close()


def test_it_is_switched_off_also_where_no_store_can_be_opened(
    qtbot: QtBot, real: tuple[Desk, EngineBridge, Ear]
) -> None:
    desk, bridge, ear = real
    desk.dialog.show()
    QTest.keyClick(desk.dialog.learning.enabled, Qt.Key.Key_Space)
    listed = bridge.ask(bridge.engine.chats.list_all)  # carried out after it
    listed.is_quiet = True
    qtbot.waitUntil(lambda: ear.events != [], timeout=30_000)
    assert desk.toasts == []
    assert [type(each) for each in ear.events] == [Broke], "of the list alone"


def test_a_store_that_cannot_be_opened_is_told_in_the_dialog(
    qtbot: QtBot, real: tuple[Desk, EngineBridge, Ear]
) -> None:
    desk, _, _ = real
    desk.window.personal_action.trigger()
    qtbot.waitUntil(lambda: bool(desk.words), timeout=30_000)
    assert desk.dialog.status.property("level") == "error"


def test_progress_and_what_keeps_from_it_are_shown_as_they_change(desk: Desk) -> None:
    def words() -> str:
        return "\n".join(label.text() for label in desk.dialog.learned.findChildren(QLabel) if label.isVisible())

    desk.open()
    desk.read(state(NOTHING, LearningProgress(1, 35)))
    assert "1 of about 36 replies until a first result." in words()
    num_before = len(desk.readings)
    desk.tell(LearnedGrew())
    assert len(desk.readings) == num_before + 1
    desk.read(state(NOTHING, LearningProgress(2, 33)))
    assert "2 of about 35 replies until a first result." in words()
    desk.tell(LearningChanged(is_learning=False, is_paused=True))
    assert "Learning is paused." in words()
    desk.tell(LearningChanged(is_learning=False))
    desk.dialog.learning.enabled.click()
    desk.dialog.show_page(desk.dialog.learned)
    assert "Learning is switched off." in words()
    desk.tell(LearningChanged(is_learning=False, can_learn=False))
    desk.read(LearnedState(NOTHING, IN_USE, "v0"))
    assert "The drafter in use cannot learn from your chats" in words()
    desk.dialog.close()
    num_before = len(desk.readings)
    desk.tell(LearnedGrew())
    assert len(desk.readings) == num_before, "nobody looks"


def test_what_is_reused_after_forgetting_stands_on_its_page(desk: Desk) -> None:
    desk.open()
    page = desk.dialog.forget
    desk.dialog.show_page(page)
    assert page.kept.text().startswith("Still reused to guess ahead: the text of 41 chats, about 48,000 words.")
    desk.read(state(NOTHING))
    assert not page.kept.isVisible()
