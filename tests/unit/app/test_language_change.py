"""The window is made anew in another language, around the same engine."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import MethodType
from typing import cast

import pytest
from PySide6.QtCore import SIGNAL
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.features.chat.chat import NextChat
from app.features.help.guide_dialog import GuideDialog
from app.language_change import LanguageChange
from app.main_window import MainWindow
from app.settings.declaration import SettingsPage
from app.startup.first_paint import OpenedWindow
from app.text.languages import ENGLISH
from app.text.numbers import use_locale
from app.text.translation import Translators
from app.theme import ThemeKeeper
from app.wiring import WiredWindow
from engine import OwnSampling
from engine.values.config import SpeculationSettings
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.errors import TargetMissing
from engine.values.events import (
    ConversationOpened,
    ConversationsDeleted,
    ConversationsListed,
    EverythingForgotten,
    FoldersListed,
    PresetsListed,
    SpeculationChanged,
    StoreBehind,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Folder, Preset
from engine.values.orders import Send
from engine.values.prompts import AttachedPicture, Attachment, join_prompt
from engine.values.sentences import say
from engine.values.targets import Downloading, HubFile
from tests.fakes.bridge import FakeBridge
from tests.pictures.content import rainbow
from tests.unit.app.library_samples import TARGETS

NOW = datetime.now(UTC)
CHATS = tuple(ConversationSummary(number, f"Chat {number}", NOW) for number in (1, 7))
OFF = say("Speed-up is off.")
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama", 2048, 10, 2, notice=OFF, speculation=OFF)
PROMPTS = tuple(
    Message(70 + number, 7, 69 + number if number else None, Role.USER, f"{number} " + "words " * 300, NOW)
    for number in range(9)
)
FILE = HubFile("somebody/a-model", "a-model.gguf", 1_000_000, "Q4_K_M")


class Desk:
    """A chat is open, and the model is loaded."""

    def __init__(self, qtbot: QtBot, theme: ThemeKeeper, folder: Path, translators: Translators) -> None:
        self.qtbot = qtbot
        self.bridge = FakeBridge()
        window = MainWindow(theme)
        window.show()
        opened = OpenedWindow(window, theme)
        self.app = WiredWindow(opened, folder, SpeculationSettings(), make_bridge=lambda _config: self.bridge)
        LanguageChange(self.app, translators)
        qtbot.waitUntil(lambda: self.app.library is not None)
        (load,) = self.bridge.loads
        self.bridge.tell(ConversationsListed(CHATS), FoldersListed((Folder(3, "Garden"),)), TargetsListed(TARGETS))
        self.bridge.tell(TargetReady(TARGET, load))
        self.bridge.finish_all()
        window.conversations.chosen.emit(7)
        self.bridge.tell(ConversationOpened(Conversation(CHATS[1], "", PROMPTS, siblings={70: (70, 90)})))
        self.bridge.finish_all()
        self.window.toasts.clear()
        self.bridge.take()

    @property
    def window(self) -> MainWindow:
        return self.app.window

    @property
    def note(self) -> str:
        return self.app.settings.dialog.rows["language"].problem.text()

    def choose(self, code: str) -> None:
        """In the settings, which stay open."""
        self.window.settings_action.trigger()
        self.bridge.finish_all()
        choice = self.app.settings.dialog.rows["language"].control
        assert isinstance(choice, QComboBox)
        choice.setFocus()
        choice.setCurrentIndex(choice.findData(code))
        choice.activated.emit(choice.currentIndex())

    def change_to(self, code: str) -> None:
        before = self.window
        self.choose(code)

        def is_new() -> bool:
            self.bridge.finish_all()  # also what a pause in typing has posted meanwhile
            return self.window is not before

        self.until(is_new)
        self.until(self.app.settings.dialog.isVisible)
        self.bridge.finish_all()

    def until(self, is_so: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(is_so)


def _in_sight(window: MainWindow) -> list[tuple[object, int]]:
    return [(getattr(row, "ids", None), top) for row, top in window.transcript.column.visible_rows()]


@pytest.fixture
def desk(qtbot: QtBot, qapp: QApplication, keeper: ThemeKeeper, tmp_path: Path) -> Iterator[Desk]:
    translators = Translators(qapp)
    translators.speak(ENGLISH)
    desk = Desk(qtbot, keeper, tmp_path, translators)
    yield desk
    desk.window.toasts.clear()
    desk.window.close()
    desk.window.deleteLater()
    translators.speak(ENGLISH)
    translators.remove()
    use_locale(ENGLISH.locale)


def test_the_window_speaks_the_language_and_all_is_where_it_was(desk: Desk) -> None:
    box = desk.window.prompt_box
    box.set_text("Words of mine")
    cursor = box.editor.textCursor()
    cursor.setPosition(5)
    box.editor.setTextCursor(cursor)
    box.chips.add(Attachment("notes.txt", "Tulips in March."))
    desk.window.setGeometry(10, 60, 780, 600)
    desk.window.toggle_sidebar()
    desk.until(lambda: desk.window.transcript.width() == desk.window.width())
    desk.window.transcript.message_actions.revise(PROMPTS[-1].id, "Begun anew")
    desk.window.transcript.column.verticalScrollBar().setValue(700)
    typed, messages = box.text, desk.window.transcript.messages
    in_sight, place = _in_sight(desk.window), desk.window.geometry()
    assert in_sight[0][1] < 0, "somewhere in the middle"
    desk.change_to("de")
    window = desk.window
    assert window.new_action.text() == "Neuer Chat"
    assert (window.prompt_box.text, window.prompt_box.editor.textCursor().position()) == (typed, 5)
    assert window.transcript.messages == messages, "what somebody wrote stays as it is"
    assert window.transcript.rows.siblings == {70: (70, 90)}
    assert window.transcript.rows.revisions == {PROMPTS[-1].id: "Begun anew"}
    assert _in_sight(window) == in_sight
    assert window.geometry() == place
    assert window.conversations.isHidden()
    assert window.conversations.chosen_id == 7
    assert [each.id for each in window.conversations.model.summaries] == [1, 7]
    assert [each.name for each in window.conversations.model.folders] == ["Garden"]
    assert window.target_bar.name.words == "Tiny"
    assert len(desk.bridge.loads) == 1
    window.prompt_box.submit()
    assert isinstance(desk.bridge.orders[-1], Send)
    assert desk.bridge.orders[-1].conversation_id == 7


def test_what_the_engine_said_is_said_again_but_no_news(desk: Desk) -> None:
    desk.bridge.tell(SpeculationChanged("Tiny", OFF, False), StoreBehind(OFF))
    desk.change_to("de")
    spoken = "Die Beschleunigung ist aus."
    assert spoken in desk.window.notices.shown["store"].words.text()
    desk.window.drafter_action.trigger()
    assert spoken in desk.app.drafters.dialog.state.text()
    assert not desk.window.toasts.shown, "the notice of a model that is loaded is news"


def test_forgotten_words_are_not_kept(desk: Desk) -> None:
    desk.bridge.tell(PresetsListed((Preset(1, "Mine", "Rhyme."),), ()), StoreBehind(OFF), EverythingForgotten())
    assert not any(isinstance(each, PresetsListed | FoldersListed | StoreBehind) for each in desk.bridge.facts)


def test_the_settings_stay_open_on_their_page(desk: Desk) -> None:
    desk.change_to("de")
    dialog = desk.app.settings.dialog
    assert dialog.rows["language"].control.hasFocus()
    dialog.show_page(SettingsPage.CHAT)
    dialog.search.setText("text")
    desk.app.keeper.change("language", "fr")
    desk.until(lambda: desk.app.settings.dialog is not dialog and desk.app.settings.dialog.isVisible())
    assert desk.app.settings.dialog.state.group is SettingsPage.CHAT
    assert desk.app.settings.dialog.search.text() == "text"


def test_it_waits_for_what_is_under_way_and_says_so(desk: Desk) -> None:
    before = desk.window
    before.set_busy(True)
    desk.choose("de")
    desk.until(lambda: desk.note == "The language will change when the current task is finished.")
    before.set_busy(False)
    assert desk.app.library is not None
    desk.app.library.dialog.hub.download_requested.emit(FILE)  # goes on for itself
    desk.bridge.ask(desk.bridge.engine.chat.answer, Send("Hi", 7, desk.app.chat.reply_settings))
    desk.qtbot.wait(400)
    assert desk.window is before
    desk.bridge.answers[-1].fail("No.")
    desk.until(lambda: "note above" in desk.note)
    before.toasts.clear()
    before.guide_action.trigger()
    desk.until(lambda: "other windows" in desk.note)
    for guide in before.findChildren(GuideDialog):
        guide.close()
    desk.until(lambda: desk.window is not before)
    assert desk.window.new_action.text() == "Neuer Chat"


def test_it_waits_no_more_for_what_was_chosen_back(desk: Desk) -> None:
    before = desk.window
    before.set_busy(True)
    desk.choose("de")
    desk.until(lambda: bool(desk.note))
    desk.choose("en")
    desk.until(lambda: not desk.note)
    before.set_busy(False)
    desk.qtbot.wait(400)
    assert desk.window is before


def test_a_download_goes_on(desk: Desk) -> None:
    assert desk.app.library is not None
    desk.app.library.dialog.hub.download_requested.emit(FILE)
    (fetching,) = desk.bridge.asked(desk.bridge.engine.models.fetch)
    fetching.tell(Downloading(400_000, 1_000_000, 1e6))
    desk.change_to("de")
    assert desk.app.library is not None
    fetching.tell(Downloading(500_000, 1_000_000, 1e6))
    hub = desk.app.library.dialog.hub
    assert hub.downloads.rows[0].words.text().startswith("500\xa0kB")
    fetching.fail("No.")
    assert [toast.words.text() for toast in desk.window.toasts.shown] == ["No."]


def test_what_only_the_window_knows_is_not_lost(desk: Desk) -> None:
    desk.bridge.tell(ConversationsDeleted((CHATS[0],)))
    desk.window.toasts.clear()
    picture = rainbow()
    desk.window.pictures.add(picture)
    desk.app.conversations.begin_chat(incognito=True)
    desk.app.chat.next_chat = NextChat("Rhyme.")
    desk.window.prompt_box.set_text(join_prompt([AttachedPicture("a.png", picture.digest)], "What is it?"))
    desk.change_to("de")
    assert desk.app.conversations.is_incognito
    assert desk.window.incognito_banner.isVisible()
    desk.window.prompt_box.send(desk.window.prompt_box.text)
    sent = desk.bridge.orders[-1]
    assert isinstance(sent, Send)
    assert (sent.incognito, sent.system_prompt, sent.pictures) == (True, "Rhyme.", (picture,))
    desk.window.restore_action.trigger()
    assert ("restore", (1,)) in desk.bridge.calls


def test_the_signs_of_the_open_chat_stay(desk: Desk) -> None:
    desk.app.conversations.settings_changed.emit(7, "Rhyme.", OwnSampling(banned_words="delve"))
    assert desk.window.signs.banned.isVisible()
    desk.change_to("de")
    assert desk.window.signs.banned.isVisible()
    assert "System-Prompt" in desk.window.target_bar.chat_settings.toolTip()


def test_the_tour_goes_on_in_the_other_language(desk: Desk) -> None:
    desk.app.tour.show_tour()
    desk.change_to("de")
    desk.until(lambda: desk.app.tour.tour is not None and desk.app.tour.tour.isVisible())
    assert desk.app.tour.tour is not None
    assert desk.app.tour.tour.skip_button.text() == "Überspringen"


def test_the_notice_of_a_model_that_is_gone_stays(desk: Desk) -> None:
    desk.app.target.load("/nowhere/a.gguf", is_chosen=True)
    desk.bridge.refuse(TargetMissing("It is gone."))
    desk.bridge.finish_all()
    assert "no longer in /nowhere" in desk.window.notices.shown["missing-model"].words.text()
    desk.change_to("de")
    assert "nicht mehr in /nowhere" in desk.window.notices.shown["missing-model"].words.text()


def num_listeners(desk: Desk) -> int:
    slots = [slot() for kind in desk.bridge._listeners.values() for slot in kind]
    return sum(slot is not None and isValid(cast(MethodType, slot).__self__) for slot in slots)


def test_old_windows_and_controllers_are_gone(desk: Desk) -> None:
    desk.change_to("de")
    windows = [weakref.ref(desk.window)]
    num_heard = num_listeners(desk)
    num_followed = desk.app.keeper.receivers(SIGNAL("changed()"))
    num_widgets = len(QApplication.allWidgets())
    for code in ("fr", "ja", "es", "zh_CN", "de"):
        desk.change_to(code)
        windows.append(weakref.ref(desk.window))
    gc.collect()
    assert [ref() is not None and isValid(ref()) for ref in windows] == [False] * 5 + [True]
    assert [ref() is not None for ref in windows] == [False] * 5 + [True]
    assert num_listeners(desk) == num_heard
    assert desk.app.keeper.receivers(SIGNAL("changed()")) == num_followed
    assert abs(len(QApplication.allWidgets()) - num_widgets) <= 5, "of a menu or a tooltip"


@pytest.mark.parametrize(("families", "is_told"), [([], True), (["Noto Sans CJK JP"], False)])
def test_a_missing_font_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, families: list[str], is_told: bool
) -> None:
    monkeypatch.setattr(QFontDatabase, "families", lambda _letters: families)
    desk.change_to("ja")
    told = [toast.words.text() for toast in desk.window.toasts.shown]
    assert any("fonts-noto-cjk" in text for text in told) == is_told
