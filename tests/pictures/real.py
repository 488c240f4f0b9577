"""A real reply of the starter model, written with and without speed-up: its pictures, an animation of both side by side
in real time, and their caption with what was measured."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

import psutil
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.engine_bridge import EngineBridge
from app.settings.app_settings import AppSettings, SettingsFile
from engine import SamplingSettings
from engine.speculation.model.llama.extensions import CPU_INFO, usable_flags
from engine.values.conversations import Message
from engine.values.events import ReplyFinished, TargetReady
from engine.values.replies import ReplyStatistics
from tests.pictures.animation import write_animation
from tests.pictures.studio import Studio

NAMES = ("reply", "chat", "origins")
DOCUMENTS = (Path("README.md"), Path("docs", "guide.md"))
CAPTION = re.compile(r"\*A real reply[^*]*\*")

_EARLIER = "Write a Python class for a stack with push and pop."
_PROMPT = "Write a Python class for a stack with push, pop and is_empty."
_SIZE_PX = (1000, 680)
_HALF_PX = (640, 620)  # of the window in the animation
_TITLE_PX = 44
_GAP_PX = 8
_FRAME_S = 0.1
_END_S = 3.0
_NUMBERS = {1: "one core", 2: "two cores", 4: "four cores", 8: "eight cores"}


@dataclass(frozen=True, slots=True)
class Film:
    """The window from sending a prompt to the end of its reply. `frames`: seconds since the prompt was sent, in order,
    each with what was shown from then on."""

    title: str
    frames: tuple[tuple[float, QImage], ...]
    seconds: float

    def at(self, second: float) -> QImage:
        return [image for since, image in self.frames if since <= second][-1]


def take_real(application: QApplication, folder: Path, out: Path, wanted: str) -> str:
    """Has the app answer in `folder`, which is new, and returns a caption. Raises TimeoutError, and RuntimeError if
    both ways wrote different text."""
    settings = AppSettings(sampling=SamplingSettings(temperature=0), has_chatted=True, theme="light")
    SettingsFile(folder).save(settings)
    studio = Studio(application, folder, out, wanted, make_bridge=EngineBridge)
    window = studio.window
    try:
        studio.until(lambda: studio.heard(TargetReady))
        window.resize(*_HALF_PX)
        window.prompt_box.set_text(_EARLIER)
        _send(studio)
        studio.until(lambda: studio.heard(ReplyFinished))
        sped_up, with_it = _film(studio, "With speed-up")
        window.resize(*_SIZE_PX)
        studio.shoot("chat", window)
        window.origins_action.setChecked(True)
        studio.shoot("origins", window)
        window.origins_action.setChecked(False)
        window.resize(*_HALF_PX)
        window.speed_up_action.setChecked(False)  # so the reply above is of no use to the one that follows
        plain, without = _film(studio, "Without speed-up")
        if with_it.text != without.text:
            raise RuntimeError("The replies with and without speed-up differ in a near-tie; change the prompt.")
        if studio.wants("reply"):
            write_animation(out / "reply.png", side_by_side((plain, sped_up)))
    finally:
        studio.close()
    return _caption(_figures(with_it), _figures(without))


def side_by_side(films: Sequence[Film]) -> list[tuple[QImage, float]]:
    """One picture of all films every tenth of a second, each with its title and its clock, and the last for longer."""
    longest = max(film.seconds for film in films)
    seconds = [*takewhile(lambda second: second < longest, (_FRAME_S * number for number in count()))]
    frames = [(_composed(films, second), _FRAME_S) for second in seconds]
    return [*frames, (_composed(films, longest), _END_S)]


def _composed(films: Sequence[Film], second: float) -> QImage:
    images = [film.at(second) for film in films]
    width, height = images[0].width(), images[0].height()
    whole = QImage(len(films) * (width + _GAP_PX) - _GAP_PX, height + _TITLE_PX, QImage.Format.Format_RGB32)
    whole.fill(QColor("white"))
    painter = QPainter(whole)
    font = QFont(QApplication.font())
    font.setPixelSize(_TITLE_PX // 2)
    font.setBold(True)
    painter.setFont(font)
    for place, (film, image) in enumerate(zip(films, images, strict=True)):
        left = place * (width + _GAP_PX)
        title = QRect(left + _GAP_PX, 0, width - 2 * _GAP_PX, _TITLE_PX)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(title, middle | Qt.AlignmentFlag.AlignLeft, film.title)
        clock = f"{min(second, film.seconds):.1f} s" + (" ✓" if second >= film.seconds else "")
        painter.drawText(title, middle | Qt.AlignmentFlag.AlignRight, clock)
        painter.drawImage(left, _TITLE_PX, image)
    painter.end()
    return whole


def write_caption(caption: str, root: Path) -> None:
    """In the place of the one before, in every document. Raises OSError."""
    for document in DOCUMENTS:
        path = root / document
        path.write_text(CAPTION.sub(caption, path.read_text("utf-8")), "utf-8")


def _send(studio: Studio) -> None:
    QTest.keyClick(studio.window.prompt_box.editor, Qt.Key.Key_Return)


def _film(studio: Studio, title: str) -> tuple[Film, Message]:
    """A new chat in which the prompt is answered."""
    window = studio.window
    window.new_action.trigger()
    if not window.conversations.isHidden():
        window.toggle_sidebar()
    for subject in tuple(window.notices.shown):
        window.notices.dismiss(subject)
    window.prompt_box.set_text(_PROMPT)
    studio.rest()
    num_before = len(studio.events)
    finished: list[Message] = []
    _send(studio)
    began = time.monotonic()
    frames = [(0.0, _picture(studio))]
    while not finished:
        studio.pass_time(_FRAME_S / 2)
        frames.append((time.monotonic() - began, _picture(studio)))
        finished = [each.message for each in studio.events[num_before:] if isinstance(each, ReplyFinished)]
    seconds = time.monotonic() - began
    studio.rest()
    return Film(title, (*frames, (seconds, _picture(studio))), seconds), finished[0]


def _picture(studio: Studio) -> QImage:
    return studio.window.grab().toImage()


def _figures(reply: Message) -> ReplyStatistics:
    if reply.statistics is None:
        raise RuntimeError("The reply has no figures.")
    return reply.statistics


def _caption(with_it: ReplyStatistics, without: ReplyStatistics) -> str:
    number = psutil.cpu_count(logical=False) or 1
    cores = _NUMBERS.get(number, f"{number} cores")
    return (
        f"*A real reply of the starter model (SmolLM2-135M-Instruct) at temperature 0, on {cores} of an {_processor()}:"
        f" {with_it.reply_tokens} tokens in {with_it.reply_s:.1f} s with speed-up, in {without.reply_s:.1f} s without."
        " Much of it stood in an earlier chat.*"
    )


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text("utf-8"), re.MULTILINE)
    name = re.sub(r"\((R|TM)\)|\bProcessor\b|\bCPU\b|@.*", "", found[1] if found else "unknown processor")
    return " ".join(name.split()) + (" with AVX-512" if "avx512f" in usable_flags() else "")
