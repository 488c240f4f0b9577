"""The app as users get it, on made-up chats, held still for a picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from app.engine_bridge import EngineBridge, Request
from app.main_window import MainWindow
from app.startup.first_paint import open_window
from app.wiring import WiredWindow
from engine import EngineConfig
from engine.values.comparison import Comparison, ComparisonStep, RunFigures, Side
from engine.values.config import AUTOMATIC, SpeculationSettings
from engine.values.events import Event
from engine.values.targets import HubFiles
from tests.fakes.ear import Ear
from tests.pictures.animation import in_few_colours
from tests.pictures.content import COMPARED_TEXT, HUB_FILES, HUB_MODELS, HUB_SPEEDS, form_offers

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE_S = 120.0
_SETTLING_S = 0.3
SCHEMES = ("light", "dark")


_PLAIN, _SPED_UP = (
    tuple(RunFigures(128, 128 / speed, speed, 127) for speed in (40.8, 41.3)),
    tuple(RunFigures(128, 128 / speed, speed, 71, 92, 57) for speed in (62.7, 61.9)),
)
_COMPARED = Comparison(_PLAIN, _SPED_UP, True, False, None)
_STEPS = [
    ComparisonStep(side, 0, COMPARED_TEXT, figures[0]) for side, figures in zip(Side, (_PLAIN, _SPED_UP), strict=True)
]


class PictureBridge(EngineBridge):
    """The real engine, except for what needs a network or depends on what else the machine does."""

    def ask(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        made_up: dict[object, object] = {
            self.engine.hub.search: HUB_MODELS,
            self.engine.hub.files: HubFiles(HUB_FILES, HUB_SPEEDS),
            self.engine.trials.compare: _COMPARED,
        }
        if method == self.engine.tuning.offers:
            made_up[method] = form_offers(cast(Path, args[0]))
        if method not in made_up:
            return super().ask(method, *args, **kwargs)
        request, answer = Request[T](), Future[T]()
        answer.set_result(cast(T, made_up[method]))
        self._requests.append(request)
        if method == self.engine.trials.compare:
            for step in _STEPS:
                self._progressed.emit(request, step)
        self._settled.emit(request, answer)
        return request


class Studio:
    """One open window. Closes with `close`."""

    def __init__(
        self,
        application: QApplication,
        folder: Path,
        out: Path,
        wanted: str,
        drafter: str = AUTOMATIC,
        make_bridge: Callable[[EngineConfig], EngineBridge] = PictureBridge,
    ) -> None:
        """Saves only the pictures whose names begin with `wanted`. `drafter` drafts as long as none is chosen."""
        self._application = application
        self._out = out
        self._wanted = wanted
        self.app = WiredWindow(
            open_window(application, folder), folder, SpeculationSettings(drafter=drafter), make_bridge=make_bridge
        )
        self._ear = Ear(self.app.bridge)

    @property
    def events(self) -> list[Event]:
        return self._ear.events

    @property
    def window(self) -> MainWindow:
        """Another one in another language."""
        return self.app.window

    def until(self, is_so: Callable[[], bool]) -> None:
        """Waits. Raises TimeoutError."""
        end = time.monotonic() + _PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError("The window does not show what the picture needs.")
            self.process()
            time.sleep(0.005)

    def heard(self, kind: type[Event]) -> bool:
        return any(isinstance(event, kind) for event in self.events)

    def rest(self) -> None:
        """Waits until what is on its way to the screen is there."""
        self.pass_time(_SETTLING_S)

    def pass_time(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end)

    def process(self) -> None:
        self._application.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # else only a running loop deletes widgets

    def wants(self, name: str) -> bool:
        return name.startswith(self._wanted)

    def shoot(self, name: str, widget: QWidget, *above: QWidget, keeps_colours: bool = False) -> None:
        """Takes a picture in light and in dark, with the open menus `above` the widget. `keeps_colours`: all, as there
        is more than text."""
        if not self.wants(name):
            return
        for scheme in SCHEMES:
            self.app.theme.choose(scheme, 100)
            self.rest()
            picture = widget.grab()
            painter = QPainter(picture)
            for popup in above:
                painter.drawPixmap(popup.mapToGlobal(QPoint()) - widget.mapToGlobal(QPoint()), popup.grab())
            painter.end()
            path = self._out / f"{name}-{scheme}.png"
            image = picture.toImage()
            if not (image if keeps_colours else _with_few_colours(image)).save(str(path)):
                raise OSError(f"{path} cannot be written.")
        self.app.theme.choose("light", 100)

    def close(self) -> None:
        self.window.close()
        self.app.close()
        for each in (self.window, self.app.theme, self.app):
            each.deleteLater()
        self.rest()


def _with_few_colours(image: QImage) -> QImage:
    """A third of the size."""
    (indices,), palette = in_few_colours([image])
    few = QImage(image.width(), image.height(), QImage.Format.Format_Indexed8)
    few.setColorTable([int(colour) | 0xFF000000 for colour in palette])
    rows = np.frombuffer(few.bits(), np.uint8).reshape(few.height(), few.bytesPerLine())
    rows[:, : few.width()] = indices
    return few
