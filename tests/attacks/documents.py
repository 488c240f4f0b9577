"""Documents and pictures that mean harm: bombs, cycles, far too many pages, frames or pixels, locked and damaged ones,
and sound ones with damage. Each is read as one that is attached, in a child, and ends in text, a picture or a sentence
within ten seconds and 300 MB."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import psutil
from PIL import Image

from engine.backend.documents import read_attached
from engine.values.errors import FileUnusable
from engine.values.stop_signal import StopSignal
from tests.attacks.attack import MEMORY_BAR, Outcome, Plan
from tests.fakes.documents import docx, docx_paragraph, drawn, odt, paragraph, pdf
from tests.unit.engine.backend.documents.test_picture import HOSTILE as HOSTILE_PICTURES
from tests.unit.engine.backend.documents.test_reading import HOSTILE

_PICTURES = ("png", "jpeg", "gif", "webp", "bmp", "tiff")
_BAR_S = 10.0  # of the processor: others may be busy with it


class _Watch(StopSignal):
    """Asked a few times a second whether to stop, it looks at the child meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.most_bytes, self.processor_s = 0, 0.0

    def is_set(self) -> bool:
        for child in psutil.Process().children():
            try:
                memory, times = child.memory_info(), child.cpu_times()
            except psutil.Error:
                continue  # it has just ended
            self.most_bytes = max(self.most_bytes, memory.rss)
            self.processor_s = max(self.processor_s, times.user + times.system)
        return super().is_set()


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    most_bytes, longest_s = 0, 0.0
    made = [*HOSTILE, *HOSTILE_PICTURES]
    for number in range(plan.count):
        dice = plan.dice(number)
        label = made[number] if number < len(made) else ""
        if label in HOSTILE:
            name, make, _ = HOSTILE[label]
            path = plan.folder / name
            make(path)
        elif label:
            path = plan.folder / "a.png"
            path.write_bytes(HOSTILE_PICTURES[label][0]())
        else:
            path, label = _damaged(plan.folder, dice), f"damage {number}"
        watch, begun = _Watch(), time.monotonic()
        try:
            read_attached(path, watch)
        except FileUnusable as refusal:
            outcome.check(str(refusal).endswith("."), f"{label}: no sentence: {refusal}")
        outcome.tried += 1
        most_bytes, longest_s = max(most_bytes, watch.most_bytes), max(longest_s, watch.processor_s)
        taken = f"{watch.processor_s:.1f} s of {time.monotonic() - begun:.1f}, {watch.most_bytes >> 20} MB"
        outcome.check(watch.processor_s < _BAR_S and watch.most_bytes < MEMORY_BAR, f"{label}: {taken}")
        path.unlink()
    if sys.platform == "linux":
        outcome.figures["most memory"] = f"{most_bytes >> 20} MB"
    outcome.figures["most processor time"] = f"{longest_s:.1f} s"
    return outcome


def _damaged(folder: Path, dice: random.Random) -> Path:
    """A sound document or picture with some bytes changed, cut out or doubled."""
    text = "The quick brown fox jumps over the lazy dog. " * 20
    kind = dice.choice(["pdf", "docx", "odt", "html", "csv", *_PICTURES])
    path = folder / f"a.{kind}"
    match kind:
        case "pdf":
            pdf(path, [drawn(*paragraph(text)) for _ in range(dice.randint(1, 5))])
        case "docx":
            docx(path, docx_paragraph(text) * 5)
        case "odt":
            odt(path, f"<text:p>{text}</text:p>" * 5)
        case "html":
            path.write_text(f"<p>{text}<table><tr><td>a<td>b</table>" * 5)
        case "csv":
            path.write_text("a,b\n" + f'"{text}",1\n' * 5)
        case _:
            picture = Image.effect_noise((dice.randint(1, 300), dice.randint(1, 300)), 50)
            picture.convert(dice.choice(["L", "RGB"])).save(path)
    raw = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 12)):
        place, length = dice.randrange(len(raw)), dice.choice([1, 2, 40])
        raw[place : place + length] = dice.choice([dice.randbytes(length), b"", bytes(raw[place : place + length]) * 2])
    path.write_bytes(raw)
    return path
