"""Presets given to chats, on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.chat.chat import NextChat
from app.features.chat.chat_settings import ChatSettingsController
from app.features.presets.presets import PresetsController
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.prompt.preset_picker import NONE
from engine import OwnSampling
from engine.values.conversations import Conversation, ConversationSummary
from engine.values.events import (
    ConversationsListed,
    EverythingForgotten,
    PresetsListed,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Preset, TargetChoice
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.library_samples import QWEN, STARTER_TARGET

CHAT = ConversationSummary(7, "Chat", datetime.now(UTC))
COOL = OwnSampling(temperature=0.2)
BRIEF = Preset(1, "Brief", "Be brief.", COOL)
MINE = TargetInfo("Tiny", "/models/tiny.gguf", "llama", 1000, 10, 2, identity="file:tiny", thinks=True)
OTHER = replace(QWEN, identity="file:qwen")
QUIET = Preset(2, "Quiet", None, OwnSampling(), thinks=False, target=TargetChoice(OTHER.name, OTHER.identity))


class Desk:
    def __init__(self, window: MainWindow, theme: ThemeKeeper) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.used: list[str] = []
        self.chats = Chats(window, self.bridge, system_prompt="Be kind.")
        settings = ChatSettingsController(window, self.bridge, self.chats.conversations, self.chats.chat)
        self.settings = settings.dialog
        self.presets = PresetsController(
            window,
            theme,
            self.bridge,
            self.chats.conversations,
            self.chats.chat,
            self.chats.target,
            settings.dialog,
            self.used.append,
        )
        self.chats.start("starter")
        self.take()
        self.bridge.tell(PresetsListed((BRIEF, QUIET), ()))

    def ready(self, target: TargetInfo = MINE) -> None:
        self.bridge.tell(TargetReady(target, self.bridge.loads[-1]))

    def list_targets(self) -> None:
        self.chats.target.library = (STARTER_TARGET, OTHER)  # as the controller of the library does
        self.bridge.tell(TargetsListed((STARTER_TARGET, OTHER)))

    def open(self, system_prompt: str = "Be brief.", sampling: OwnSampling = COOL) -> None:
        self.window.conversations.chosen.emit(7)
        self.tell_opened(system_prompt, sampling)
        self.take()

    def tell_opened(self, system_prompt: str, sampling: OwnSampling) -> None:
        self.bridge.last(self.bridge.engine.chats.open).answer(Conversation(CHAT, system_prompt, (), sampling))

    def take(self) -> list[Any]:
        return self.bridge.take()

    @property
    def in_use(self) -> list[str]:
        """What the list marks."""
        return [row.title for row in self.presets.picker.view.rows.rows if row.tag.startswith("In use")]

    @property
    def said(self) -> list[str]:
        return [toast.words.text() for toast in self.window.toasts.shown]


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper) -> Desk:
    return Desk(window, keeper)


def test_they_are_listed_at_the_start_and_when_all_is_forgotten(desk: Desk) -> None:
    listing = desk.bridge.engine.presets.list
    desk.bridge.tell(ConversationsListed(()))
    assert len(desk.bridge.asked(listing)) == 1
    desk.bridge.tell(ConversationsListed(()))
    assert len(desk.bridge.asked(listing)) == 1
    desk.bridge.tell(EverythingForgotten())
    assert len(desk.bridge.asked(listing)) == 2


def test_the_open_chat_gets_a_copy_and_keeps_what_is_not_said(desk: Desk) -> None:
    desk.ready()
    desk.open()
    desk.presets.apply(BRIEF)
    desk.presets.apply(replace(QUIET, target=None))
    assert desk.take() == [("change", 7, "Be brief.", COOL), ("change", 7, None, OwnSampling())]
    assert desk.chats.chat.next_chat is None


def test_the_next_chat_gets_it_where_none_is_open(desk: Desk) -> None:
    desk.ready()
    desk.presets.apply(BRIEF)
    assert desk.chats.chat.next_chat == NextChat("Be brief.", COOL)
    desk.presets.apply(Preset(3, "Cool", None, OwnSampling(temperature=0.1)))
    assert desk.chats.chat.next_chat == NextChat("Be brief.", OwnSampling(temperature=0.1))
    desk.presets.picker.chosen.emit(NONE)
    assert desk.chats.chat.next_chat is None
    assert desk.take() == []


def test_the_model_is_loaded_and_told_whether_to_think(desk: Desk) -> None:
    desk.ready()
    desk.list_targets()
    desk.presets.apply(QUIET)
    assert desk.used == [OTHER.reference]
    assert desk.window.prompt_box.think_button.isChecked(), "the model in use is another one"
    desk.chats.target.choose(str(OTHER.path))
    desk.ready(TargetInfo("q", str(OTHER.path), "", 1000, 10, 2, identity="file:qwen", thinks=True))
    assert not desk.window.prompt_box.think_button.isChecked()
    assert desk.chats.keeper.settings.thinking == {"file:qwen": False}
    desk.window.prompt_box.think_button.click()
    desk.ready(TargetInfo("q", str(OTHER.path), "", 1000, 10, 2, identity="file:qwen", thinks=True))
    assert desk.window.prompt_box.think_button.isChecked(), "only once"


def test_what_comes_before_the_library_is_there_waits_for_it(desk: Desk) -> None:
    desk.presets.apply(QUIET)
    desk.ready()
    assert desk.used == []
    desk.list_targets()
    assert desk.used == [OTHER.reference]
    desk.list_targets()
    assert len(desk.used) == 1


def test_moving_to_another_chat_drops_what_has_not_come_yet(desk: Desk) -> None:
    desk.presets.apply(QUIET)
    desk.window.conversations.chosen.emit(7)
    desk.ready()
    desk.list_targets()
    assert desk.used == []


def test_a_model_that_is_not_in_the_library_is_told_of(desk: Desk) -> None:
    desk.ready()
    desk.list_targets()
    desk.presets.apply(replace(QUIET, target=TargetChoice("Gone", "file:gone")))
    assert desk.used == []
    assert desk.said == ["The library has no model Gone, which “Quiet” is for."]
    assert desk.window.prompt_box.think_button.isChecked()


def test_the_list_marks_what_the_chat_has(desk: Desk) -> None:
    desk.ready()
    desk.open()
    desk.window.presets_action.trigger()
    assert desk.take() == [("open", 7)]
    assert desk.in_use == []
    desk.tell_opened("Be brief.", COOL)
    assert desk.in_use == ["Brief"]
    assert desk.presets.picker.view.current_key == BRIEF.id
    desk.presets.picker.close()
    desk.window.presets_action.trigger()
    desk.tell_opened("Be kind.", OwnSampling())
    assert desk.in_use == ["Default settings"]
    desk.presets.picker.close()
    desk.window.presets_action.trigger()
    desk.tell_opened("Be odd.", OwnSampling())
    assert desk.in_use == []
    desk.presets.picker.close()


def test_arrows_and_enter_choose_too_and_a_digit_without_a_preset_does_not(desk: Desk) -> None:
    desk.ready()
    desk.window.presets_action.trigger()
    picker = desk.presets.picker
    QTest.keyClicks(picker.view, "7")
    assert picker.isVisible()
    QTest.keyClick(picker.view, Qt.Key.Key_Down)
    QTest.keyClick(picker.view, Qt.Key.Key_Return)
    assert not picker.isVisible()
    assert desk.chats.chat.next_chat == NextChat("Be brief.", COOL)
    assert desk.said == ["This chat uses the preset “Brief”."]
    desk.window.presets_action.trigger()
    QTest.keyClick(picker.view, Qt.Key.Key_Escape)
    assert not picker.isVisible()


def test_what_a_chat_had_of_its_own_comes_back_with_undo(desk: Desk) -> None:
    desk.ready()
    desk.open("Rhyme.", OwnSampling(top_k=3))
    desk.window.presets_action.trigger()
    desk.tell_opened("Rhyme.", OwnSampling(top_k=3))
    desk.take()
    QTest.keyClicks(desk.presets.picker.view, "1")
    (toast,) = desk.window.toasts.shown
    assert toast.action_button is not None
    toast.action_button.click()
    assert desk.take() == [
        ("change", 7, "Be brief.", COOL),
        ("change", 7, "Rhyme.", OwnSampling(top_k=3)),
    ]
    desk.window.presets_action.trigger()
    QTest.keyClicks(desk.presets.picker.view, "1")
    assert desk.window.toasts.shown[0].action_button is None, "what it was is not known yet"
    desk.window.toasts.clear()
    desk.window.conversations.new_requested.emit()
    desk.window.presets_action.trigger()
    QTest.keyClicks(desk.presets.picker.view, "1")
    (toast,) = desk.window.toasts.shown
    desk.window.conversations.chosen.emit(7)
    assert desk.window.toasts.shown == (), "it was for another chat"


def test_a_saved_one_takes_the_place_of_its_name(desk: Desk) -> None:
    desk.ready()
    desk.open("Rhyme.", COOL)
    desk.presets.picker.save_requested.emit()
    desk.tell_opened("Rhyme.", COOL)
    asked = desk.presets.save_dialog
    assert asked.isVisible()
    assert (asked.name.text(), asked.save_button.isEnabled()) == ("", False)
    assert asked.sampling.text() == "Temperature 0.2"
    QTest.keyClicks(asked.name, "brief")
    assert (asked.save_button.text(), asked.note.text()) == ("Replace", "Replaces the preset of this name.")
    asked.model.setChecked(True)
    asked.thinking.setChecked(True)
    desk.take()
    QTest.keyClick(asked.name, Qt.Key.Key_Return)
    (saved,) = desk.bridge.asked(desk.bridge.engine.presets.save_preset)
    assert saved.args == (Preset(1, "Brief", "Rhyme.", COOL, True, TargetChoice("Tiny", "file:tiny")),)
    assert desk.said == []
    saved.answer()
    assert desk.said == ["The preset “Brief” was saved."]


def test_the_settings_of_a_chat_name_its_preset_as_long_as_nothing_differs(desk: Desk, qtbot: QtBot) -> None:
    desk.ready()
    desk.open()
    desk.window.conversation_action.trigger()
    desk.tell_opened("Be brief.", COOL)
    qtbot.waitUntil(lambda: desk.settings.preset.words == "Preset: Brief")
    desk.settings.rows["temperature"].choose(0.3)
    qtbot.waitUntil(lambda: desk.settings.preset.words == "No preset")
    desk.settings.rows["temperature"].choose(0.2)
    qtbot.waitUntil(lambda: desk.settings.preset.words == "Preset: Brief")
    desk.settings.texts["logit_bias"].show_text("nonsense")
    qtbot.waitUntil(lambda: desk.settings.preset.words == "No preset")
    desk.settings.presets_button.click()
    assert not desk.settings.isVisible()
    assert desk.presets.picker.isVisible()
    desk.presets.picker.close()
