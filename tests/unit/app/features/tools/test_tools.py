"""Servers of tools, set up in their window."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from app.features.tools.tools import ToolsController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings
from app.settings.keeper import SettingsKeeper
from app.theme import ThemeKeeper
from engine import write_tool_servers
from engine.values.conversations import TextFile
from engine.values.events import EverythingForgotten, ToolServerChanged, ToolsListed
from engine.values.tools import AllowedTool, ServerState, Tool, ToolServer, definition_of
from tests.fakes.bridge import FakeBridge
from tests.fakes.chats import unsaved
from tests.fakes.pictures import made_picture

FILES = ToolServer("files", "files-server", ("/home/robin",))
WEATHER = ToolServer("weather", url="https://weather.example.org/mcp")


class Desk:
    def __init__(self, window: MainWindow, theme: ThemeKeeper, keeper: SettingsKeeper) -> None:
        self.window = window
        self.bridge = FakeBridge()
        self.keeper = keeper
        self.tools = ToolsController(window, theme, self.bridge, keeper)
        self.start = [*self.bridge.calls]
        window.tools_action.trigger()
        self.dialog = self.tools.dialog

    def last(self) -> tuple[object, ...]:
        return self.bridge.calls[-1]

    def answer_keys(self, *servers: ToolServer, notice: str = "") -> None:
        self.bridge.asked(self.bridge.engine.tool_keys.keep)[-1].answer((servers, notice))

    @property
    def servers(self) -> tuple[ToolServer, ...]:
        return self.keeper.settings.servers()


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper) -> Desk:
    return Desk(window, keeper, unsaved(AppSettings(tool_servers=write_tool_servers((FILES, WEATHER)))))


def spoken(widget: QWidget) -> str:
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


def test_the_engine_knows_the_servers_and_starts_none(desk: Desk) -> None:
    assert desk.start == [("use", (FILES, WEATHER))]
    assert desk.bridge.calls == [*desk.start, ("allowed_tools",)]
    assert [card.state.text() for card in desk.dialog.servers.cards.values()] == ["Not started"] * 2


def test_without_servers_nothing_is_told(window: MainWindow, keeper: ThemeKeeper) -> None:
    desk = Desk(window, keeper, unsaved(AppSettings()))
    assert desk.start == []
    assert not desk.dialog.servers.nothing.isHidden()


def test_what_a_server_offers_is_asked_and_switched(desk: Desk) -> None:
    card = desk.dialog.servers.cards["files"]
    assert spoken(card.ask_button) == "Show its tools – files"
    card.ask_button.click()
    assert desk.last() == ("list_tools", ("files",))
    desk.bridge.tell(ToolServerChanged("files", ServerState.STARTING))
    assert card.state.text() == "Starting…"
    tools = (Tool("files", "read", "Reads <b>a file</b>."), Tool("files", "write"))
    desk.bridge.tell(ToolServerChanged("files", ServerState.READY), ToolsListed("files", tools))
    assert card.state.text() == "Ready"
    assert [spoken(switch) for switch in card.tool_switches.values()] == ["Use the tool read", "Use the tool write"]
    QTest.keyClick(card.tool_switches["write"], Qt.Key.Key_Space)
    assert desk.servers[0].left_out == ("write",)
    assert desk.last() == ("use", desk.servers)
    QTest.keyClick(card.tool_switches["write"], Qt.Key.Key_Space)
    assert [*desk.servers] == [FILES, WEATHER]
    card.end_button.click()
    assert desk.last() == ("end", ("files",))
    desk.bridge.tell(ToolServerChanged("files", ServerState.ENDED))
    assert card.end_button.isHidden()


def test_a_server_is_switched_off_and_removed(desk: Desk) -> None:
    card = desk.dialog.servers.cards["files"]
    card.switch.click()
    assert [each.is_on for each in desk.servers] == [False, True]
    assert not card.ask_button.isEnabled()
    card.remove_button.click()
    (box,) = desk.dialog.findChildren(QMessageBox)
    assert box.text() == "Remove the server files?"
    box.accept()
    assert desk.servers == (WEATHER,)
    assert [*desk.dialog.servers.cards] == ["weather"]


def test_a_server_is_changed_in_its_form_and_keeps_what_that_does_not_show(
    window: MainWindow, keeper: ThemeKeeper
) -> None:
    env, headers = (("KEY", "secret"),), (("X-Key", "secret"),)
    files = ToolServer("files", "npx", ("-y", "a b"), env, "/home/robin", is_on=False, left_out=("write",))
    weather = replace(WEATHER, headers=headers)
    desk = Desk(window, keeper, unsaved(AppSettings(tool_servers=write_tool_servers((files, weather)))))
    page, form = desk.dialog.servers, desk.dialog.servers.form
    page.cards["files"].change_button.click()
    assert (form.name.text(), form.command.text()) == ("files", "npx -y 'a b'")
    form.name.setText("notes")
    QTest.keyClick(form.save_button, Qt.Key.Key_Return)
    assert desk.servers == (replace(files, name="notes"), weather)
    assert form.isHidden()

    page.cards["notes"].change_button.click()
    form.command.setText("npx -y 'c d'")
    form.save_button.click()
    assert desk.servers == (replace(files, name="notes", args=("-y", "c d")), weather)

    page.cards["weather"].change_button.click()
    form.command.setText(f"{WEATHER.url}/v2")
    form.save_button.click()
    assert desk.servers[1] == replace(weather, url=f"{WEATHER.url}/v2")
    page.cards["weather"].change_button.click()
    form.command.setText("https://elsewhere.example/mcp")
    form.save_button.click()
    assert desk.servers[1] == ToolServer("weather", url="https://elsewhere.example/mcp"), "keys are for one place"

    page.cards["weather"].change_button.click()
    form.name.setText("notes")
    form.save_button.click()
    assert form.problem.text() == "There is a server of this name already; choose another name."
    form.name.setText("weather")
    form.command.setText("weather-server")
    form.save_button.click()
    assert desk.servers[1] == ToolServer("weather", "weather-server"), "a program is sent no headers"
    page.add_button.click()
    assert (form.name.text(), form.command.text()) == ("", ""), "what was changed is not what is added"


def test_what_becomes_of_a_server_while_it_is_changed_in_its_form_stays(desk: Desk) -> None:
    page, form = desk.dialog.servers, desk.dialog.servers.form
    page.cards["files"].change_button.click()
    page.cards["files"].switch.click()
    form.name.setText("notes")
    form.save_button.click()
    assert [(each.name, each.is_on) for each in desk.servers] == [("notes", False), ("weather", True)]
    page.cards["notes"].change_button.click()
    page.cards["notes"].remove_button.click()
    (box,) = desk.dialog.findChildren(QMessageBox)
    box.accept()
    form.save_button.click()
    assert [each.name for each in desk.servers] == ["weather", "notes"], "it is one more by now"
    assert "notes was added." in [label.text() for label in desk.dialog.findChildren(QLabel)]


def test_one_more_is_added_by_name_and_command_or_address(desk: Desk) -> None:
    form = desk.dialog.servers.form
    desk.dialog.servers.add_button.click()
    assert not form.isHidden()
    for name, command, problem in (
        ("files", "x", "There is a server of this name already; choose another name."),
        ("new", "", "“new” must have either a command or a url."),
        ("new", "run 'it", "A quotation mark in the command is not closed."),
        ("", "run", "A server's name must have 1 to 64 letters; “” does not."),
    ):
        form.name.setText(name)
        form.command.setText(command)
        QTest.keyClick(form.command, Qt.Key.Key_Return)
        assert form.problem.text() == problem
        assert [*desk.servers] == [FILES, WEATHER]
    for name, command in (("new", "npx -y 'a server' --x"), ("far", "https://example.org/mcp"), ("win", r"C:\s.exe a")):
        form.name.setText(name)
        form.command.setText(command)
        form.save_button.click()
    assert form.isHidden()
    assert desk.servers[2:] == (
        ToolServer("new", "npx", ("-y", "a server", "--x")),
        ToolServer("far", url="https://example.org/mcp"),
        ToolServer("win", r"C:\s.exe", ("a",)),
    )


def test_json_is_checked_as_it_is_typed(desk: Desk) -> None:
    page = desk.dialog.json
    assert json.loads(page.field.toPlainText())["mcpServers"].keys() == {"files", "weather"}
    assert not page.use_button.isEnabled()
    page.field.setPlainText('{"mcpServers": {"a": {"command": 1}}}')
    page.check()
    assert page.problem.text() == "The command of “a” must be a text."
    assert not page.use_button.isEnabled()
    page.field.setPlainText('{"mcpServers": {"a": {"command": "b", "autoApprove": ["*"]}}}')
    page.check()
    assert page.problem.isHidden()
    assert page.words.text() == "1 server"
    page.use_button.click()
    assert desk.servers == (ToolServer("a", "b"),)
    assert "autoApprove" not in page.field.toPlainText()
    assert not page.is_changed


def test_what_is_being_edited_stays_while_something_else_changes(desk: Desk) -> None:
    page = desk.dialog.json
    page.field.setPlainText('{"half": ')
    desk.dialog.servers.cards["files"].switch.click()
    assert page.field.toPlainText() == '{"half": '
    page.undo_button.click()
    assert '"disabled": true' in page.field.toPlainText()


def test_servers_of_a_file_come_beside_those_that_are_there(desk: Desk) -> None:
    desk.dialog.file_chosen.emit("/y/other.json")
    desk.dialog.file_chosen.emit("/x/servers.json")
    other, read = desk.bridge.asked(desk.bridge.engine.files.read)
    assert read.args == (Path("/x/servers.json"),)
    text = '{"mcpServers": {"weather": {"command": "w"}, "notes": {"command": "n"}}}'
    other.answer(TextFile(Path("/y/other.json"), text, 9))
    assert [*desk.servers] == [FILES, WEATHER], "another file was chosen after it"
    read.answer(TextFile(Path("/x/servers.json"), text, 9))
    assert [*desk.servers] == [FILES, ToolServer("weather", "w"), ToolServer("notes", "n")]
    desk.dialog.file_chosen.emit("/x/servers.json")
    desk.bridge.asked(desk.bridge.engine.files.read)[-1].answer(made_picture(3, 4))
    assert desk.dialog.words.text().startswith("Tool servers are written as")
    assert len(desk.servers) == 3


def test_what_is_always_allowed_is_taken_back(desk: Desk) -> None:
    one, other = (
        AllowedTool("files", "read", definition_of(FILES, Tool("files", "read"))),
        AllowedTool("old", "x", definition_of(ToolServer("old", "gone"), Tool("old", "x"))),
    )
    desk.bridge.last(desk.bridge.engine.chats.allowed_tools).answer((one, other))
    page = desk.dialog.allowed
    (again,) = (each for each in page.rows[one].children() if isinstance(each, QWidget) and each.property("kind"))
    assert spoken(again) == "Ask again – files: read"
    QTest.keyClick(again, Qt.Key.Key_Space)
    forgotten = desk.bridge.last(desk.bridge.engine.editor.forget_allowed_tools)
    assert forgotten.args == ((one,),)
    forgotten.answer((other,))
    assert [*page.rows] == [other]
    page.all_button.click()
    forgotten = desk.bridge.last(desk.bridge.engine.editor.forget_allowed_tools)
    assert forgotten.args == (None,)
    forgotten.answer(())
    assert not page.nothing.isHidden()
    assert page.all_button.isHidden()


def test_a_failure_is_told_once_where_the_user_looks(desk: Desk) -> None:
    sentence = "The server files ended unexpectedly; it is started again when it is used."
    desk.bridge.tell(ToolServerChanged("files", ServerState.FAILED, sentence))
    assert desk.dialog.servers.cards["files"].problem.text() == sentence
    assert [*desk.window.toasts.shown] == []
    desk.dialog.close()
    desk.bridge.tell(ToolServerChanged("files", ServerState.FAILED, sentence))
    (toast,) = desk.window.toasts.shown
    assert toast.words.text() == sentence


def test_forgetting_everything_takes_the_servers_along(desk: Desk) -> None:
    allowed = AllowedTool("files", "read", definition_of(FILES, Tool("files", "read")))
    desk.bridge.last(desk.bridge.engine.chats.allowed_tools).answer((allowed,))
    desk.keeper.forget_words()
    desk.bridge.tell(EverythingForgotten())
    assert desk.last() == ("use", ())
    assert desk.dialog.servers.cards == {}
    assert desk.dialog.json.field.toPlainText() == ""
    assert desk.dialog.allowed.rows == {}


KEY = "sesame-4711"
WITH_KEY = replace(FILES, env=(("API_KEY", KEY), ("LOG_LEVEL", "debug")))
KEPT = replace(FILES, env=(("API_KEY", "kept-key:0123456789abcdef"), ("LOG_LEVEL", "debug")))


def test_keys_that_older_settings_have_are_put_away(window: MainWindow, keeper: ThemeKeeper) -> None:
    desk = Desk(window, keeper, unsaved(AppSettings(tool_servers=write_tool_servers((WITH_KEY, WEATHER)))))
    assert desk.start == [("use", (WITH_KEY, WEATHER)), ("keep", (WITH_KEY, WEATHER), True)]
    desk.answer_keys(KEPT, WEATHER)
    assert desk.servers == (KEPT, WEATHER)
    assert KEY not in desk.keeper.settings.model_dump_json()
    assert KEY not in desk.dialog.json.field.toPlainText()
    assert desk.last() == ("use", (KEPT, WEATHER))


def test_keys_that_cannot_be_kept_stay_and_the_window_says_so(window: MainWindow, keeper: ThemeKeeper) -> None:
    desk = Desk(window, keeper, unsaved(AppSettings(tool_servers=write_tool_servers((WITH_KEY,)))))
    desk.answer_keys(WITH_KEY, notice="There is no keyring.")
    assert desk.servers == (WITH_KEY,)
    assert desk.dialog.json.key_notice.text() == "There is no keyring."
    desk.dialog.servers.switched.emit("files", False)
    assert desk.servers == (replace(WITH_KEY, is_on=False),)


def test_new_keys_never_reach_the_settings(desk: Desk) -> None:
    before = desk.servers
    desk.dialog.json.field.setPlainText(write_tool_servers((WITH_KEY, WEATHER)))
    desk.dialog.json.check()
    desk.dialog.json.use_button.click()
    assert desk.last() == ("keep", (WITH_KEY, WEATHER))
    assert desk.servers == before
    desk.answer_keys(KEPT, WEATHER)
    assert desk.servers == (KEPT, WEATHER)
    assert KEY not in desk.keeper.settings.model_dump_json()
    desk.dialog.servers.switched.emit("files", False)
    assert desk.servers == (replace(KEPT, is_on=False), WEATHER), "a placeholder is no key"
