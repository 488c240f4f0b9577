"""The first start, the tour, the guided start, and the first messages."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.features.guided.guided_dialog import GuidedDialog
from app.features.guided.steps import State
from tests.first_hour.person import Person


def guided(person: Person) -> GuidedDialog:
    person.until(lambda: person.app.guided.dialog is not None, "the guided start is open")
    assert person.app.guided.dialog is not None
    return person.app.guided.dialog


def the_first_start_says_welcome_and_shows_the_tour(person: Person) -> None:
    assert person.reads("Welcome to Slipstream")
    assert person.reads("SmolLM2")
    assert person.tour.count.text() == "Tour, 1 of 3"


def whoever_skips_the_tour_is_offered_the_guided_start(person: Person) -> None:
    welcome = person.window.transcript.welcome
    place = welcome.mapTo(person.window, welcome.rect().topLeft())
    person.click(person.tour.skip_button)
    person.see("Guided start")
    assert not guided_is_open(person), "whoever skips the tour is not held up"
    assert welcome.mapTo(person.window, welcome.rect().topLeft()) == place, "the notice moves what one reads"


def guided_is_open(person: Person) -> bool:
    return person.app.guided.dialog is not None and person.app.guided.dialog.isVisible()


def the_notice_opens_the_guided_start(person: Person) -> None:
    person.press("Guided start")
    assert guided(person).count.text() == "Step 1 of 3"
    assert not person.window.notices.shown


def measuring_in_the_guided_start_can_be_stopped(person: Person) -> None:
    person.choose("Guided start…")
    dialog = guided(person)
    person.click(dialog.main_button)
    person.until(lambda: dialog.machine.state is State.RUNNING, "it measures")
    person.press("Stop")
    person.until(lambda: dialog.machine.state is State.OPEN, "it has stopped")
    assert "stopped" in dialog.machine.status.text()


def the_guided_start_closes_by_esc_and_comes_back_from_help(person: Person) -> None:
    person.choose("Guided start…")
    dialog = guided(person)
    person.until(dialog.isVisible, "the guided start is open")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    person.until(lambda: not dialog.isVisible(), "the guided start is closed")
    person.choose("Guided start…")
    person.until(dialog.isVisible, "the guided start is open again")


def the_tour_points_at_the_message_box(person: Person) -> None:
    person.choose("Show the tour")
    assert person.tour.title.text() == "Write here"
    assert not person.tour.geometry().intersects(_place(person, person.window.prompt_box.frame))


def the_tour_points_at_the_line_of_speed(person: Person) -> None:
    person.choose("Show the tour")
    person.press("Next")
    assert person.tour.title.text() == "See how fast it is"
    assert not person.tour.geometry().intersects(_place(person, person.window.meter))


def the_tour_points_at_the_model_and_ends(person: Person) -> None:
    person.choose("Show the tour")
    for _ in range(2):
        QTest.keyClick(person.tour.next_button, Qt.Key.Key_Return)
    assert person.tour.title.text() == "Choose a model"
    assert not person.tour.geometry().intersects(_place(person, person.window.target_bar.name))
    tour = person.tour
    person.press("Done")
    assert not tour.isVisible()
    assert person.window.prompt_box.editor.hasFocus()


def _place(person: Person, part: QWidget) -> QRect:
    return part.rect().translated(part.mapTo(person.window, part.rect().topLeft()))
