"""A target on a server: chosen, shown, asked for again at the next start, and what the window says beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.features.chat.chat_settings import ChatSettingsController
from app.features.chat.prompt import PromptController
from app.features.library.hub import SUBJECT, Nudge
from app.features.model_servers.model_servers import ModelServersController
from app.features.presets.presets import PresetsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.theme import ThemeKeeper
from engine import STARTER
from engine.values.conversations import Conversation, ConversationSummary
from engine.values.events import (
    ConversationOpened,
    Event,
    ReplyFinished,
    ServersListed,
    TargetLoading,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Preset, TargetChoice
from engine.values.orders import Send
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.speed import LiveFigures
from engine.values.targets import LoadOrder
from tests.fakes.answers import Waits, Wrote
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats, unsaved
from tests.unit.app.library_samples import STARTER_TARGET
from tests.unit.app.server_samples import AGREED, DESK, here, on_server
from tests.unit.app.widgets.messages import prompt, reply

MODEL = AGREED.models[0]
REFUSED = "models.example.org cannot be reached."
SUMMARY = ConversationSummary(1, "Chat", datetime.now(UTC))
TOLD = ReplyStatistics(
    820, 820, 214, 1.2, 7.0, StopReason.END, 1034, 0, num_rounds=93, num_drafted=160, num_accepted=121, ratio=1.8
)


class Desk:
    def __init__(self, window: MainWindow, settings: AppSettings | None = None) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.chats = Chats(window, self.bridge, keeper=unsaved(settings or AppSettings()))
        PromptController(window, self.bridge)
        self.tell(TargetsListed((STARTER_TARGET,)), ServersListed((AGREED, DESK)))

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    @property
    def target(self) -> str:
        """That the next start opens."""
        return self.chats.keeper.settings.target

    def choose(self) -> None:
        self.chats.target.choose(MODEL.reference)
        self.tell(TargetReady(on_server(AGREED), self.bridge.loads[-1]))

    @property
    def state(self) -> str:
        return self.window.target_bar.state.words


@pytest.fixture
def desk(window: MainWindow) -> Desk:
    desk = Desk(window)
    desk.chats.start(STARTER)
    desk.tell(TargetReady(here(), desk.bridge.loads[-1]))
    return desk


def press(words: str, *buttons: QPushButton) -> None:
    (button,) = [each for each in buttons if each.text() == words]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_chosen_one_is_asked_for_and_then_shown_with_its_host(desk: Desk) -> None:
    desk.chats.target.choose(MODEL.reference)
    assert desk.state == "Asking models.example.org…"
    assert desk.window.target_bar.name.words == "llama-3.3-70b"
    desk.tell(TargetLoading(MODEL.id, 0.0))
    assert desk.state == "Asking models.example.org…", "nothing is loaded here"
    desk.tell(TargetReady(on_server(AGREED), desk.bridge.loads[-1]))
    assert desk.state == "on models.example.org"
    assert desk.window.target_bar.name.words == "llama-3.3-70b"
    assert not desk.bridge.asked(desk.bridge.engine.library.estimate)
    assert (desk.target, desk.chats.keeper.settings.target_identity) == (MODEL.reference, MODEL.identity)


def test_a_new_chat_says_where_its_model_runs(desk: Desk) -> None:
    line = desk.window.transcript.welcome.line
    assert line.text() == "The model runs on this computer. Nothing you write leaves it."
    desk.choose()
    assert line.text() == "The model runs on models.example.org. What you write goes there."
    desk.chats.target.choose(STARTER)
    desk.tell(TargetReady(here(), desk.bridge.loads[-1]))
    assert line.text() == "The model runs on this computer. Nothing you write leaves it."


def test_where_it_cannot_be_had_the_one_in_use_stays(desk: Desk) -> None:
    desk.chats.target.choose(MODEL.reference)
    desk.bridge.refuse(REFUSED)
    assert desk.window.target_bar.name.words == "Tiny"
    assert [toast.words.text() for toast in desk.window.toasts.shown] == [REFUSED]
    assert desk.target == STARTER


def test_the_next_start_takes_it_again_and_if_it_is_silent_the_starter_answers(window: MainWindow) -> None:
    desk = Desk(window, AppSettings(target=MODEL.reference, target_identity=MODEL.identity))
    desk.chats.target.load(MODEL.reference, identity=MODEL.identity, by_itself=True)
    desk.bridge.refuse(REFUSED)
    assert desk.bridge.loads[-1] == LoadOrder(STARTER, by_itself=True)
    (notice,) = window.notices.shown.values()
    words = f"llama-3.3-70b cannot be used now. {REFUSED} The starter model answers instead."
    assert notice.words.text() == words
    desk.tell(TargetReady(here(), desk.bridge.loads[-1]))
    assert desk.target == MODEL.reference, "the start after that tries once more"
    press("Try again", *notice.buttons)
    assert desk.bridge.loads[-1].target == MODEL.reference
    desk.tell(TargetReady(on_server(AGREED), desk.bridge.loads[-1]))
    assert window.notices.shown == {}


def test_settings_for_all_models_do_not_make_a_path_of_it(desk: Desk) -> None:
    desk.choose()
    desk.chats.target.load_again()
    assert desk.bridge.loads[-1].target == MODEL.reference
    assert desk.bridge.loads[-1].identity == MODEL.identity


def test_speed_up_is_quiet_and_says_why(desk: Desk) -> None:
    desk.choose()
    meter = desk.window.meter
    assert meter.headline.text() == "Runs on a server"
    assert "If anything is guessed, it is there" in meter.headline.accessibleDescription()
    assert not meter.switch.isEnabled()
    assert "on this computer" in meter.switch.toolTip()
    assert not desk.window.speed_up_action.isEnabled()
    desk.chats.keeper.change("speed_up", False)
    assert meter.headline.text() == "Runs on a server", "whatever the switch says"
    desk.chats.keeper.change("speed_up", True)
    desk.chats.target.choose(STARTER)
    desk.tell(TargetReady(here(), desk.bridge.loads[-1]))
    assert meter.switch.isEnabled()
    assert desk.window.speed_up_action.isEnabled()
    assert meter.headline.text() == "Speed-up ready"


def test_a_reply_says_who_wrote_it_and_how_the_server_counts_its_guesses(desk: Desk) -> None:
    desk.choose()
    desk.window.conversations.chosen.emit(1)
    written = replace(reply(2), parent_id=1, target_name=MODEL.name, statistics=TOLD, server=AGREED.address)
    desk.tell(ConversationOpened(Conversation(SUMMARY, "", (prompt(1), written), servers=(AGREED.address,))))
    meter = desk.window.meter
    assert meter.headline.text() == "30.6 tokens a second: written on models.example.org"
    about = meter.headline.accessibleDescription()
    assert "Guesses accepted: 121 of 160 tokens (76 %), by the server's count" in about
    assert "fast" not in about, "nobody here has measured what they bring"
    view = desk.window.transcript.column.built_rows()[-1][1]
    footer = getattr(view, "footer", None)
    assert footer is not None
    assert footer.facts.words == "llama-3.3-70b on models.example.org  ·  214 tokens  ·  30.6 tok/s"
    assert "Guessed on the server: 160 tokens, 121 accepted" in footer.facts.toolTip()


def test_a_server_that_tells_no_counts_is_not_said_to_guess_nothing(desk: Desk) -> None:
    desk.choose()
    desk.window.conversations.chosen.emit(1)
    silent = replace(TOLD, num_drafted=0, num_accepted=0, num_rounds=0, reply_tokens=0)
    written = replace(reply(2), parent_id=1, target_name=MODEL.name, statistics=silent, server=AGREED.address)
    desk.tell(ConversationOpened(Conversation(SUMMARY, "", (prompt(1), written), servers=(AGREED.address,))))
    assert desk.window.meter.headline.text() == "Written on models.example.org"
    assert "Guesses accepted: not told by the server" in desk.window.meter.headline.accessibleDescription()


def test_a_reply_of_this_computer_is_compared_as_before_while_a_server_is_in_use(desk: Desk) -> None:
    desk.choose()
    desk.window.conversations.chosen.emit(1)
    shown = (prompt(1), replace(reply(2), parent_id=1))
    desk.tell(ConversationOpened(Conversation(SUMMARY, "", shown)))
    assert "Written on" not in desk.window.meter.headline.accessibleDescription()


def test_a_reply_that_grows_shows_its_speed_and_what_a_busy_server_waits_for(desk: Desk) -> None:
    desk.tell(ServersListed((AGREED,)))
    desk.choose()
    desk.window.conversations.chosen.emit(1)
    desk.tell(ConversationOpened(Conversation(SUMMARY, "", (prompt(1), replace(reply(2), parent_id=1)))))
    desk.window.prompt_box.set_text("And now?")
    desk.window.prompt_box.submit()
    (sent,) = [each for each in desk.bridge.orders if isinstance(each, Send)]
    desk.window.transcript.begin_reply()
    desk.tell(Waits(1, "models.example.org is busy; trying again in 2 seconds."))
    view = desk.window.transcript.column.built_rows()[-1][1]
    waiting = getattr(view, "waiting", None)
    assert waiting is not None
    assert waiting.words == "models.example.org is busy; trying again in 2 seconds."
    desk.tell(Wrote(1, "Now ", LiveFigures(40, 20.0, 20.0, num_drafted=30, num_accepted=20)))
    desk.window.meter._show_latest()
    assert desk.window.meter.headline.text() == "20.0 tokens a second: written on models.example.org"
    desk.tell(ReplyFinished(replace(reply(4), parent_id=3)))
    assert sent.prompt == "And now?"


def test_the_settings_of_a_chat_say_where_it_went(desk: Desk) -> None:
    settings = ChatSettingsController(desk.window, desk.bridge, desk.chats.conversations, desk.chats.chat).dialog
    desk.window.conversations.chosen.emit(1)
    seen = Conversation(SUMMARY, "", (prompt(1),), servers=(DESK.address, "http://127.0.0.1:9/v1"))
    desk.window.conversation_action.trigger()
    desk.bridge.asked(desk.bridge.engine.chats.open)[-1].answer(seen)
    assert settings.about.text().endswith("Sent to: 192.168.1.5:8080, 127.0.0.1:9 (this computer)")
    settings.reject()
    desk.window.conversation_action.trigger()
    desk.bridge.asked(desk.bridge.engine.chats.open)[-1].answer(replace(seen, servers=()))
    assert "Sent to" not in settings.about.text()
    settings.reject()


def test_pictures_thinking_and_tools_follow_what_the_server_tells(desk: Desk) -> None:
    desk.choose()
    box = desk.window.prompt_box
    picture = AttachedPicture("Sun.png", "a" * 64)
    box.set_text(join_prompt([picture], "What is it?"))
    assert "according to its server" in box.chips.blindness
    assert box.think_button.isHidden()
    able = replace(on_server(AGREED), sees_pictures=True, thinks=False, calls_tools=True)
    desk.tell(TargetReady(able, desk.bridge.loads[-1]))
    assert box.chips.blindness == ""
    assert not box.think_button.isHidden()


def test_a_preset_can_name_one(desk: Desk, keeper: ThemeKeeper) -> None:
    settings = ChatSettingsController(desk.window, desk.bridge, desk.chats.conversations, desk.chats.chat)
    chats, used = desk.chats, list[str]()
    presets = PresetsController(
        desk.window, keeper, desk.bridge, chats.conversations, chats.chat, chats.target, settings.dialog, used.append
    )
    chats.target.library, chats.target.servers = (STARTER_TARGET,), None
    presets.apply(Preset(1, "Big", target=TargetChoice(MODEL.name, MODEL.identity)))
    assert used == [], "it is not known yet which servers there are"
    chats.target.use_servers((AGREED, DESK))
    assert used == [MODEL.reference]


def test_a_preset_does_not_wait_for_servers_that_cannot_be_listed(desk: Desk, keeper: ThemeKeeper) -> None:
    settings = ChatSettingsController(desk.window, desk.bridge, desk.chats.conversations, desk.chats.chat)
    chats, used = desk.chats, list[str]()
    chats.target.library, chats.target.servers = (STARTER_TARGET,), None
    presets = PresetsController(
        desk.window, keeper, desk.bridge, chats.conversations, chats.chat, chats.target, settings.dialog, used.append
    )
    servers = ModelServersController(desk.window, desk.bridge, chats.target)
    servers.list_all()
    presets.apply(Preset(1, "Big", target=TargetChoice(MODEL.name, MODEL.identity)))
    desk.bridge.all_asked[-1].fail("servers.json cannot be read.")
    said = [each.words.text() for each in desk.window.toasts.shown]
    assert said == ["servers.json cannot be read.", f"The library has no model {MODEL.name}, which “Big” is for."]
    assert used == []


def test_who_has_a_server_is_not_told_to_find_a_bigger_model(desk: Desk) -> None:
    Nudge(desk.window, desk.bridge, unsaved(AppSettings(has_chatted=True)))
    desk.tell(TargetsListed((STARTER_TARGET,)))
    assert SUBJECT in desk.window.notices.shown
    desk.tell(ServersListed((DESK,)))
    assert SUBJECT not in desk.window.notices.shown
