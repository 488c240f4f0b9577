from __future__ import annotations

from datetime import UTC, datetime

import pytest
from PySide6.QtCore import (
    QByteArray,
    QCoreApplication,
    QDataStream,
    QEvent,
    QIODevice,
    QMimeData,
    QPoint,
    QPointF,
    QRect,
    Qt,
    QUrl,
)
from PySide6.QtGui import QAction, QDragEnterEvent, QDragLeaveEvent, QDropEvent, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QSplitter, QWidget
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.transcript.prompt_view import PromptView
from engine.values.conversations import ConversationSummary
from tests.unit.app.widgets.messages import prompt, reply


def drop(window: MainWindow, *paths: str) -> bool:
    """Drops files on the window; whether it would take them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, buttons, keys)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, buttons, keys))
    return enter.isAccepted()


def test_writing_can_begin_at_once(window: MainWindow) -> None:
    assert window.focusWidget() is window.prompt_box.editor


def test_where_files_will_land_is_shown_while_they_are_dragged(window: MainWindow) -> None:
    def over(*paths: str) -> tuple[str, QRect] | None:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(path) for path in paths])
        buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(window, QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, buttons, keys))
        shown = (window.landing.words, window.landing.geometry()) if window.landing.isVisible() else None
        QApplication.sendEvent(window, QDragLeaveEvent())
        assert not window.landing.isVisible()
        return shown

    def place(part: QWidget) -> QRect:
        return QRect(part.mapTo(window, QPoint(0, 0)), part.size())

    assert over("/x.txt") == ("Attach to your message", place(window.prompt_box))
    assert over("/x.gguf") == ("Use this model", place(window.transcript))
    assert over("/x.json") == ("Import chats", place(window.conversations))
    assert over("/x.slipstream") == ("Show what this profile holds", place(window.transcript))
    assert over("/x.gguf", "/x.txt") is None
    drop(window, "/x.txt")
    assert not window.landing.isVisible()


def test_a_dropped_model_is_chosen(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.target_bar.target_chosen) as chosen:
        assert drop(window, "/models/x.GGUF")
    assert chosen.args == ["/models/x.GGUF"]


def test_dropped_chats_and_texts_are_told(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.chats_dropped) as chats:
        assert drop(window, "/export/conversations.JSON")
    assert chats.args == ["/export/conversations.JSON"]
    with qtbot.waitSignal(window.texts_dropped) as texts:
        assert drop(window, "/x.txt", "/data.json")
    assert texts.args == [["/x.txt", "/data.json"]]


def test_a_dropped_profile_is_looked_at(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.profile_dropped) as dropped:
        assert drop(window, "/me.Slipstream")
    assert dropped.args == ["/me.Slipstream"]


@pytest.mark.parametrize(
    "paths", [("/x.gguf", "/x.txt"), ("/x.gguf", "/y.gguf"), ("/x.slipstream", "/y.slipstream"), ()]
)
def test_other_files_are_refused(window: MainWindow, paths: tuple[str, ...]) -> None:
    assert not drop(window, *paths)


def test_state_is_restored(qtbot: QtBot, keeper: ThemeKeeper, window: MainWindow) -> None:
    window.resize(780, 500)
    window.toggle_sidebar()
    other = MainWindow(keeper)
    qtbot.addWidget(other)
    other.restore(window.state())
    assert other.size() == window.size()
    assert other.conversations.isHidden()
    with qtbot.waitExposed(other):
        other.show()
    assert other.conversations.isHidden(), "nor when it gets its width"


def is_usable(window: MainWindow) -> bool:
    """Whether the sidebar is there to be read; one without a width is left of the window."""
    sidebar = window.conversations
    return sidebar.visibleRegion().boundingRect().width() == sidebar.width() >= sidebar.minimumWidth() > 0


def drag(window: MainWindow, by_px: int) -> None:
    """The edge of the sidebar."""
    sides = window.centralWidget()
    assert isinstance(sides, QSplitter)
    handle, area = sides.handle(1), sides.handle(1).rect()
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    kinds = QEvent.Type
    for kind, x, button, buttons in (
        (kinds.MouseButtonPress, 0, left, left),
        (kinds.MouseMove, by_px, none, left),
        (kinds.MouseButtonRelease, by_px, left, none),
    ):
        place = QPointF(area.center() + QPoint(x, 0))
        shown = QPointF(handle.mapToGlobal(place))
        event = QMouseEvent(kind, place, shown, button, buttons, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(handle, event)
    QCoreApplication.processEvents()


def drag_away(window: MainWindow) -> None:
    drag(window, -window.width())


def press(window: MainWindow, key: Qt.Key) -> None:
    QTest.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
    QCoreApplication.processEvents()


def test_a_sidebar_that_was_dragged_away_comes_back(qtbot: QtBot, keeper: ThemeKeeper, window: MainWindow) -> None:
    window.resize(790, 600)
    for bring_back in (
        window.target_bar.sidebar_button.click,
        lambda: press(window, Qt.Key.Key_B),
        lambda: press(window, Qt.Key.Key_F),
    ):
        drag_away(window)
        if not is_usable(window):
            bring_back()
        assert is_usable(window)
    drag_away(window)
    other = MainWindow(keeper)
    qtbot.addWidget(other)
    other.restore(window.state())
    with qtbot.waitExposed(other):
        other.show()
    if other.conversations.isHidden():
        press(other, Qt.Key.Key_B)
    assert is_usable(other), "and after the next start"


def test_a_sidebar_without_a_width_in_an_older_state_is_shown_with_one(
    qtbot: QtBot, keeper: ThemeKeeper, window: MainWindow
) -> None:
    window.resize(790, 600)
    sides = QSplitter()
    for _ in range(2):
        sides.addWidget(QWidget())
    sides.setSizes([0, 790])
    state = QByteArray()
    stream = QDataStream(state, QIODevice.OpenModeFlag.WriteOnly)
    stream << window.saveGeometry() << sides.saveState()
    stream.writeBool(True)
    stream.writeQString("")
    other = MainWindow(keeper)
    qtbot.addWidget(other)
    other.restore(bytes(state.data()))
    with qtbot.waitExposed(other):
        other.show()
    assert is_usable(other)


def test_the_width_of_the_sidebar_is_restored(qtbot: QtBot, keeper: ThemeKeeper, window: MainWindow) -> None:
    window.resize(790, 600)
    drag(window, 40)
    width = window.conversations.width()
    assert width > 260
    window.toggle_sidebar()
    other = MainWindow(keeper)
    qtbot.addWidget(other)
    other.restore(window.state())
    with qtbot.waitExposed(other):
        other.show()
    press(other, Qt.Key.Key_B)
    assert other.conversations.width() == width


def test_large_text_and_back_leaves_the_sidebar_as_it_was(keeper: ThemeKeeper, window: MainWindow) -> None:
    window.resize(790, 600)
    width = window.conversations.width()
    for scale in (150, 200, 100):
        keeper.choose("light", scale)
        QCoreApplication.processEvents()
    assert window.conversations.width() == width
    keeper.choose("light", 200)
    QCoreApplication.processEvents()
    press(window, Qt.Key.Key_F)
    assert is_usable(window), "in a narrow window, too"
    keeper.choose("light", 100)
    QCoreApplication.processEvents()
    assert is_usable(window)


@pytest.mark.parametrize("state", [b"", b"nonsense", b"\xff" * 100])
def test_damaged_state_changes_nothing(window: MainWindow, state: bytes) -> None:
    size = window.size()
    window.restore(state)
    assert window.size() == size


def test_closing_is_told(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.closing):
        window.close()


def test_keys_reach_their_widgets(qtbot: QtBot, window: MainWindow) -> None:
    window.transcript.show_messages((prompt(0), reply(1)))
    with qtbot.waitSignal(window.conversations.new_requested):
        QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    with qtbot.waitSignal(window.transcript.message_actions.regenerate_requested):
        QTest.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert window.conversations.isHidden()


def test_escape_stops_from_everywhere(qtbot: QtBot, window: MainWindow) -> None:
    window.set_busy(True)
    window.transcript.column.setFocus()
    with qtbot.waitSignal(window.prompt_box.stop_requested):
        QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.regenerate_action.isEnabled()


def test_what_acts_on_a_chat_can_be_chosen_where_one_is_open(window: MainWindow) -> None:
    acting = (window.rename_action, window.export_action, window.delete_action, window.forget_action)

    def possible() -> set[bool]:
        return {action.isEnabled() for action in acting}

    assert possible() == {False}
    chats = window.conversations
    chats.set_conversations((ConversationSummary(7, "Chat", datetime.now(UTC)),))
    assert possible() == {False}
    chats.set_chosen(7)
    assert possible() == {True}
    chats.upsert(ConversationSummary(8, "Another", datetime.now(UTC)))
    assert possible() == {True}
    chats.set_chosen(None)
    assert possible() == {False}
    chats.view.setCurrentIndex(chats.model.index(0))  # by the user
    assert possible() == {True}
    chats.set_conversations(())
    assert possible() == {False}
    chats.set_conversations((ConversationSummary(9, "New", datetime.now(UTC)),))
    chats.set_chosen(9)
    chats.remove(9)
    assert possible() == {False}


def test_an_example_is_put_into_the_box(window: MainWindow) -> None:
    QTest.mouseClick(window.transcript.welcome.example_buttons[0], Qt.MouseButton.LeftButton)
    assert "rainbow" in window.prompt_box.text


def leaves(menu: QMenu) -> list[QAction]:
    found: list[QAction] = []
    for action in menu.actions():
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            found += leaves(submenu)
        elif not action.isSeparator():
            found.append(action)
    return found


def test_the_menu_is_short_and_leads_to_everything(window: MainWindow) -> None:
    opened: list[bool] = []
    window.add_page("garden", "Garden…", lambda: opened.append(True)).trigger()
    assert opened, "a feature brings its own entry"
    menu = window.target_bar.menu_button.menu()
    first = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert first == [
        *("New chat", "New incognito chat", "Search chats"),
        *("Speed-up", "Speed…"),
        *("Library…", "Personalization…", "Tools…", "Garden…", "Settings…"),
        *("This &chat", "M&essages", "&All chats", "&Model", "&View", "&Help", "Quit"),
    ]
    assert {action.text() for action in window.actions()} - {action.text() for action in leaves(menu)} == {
        "Open the menu"
    }


def test_a_prompt_that_is_too_long_to_be_edited_says_what_to_do(window: MainWindow) -> None:
    window.transcript.show_messages((prompt(1, "x" * 100_001), reply(2)))
    view = window.transcript.findChild(PromptView)
    assert isinstance(view, PromptView)
    for ask in (view.footer.edit_button.click, lambda: QTest.keyClick(window.prompt_box.editor, Qt.Key.Key_Up)):
        ask()
        (toast,) = window.toasts.shown
        assert toast.words.text().startswith("This message is too long to edit here. Copy it,")
        assert view.revision is None
        window.toasts.clear()
