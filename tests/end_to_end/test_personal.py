"""The real window and engine: what was learned is shown, gone back on, carried away, forgotten and brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.engine_bridge import EngineBridge
from app.features.personalization.personal import PersonalController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.theme import apply_theme
from app.widgets.parts import ElidedLabel, ProgressLine
from engine import (
    AUTOMATIC,
    BUILT_IN,
    EngineConfig,
    LearningSettings,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
)
from engine.backend.storage import Repository
from engine.speculation.learning.judge import Evidence
from engine.speculation.proposers.teachable import TeachableDrafting
from engine.values.events import (
    ConversationsListed,
    Event,
    EverythingForgotten,
    ReplyFinished,
    SpeculationChanged,
    TargetReady,
)
from engine.values.learned import LearnedState, LearnedSummary, NgramRecord
from tests.fakes.chats import Chats, unsaved
from tests.fakes.ear import Broke, Ear, Grew

pytestmark = [
    pytest.mark.starter,
    pytest.mark.timeout(400),
    pytest.mark.qt_log_ignore(r"This plugin does not support (propagateSizeHints|raise)\(\)"),
]

NO_LEARNING = LearningSettings(enabled=False)
LEARNING = LearningSettings(share=1.0, on_battery=True)
_PATIENCE_MS = 120_000


class Desk:
    """A person in front of the window and the dialog."""

    def __init__(
        self,
        qtbot: QtBot,
        qapp: QApplication,
        folder: Path,
        drafter: str = BUILT_IN,
        learning: LearningSettings = NO_LEARNING,
    ) -> None:
        self._qtbot = qtbot
        self.keeper = apply_theme(qapp)
        self.window = MainWindow(self.keeper)
        self.bridge = EngineBridge(EngineConfig(folder, SpeculationSettings(drafter=drafter), learning=learning))
        settings = ReplySettings(SamplingSettings(temperature=0), 16)
        chats = Chats(self.window, self.bridge, settings, TargetSettings(512))
        self.dialog = PersonalController(
            self.window, self.bridge, unsaved(AppSettings(learning=learning.enabled))
        ).dialog
        self._ear = Ear(self.bridge)  # after the controllers: what the test hears, the window has heard
        qtbot.addWidget(self.window)
        self.window.show()
        with self.waiting_for(TargetReady):
            chats.start("starter")
        if drafter != AUTOMATIC:
            qtbot.waitUntil(lambda: self.is_drafting, timeout=_PATIENCE_MS)

    @property
    def is_drafting(self) -> bool:
        return any(isinstance(event, SpeculationChanged) and event.is_drafting for event in self._ear.events)

    @property
    def drafting(self) -> TeachableDrafting:
        drafting = self.bridge.engine._services.learning._drafting
        assert isinstance(drafting, TeachableDrafting)
        return drafting

    def weights_of_the_next_reply(self) -> Any:
        model = self.drafting._drafter.model
        return model._offered[-1] if model._offered else model.weights

    @contextmanager
    def waiting_for(self, *kinds: type[Event]) -> Iterator[None]:
        """One after the other; there may be others between them."""
        wanted = list(kinds)

        def is_last(event: Event) -> bool:
            if wanted and isinstance(event, wanted[0]):
                del wanted[0]
            return not wanted

        with self._qtbot.waitSignal(self._ear.heard, timeout=_PATIENCE_MS, check_params_cb=is_last):
            yield

    def told(self, kind: type[Event]) -> Any:
        return [event for event in self._ear.events if isinstance(event, kind)][-1]

    def until(self, is_so: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(is_so, timeout=_PATIENCE_MS)

    def press_until(self, button: QWidget, words: str) -> None:
        """Until the dialog says so."""
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        self.until(lambda: self.dialog.words.text().startswith(words))

    def learned(self) -> LearnedState:
        return self.bridge.engine.ask(self.bridge.engine.personal.read_learned).result()

    def ask(self, text: str) -> None:
        with self.waiting_for(ReplyFinished):
            QTest.keyClicks(self.window.prompt_box.editor, text)
            QTest.keyClick(self.window.prompt_box.editor, Qt.Key.Key_Return)

    def close(self) -> None:
        self.window.close()
        assert self.bridge.close()
        self.keeper.deleteLater()


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk(qtbot, qapp, tmp_path / "store")) as desk:
        yield desk


def keep_two_adapters(drafting: TeachableDrafting, folder: Path) -> None:
    """As learning would, and some n-grams; the second is in use."""
    adapter = drafting.make_learner().candidate
    pair = drafting.target_fingerprint, drafting.drafter_fingerprint
    with closing(Repository.open(folder)) as repository:
        for gain in (1.1, 1.2):
            with torch.no_grad():
                for part in adapter.parts.values():
                    part.up.add_(gain / 100)
            repository.save_adapter(*pair, 0.9, gain, 24, 60, adapter.to_bytes())
        known = drafting._drafter.tokenizer.fingerprint
        repository.save_ngrams(pair[0], known, [NgramRecord((5, 6), 7, 3, 0, 1)])


def without_times(learned: LearnedSummary) -> LearnedSummary:
    """What travels; adapters get new numbers."""
    adapters = {
        pair: tuple(replace(each, number=place) for place, each in enumerate(found))
        for pair, found in learned.adapters.items()
    }
    return replace(learned, adapters=adapters, recall={}, lessons={}, statistics=(), num_bytes={}, since={})


def test_what_was_learned_is_gone_back_on_carried_forgotten_and_brought_back(
    desk: Desk, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = desk.dialog
    own = desk.weights_of_the_next_reply()
    keep_two_adapters(desk.drafting, tmp_path / "store")
    desk.window.personal_action.trigger()
    desk.until(lambda: bool(dialog.learned.cards))
    (card,) = dialog.learned.cards
    assert card.vocabulary == desk.drafting.target_fingerprint
    assert [use.accessibleName().split(": ")[1] for use in card.use_buttons] == ["Snapshot 1", "Original drafter"]

    desk.press_until(card.use_buttons[0], "Snapshot 1 is used from the next reply on.")
    first = desk.weights_of_the_next_reply()
    assert first is not own, "without a restart"
    desk.ask("Name three colours.")
    desk.press_until(dialog.undo_button, "Snapshot 2 is used from the next reply on.")
    second = desk.weights_of_the_next_reply()
    assert second not in (own, first)
    desk.ask("Name two animals.")

    profile = tmp_path / "me.slipstream"
    dialog.profile.export_requested.emit(str(profile), False)
    desk.until(lambda: dialog.words.text().startswith("Exported "))
    before = desk.learned().summary
    dialog.show_page(dialog.forget)
    dialog.forget.learned_button.click()
    desk.press_until(dialog.forget.learned_question.yes_button, "What was learned is forgotten.")
    assert not desk.learned().summary.adapters
    assert desk.weights_of_the_next_reply() is own
    desk.ask("Name one plant.")

    dialog.profile_dropped.emit(str(profile))
    desk.until(dialog.profile.preview.isVisible)
    assert "2 snapshots (0.90 → 1.20 right guesses in a row, from 60 replies)" in dialog.profile.contents.text()
    desk.press_until(dialog.profile.merge_button, "Imported ")
    assert desk.weights_of_the_next_reply() is not own
    after = desk.learned().summary
    assert without_times(replace(after, ngrams={}, target_names={}, models=())) == without_times(
        replace(before, ngrams={}, target_names={}, models=())
    )
    known = desk.drafting._drafter.tokenizer.fingerprint
    assert after.ngrams[desk.drafting.target_fingerprint, known] >= 1
    desk.ask("Name one river.")

    dialog.show_page(dialog.forget)
    dialog.forget.everything_button.click()
    question = dialog.forget.everything_question
    assert not question.yes_button.isEnabled()
    question.condition.setChecked(True)
    desk.press_until(question.yes_button, "Everything is forgotten: 1 chat, and everything learned.")
    assert desk.window.conversations.model.rowCount() == 0
    assert desk.window.transcript.messages == ()
    assert desk.learned().summary.vocabularies == ()
    desk.ask("Hello.")
    qtbot.waitUntil(lambda: len(desk.window.transcript.messages) == 2, timeout=_PATIENCE_MS)


def test_everything_is_forgotten_in_the_middle_of_a_reply(desk: Desk, qtbot: QtBot) -> None:
    def has_begun() -> bool:
        return any(isinstance(event, Grew) for event in desk._ear.events)

    QTest.keyClicks(desk.window.prompt_box.editor, "Count to five hundred.")
    QTest.keyClick(desk.window.prompt_box.editor, Qt.Key.Key_Return)
    qtbot.waitUntil(has_begun, timeout=_PATIENCE_MS)
    with desk.waiting_for(EverythingForgotten, ConversationsListed):
        desk.dialog.forget.forget_everything.emit()
    assert not any(isinstance(event, Broke) for event in desk._ear.events)
    assert desk.window.conversations.model.rowCount() == 0
    desk.ask("Hello.")


def words_of(page: QWidget) -> str:
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def test_the_model_that_was_just_used_is_named_though_nobody_drafts_for_it(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    with closing(Desk(qtbot, qapp, tmp_path / "store", AUTOMATIC, LEARNING)) as desk:
        dialog, target = desk.dialog, desk.told(TargetReady).target
        desk.ask("Name three colours.")
        desk.window.personal_action.trigger()

        def shows(words: str) -> None:
            qtbot.waitUntil(lambda: words in words_of(dialog), timeout=_PATIENCE_MS)

        shows("Earlier text ready to be reused: 1 chat, about ")
        (card,) = dialog.learned.cards
        assert card.findChildren(ElidedLabel)[0].words == target.name
        assert "loaded now" in words_of(card)
        assert "No drafter is in use with this model" in words_of(card)

        profile = tmp_path / "me.slipstream"
        dialog.profile.export_requested.emit(str(profile), True)
        desk.until(lambda: dialog.words.text().startswith("Exported "))
        dialog.profile_dropped.emit(str(profile))
        desk.until(dialog.profile.preview.isVisible)
        assert dialog.profile.contents.text().startswith(f"{target.name} (loaded now): 2 texts to reuse")
        assert not dialog.profile.misfits.isVisible()

        dialog.show_page(dialog.forget)
        dialog.forget.learned_button.click()
        desk.press_until(dialog.forget.learned_question.yes_button, "What was learned is forgotten.")
        assert "their text is reused until you delete them or forget everything" in dialog.words.text()
        shows("Still reused to guess ahead: the text of 1 chat, about ")
        dialog.show_page(dialog.learned)
        assert dialog.learned.cards[0].findChildren(ElidedLabel)[0].words == target.name
    with closing(Repository.open(tmp_path / "store")) as repository:
        assert list(repository.summarize_learned().target_names.values()) == [(target.name,)], "after the end, too"


def test_progress_is_seen_from_the_first_reply_on(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> None:
    with closing(Desk(qtbot, qapp, tmp_path / "store", learning=LEARNING)) as desk:
        page = desk.dialog.learned
        desk.window.personal_action.trigger()
        for number in range(3):
            qtbot.waitUntil(lambda: f"{number} of about " in words_of(page), timeout=_PATIENCE_MS)  # noqa: B023
            desk.ask(f"Name {number + 2} animals.")
        desk.until(lambda: "3 of about " in words_of(page))
        progress, practice = desk.learned().progress, desk.learned().practice
        assert progress is not None
        assert practice is not None
        assert practice.num_read == 0
        stored = desk.bridge.engine._services._repository().candidate(*desk.drafting.pair)
        assert stored is not None
        assert progress.num_left == Evidence.of(stored.capital).better.num_left, "as the judge has it"
        assert f"3 of about {progress.num_replies} replies until a first result." in words_of(page)
        (bar,) = (each for each in page.findChildren(ProgressLine) if each.isVisible())
        assert bar.accessibleName() == "Progress towards a first result"
