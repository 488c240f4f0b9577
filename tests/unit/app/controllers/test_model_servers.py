"""Servers with models, as the user sets them up: the window for them, and what the list of models shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMessageBox, QPushButton

from app.controllers.model_servers import ModelServersController
from app.dialogs.model_servers.server_form import ModelServerForm
from app.main_window import MainWindow
from app.models.server_rows import ServerKey
from engine import AgreeToServer, ListServers, LoadTarget, LookAtServer, RemoveServer, SaveServer
from engine.messages.events import (
    Event,
    Failed,
    Finished,
    ServerSeen,
    ServersListed,
    ServerUntrusted,
    TargetReady,
)
from engine.messages.remote import RemoteServer
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.library_samples import STARTER_TARGET
from tests.unit.app.server_samples import AGREED, DESK, model, on_server

_FOUND = "http://192.168.1.7:8000/v1"
FOUND = RemoteServer("192.168.1.7:8000", _FOUND, models=(model(_FOUND, "tiny"),))
FINGERPRINT = "ab12" * 16


class Desk:
    def __init__(self, window: MainWindow) -> None:
        self.window, self.bridge = window, FakeBridge()
        self.chats = Chats(window, self.bridge)
        self.servers = ModelServersController(window, self.bridge, self.chats.target)
        self.servers.list_all()
        window.target_bar.picker.set_targets((STARTER_TARGET,))
        self.tell(ServersListed((AGREED, DESK)))

    def tell(self, *events: Event) -> None:
        self.bridge.tell(*events)

    def last(self, kind: type) -> object:
        return [each for each in self.bridge.posted if isinstance(each, kind)][-1]

    def number(self, kind: type) -> int:
        return sum(isinstance(each, kind) for each in self.bridge.posted)

    @property
    def form(self) -> ModelServerForm:
        return self.servers.dialog.form

    @property
    def words(self) -> str:
        return self.servers.dialog.words.text()

    def open(self) -> None:
        self.window.servers_action.trigger()

    def type(self, field: QLineEdit, text: str) -> None:
        field.clear()
        QTest.keyClicks(field, text)

    def look(self, address: str, key: str = "") -> LookAtServer:
        """In the form for a new server."""
        self.open()
        press(self.servers.dialog.add_button)
        self.type(self.form.address, address)
        self.type(self.form.key, key)
        press(self.form.look_button)
        look = self.last(LookAtServer)
        assert isinstance(look, LookAtServer)
        return look


@pytest.fixture
def desk(window: MainWindow) -> Desk:
    return Desk(window)


def press(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def yes_of(box: QMessageBox) -> QPushButton:
    (yes,) = [each for each in box.findChildren(QPushButton) if each.text() == "Remove"]
    return yes


def remove(desk: Desk) -> None:
    press(desk.servers.dialog.cards[DESK.address].remove_button)
    (box,) = [each for each in desk.servers.dialog.findChildren(QMessageBox) if each.isVisible()]
    press(yes_of(box))


def test_opening_lists_and_windows_asks_no_server(desk: Desk) -> None:
    desk.window.target_bar.open_picker()
    desk.window.target_bar.picker.close()
    desk.open()
    assert desk.bridge.posted == [ListServers()], "which uses no network"


def test_a_server_is_looked_at_and_added(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000", "secret")
    assert (look.address, look.key, look.certificate) == ("192.168.1.7:8000", "secret", "")
    assert desk.form.state.text() == "Asking 192.168.1.7:8000…"
    assert not desk.form.save_button.isEnabled()
    desk.tell(ServerSeen(look, FOUND, "The way is not encrypted."), Finished(look))
    assert desk.form.state.text() == "Found: server with OpenAI's interface with 1 model: tiny."
    assert desk.form.warning.text() == "The way is not encrypted."
    assert desk.form.name.text() == "192.168.1.7:8000"
    desk.type(desk.form.name, "Cellar")
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert (save.server, save.key, save.replaces) == (replace(FOUND, name="Cellar"), "secret", "")
    desk.tell(ServersListed((AGREED, replace(FOUND, name="Cellar 2"), DESK)), Finished(save))
    assert desk.form.isHidden()
    assert desk.form.key.text() == "", "a key is not left in a field"
    assert desk.words == "Cellar 2 was added; its models are in the list of models."
    assert list(desk.servers.dialog.cards) == [AGREED.address, DESK.address, FOUND.address]


def test_what_goes_wrong_is_said_and_nothing_typed_is_lost(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000", "wrong")
    desk.tell(Failed("192.168.1.7 does not take this key.", look))
    assert desk.form.problem.text() == "192.168.1.7 does not take this key."
    assert (desk.form.address.text(), desk.form.key.text()) == ("192.168.1.7:8000", "wrong")
    desk.type(desk.form.key, "right")
    assert desk.form.problem.isHidden(), "it was about another key"
    press(desk.form.look_button)
    again = desk.last(LookAtServer)
    assert isinstance(again, LookAtServer)
    assert again.key == "right"
    desk.tell(ServerSeen(again, FOUND), Finished(again))
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    desk.tell(Failed("The disk is full.", save))
    assert desk.form.isVisible()
    assert desk.form.problem.text() == "The disk is full."
    assert desk.form.key.text() == "right"


def test_what_was_seen_of_another_address_is_not_kept(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    desk.tell(ServerSeen(look, FOUND), Finished(look))
    assert desk.form.save_button.isEnabled()
    QTest.keyClicks(desk.form.address, "1")
    assert not desk.form.save_button.isEnabled()
    assert desk.form.state.isHidden()


@pytest.mark.parametrize("field", ["address", "key"])
def test_what_is_typed_during_a_look_ends_it(desk: Desk, field: str) -> None:
    look = desk.look("192.168.1.7:8000", "secret")
    QTest.keyClicks(getattr(desk.form, field), "1")
    assert desk.bridge.stops[-1].is_set()
    assert desk.form.state.isHidden()
    assert desk.form.look_button.isEnabled()
    desk.tell(Failed("Asking 192.168.1.7:8000 was cancelled.", look, is_stopped=True))
    assert desk.form.problem.isHidden(), "the user did that"


def test_a_key_is_not_saved_for_the_address_that_was_typed_before(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    desk.type(desk.form.address, "192.168.1.8:8000")
    desk.type(desk.form.key, "of the second")
    desk.tell(ServerSeen(look, FOUND), Finished(look))
    assert desk.form.state.isHidden()
    assert desk.form.name.text() == ""
    assert not desk.form.save_button.isEnabled()
    desk.tell(ServerUntrusted(look, _FOUND, FINGERPRINT, "Nobody vouches for it."))
    assert desk.form.question.isHidden()


def test_a_look_that_was_begun_again_goes_on_when_the_first_one_ends(desk: Desk) -> None:
    first = desk.look("192.168.1.7:8000")
    desk.type(desk.form.address, "192.168.1.7:8000")
    press(desk.form.look_button)
    again = desk.last(LookAtServer)
    assert isinstance(again, LookAtServer)
    desk.tell(Failed("Asking 192.168.1.7:8000 was cancelled.", first, is_stopped=True))
    assert desk.form.problem.isHidden()
    desk.tell(ServerSeen(again, FOUND), Finished(again))
    assert desk.form.save_button.isEnabled()


def test_a_look_for_a_new_server_tells_nothing_of_one_that_is_changed(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    press(desk.servers.dialog.cards[DESK.address].change_button)
    assert desk.bridge.stops[-1].is_set()
    desk.tell(ServerSeen(look, FOUND), Finished(look))
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert save.server == DESK


def test_a_certificate_that_nobody_vouches_for_is_shown_and_trusted_only_by_the_user(desk: Desk) -> None:
    look = desk.look("https://box.local")
    desk.tell(ServerUntrusted(look, "https://box.local/v1", FINGERPRINT, "Nobody vouches for it."), Finished(look))
    question = desk.form.question
    assert question.isVisible()
    assert "Nobody vouches for it." in question.words.text()
    assert "ab12 ab12 ab12" in question.words.text()
    assert question.no_button.hasFocus(), "Enter alone does not trust it"
    press(question.no_button)
    assert not desk.form.save_button.isEnabled()
    press(desk.form.look_button)
    look = desk.last(LookAtServer)  # type: ignore[assignment]
    assert look.certificate == ""
    desk.tell(ServerUntrusted(look, "https://box.local/v1", FINGERPRINT, "Nobody vouches for it."), Finished(look))
    press(question.yes_button)
    trusting = desk.last(LookAtServer)
    assert isinstance(trusting, LookAtServer)
    assert trusting.certificate == FINGERPRINT
    box = RemoteServer("box.local", "https://box.local/v1", certificate=FINGERPRINT)
    desk.tell(ServerSeen(trusting, box), Finished(trusting))
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert save.server.certificate == FINGERPRINT


def test_a_changed_certificate_is_put_to_the_user_where_the_server_is_checked(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].check_button)
    look = desk.last(LookAtServer)
    assert isinstance(look, LookAtServer)
    assert desk.servers.dialog.cards[AGREED.address].state.text() == "being asked…"
    changed = ServerUntrusted(look, AGREED.address, FINGERPRINT, "It has another certificate now.", True)
    desk.tell(changed, Finished(look))
    assert desk.form.isVisible()
    assert desk.form.address.text() == AGREED.address
    assert "It has another certificate now." in desk.form.question.words.text()
    assert desk.servers.dialog.cards[AGREED.address].problem.text() == "It has another certificate now."
    assert desk.number(SaveServer) == 0


def test_a_change_keeps_the_key_unless_another_one_is_typed(desk: Desk) -> None:
    desk.open()
    card = desk.servers.dialog.cards[AGREED.address]
    press(card.change_button)
    assert desk.form.key.text() == "", "a key that is kept is not shown"
    assert "A key is stored." in desk.form.key_note.text()
    desk.type(desk.form.name, "Cloud")
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert (save.server, save.key, save.replaces) == (replace(AGREED, name="Cloud"), None, AGREED.address)
    assert desk.number(LookAtServer) == 0, "a name is changed without asking anybody"


def test_a_key_is_forgotten_when_the_user_says_so(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].change_button)
    desk.form.forget_key.click()
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert save.key == ""


def test_a_kept_key_is_not_meant_for_another_address(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].change_button)
    desk.type(desk.form.address, "192.168.1.7:8000")
    assert "not sent to another address" in desk.form.key_note.text()
    assert desk.form.forget_key.isHidden()
    assert not desk.form.save_button.isEnabled(), "it was not looked at"
    press(desk.form.look_button)
    look = desk.last(LookAtServer)
    assert isinstance(look, LookAtServer)
    desk.tell(ServerSeen(look, FOUND), Finished(look))
    press(desk.form.save_button)
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert (save.server.address, save.key, save.replaces) == (_FOUND, None, AGREED.address)


def test_where_keys_are_kept_is_said_beside_the_field(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.add_button)
    assert desk.form.key_note.text() == "It is stored in your system's keyring, never in a file of Slipstream."
    desk.tell(ServersListed((DESK,), "This system has no keyring, so keys are kept until Slipstream is closed."))
    assert desk.form.key_note.text().startswith("This system has no keyring")
    assert desk.form.key.echoMode() is QLineEdit.EchoMode.Password


def test_where_keys_are_kept_is_not_said_before_it_is_known(window: MainWindow) -> None:
    bridge = FakeBridge()
    servers = ModelServersController(window, bridge, Chats(window, bridge).target)
    window.target_bar.picker.add_server_requested.emit()
    assert servers.dialog.form.key_note.isHidden()
    bridge.tell(ServersListed(()))
    assert "your system's keyring" in servers.dialog.form.key_note.text()
    assert servers.dialog.form.key_note.isVisible()


def test_a_list_that_cannot_be_read_is_told(window: MainWindow) -> None:
    bridge = FakeBridge()
    chats = Chats(window, bridge)
    servers = ModelServersController(window, bridge, chats.target)
    servers.list_all()
    window.servers_action.trigger()
    bridge.tell(Failed("servers.json cannot be read.", ListServers()))
    assert [each.words.text() for each in window.toasts.shown] == ["servers.json cannot be read."]
    assert servers.dialog.nothing.text() == "servers.json cannot be read."
    assert chats.target.servers == (), "nothing waits for them any more"
    bridge.tell(ServersListed(()))
    assert servers.dialog.nothing.text() == "No servers are set up yet."


def test_removing_one_is_asked_first(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[DESK.address].remove_button)
    (box,) = [each for each in desk.servers.dialog.findChildren(QMessageBox) if each.isVisible()]
    assert box.text() == "Remove the server Workstation?"
    assert desk.number(RemoveServer) == 0
    press(yes_of(box))
    remove = desk.last(RemoveServer)
    assert remove == RemoveServer(DESK.address)
    desk.tell(ServersListed((AGREED,)), Finished(RemoveServer(DESK.address)))
    assert list(desk.servers.dialog.cards) == [AGREED.address]
    assert desk.words == "Workstation was removed."


def test_a_look_does_not_bring_back_what_is_removed_meanwhile(desk: Desk) -> None:
    desk.open()
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    look, asking = desk.last(LookAtServer), desk.bridge.stops[-1]
    assert isinstance(look, LookAtServer)
    remove(desk)
    assert asking.is_set()
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    desk.tell(ServerSeen(look, more), Finished(look))
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    assert desk.number(SaveServer) == 0
    assert desk.number(LookAtServer) == 1, "it is being removed"
    desk.tell(Failed("The disk is full.", RemoveServer(DESK.address)))
    assert desk.servers.dialog.cards[DESK.address].state.text() != "being asked…"
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    assert desk.number(LookAtServer) == 2, "it has stayed"


def test_a_look_does_not_undo_a_change_that_is_saved_meanwhile(desk: Desk) -> None:
    desk.open()
    card = desk.servers.dialog.cards[DESK.address]
    press(card.check_button)
    look = desk.last(LookAtServer)
    assert isinstance(look, LookAtServer)
    press(card.change_button)
    desk.type(desk.form.name, "Cellar")
    press(desk.form.save_button)
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    desk.tell(ServerSeen(look, more), Finished(look))
    assert desk.number(SaveServer) == 1


def test_the_list_of_models_is_refreshed_when_the_user_asks_for_it(desk: Desk) -> None:
    picker = desk.window.target_bar.picker
    desk.window.target_bar.open_picker()
    picker.view.point_at(ServerKey(DESK.address))
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.isVisible(), "it stays open"
    look = desk.last(LookAtServer)
    assert look == LookAtServer(DESK.address)
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert desk.number(LookAtServer) == 1, "it is being asked already"
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    desk.tell(ServerSeen(LookAtServer(DESK.address), more), Finished(LookAtServer(DESK.address)))
    save = desk.last(SaveServer)
    assert isinstance(save, SaveServer)
    assert (save.server, save.key) == (more, None), "the key stays"
    desk.tell(ServersListed((AGREED, more)), Finished(save))
    assert "new-model" in [row.title for row in picker.view.rows.rows]
    picker.close()


def test_what_came_of_asking_is_shown_in_both_places(desk: Desk) -> None:
    picker = desk.window.target_bar.picker
    picker.refresh_requested.emit(DESK.address)
    desk.tell(Failed("192.168.1.5 cannot be reached.", LookAtServer(DESK.address)))
    rows = {row.key: row for row in picker.view.rows.rows}
    assert "did not answer" in rows[ServerKey(DESK.address)].subtitle
    desk.open()
    assert desk.servers.dialog.cards[DESK.address].problem.text() == "192.168.1.5 cannot be reached."
    desk.chats.target.choose(DESK.models[0].reference)
    desk.tell(TargetReady(on_server(DESK), desk.bridge.loads[-1]))
    assert desk.servers.dialog.cards[DESK.address].state.text() == "answered"
    assert desk.servers.dialog.cards[DESK.address].problem.isHidden()
    desk.tell(Failed("192.168.1.5 is gone.", LoadTarget(DESK.models[0].reference)))
    assert desk.servers.dialog.cards[DESK.address].problem.text() == "192.168.1.5 is gone."


def test_a_server_s_models_are_listed_as_they_were_seen_while_one_was_loaded(desk: Desk) -> None:
    picker = desk.window.target_bar.picker
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    desk.tell(ServersListed((DESK,)))
    desk.chats.target.choose(DESK.models[0].reference)
    assert "new-model" not in [row.title for row in picker.view.rows.rows]
    desk.tell(TargetReady(on_server(more), desk.bridge.loads[-1]))
    assert "new-model" in [row.title for row in picker.view.rows.rows]


def test_a_model_loaded_before_the_servers_are_listed_lists_none_of_them(window: MainWindow) -> None:
    """Others wait until it is known which servers there are."""
    bridge = FakeBridge()
    chats = Chats(window, bridge)
    ModelServersController(window, bridge, chats.target)
    chats.target.choose(DESK.models[0].reference)
    bridge.tell(TargetReady(on_server(DESK), bridge.loads[-1]))
    assert chats.target.servers is None
    bridge.tell(ServersListed((DESK,)))
    assert chats.target.servers == (DESK,)


def test_closing_the_window_ends_the_look_and_forgets_the_key(desk: Desk) -> None:
    desk.look("192.168.1.7:8000", "secret")
    desk.servers.dialog.close()
    assert desk.bridge.stops[-1].is_set()
    assert desk.form.key.text() == ""


def test_a_screen_reader_says_which_server_a_button_is_for(desk: Desk) -> None:
    desk.open()
    card = desk.servers.dialog.cards[DESK.address]
    names = [
        QAccessible.queryAccessibleInterface(each).text(QAccessible.Text.Name)
        for each in (card.check_button, card.change_button, card.remove_button, desk.form.key, desk.form.address)
    ]
    assert names == ["Check – Workstation", "Change… – Workstation", "Remove… – Workstation", "Key", "Address"]


def test_agreeing_is_never_done_here(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    desk.tell(ServerSeen(look, FOUND), Finished(look))
    press(desk.form.save_button)
    assert desk.number(AgreeToServer) == 0
