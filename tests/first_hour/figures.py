"""What was learned, and how fast replies were."""

from __future__ import annotations

from PySide6.QtWidgets import QTabBar

from tests.first_hour.person import Person, few_clicks, said_in

# What was learned


def personalization_names_the_model_and_counts(person: Person) -> None:
    person.choose("Personalization…")
    page = person.app.personal.dialog.learned
    person.until(lambda: bool(page.cards), "a model is named")
    said = " ".join(said_in(person.app.personal.dialog))
    assert "SmolLM2" in said
    assert "chats" in said


def a_profile_is_exported_in_three_clicks(person: Person) -> None:
    with few_clicks(person, 3):
        person.choose("Personalization…")
        person.with_file(lambda: person.press("Export a profile"), person.folder / "mine.slipstream")
    person.until(lambda: any(person.folder.glob("mine*")), "the profile is written")


def the_preview_of_an_import_names_the_model(person: Person) -> None:
    (file,) = person.folder.glob("mine*")
    person.choose("Personalization…")
    person.with_file(lambda: person.press("Import a profile"), file)
    page = person.app.personal.dialog.profile
    person.until(page.preview.isVisible, "what is inside is shown")
    told = " ".join((page.headline.text(), page.contents.text(), page.misfits.text()))
    assert "SmolLM2" in told, told
    person.press("Cancel")


def forgetting_asks_first(person: Person) -> None:
    person.choose("Personalization…")
    dialog = person.app.personal.dialog
    bar = dialog.findChild(QTabBar)
    assert bar is not None
    person.click(bar, bar.tabRect(3).center())
    person.click(dialog.forget.learned_button)
    person.press("Cancel")
    assert person.app.personal.dialog.isVisible()


# Figures


def the_speed_window_has_its_title_bar_on_the_screen(person: Person) -> None:
    person.choose("Speed…")
    page = person.dialog("Speed")
    person.rest(0.2)
    assert page.screen().availableGeometry().contains(page.frameGeometry())
    assert not person.reads("The figures are being read")


def without_and_with_speed_up_are_compared(person: Person) -> None:
    person.choose("Speed…")
    person.dialog("Speed")
    person.press("Prove it…")
    person.until(person.app.comparing.dialog.isVisible, "a comparison is offered")
