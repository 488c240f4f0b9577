"""After a change of language, every page says what it says in a window that was started in that language.

One engine serves all windows. A window is started in German, and what each of its pages says is noted. Then one that
was started in English, of which each page was open, changes to German with a chat, a draft and the settings open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.engine_bridge import Request
from app.language_change import LanguageChange
from app.text.languages import ENGLISH, TRANSLATED, Language
from app.text.translation import Translators
from engine import BUILT_IN, EngineConfig
from engine.values.events import DrafterChosen, Event, LearningChanged, SpeculationChanged, TargetReady
from engine.values.targets import LoadOrder
from tests.pages.catalogue import PAGES, open_chat, settle, turned, wait_until_ready
from tests.pages.texts import texts
from tests.pictures.content import CODE_CHAT, NOTES_FILE, fill_store
from tests.pictures.studio import PictureBridge, Studio

pytestmark = [
    pytest.mark.starter,
    pytest.mark.qt_log_ignore(r"This plugin does not support ((propagateSizeHints|raise)\(\)|grabbing the keyboard)"),
]
GERMAN = next(language for language in TRANSLATED if language.code == "de")
Pages = dict[str, list[str]]
_DIGITS = re.compile(r"\d+")  # of times and of free memory; how a number is written is compared
_MEASURED = ("guided",)  # what it says depends on how busy this machine is just then
_LOADING_MS = 300  # by then all of the window is made
_OF_LOADING = TargetReady | SpeculationChanged | DrafterChosen | LearningChanged


P = ParamSpec("P")
T = TypeVar("T")


class LastingBridge(PictureBridge):
    """Outlives its windows. The model is loaded once; each further window is told of it, after a while."""

    def __init__(self, config: EngineConfig) -> None:
        self._loaded: dict[type[Event], Event] = {}
        super().__init__(config)

    def ask(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        if method != self.engine.target.load or TargetReady not in self._loaded:
            return super().ask(method, *args, **kwargs)
        request = Request[T]()
        self._requests.append(request)
        (order,) = cast(tuple[LoadOrder], args)
        QTimer.singleShot(_LOADING_MS, self, partial(self._tell_loaded, request, order))
        return request

    def _tell_loaded(self, request: Request[Any], order: LoadOrder) -> None:
        for event in tuple(self._loaded.values()):
            self._receive(replace(event, order=order) if isinstance(event, TargetReady) else event)
        answer = Future[Any]()
        answer.set_result(None)
        self._settled.emit(request, answer)

    def _receive(self, event: Event) -> None:
        if isinstance(event, LearningChanged):  # when it learns depends on how busy this machine is
            event = replace(event, is_learning=False, is_self_distilling=False)
        if isinstance(event, _OF_LOADING):
            self._loaded.pop(type(event), None)
            self._loaded[type(event)] = event  # in the order in which they were told last
        super()._receive(event)

    def close(self) -> bool:
        """It goes on for the next window."""
        return True

    def end(self) -> bool:
        return super().close()


@dataclass
class House:
    """What all windows share."""

    application: QApplication
    folder: Path
    translators: Translators
    bridge: LastingBridge | None = None

    def open(self, language: Language) -> Studio:
        """A window that is started in this language."""
        settings = {"version": 1, "theme": "light", "has_chatted": True, "language": language.code}
        (self.folder / "store" / "settings.json").write_text(json.dumps(settings))
        self.translators.speak(language)
        studio = Studio(self.application, self.folder / "store", self.folder, "", BUILT_IN, self.give_bridge)
        wait_until_ready(studio)
        return studio

    def give_bridge(self, config: EngineConfig) -> LastingBridge:
        self.bridge = self.bridge or LastingBridge(config)
        return self.bridge

    def leave_open(self, studio: Studio) -> None:
        """A chat with a draft, and the settings."""
        open_chat(studio, CODE_CHAT)
        studio.window.prompt_box.set_text("A draft of two lines.\nHere is the second.")
        studio.until(lambda: bool(studio.window.prompt_box.count.text()))
        studio.window.settings_action.trigger()
        studio.rest()

    def pages(self, studio: Studio) -> Pages:
        """What is open first, then every page of the catalogue."""
        said = {"as it was left": _said(texts(studio.window)), "settings": _said(texts(studio.app.settings.dialog))}
        studio.app.settings.dialog.close()
        studio.window.prompt_box.set_text("")
        studio.events.clear()
        counted_later = (studio.window.prompt_box.count,)
        for pages in (each for each in PAGES if each.__name__ not in _MEASURED):
            for name, window in pages(studio, self.folder):
                settle(window)
                for place, _ in enumerate(turned(window)):
                    settle(window)
                    said[f"{pages.__name__}: {name}, {place}"] = _said(texts(window, counted_later))
        return said


def _said(words: list[str]) -> list[str]:
    return sorted({_DIGITS.sub("0", each) for each in words})


@pytest.fixture(scope="module")
def house(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("language")
    fill_store(folder / "store")
    (folder / "Garden club.md").write_text(NOTES_FILE, "utf-8")
    house = House(qapp, folder, Translators(qapp))
    yield house
    house.translators.speak(ENGLISH)
    house.translators.remove()
    if house.bridge is not None:
        house.bridge.end()


@pytest.fixture(scope="module")
def started(house: House) -> Pages:
    """What a window says that was started in German."""
    studio = house.open(GERMAN)
    house.leave_open(studio)
    said = house.pages(studio)
    studio.close()
    return said


@pytest.fixture(scope="module")
def studio(house: House) -> Iterator[Studio]:
    """A window that was started in English, of which each page was open."""
    studio = house.open(ENGLISH)
    LanguageChange(studio.app, house.translators)
    house.leave_open(studio)
    house.pages(studio)
    yield studio
    studio.close()


@pytest.mark.timeout(600)
def test_every_page_says_what_it_says_after_a_start(house: House, started: Pages, studio: Studio) -> None:
    house.leave_open(studio)
    before = studio.window
    studio.app.settings.dialog.chosen.emit("language", GERMAN.code)
    studio.until(lambda: studio.window is not before)
    studio.until(lambda: studio.app.settings.dialog.isVisible() and bool(studio.window.prompt_box.count.text()))
    studio.rest()
    said, expected = house.pages(studio), started
    assert said.keys() == expected.keys()
    differing = {
        name: (sorted({*said[name]} - {*expected[name]}), sorted({*expected[name]} - {*said[name]})) for name in said
    }
    assert {name: each for name, each in differing.items() if any(each)} == {}
