"""The projector that lets a model see, run by llama.cpp's libmtmd. It turns a picture into what the model reads in
place of tokens. It is a file next to that of its model; nothing is loaded before the first picture."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from llama_cpp import llama_cpp as lib

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.interface import Interrupted, PictureRun, SeenPicture
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.runtime import LOG_CALLBACK, forget_errors, has_complained, last_error
from engine.values.errors import Cancelled, TargetUnusable
from engine.values.pictures import MOST_SIDE, Picture
from engine.values.sentences import as_text, from_text, say
from engine.values.stop_signal import StopSignal

if TYPE_CHECKING:  # it is imported with the first picture
    from PIL.Image import Image

Embedding = npt.NDArray[np.float32]  # shape (cells, what the model reads for each)

_MOST_CELLS = 1024  # of a picture: more take minutes to work out without a graphics card
_CLOSER = 0.95  # times the side that should give that many
_TRIES = 4
_LEAST_SIDE, _MOST_RATIO = 28, 16  # of a picture; a narrower one gets a white border, or some projectors refuse it
_NUM_AT_HAND = 4  # pictures that stay in memory as the projector reads them
_EMBEDDING_BYTES = 64 << 20  # of what pictures look like to the model, so that it is not worked out again

_SEQUENCE = 0

_MEMORY_BYTES = 6 << 30  # over its weights, which are copied into memory
_OPENING_S, _SLOWEST_DISK = 60.0, 5 << 20  # of processor time, and bytes a second
_ENCODING_S = 3.0  # encoding a picture may take a minute, but what ends the process does so soon after it begins
_SIZE = 64, 48  # pixels
_CONTEXT = 4096  # tokens
_complaints: dict[tuple[str, str], str] = {}  # of this process, by the stamps of both files; empty: there is none
_lock = threading.Lock()


def can_project() -> bool:
    return any(Path(lib._base_path).glob("*mtmd*"))


@cache
def _library() -> Any:
    """libmtmd, imported with the first picture: other builds lack it."""
    os.environ["MTMD_CPP_LIB"] = str(lib._base_path)  # next to the libllama in use, wherever that is
    from llama_cpp import mtmd_cpp

    mtmd_cpp.mtmd_helper_log_set(LOG_CALLBACK, ctypes.c_void_p(0))
    return mtmd_cpp


@dataclass(frozen=True, slots=True)
class SeeingModel:
    model: Any  # llama.cpp's
    path: Path
    num_threads: int
    on_gpu: bool
    context_size: int
    max_tokens: int  # of one pass


class Projector:
    """Reads pictures for one model, which must outlive it, once it is open. Used by one thread at a time."""

    def __init__(self, path: Path, seeing: SeeingModel) -> None:
        self.path = path
        self._for = seeing
        self._context: Any = None  # libmtmd's, from the first picture on
        self._parts: dict[str, tuple[tuple[int, ...] | PictureRun, ...]] = {}  # by digest; without data
        self._at_hand: OrderedDict[str, Any] = OrderedDict()  # libmtmd's chunks by digest, oldest first
        self._embeddings: OrderedDict[tuple[str, int], Embedding] = OrderedDict()  # by digest and run, oldest first

    def see(self, picture: Picture, stop: StopSignal) -> SeenPicture:
        _check(stop)
        if picture.digest not in self._parts:
            self._take_in(picture)
        parts = self._parts[picture.digest]
        return SeenPicture(tuple(part if isinstance(part, tuple) else replace(part, picture=picture) for part in parts))

    def embedding(self, run: PictureRun, stop: StopSignal) -> Embedding:
        """The embedding of a part of a picture. Raises TargetUnusable or Interrupted."""
        key = run.picture.digest, run.number
        embedding = self._embeddings.pop(key, None)
        if embedding is None:
            self.encode(run, stop)
            pointer = _library().mtmd_get_output_embd(self._context)
            width = lib.llama_model_n_embd_inp(self._for.model)
            embedding = np.ctypeslib.as_array(pointer, (run.num_cells, width)).copy()
            if not np.isfinite(embedding).all():
                raise TargetUnusable(
                    "{name} does not compute numbers; it is damaged: download it again.", name=self.path.name
                )
        self._embeddings[key] = embedding
        while len(self._embeddings) > 1 and sum(each.nbytes for each in self._embeddings.values()) > _EMBEDDING_BYTES:
            self._embeddings.popitem(last=False)
        return embedding

    def encode(self, run: PictureRun, stop: StopSignal) -> None:
        """Encodes a part of a picture, which cannot be interrupted. Raises TargetUnusable or Interrupted."""
        chunk = self._chunk(run)
        _check(stop)
        forget_errors()
        if _library().mtmd_encode_chunk(self._context, chunk):
            raise TargetUnusable(
                "{name} cannot read this picture (llama.cpp: {complaint}).", name=self.path.name, complaint=last_error()
            )

    def decode(self, run: PictureRun, context: Any, position: int, stop: StopSignal) -> int:
        """Runs a pass of the model, whose context this is, over a part of a picture, from this position on. Returns
        what llama_decode does. Raises TargetUnusable or Interrupted."""
        embedding, chunk = self.embedding(run, stop), self._chunk(run)
        _check(stop)
        library, end = _library(), lib.llama_pos()
        values = embedding.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        callback = library.mtmd_helper_post_decode_callback()  # none
        return int(
            library.mtmd_helper_decode_image_chunk(
                self._context,
                context,
                chunk,
                values,
                position,
                _SEQUENCE,
                self._for.max_tokens,
                ctypes.byref(end),
                callback,
                None,
            )
        )

    def close(self) -> None:
        while self._at_hand:
            _library().mtmd_input_chunks_free(self._at_hand.popitem()[1])
        if self._context is not None:
            _library().mtmd_free(self._context)
            self._context = None

    @property
    def is_open(self) -> bool:
        return self._context is not None

    def open(self, stop: StopSignal) -> None:
        """Opens it before the first picture; if it does not fit on the graphics cards, the CPU runs it. Raises
        TargetUnusable or Interrupted."""
        library = _library()
        loading = library.mtmd_progress_callback(lambda _progress, _data: not stop.is_set())
        parameters = library.mtmd_context_params_default()
        parameters.n_threads = self._for.num_threads
        parameters.print_timings = parameters.warmup = False
        parameters.progress_callback = loading
        context = None
        for on_gpu in dict.fromkeys((self._for.on_gpu, False)):
            _check(stop)
            parameters.use_gpu = on_gpu
            forget_errors()
            context = context or library.mtmd_init_from_file(os.fsencode(self.path), self._for.model, parameters)
        if not context:
            _check(stop)
            raise self._explained()
        if not library.mtmd_support_vision(context):
            library.mtmd_free(context)
            raise TargetUnusable("{name} does not let a model see pictures; remove it.", name=self.path.name)
        self._context = context

    def _take_in(self, picture: Picture) -> None:
        chunks = self._read(picture)
        try:
            self._parts[picture.digest] = self._parts_of(chunks, replace(picture, data=b""))
        except TargetUnusable:
            _library().mtmd_input_chunks_free(chunks)
            raise
        self._at_hand[picture.digest] = chunks
        while len(self._at_hand) > _NUM_AT_HAND:
            _library().mtmd_input_chunks_free(self._at_hand.popitem(last=False)[1])

    def _chunk(self, run: PictureRun) -> Any:
        digest = run.picture.digest
        if digest not in self._at_hand:
            self._take_in(run.picture)
        self._at_hand.move_to_end(digest)
        chunk = [each for each in _listed(self._at_hand[digest]) if not _is_text(each)][run.number]
        assert _library().mtmd_input_chunk_get_n_tokens(chunk) == run.num_cells, "another target has seen it"
        return chunk

    def _read(self, picture: Picture) -> Any:
        """The picture as libmtmd's chunks: scaled down if it has too many cells and that makes fewer."""
        image = _decoded(picture)
        chunks = self._chunks_of(image)
        most = min(_MOST_CELLS, self._for.context_size // 2)
        for _ in range(_TRIES):
            num_cells = _num_cells(chunks)
            if num_cells <= most:
                break
            share = _CLOSER * sqrt(most / num_cells)
            image = image.resize((max(1, round(share * image.width)), max(1, round(share * image.height))))
            fewer = self._chunks_of(image)
            chunks, rejected = (fewer, chunks) if _num_cells(fewer) < num_cells else (chunks, fewer)
            _library().mtmd_input_chunks_free(rejected)
            if rejected is fewer:
                break
        return chunks

    def _chunks_of(self, image: Image) -> Any:
        library, marker = _library(), _library().mtmd_default_marker()
        pixels = np.ascontiguousarray(np.asarray(image, np.uint8))
        bitmap = library.mtmd_bitmap_init(
            image.width, image.height, pixels.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        )
        text = library.mtmd_input_text(marker, len(marker), False, False)
        chunks = library.mtmd_input_chunks_init()
        forget_errors()
        try:
            failed = library.mtmd_tokenize(self._context, chunks, ctypes.byref(text), (ctypes.c_void_p * 1)(bitmap), 1)
        finally:
            library.mtmd_bitmap_free(bitmap)
        if failed:
            library.mtmd_input_chunks_free(chunks)
            raise TargetUnusable(
                "{name} cannot read a picture of {width} × {height} pixels; attach a part of it or another one. "
                "(llama.cpp: {complaint})",
                name=self.path.name,
                width=image.width,
                height=image.height,
                complaint=last_error(),
            )
        return chunks

    def _parts_of(self, chunks: Any, picture: Picture) -> tuple[tuple[int, ...] | PictureRun, ...]:
        """Raises TargetUnusable."""
        library = _library()
        num_tokens = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self._for.model))
        parts: list[tuple[int, ...] | PictureRun] = []
        num_runs = 0
        for chunk in _listed(chunks):
            if _is_text(chunk):
                tokens = _tokens_of(chunk)
                if not all(0 <= token < num_tokens for token in tokens):  # special tokens of another model
                    raise self._stranger()
                parts.append(tokens)
                continue
            num_cells = library.mtmd_input_chunk_get_n_tokens(chunk)
            if num_cells > self._for.max_tokens and library.mtmd_decode_use_non_causal(self._context, chunk):
                raise TargetUnusable(  # llama.cpp would end the process
                    "{name} turns a picture into {tokens:,} tokens, which must be read at once, but at most {most} "
                    "can be. Choose another model for pictures.",
                    name=self.path.name,
                    tokens=num_cells,
                    most=self._for.max_tokens,
                )
            num_places = library.mtmd_input_chunk_get_n_pos(chunk)
            parts.append(PictureRun(picture, num_runs, num_places, num_cells))
            num_runs += 1
        return tuple(parts)

    def _explained(self) -> TargetUnusable:
        if has_complained("mismatch between text model"):
            return self._stranger()
        if has_complained("alloc"):
            return TargetUnusable("{name} does not fit into memory; close other programs.", name=self.path.name)
        if has_complained("unknown projector type"):
            return TargetUnusable("{name} is of a kind that this version cannot run; remove it.", name=self.path.name)
        return TargetUnusable("{name} is damaged; download it again.", name=self.path.name)

    def _stranger(self) -> TargetUnusable:
        return TargetUnusable(
            "{name} does not belong to {model}; remove it, or download the one of this model.",
            name=self.path.name,
            model=self._for.path.name,
        )


def _check(stop: StopSignal) -> None:
    if stop.is_set():
        raise Interrupted


def _decoded(picture: Picture) -> Image:
    """The picture in RGB. Raises TargetUnusable."""
    from PIL import Image, ImageOps

    try:
        with Image.open(BytesIO(picture.data), formats=("PNG", "JPEG")) as opened:
            if max(opened.size) > MOST_SIDE:
                raise TargetUnusable("A picture in this chat is larger than pictures may be; attach it again.")
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise TargetUnusable("A picture in this chat is damaged; attach it again.") from error
    least = max(_LEAST_SIDE, max(image.size) // _MOST_RATIO)
    if min(image.size) >= least:
        return image
    return ImageOps.pad(image, (max(image.width, least), max(image.height, least)), color="white")


def _listed(chunks: Any) -> list[Any]:
    count = _library().mtmd_input_chunks_size(chunks)
    return [_library().mtmd_input_chunks_get(chunks, place) for place in range(count)]


def _is_text(chunk: Any) -> bool:
    return bool(_library().mtmd_input_chunk_get_type(chunk) == _library().MTMD_INPUT_CHUNK_TYPE_TEXT)


def _tokens_of(chunk: Any) -> tuple[int, ...]:
    count = ctypes.c_size_t()
    tokens = _library().mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
    return tuple(tokens[place] for place in range(count.value))


def _num_cells(chunks: Any) -> int:
    return sum(_library().mtmd_input_chunk_get_n_tokens(chunk) for chunk in _listed(chunks) if not _is_text(chunk))


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
