"""The window itself: its sidebar, its text, its language, its menu, its keys."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QSplitter

from app.features.settings.settings_dialog import SettingsDialog
from app.settings.app_settings import AppSettings
from app.widgets.meter.sides import Sides
from tests.first_hour.person import Person, said_in
from tests.first_hour.replies import ANIMALS, COLOURS

_CTRL = Qt.KeyboardModifier.ControlModifier
_USABLE_PX = 150  # of a sidebar


def _drag_sidebar_away(person: Person) -> None:
    sides = person.window.findChild(QSplitter)
    assert isinstance(sides, Sides)
    handle = sides.handle(1)
    at = handle.rect().center()
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=at)
    for _ in range(4):
        QTest.mouseMove(handle, handle.mapFromGlobal(sides.mapToGlobal(QPoint(2, at.y()))))
        person.rest(0.02)
    QTest.mouseRelease(
        handle, Qt.MouseButton.LeftButton, pos=handle.mapFromGlobal(sides.mapToGlobal(QPoint(2, at.y())))
    )


def _sidebar_px(person: Person) -> int:
    person.rest(0.05)
    sidebar = person.window.conversations
    return sidebar.width() if sidebar.isVisible() else 0


def a_sidebar_dragged_away_comes_back_by_its_button(person: Person) -> None:
    _drag_sidebar_away(person)
    for _ in range(2):
        if _sidebar_px(person) < _USABLE_PX:
            person.click(person.window.target_bar.sidebar_button)
    assert _sidebar_px(person) >= _USABLE_PX


def ctrl_b_hides_the_sidebar_and_brings_it_back(person: Person) -> None:
    _drag_sidebar_away(person)
    QTest.keyClick(person.window, Qt.Key.Key_B, _CTRL)
    assert _sidebar_px(person) == 0
    QTest.keyClick(person.window, Qt.Key.Key_B, _CTRL)
    assert _sidebar_px(person) >= _USABLE_PX


def ctrl_f_brings_the_sidebar_back(person: Person) -> None:
    QTest.keyClick(person.window, Qt.Key.Key_B, _CTRL)
    QTest.keyClick(person.window, Qt.Key.Key_F, _CTRL)
    assert _sidebar_px(person) >= _USABLE_PX
    assert person.window.conversations.search.hasFocus()
    QTest.keyClick(person.window.conversations.search, Qt.Key.Key_Escape)


def text_grows_and_shrinks_by_keys(person: Person) -> None:
    person.open_chat(COLOURS)
    size = person.window.fontMetrics().height()
    for _ in range(3):
        QTest.keyClick(person.window, Qt.Key.Key_Plus, _CTRL)
        person.rest(0)
    assert person.window.fontMetrics().height() > size
    QTest.keyClick(person.window, Qt.Key.Key_0, _CTRL)
    person.until(lambda: person.window.fontMetrics().height() == size, "the text is as before")


def the_largest_text_and_back_leave_the_sidebar_usable(person: Person) -> None:
    size = person.app.keeper.settings.text_size
    while person.app.keeper.settings.text_size < 200:
        before = person.app.keeper.settings.text_size
        QTest.keyClick(person.window, Qt.Key.Key_Plus, _CTRL)
        person.rest(0)
        assert person.app.keeper.settings.text_size > before
    QTest.keyClick(person.window, Qt.Key.Key_0, _CTRL)
    assert person.app.keeper.settings.text_size == size == AppSettings().text_size
    if _sidebar_px(person) == 0:
        person.click(person.window.target_bar.sidebar_button)
    assert _sidebar_px(person) >= _USABLE_PX


def choose_in_settings(person: Person, sought: str, words: str) -> None:
    """By keyboard, in the list of a setting."""
    person.choose(person.window.settings_action.text())  # in whatever language
    person.until(person.app.settings.dialog.isVisible, "the settings are open")
    dialog = person.app.settings.dialog
    assert isinstance(dialog, SettingsDialog)
    control = dialog.rows[sought].control
    assert isinstance(control, QComboBox)
    control.setFocus()
    QTest.keyClick(control, Qt.Key.Key_Home)
    place = control.findText(words)
    assert place >= 0, f"“{words}” is not offered"
    while control.currentIndex() < place:
        QTest.keyClick(control, Qt.Key.Key_Down)


def dark_and_light(person: Person) -> None:
    choose_in_settings(person, "theme", "Dark")
    person.app.settings.dialog.close()
    person.rest(0.1)
    assert person.window.grab().toImage().pixelColor(3, 3).lightness() < 100
    choose_in_settings(person, "theme", "Light")
    person.rest(0.1)
    assert person.window.grab().toImage().pixelColor(3, 3).lightness() > 150


def the_window_speaks_german(person: Person) -> None:
    person.open_chat(COLOURS)
    for toast in person.window.toasts.shown:
        person.click(toast.close_button)  # while one offers something, the language waits
    person.noted = _words(person)
    choose_in_settings(person, "language", "Deutsch")
    person.until(lambda: person.window.isVisible() and person.sees("Neuer Chat"), "the window speaks German")
    person.app.settings.dialog.close()
    words = _words(person)
    assert "New chat" not in words
    assert [each.text for each in person.messages[:1]] == [ANIMALS], "the chat is still open"
    for wrong in (" by", "Today", "Older", "Folders", "Pinned", "ended"):
        assert not [each for each in words if each == wrong or each.endswith(wrong)], wrong


def back_in_english_nothing_is_garbled(person: Person) -> None:
    choose_in_settings(person, "language", "English")
    person.until(lambda: person.window.isVisible() and person.sees("New chat"), "the window speaks English")
    person.app.settings.dialog.close()
    person.open_chat(COLOURS)
    person.until(
        lambda: _words(person) == person.noted, f"the words are as before: {set(_words(person)) ^ set(person.noted)}", 5
    )


def _words(person: Person) -> list[str]:
    model = person.window.conversations.model
    groups = [str(model.index(row).data(model.GroupRole)) for row in range(model.rowCount())]
    actions = [action.text() for action in person.window.actions()]
    return sorted({*said_in(person.window), *groups, *actions})


def the_menu_opens_inside_the_window(person: Person) -> None:
    seen: list[bool] = []

    def look() -> None:
        menu = QApplication.activePopupWidget()
        assert menu is not None
        person.rest(0.05)
        seen.append(person.window.frameGeometry().contains(menu.geometry()))
        menu.close()

    QTimer.singleShot(0, person.window, look)
    person.click(person.window.target_bar.menu_button)
    assert seen == [True]


def the_button_of_the_menu_is_not_highlighted_afterwards(person: Person) -> None:
    button = person.window.target_bar.menu_button
    before = button.grab().toImage()
    person.choose("About Slipstream")
    person.dialog("About Slipstream").close()
    person.rest(0.1)
    assert not button.underMouse() or button.grab().toImage() == before
    assert not button.isDown()


def enter_presses_the_button_that_has_the_keyboard(person: Person) -> None:
    button = person.window.conversations.new_folder_button
    button.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(button, Qt.Key.Key_Return)
    person.dialog("New folder").close()
    person.window.meter.headline.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(person.window.meter.headline, Qt.Key.Key_Return)
    person.until(
        lambda: person.window.meter.details is not None and person.window.meter.details.isVisible(),
        "Enter opens the details",
    )


def the_settings_are_searched(person: Person) -> None:
    person.choose("Settings…")
    dialog = person.dialog("Settings")
    assert isinstance(dialog, SettingsDialog)
    person.type_into(dialog.search, "no such words")
    assert person.reads("No setting contains “no such words”")
    person.type_into(dialog.search, "theme")
    assert dialog.rows["theme"].isVisible()
    assert not dialog.rows["language"].isVisible()
