"""Models: added, switched, looked through, suggested; and who drafts."""

from __future__ import annotations

from tests.first_hour.person import Person, few_clicks

SECOND = "Second-model"  # beside the starter


def a_model_file_is_added(person: Person) -> None:
    person.with_file(lambda: person.choose("Open a model file…"), person.folder / f"{SECOND}.gguf")
    person.until(lambda: _in_use(person) == SECOND, f"{SECOND} is in use")


def the_model_is_switched_in_two_clicks(person: Person) -> None:
    picker = person.window.target_bar.picker
    with few_clicks(person, 2):
        person.click(person.window.target_bar.name)
        starter = next(row.title for row in picker.view.rows.rows if row.title != SECOND)
        person.pick_row(picker.view, starter)
    person.until(lambda: _in_use(person) not in ("", SECOND), "the starter is in use")


def _in_use(person: Person) -> str:
    """As the window says, once it is loaded."""
    in_use = person.app.target.in_use
    name = person.window.target_bar.name.text()
    return name if in_use is not None and in_use.name == name else ""


def the_library_lists_both_models(person: Person) -> None:
    person.choose("Library…")
    assert person.app.library is not None
    dialog = person.app.library.dialog
    person.until(dialog.isVisible, "the library is open")
    titles = [row.title for row in dialog.library.view.rows.rows]
    assert SECOND in titles
    assert len(titles) == 2


def find_models_says_which_suit_this_computer(person: Person) -> None:
    person.choose("Find models…")
    assert person.app.library is not None
    suggestions = person.app.library.dialog.hub.suggestions
    person.until(lambda: suggestions.isVisible() and suggestions.view.rows.rowCount() > 0, "models are suggested")


def the_drafter_is_named(person: Person) -> None:
    person.choose("Drafter…")
    person.dialog("Drafter")
