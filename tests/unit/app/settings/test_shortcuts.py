from __future__ import annotations

import pytest
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.settings.shortcuts import Shortcuts, native
from app.theme import ThemeKeeper


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    window = QMainWindow()
    qtbot.addWidget(window)
    for name, words, keys in (("new", "New chat…", "Ctrl+N"), ("stop", "&Stop", "Esc; Ctrl+."), ("about", "About", "")):
        action = QAction(words, window)
        action.setObjectName(name)
        action.setShortcuts(QKeySequence.listFromString(keys))
        window.addAction(action)
    return window


def test_keys_chosen_before_the_start_have_usual_ones_too(window: QMainWindow) -> None:
    shortcuts = Shortcuts(window)
    shortcuts.use({"new": "Ctrl+M"})
    assert shortcuts.shown()[0].usual_keys == "Ctrl+N"
    assert shortcuts.chosen() == {"new": "Ctrl+M"}


@pytest.fixture
def shortcuts(window: QMainWindow) -> Shortcuts:
    made = Shortcuts(window)
    assert made.use({}) == ""
    return made


def keys(shortcuts: Shortcuts) -> dict[str, str]:
    return {shortcut.name: shortcut.keys for shortcut in shortcuts.shown()}


def test_actions_are_listed_with_their_words_and_keys(shortcuts: Shortcuts) -> None:
    assert [(shortcut.words, shortcut.keys) for shortcut in shortcuts.shown()] == [
        ("New chat", "Ctrl+N"),
        ("Stop", "Esc; Ctrl+."),
        ("About", ""),
    ]


def test_actions_that_come_later_are_there_too(window: QMainWindow, shortcuts: Shortcuts) -> None:
    action = QAction("Find", window)
    action.setObjectName("find")
    action.setShortcut("Ctrl+F")
    window.addAction(action)
    assert keys(shortcuts)["find"] == "Ctrl+F"


def test_chosen_keys_hold_and_usual_ones_come_back(shortcuts: Shortcuts) -> None:
    assert shortcuts.use({"new": "Ctrl+M", "stop": ""}) == ""
    assert keys(shortcuts) == {"new": "Ctrl+M", "stop": "", "about": ""}
    assert shortcuts.use({}) == ""
    assert keys(shortcuts) == {"new": "Ctrl+N", "stop": "Esc; Ctrl+.", "about": ""}


def test_only_what_differs_is_kept(shortcuts: Shortcuts) -> None:
    assert shortcuts.chosen({"new": "Ctrl+M"}) == {"new": "Ctrl+M"}
    shortcuts.use({"new": "Ctrl+M"})
    assert shortcuts.chosen({"new": "Ctrl+N"}) == {}


def test_keys_of_another_action_are_refused_or_swapped(shortcuts: Shortcuts) -> None:
    problem = shortcuts.problem("about", "Ctrl+N")
    assert problem is not None
    assert problem.sentence == "Ctrl+N is already used for “New chat”."
    assert problem.owner == "new"
    shortcuts.use(shortcuts.swapped("about", "Ctrl+N", problem.owner))
    assert keys(shortcuts) == {"new": "", "stop": "Esc; Ctrl+.", "about": "Ctrl+N"}
    assert shortcuts.problem("stop", "Esc") is None, "they are its own"


@pytest.mark.parametrize("wanted", ["A", "Shift+A", "Ö", "Space", "Return", "Tab", "Del", "Ctrl+C", "Ctrl+Return"])
def test_keys_that_write_are_refused(shortcuts: Shortcuts, wanted: str) -> None:
    problem = shortcuts.problem("about", wanted)
    assert problem is not None
    assert problem.owner == ""


@pytest.mark.parametrize("wanted", ["F5", "Ctrl+Shift+A", "Alt+Left", "Ctrl+1", ""])
def test_other_keys_may_be_had(shortcuts: Shortcuts, wanted: str) -> None:
    assert shortcuts.problem("about", wanted) is None


def test_kept_keys_that_make_no_sense_are_told_and_ignored(shortcuts: Shortcuts) -> None:
    complaint = shortcuts.use({"new": "Nonsense+Key+", "stop": "x", "gone": "Ctrl+G", "about": "Ctrl+G"})
    assert complaint == "The keys of these actions were invalid and are back to their defaults: New chat, Stop."
    assert shortcuts.chosen() == {"about": "Ctrl+G"}
    assert keys(shortcuts) == {"new": "Ctrl+N", "stop": "Esc; Ctrl+.", "about": "Ctrl+G"}


def test_no_two_actions_ever_have_the_same_keys(shortcuts: Shortcuts) -> None:
    assert shortcuts.use({"about": "Ctrl+N"}) == ""
    assert keys(shortcuts) == {"new": "", "stop": "Esc; Ctrl+.", "about": "Ctrl+N"}
    assert "New chat" in shortcuts.use({"about": "Ctrl+M", "new": "Ctrl+M"})
    assert keys(shortcuts)["new"] == "Ctrl+N"


def test_all_actions_of_the_window_have_names_of_their_own(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    names = [action.objectName() for action in window.actions()]
    assert all(names)
    assert len(set(names)) == len(names)
    assert window.new_action.objectName() == "new"


def test_tooltips_tell_the_keys_that_hold(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    assert window.target_bar.sidebar_button.toolTip() == "Show or hide the sidebar  (Ctrl+B)"
    Shortcuts(window).use({"sidebar": "F9"})
    assert window.target_bar.sidebar_button.accessibleName() == "Show or hide the sidebar  (F9)"
    Shortcuts(window).use({"sidebar": ""})
    assert window.target_bar.sidebar_button.toolTip() == "Show or hide the sidebar"


def test_f1_lists_what_the_actions_have_now(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.prompt_box.set_sends_with_ctrl(True)
    action = QAction("Find in this chat", window)
    action.setObjectName("find")
    action.setShortcut("Ctrl+F")
    window.addAction(action)
    window.shortcuts_action.trigger()
    (dialog,) = [child for child in window.children() if type(child).__name__ == "ShortcutsDialog"]
    lines = dialog.lines  # type: ignore[attr-defined]
    assert (native("Ctrl+F"), "Find in this chat") in lines
    assert (native("Ctrl+Enter"), "Send the message") in lines
    with qtbot.waitSignal(window.shortcut_settings_requested):
        dialog.change_button.click()  # type: ignore[attr-defined]
