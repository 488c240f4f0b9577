"""Tries an unknown projector in a separate process, as `preflight.py` does with models: libmtmd asserts much of what it
does not check, which ends the process."""

from __future__ import annotations

import os
import threading
from io import BytesIO
from pathlib import Path

from llama_cpp import llama_cpp as lib

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.interface import Interrupted, PictureRun
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.projector import Projector, SeeingModel
from engine.values.errors import Cancelled, TargetUnusable
from engine.values.pictures import Picture
from engine.values.sentences import as_text, from_text, say
from engine.values.stop_signal import StopSignal

_MEMORY_BYTES = 6 << 30  # over its weights, which are copied into memory
_OPENING_S, _SLOWEST_DISK = 60.0, 5 << 20  # of processor time, and bytes a second
_ENCODING_S = 3.0  # encoding a picture may take a minute, but what ends the process does so soon after it begins
_SIZE = 64, 48  # pixels
_CONTEXT = 4096  # tokens

_complaints: dict[tuple[str, str], str] = {}  # of this process, by the stamps of both files; empty: there is none
_lock = threading.Lock()


def try_projector(path: Path, model_path: Path, stop: StopSignal) -> None:
    """Tries it once for both files as they are. Raises TargetUnusable or Interrupted."""
    key = file_stamp(path), file_stamp(model_path)
    with _lock:
        complaint = _complaints.get(key)
    if complaint is None:
        size = path.stat().st_size if path.is_file() else 0
        processor_s = _OPENING_S + _ENCODING_S * usable_cores()
        limits = Limits(_MEMORY_BYTES + size, processor_s, processor_s + size / _SLOWEST_DISK)
        try:
            answer = ask_child(_trial, (path, model_path), stop.is_set, limits)
        except Cancelled:
            raise Interrupted from None
        damaged = say("{name} is damaged: llama.cpp cannot open it; download it again.", name=path.name)
        complaint = damaged if answer is None else from_text(answer)
        with _lock:
            _complaints[key] = complaint
    if complaint:
        raise TargetUnusable(complaint)


def _trial(path: Path, model_path: Path) -> str:
    """Runs in a child. Returns what is wrong with the projector, packed by `as_text`; empty if nothing is. Only the
    vocabulary of the model is opened."""
    parameters = lib.llama_model_default_params()
    parameters.vocab_only = True
    model = lib.llama_model_load_from_file(os.fsencode(model_path), parameters)
    if not model:
        return as_text(say("{name} can no longer be read; choose the model again.", name=model_path.name))
    go, complaints = StopSignal(), [""]
    projector = Projector(path, SeeingModel(model, model_path, usable_cores(), False, _CONTEXT, _CONTEXT))

    def encode() -> None:
        try:
            for part in projector.see(_picture(), go).parts:
                if isinstance(part, PictureRun):
                    projector.encode(part, go)
        except TargetUnusable as error:
            complaints[0] = as_text(error.sentence)

    try:
        projector.open(go)
    except TargetUnusable as error:
        return as_text(error.sentence)
    encoding = threading.Thread(target=encode, daemon=True)
    encoding.start()
    encoding.join(_ENCODING_S)
    return complaints[0]


def _picture() -> Picture:
    from PIL import Image

    data = BytesIO()
    Image.effect_noise(_SIZE, 100).convert("RGB").save(data, "PNG")
    return Picture("", data.getvalue(), *_SIZE)
