"""Servers with models, as the user sets them up: the window for them, and what the list of models shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMessageBox, QPushButton

from app.features.model_servers.model_servers import ModelServersController
from app.features.model_servers.server_form import ModelServerForm
from app.main_window import MainWindow
from app.models.server_rows import ServerKey
from engine.values.errors import Cancelled, NotPossible
from engine.values.events import Event, ServersListed, TargetReady, TargetRefused
from engine.values.remote import RemoteServer, ServerSeen, ServerUntrusted
from engine.values.targets import LoadOrder
from tests.fakes.bridge import Asked, FakeBridge
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

    @property
    def looks(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.remote.look)

    @property
    def saves(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.remote.save)

    @property
    def removals(self) -> list[Asked]:
        return self.bridge.asked(self.bridge.engine.remote.remove)

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

    def look(self, address: str, key: str = "") -> Asked:
        """In the form for a new server."""
        self.open()
        press(self.servers.dialog.add_button)
        self.type(self.form.address, address)
        self.type(self.form.key, key)
        press(self.form.look_button)
        return self.looks[-1]


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
    assert [each.method.name for each in desk.bridge.all_asked] == ["list_all"], "which uses no network"


def test_a_server_is_looked_at_and_added(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000", "secret")
    assert look.args == ("192.168.1.7:8000", "secret", "")
    assert desk.form.state.text() == "Asking 192.168.1.7:8000…"
    assert not desk.form.save_button.isEnabled()
    look.answer(ServerSeen(FOUND, "The way is not encrypted."))
    assert desk.form.state.text() == "Found: server with OpenAI's interface with 1 model: tiny."
    assert desk.form.warning.text() == "The way is not encrypted."
    assert desk.form.name.text() == "192.168.1.7:8000"
    desk.type(desk.form.name, "Cellar")
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert save.args == (replace(FOUND, name="Cellar"), "secret", "")
    kept = replace(FOUND, name="Cellar 2")
    desk.tell(ServersListed((AGREED, kept, DESK)))
    save.answer(kept)
    assert desk.form.isHidden()
    assert desk.form.key.text() == "", "a key is not left in a field"
    assert desk.words == "Cellar 2 was added; its models are in the list of models."
    assert list(desk.servers.dialog.cards) == [AGREED.address, DESK.address, FOUND.address]


def test_what_goes_wrong_is_said_and_nothing_typed_is_lost(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000", "wrong")
    look.fail("192.168.1.7 does not take this key.")
    assert desk.form.problem.text() == "192.168.1.7 does not take this key."
    assert (desk.form.address.text(), desk.form.key.text()) == ("192.168.1.7:8000", "wrong")
    desk.type(desk.form.key, "right")
    assert desk.form.problem.isHidden(), "it was about another key"
    press(desk.form.look_button)
    again = desk.looks[-1]
    assert again.args[1] == "right"
    again.answer(ServerSeen(FOUND))
    press(desk.form.save_button)
    save = desk.saves[-1]
    save.fail("The disk is full.")
    assert desk.form.isVisible()
    assert desk.form.problem.text() == "The disk is full."
    assert desk.form.key.text() == "right"


def test_what_was_seen_of_another_address_is_not_kept(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    look.answer(ServerSeen(FOUND))
    assert desk.form.save_button.isEnabled()
    QTest.keyClicks(desk.form.address, "1")
    assert not desk.form.save_button.isEnabled()
    assert desk.form.state.isHidden()


@pytest.mark.parametrize("field", ["address", "key"])
def test_what_is_typed_during_a_look_ends_it(desk: Desk, field: str) -> None:
    look = desk.look("192.168.1.7:8000", "secret")
    QTest.keyClicks(getattr(desk.form, field), "1")
    assert desk.looks[-1].request.signal.is_set()
    assert desk.form.state.isHidden()
    assert desk.form.look_button.isEnabled()
    look.fail(Cancelled("Asking 192.168.1.7:8000 was cancelled."))
    assert desk.form.problem.isHidden(), "the user did that"


def test_a_key_is_not_saved_for_the_address_that_was_typed_before(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    desk.type(desk.form.address, "192.168.1.8:8000")
    desk.type(desk.form.key, "of the second")
    look.answer(ServerSeen(FOUND))
    assert desk.form.state.isHidden()
    assert desk.form.name.text() == ""
    assert not desk.form.save_button.isEnabled()


def test_a_look_that_was_begun_again_goes_on_when_the_first_one_ends(desk: Desk) -> None:
    first = desk.look("192.168.1.7:8000")
    desk.type(desk.form.address, "192.168.1.7:8000")
    press(desk.form.look_button)
    again = desk.looks[-1]
    first.fail(Cancelled("Asking 192.168.1.7:8000 was cancelled."))
    assert desk.form.problem.isHidden()
    again.answer(ServerSeen(FOUND))
    assert desk.form.save_button.isEnabled()


def test_a_look_for_a_new_server_tells_nothing_of_one_that_is_changed(desk: Desk) -> None:
    look = desk.look("192.168.1.7:8000")
    press(desk.servers.dialog.cards[DESK.address].change_button)
    assert desk.looks[-1].request.signal.is_set()
    look.answer(ServerSeen(FOUND))
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert save.args[0] == DESK


def test_a_certificate_that_nobody_vouches_for_is_shown_and_trusted_only_by_the_user(desk: Desk) -> None:
    look = desk.look("https://box.local")
    look.answer(ServerUntrusted("https://box.local/v1", FINGERPRINT, "Nobody vouches for it."))
    question = desk.form.question
    assert question.isVisible()
    assert "Nobody vouches for it." in question.words.text()
    assert "ab12 ab12 ab12" in question.words.text()
    assert question.no_button.hasFocus(), "Enter alone does not trust it"
    press(question.no_button)
    assert not desk.form.save_button.isEnabled()
    press(desk.form.look_button)
    look = desk.looks[-1]
    assert look.args[2] == ""
    look.answer(ServerUntrusted("https://box.local/v1", FINGERPRINT, "Nobody vouches for it."))
    press(question.yes_button)
    trusting = desk.looks[-1]
    assert trusting.args[2] == FINGERPRINT
    box = RemoteServer("box.local", "https://box.local/v1", certificate=FINGERPRINT)
    trusting.answer(ServerSeen(box))
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert save.args[0].certificate == FINGERPRINT


def test_a_changed_certificate_is_put_to_the_user_where_the_server_is_checked(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].check_button)
    look = desk.looks[-1]
    assert desk.servers.dialog.cards[AGREED.address].state.text() == "being asked…"
    look.answer(ServerUntrusted(AGREED.address, FINGERPRINT, "It has another certificate now."))
    assert desk.form.isVisible()
    assert desk.form.address.text() == AGREED.address
    assert "It has another certificate now." in desk.form.question.words.text()
    assert desk.servers.dialog.cards[AGREED.address].problem.text() == "It has another certificate now."
    assert not desk.saves


def test_a_change_keeps_the_key_unless_another_one_is_typed(desk: Desk) -> None:
    desk.open()
    card = desk.servers.dialog.cards[AGREED.address]
    press(card.change_button)
    assert desk.form.key.text() == "", "a key that is kept is not shown"
    assert "A key is stored." in desk.form.key_note.text()
    desk.type(desk.form.name, "Cloud")
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert save.args == (replace(AGREED, name="Cloud"), None, AGREED.address)
    assert not desk.looks, "a name is changed without asking anybody"


def test_a_key_is_forgotten_when_the_user_says_so(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].change_button)
    desk.form.forget_key.click()
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert save.args[1] == ""


def test_a_kept_key_is_not_meant_for_another_address(desk: Desk) -> None:
    desk.open()
    press(desk.servers.dialog.cards[AGREED.address].change_button)
    desk.type(desk.form.address, "192.168.1.7:8000")
    assert "not sent to another address" in desk.form.key_note.text()
    assert desk.form.forget_key.isHidden()
    assert not desk.form.save_button.isEnabled(), "it was not looked at"
    press(desk.form.look_button)
    look = desk.looks[-1]
    look.answer(ServerSeen(FOUND))
    press(desk.form.save_button)
    save = desk.saves[-1]
    assert (save.args[0].address, *save.args[1:]) == (_FOUND, None, AGREED.address)


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
    bridge.all_asked[-1].fail("servers.json cannot be read.")
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
    assert len(desk.removals) == 0
    press(yes_of(box))
    removal = desk.removals[-1]
    assert removal.args == (DESK.address,)
    desk.tell(ServersListed((AGREED,)))
    removal.answer()
    assert list(desk.servers.dialog.cards) == [AGREED.address]
    assert desk.words == "Workstation was removed."


def test_a_look_does_not_bring_back_what_is_removed_meanwhile(desk: Desk) -> None:
    desk.open()
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    look = desk.looks[-1]
    remove(desk)
    assert look.request.signal.is_set()
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    look.answer(ServerSeen(more))
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    assert not desk.saves
    assert len(desk.looks) == 1, "it is being removed"
    desk.removals[-1].fail("The disk is full.")
    assert desk.servers.dialog.cards[DESK.address].state.text() != "being asked…"
    desk.window.target_bar.picker.refresh_requested.emit(DESK.address)
    assert len(desk.looks) == 2, "it has stayed"


def test_a_look_does_not_undo_a_change_that_is_saved_meanwhile(desk: Desk) -> None:
    desk.open()
    card = desk.servers.dialog.cards[DESK.address]
    press(card.check_button)
    look = desk.looks[-1]
    press(card.change_button)
    desk.type(desk.form.name, "Cellar")
    press(desk.form.save_button)
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    look.answer(ServerSeen(more))
    assert len(desk.saves) == 1


def test_the_list_of_models_is_refreshed_when_the_user_asks_for_it(desk: Desk) -> None:
    picker = desk.window.target_bar.picker
    desk.window.target_bar.open_picker()
    picker.view.point_at(ServerKey(DESK.address))
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.isVisible(), "it stays open"
    look = desk.looks[-1]
    assert (look.args, look.kwargs) == ((DESK.address,), {"certificate": ""})
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert len(desk.looks) == 1, "it is being asked already"
    more = replace(DESK, models=(*DESK.models, model(DESK.address, "new-model")))
    look.answer(ServerSeen(more))
    save = desk.saves[-1]
    assert save.args == (more, None, DESK.address), "the key stays"
    desk.tell(ServersListed((AGREED, more)))
    save.answer(more)
    assert "new-model" in [row.title for row in picker.view.rows.rows]
    picker.close()


def test_what_came_of_asking_is_shown_in_both_places(desk: Desk) -> None:
    picker = desk.window.target_bar.picker
    picker.refresh_requested.emit(DESK.address)
    desk.looks[-1].fail("192.168.1.5 cannot be reached.")
    rows = {row.key: row for row in picker.view.rows.rows}
    assert "did not answer" in rows[ServerKey(DESK.address)].subtitle
    desk.open()
    assert desk.servers.dialog.cards[DESK.address].problem.text() == "192.168.1.5 cannot be reached."
    desk.chats.target.choose(DESK.models[0].reference)
    desk.tell(TargetReady(on_server(DESK), desk.bridge.loads[-1]))
    assert desk.servers.dialog.cards[DESK.address].state.text() == "answered"
    assert desk.servers.dialog.cards[DESK.address].problem.isHidden()
    desk.tell(TargetRefused(LoadOrder(DESK.models[0].reference), "192.168.1.5 is gone.", NotPossible))
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
    assert desk.looks[-1].request.signal.is_set()
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
    look.answer(ServerSeen(FOUND))
    press(desk.form.save_button)
    assert not desk.bridge.asked(desk.bridge.engine.remote.agree)
