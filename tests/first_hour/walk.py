"""Goes all steps of the first hour, one after the other, and tells what went wrong in each."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QFileDialog

from app.crash.qt_messages import log_qt_messages
from app.crash.watch import log_to_file
from app.text.languages import ENGLISH
from app.text.translation import install_translations
from engine import starter_path
from tests.first_hour.models import SECOND
from tests.first_hour.person import Person
from tests.pages.exceptions import is_excepted
from tests.pages.findings import findings

Step = Callable[[Person], None]


@dataclass(frozen=True, slots=True)
class Gone:
    """A step that was gone."""

    name: str
    seconds: float
    defects: tuple[str, ...]


def name_of(step: Step) -> str:
    return step.__name__.replace("_", " ")


@contextmanager
def begun(folder: Path, platform: str) -> Iterator[Person]:
    """A first start: nothing has been stored yet."""
    (folder / f"{SECOND}.gguf").hardlink_to(starter_path())
    log_to_file(folder / "store")
    log_qt_messages()
    application = QApplication(["slipstream", "-platform", platform])
    application.setCursorFlashTime(0)
    person = Person(application, folder, install_translations(application, ENGLISH))
    try:
        yield person
    finally:
        person.end()


def go(person: Person, step: Step) -> Gone:
    """Where a step fails, the next one begins as if it had not."""
    began = time.monotonic()
    defects = []
    try:
        person.come_back()
        step(person)
    except Exception as error:  # whatever it is, it is told
        defects.append(_told(error, step))
    defects += looks_wrong(person)
    return Gone(name_of(step), time.monotonic() - began, tuple(defects))


def _told(error: Exception, step: Step) -> str:
    """With the line of the step."""
    trace = traceback.extract_tb(error.__traceback__)
    line = next((each for each in trace if each.name == step.__name__), trace[-1])
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__} "
    return f"{kind}{error} ({Path(line.filename).name}:{line.lineno}: {line.line})"


def looks_wrong(person: Person) -> list[str]:
    """In all windows of ours that are open now."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        QCoreApplication.processEvents()
    found = [each for window in person.windows() if not isinstance(window, QFileDialog) for each in findings(window)]
    return [str(each) for each in found if not is_excepted(each.kind, each.widget)]
