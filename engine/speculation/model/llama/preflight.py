"""A first look at an unknown model file in a separate process.

llama.cpp checks its input well, but some damaged or hostile files still end the whole process (an assertion, a division
by zero, an uncaught exception), take all memory or never come to an end. Here they end that process instead, and the
app goes on.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.files.model_files import part_paths
from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.embedder import Embedder
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.loaded_model import LoadedModel
from engine.speculation.model.llama.opening import check_file
from engine.values import errors
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, MendableError, TargetUnusable
from engine.values.sentences import as_text, from_text
from engine.values.stop_signal import StopSignal

_SETTINGS = TargetSettings(context_size=256, gpu_layers=0)
_MAX_ROWS = 8  # of a pass: of large models every token takes long

# A sound model takes a fifth of these at most. Weights are read in place, so they take no memory of the process; copies
# of a running state may be a fourth of them.
_MEMORY_BYTES = 4 << 30
_OPENING_S, _OPENING_S_PER_GIB = 5.0, 20.0  # of each core
_TEXTS_S = 5.0  # of the processor
_WALL_S, _SLOWEST_DISK = 600.0, 5 << 20  # bytes a second

_STACK_BYTES = 4 << 20  # a fourth of what the app's threads have
_GLANCE_S = 0.1
_LETTERS = 16  # of a text that is tried

_RUN = 20_000  # characters: std::regex needs more stack for it than there is
_RUNS = (
    *("a", "A", "é", "\u0301", "中", "가", "ก", "1", "!", "=", "。", "😀", " ", "\t", "\n", "\r\n"),
    *("ab ", "a1!", "'s"),
)
_SURROGATES = range(0xD800, 0xE000)
_STEP = 61  # beyond the basic plane one character in 61 is enough: they are of a few kinds
_MOST_SPECIAL, _MOST_PIECES = 1000, 5000
_PROSE = (
    "It's “naïve” — don't you think? 12,345.67 € (or £9)…\n\n"
    "\tdef f(x):\r\n\t\treturn x**2  # комментарий, 注释, تعليق, टिप्पणी, ความคิดเห็น\n"
    "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 ﷽ Z̸͓̈ \u202etxt\u202c "
    "\ufeff\u00a0\u3000\x00\x7f\x85 <0x0A> <unk> </s> [INST] <|im_end|>"
)


def preflight(path: Path, stop: StopSignal, embeds: bool = False) -> None:
    """Raises what is wrong with the file, or Cancelled when `stop` gets set. `embeds`: it is examined as a model that
    makes embeddings."""
    check_file(path)
    size = sum(part.stat().st_size for part in part_paths(path) if part.is_file())
    opening_s = _OPENING_S + _OPENING_S_PER_GIB * usable_cores() * size / 2**30
    limits = Limits(_MEMORY_BYTES + size // 4, opening_s + _TEXTS_S, _WALL_S + size / _SLOWEST_DISK)
    try:
        complaint = ask_child(_look, (path, opening_s, embeds), stop.is_set, limits)
    except Cancelled:
        raise Cancelled("Loading {name} was cancelled.", name=path.name) from None
    if complaint is None:
        raise TargetUnusable("{name} is damaged: llama.cpp cannot open it; download it again.", name=path.name)
    if complaint:
        kind, _, sentence = complaint.partition(":")
        raise getattr(errors, kind)(from_text(sentence))


def _look(path: Path, opening_s: float, embeds: bool) -> str:
    """The kind of error and its sentence; empty if there is none. On a stack that is smaller than the app's, so that
    what just fits here fits there."""
    threading.stack_size(_STACK_BYTES)
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(_complaint, path, opening_s, embeds).result()


def _complaint(path: Path, opening_s: float, embeds: bool) -> str:
    try:
        with _processor_limit(opening_s):
            model = _opened_embedder(path) if embeds else _opened_target(path)
        with closing(model), _processor_limit(_TEXTS_S):
            _try_texts(model, path.name)
    except MendableError as error:
        return f"{type(error).__name__}:{as_text(error.sentence)}"
    return ""


def _opened_target(path: Path) -> LoadedModel:
    nothing = StopSignal()
    return LlamaCppTarget.load(path, path.stem, _SETTINGS, lambda _progress: None, nothing, _MAX_ROWS, is_trial=True)


def _opened_embedder(path: Path) -> LoadedModel:
    """An embedder that has computed something, as a target has when it is loaded."""
    embedder = Embedder.load(path, path.stem, StopSignal(), is_trial=True)
    embedder.embed([embedder.tokenize(path.stem[:_LETTERS])[: embedder.max_tokens]], StopSignal())
    return embedder


def _try_texts(model: LoadedModel, name: str) -> None:
    """Raises TargetUnusable."""
    known = range(len(model.vocabulary))
    for text in hard_texts(model.vocabulary):
        if not all(token in known for token in model.tokenize(text)):
            raise TargetUnusable("{name} has a damaged vocabulary; download it again.", name=name)


@contextmanager
def _processor_limit(seconds: float) -> Iterator[None]:
    """Ends this process when it has computed for that long."""
    end, is_over = time.process_time() + seconds, threading.Event()

    def watch() -> None:
        while not is_over.wait(_GLANCE_S):
            if time.process_time() > end:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def hard_texts(vocabulary: Vocabulary) -> Iterator[str]:
    yield ""
    yield _PROSE
    for letters in _RUNS:
        yield (letters * _RUN)[:_RUN] + "x"
    basic = "".join(chr(code) for code in range(0x10000) if code not in _SURROGATES)
    yield basic
    yield " ".join(basic[::7])
    yield "".join(chr(code) for code in range(0x10000, sys.maxunicode + 1, _STEP))
    special = sorted(vocabulary.special)[:_MOST_SPECIAL]
    texts = [vocabulary.pieces[token].decode("utf-8", "replace") for token in special]
    yield "".join(texts)
    yield " a😀 ".join(texts)
    some = vocabulary.pieces[:: 1 + len(vocabulary) // _MOST_PIECES]
    yield " ".join(piece.decode("utf-8", "replace") for piece in some)
