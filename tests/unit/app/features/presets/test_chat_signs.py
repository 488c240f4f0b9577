"""The quiet signs beside the model's name, in the real window on a bridge without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.chat.chat_settings import ChatSettingsController
from app.features.presets.chat_signs import ChatSigns
from app.features.presets.presets import PresetsController
from app.features.server.server import ServerController
from app.main_window import MainWindow
from app.models.conversations import ConversationsModel
from app.theme import ThemeKeeper
from app.widgets.target.target_bar import SignButton
from engine import OwnSampling
from engine.values.conversations import Conversation, ConversationSummary, Message, Role
from engine.values.events import (
    ConversationChanged,
    ConversationOpened,
    ConversationsListed,
    PresetsListed,
    PromptStored,
    ReplyFinished,
    TargetInfo,
    TargetReady,
)
from engine.values.order import Preset
from engine.values.serving import OpenServer
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats

NOW = datetime.now(UTC)
CHAT, OTHER = ConversationSummary(7, "Rome", NOW), ConversationSummary(8, "Other", NOW)
BRIEF = Preset(1, "Brief", "Be brief.", OwnSampling(temperature=0.2))
TARGET = TargetInfo("Tiny", "/models/tiny.gguf", "llama 1B Q4", 1000, 10, 2)


class Desk:
    def __init__(self, window: MainWindow, theme: ThemeKeeper) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.chats = Chats(window, self.bridge, system_prompt="Be kind.")
        chats = self.chats.conversations, self.chats.chat
        settings = ChatSettingsController(window, self.bridge, *chats)
        self.settings = settings.dialog
        self.presets = PresetsController(
            *(window, theme, self.bridge, *chats, self.chats.target, settings.dialog), lambda _reference: None
        )
        ChatSigns(window, self.bridge, *chats, self.presets)
        self.server = ServerController(window, self.bridge, self.chats.keeper)
        self.chats.start("starter")
        ready = TargetReady(TARGET, self.bridge.loads[-1])
        self.bridge.tell(ready, ConversationsListed((CHAT, OTHER)), PresetsListed((BRIEF,), ()))

    @property
    def told(self) -> list[str]:
        """By the signs that are seen, from left to right."""
        signs = [each for each in self.window.signs.findChildren(SignButton) if each.isVisible()]
        assert all(each.toolTip() == each.accessibleName() for each in signs)
        return [each.accessibleName() for each in sorted(signs, key=lambda each: each.x())]

    def open(self, summary: ConversationSummary, system_prompt: str = "", own: OwnSampling = OwnSampling()) -> None:  # noqa: B008
        self.window.conversations.chosen.emit(summary.id)
        self.bridge.tell(ConversationOpened(Conversation(summary, system_prompt, (), own)))


@pytest.fixture
def desk(qtbot: QtBot, keeper: ThemeKeeper) -> Desk:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return Desk(window, keeper)


def test_what_a_chat_has_of_its_own_is_seen(desk: Desk) -> None:
    assert desk.told == []
    desk.open(CHAT, own=OwnSampling(grammar='{"type": "object"}', banned_words="very"))
    assert desk.told == ["Replies in this chat follow a schema or grammar", "Words are banned in this chat"]
    desk.chats.conversations.settings_changed.emit(8, "", OwnSampling())
    assert len(desk.told) == 2, "that was another chat"
    desk.chats.conversations.settings_changed.emit(7, "", OwnSampling(banned_words="very"))
    assert desk.told == ["Words are banned in this chat"]
    desk.chats.conversations.settings_changed.emit(7, BRIEF.system_prompt or "", BRIEF.sampling)
    assert desk.told == ["Preset of this chat: Brief"]
    desk.bridge.tell(PresetsListed((replace(BRIEF, name="Short"),), ()))
    assert desk.told == ["Preset of this chat: Short"]
    desk.open(OTHER)
    assert desk.told == []


def test_a_chat_that_begins_with_a_preset_keeps_its_sign(desk: Desk) -> None:
    desk.presets.apply(BRIEF)
    assert desk.told == ["Preset of this chat: Brief"]
    desk.window.prompt_box.set_text("Hi")
    desk.window.prompt_box.submit()
    new = ConversationSummary(9, "Hi", NOW)
    desk.bridge.tell(ConversationChanged(new), PromptStored(Message(1, 9, None, Role.USER, "Hi", NOW)))
    assert desk.told == ["Preset of this chat: Brief"]
    desk.window.conversations.new_requested.emit()
    assert "Preset of this chat: Brief" not in desk.told, "the next one has none"


@pytest.mark.parametrize("key", [None, Qt.Key.Key_Space])
def test_a_sign_leads_to_where_it_is_changed(desk: Desk, key: Qt.Key | None) -> None:
    def press(sign: SignButton) -> None:
        if key is None:
            QTest.mouseClick(sign, Qt.MouseButton.LeftButton)
        else:
            sign.setFocus(Qt.FocusReason.TabFocusReason)
            QTest.keyClick(sign, key)

    own = OwnSampling(grammar='{"type": "object"}')
    desk.open(CHAT, own=own)
    press(desk.window.signs.form)
    desk.bridge.last(desk.bridge.engine.chats.open).answer(Conversation(CHAT, "", (), own))
    assert desk.settings.isVisible()
    desk.settings.reject()
    desk.chats.conversations.settings_changed.emit(7, BRIEF.system_prompt or "", BRIEF.sampling)
    press(desk.window.signs.preset)
    assert desk.presets.picker.isVisible()
    desk.presets.picker.close()
    desk.chats.keeper.note(server=True)
    desk.server.follow()
    desk.bridge.all_asked[-1].answer(OpenServer("http://127.0.0.1:8642"))
    assert desk.told[0] == "Other programs can use the model at http://127.0.0.1:8642"
    press(desk.window.signs.server)
    assert desk.server.dialog.isVisible()
    desk.server.dialog.close()
    desk.chats.keeper.note(server=False)
    desk.server.follow()
    desk.bridge.all_asked[-1].answer(None)
    assert desk.told == ["Preset of this chat: Brief"]


def test_the_chat_that_is_being_written_is_marked_and_one_press_away(desk: Desk) -> None:
    def written() -> list[str]:
        model = desk.window.conversations.model
        rows = [model.index(row) for row in range(model.rowCount())]
        marked = [row for row in rows if row.data(ConversationsModel.WrittenRole)]
        for row in rows:
            about = row.data(Qt.ItemDataRole.AccessibleDescriptionRole)
            assert ("A reply is being written" in about) == (row in marked)
            assert ("A reply is being written" in row.data(Qt.ItemDataRole.ToolTipRole)) == (row in marked)
        return [row.data() for row in marked]

    desk.open(CHAT)
    desk.window.prompt_box.set_text("Hi")
    desk.window.prompt_box.submit()
    asked = Message(1, 7, None, Role.USER, "Hi", NOW)
    desk.bridge.tell(ConversationChanged(CHAT), PromptStored(asked))
    assert (written(), desk.told) == (["Rome"], [])
    desk.open(OTHER)
    assert (written(), desk.told) == (["Rome"], ["Go to “Rome”, where a reply is being written"])
    QTest.mouseClick(desk.window.signs.writing, Qt.MouseButton.LeftButton)
    assert desk.chats.conversations.open_id == 7
    assert desk.window.conversations.chosen_id == 7
    desk.bridge.tell(ConversationOpened(Conversation(CHAT, "", (asked,))))
    assert desk.told == []
    desk.open(OTHER)
    desk.bridge.tell(ReplyFinished(Message(2, 7, 1, Role.ASSISTANT, "Hello.", NOW)))
    assert (written(), desk.told) == ([], [])


@pytest.mark.parametrize("scale", [100, 200])
def test_all_signs_have_room_in_a_small_window(desk: Desk, keeper: ThemeKeeper, qtbot: QtBot, scale: int) -> None:
    keeper.choose("light", scale)
    desk.window.resize(640, 500)
    own = OwnSampling(temperature=0.2, grammar='{"type": "object"}', banned_words="very")
    desk.open(CHAT, "Be brief.", own)
    desk.bridge.tell(PresetsListed((replace(BRIEF, sampling=own),), ()))
    desk.window.signs.server.tell("Other programs can use the model at http://127.0.0.1:8642")
    desk.window.signs.measuring.tell("Tiny is being measured")
    desk.window.signs.writing.tell("Go to “Rome”, where a reply is being written")
    assert len(desk.told) == 6
    bar = desk.window.target_bar
    qtbot.waitUntil(lambda: bar.name.width() >= bar.name.minimumSizeHint().width() > 0)
    assert desk.window.width() <= max(640, keeper.px(380) + 1), "they make it no wider than it is without them"
    parts = [bar.sidebar_button, bar.name, desk.window.signs, bar.menu_button]
    assert [each.geometry().left() for each in parts] == sorted(each.geometry().left() for each in parts)
    assert all(one.geometry().right() < other.geometry().left() for one, other in pairwise(parts))


def test_a_button_beside_the_model_opens_the_settings_and_tells_what_differs(desk: Desk) -> None:
    button, differs = desk.window.target_bar.chat_settings, "Differs from the defaults: "
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert desk.settings.isVisible()
    assert button.accessibleName() == "Settings of this chat  (Ctrl+Shift+,)"
    assert button.accessibleDescription() == ""
    desk.settings.rows["temperature"].choose(0.8)
    desk.settings.save_button.click()
    assert button.accessibleDescription() == f"{differs}Temperature 0.8"
    assert button.toolTip().endswith(button.accessibleDescription())
    desk.open(CHAT, "Be brief.", OwnSampling(top_k=3))
    assert button.accessibleDescription() == f"{differs}System prompt · Top-k 3"
    desk.chats.conversations.settings_changed.emit(OTHER.id, "Rhyme.", OwnSampling())
    assert button.accessibleDescription() == f"{differs}System prompt · Top-k 3"
    desk.chats.conversations.settings_changed.emit(CHAT.id, "Be kind.", OwnSampling())
    assert button.accessibleDescription() == ""
