"""A real reply of the starter model, with what was measured of it: its pictures, an animation, and their caption."""

from __future__ import annotations

import re
import time
from pathlib import Path

import psutil
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.engine_bridge import EngineBridge
from app.settings.app_settings import AppSettings, SettingsFile
from engine import SamplingSettings
from engine.messages.conversations import Message
from engine.messages.events import ReplyFinished, TargetReady
from engine.target.extensions import CPU_INFO, usable_flags
from tests.pictures.animation import write_animation
from tests.pictures.studio import Studio

NAMES = ("reply", "chat", "origins")
DOCUMENTS = (Path("README.md"), Path("docs", "guide.md"))
CAPTION = re.compile(r"\*A real reply[^*]*\*")

_EARLIER = "Write a Python class for a stack with push and pop."
_PROMPT = "Write a Python class for a stack with push, pop and is_empty."
_SIZE_PX = (1000, 680)
_FRAME_S = 0.125
_LETTERS_A_FRAME = 6
_PAUSE_S = 0.5  # between typing and sending
_END_S = 5.0
_NUMBERS = {1: "one core", 2: "two cores", 4: "four cores", 8: "eight cores"}


def take_real(application: QApplication, folder: Path, out: Path, wanted: str) -> str:
    """Has the app answer in `folder`, which is new, and returns a caption. Raises TimeoutError, and RuntimeError if the
    machine was too busy to measure the reply."""
    settings = AppSettings(sampling=SamplingSettings(temperature=0), has_chatted=True, theme="light")
    SettingsFile(folder).save(settings)
    studio = Studio(application, folder, out, wanted, make_bridge=EngineBridge)
    try:
        studio.window.resize(*_SIZE_PX)
        studio.until(lambda: studio.heard(TargetReady))
        studio.window.prompt_box.set_text(_EARLIER)
        _send(studio)
        studio.until(lambda: studio.heard(ReplyFinished))
        studio.window.new_action.trigger()
        studio.rest()
        frames, reply = _film(studio)
        if studio.wants("reply"):
            write_animation(out / "reply.png", frames)
        studio.shoot("chat", studio.window)
        studio.window.origins_action.setChecked(True)
        studio.shoot("origins", studio.window)
    finally:
        studio.close()
    return _caption(reply)


def write_caption(caption: str, root: Path) -> None:
    """In the place of the one before, in every document. Raises OSError."""
    for document in DOCUMENTS:
        path = root / document
        path.write_text(CAPTION.sub(caption, path.read_text("utf-8")), "utf-8")


def _send(studio: Studio) -> None:
    QTest.keyClick(studio.window.prompt_box.editor, Qt.Key.Key_Return)


def _film(studio: Studio) -> tuple[list[tuple[QImage, float]], Message]:
    """The window while the prompt is typed and answered, and the reply. Time is as it passed, but for typing."""
    frames = []
    for end in range(0, len(_PROMPT) + _LETTERS_A_FRAME, _LETTERS_A_FRAME):
        studio.window.prompt_box.set_text(_PROMPT[:end])
        studio.process()
        frames.append((_picture(studio), _FRAME_S))
    frames.append((_picture(studio), _PAUSE_S))
    num_before = len(studio.events)
    finished: list[Message] = []
    _send(studio)
    began = time.monotonic()
    while not finished:
        studio.pass_time(_FRAME_S)
        image, now = _picture(studio), time.monotonic()
        frames.append((image, now - began))
        began = now
        finished = [each.message for each in studio.events[num_before:] if isinstance(each, ReplyFinished)]
    studio.rest()
    frames.append((_picture(studio), _END_S))
    return frames, finished[0]


def _picture(studio: Studio) -> QImage:
    return studio.window.grab().toImage()


def _caption(reply: Message) -> str:
    figures = reply.statistics
    if figures is None or figures.shown_speedup is None:
        raise RuntimeError("The machine was too busy to compare the reply with plain writing; try again.")
    number = psutil.cpu_count(logical=False) or 1
    cores = _NUMBERS.get(number, f"{number} cores")
    return (
        f"*A real reply of the starter model (SmolLM2-135M-Instruct) at temperature 0, on {cores} of an {_processor()}:"
        f" {figures.reply_tokens} tokens in {figures.reply_s:.1f} s, {figures.shown_speedup.value:.1f}× faster than "
        "without speed-up, since much of it stood in an earlier chat.*"
    )


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text("utf-8"), re.MULTILINE)
    name = re.sub(r"\((R|TM)\)|\bProcessor\b|\bCPU\b|@.*", "", found[1] if found else "unknown processor")
    return " ".join(name.split()) + (" with AVX-512" if "avx512f" in usable_flags() else "")
