"""Matches projectors with models: a file next to a model, of the width that it reads and a name like its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePath, PurePosixPath

from engine.speculation.model.files.gguf_header import GgufHeader, read_header
from engine.speculation.model.files.model_files import is_gguf, no_model, quantization_in
from engine.speculation.model.files.neighbours import files_beside, likeness, words_of
from engine.speculation.model.files.pairing import head_method
from engine.values.errors import MendableError

_PEEKED = 4096  # bytes, in which a header says what it is of
_CLIP = b"general.architecture" + (8).to_bytes(4, "little") + (4).to_bytes(8, "little") + b"clip"
_FORMS = ("F16", "BF16", "Q8_0", "F32")  # best first; all are exact enough, and run everywhere
# Kinds of old files, in which the width is that of something else.
_OF_OTHER_WIDTH = ("mlp", "mlp_norm", "ldp", "ldpv2", "resampler", "adapter")


def projector_of(path: Path) -> Path | None:
    """The projector with which this model sees; None if there is none next to it, or it is unclear whose it is."""
    files = files_beside(path)
    projectors = [file for file in files if _is_projector(file)]
    if not projectors:
        return None
    models = {words_of(file) for file in (path, *files) if file not in projectors and not is_no_model(file)}
    own, width = words_of(path), _width(path)

    def fits(projector: Path) -> bool:
        alike = likeness(projector, own)
        is_likest = alike > 0 and all(likeness(projector, other) <= alike for other in models)
        return (is_likest or len(models) == 1) and _width_of(projector) in (0, width)

    return min(filter(fits, projectors), key=lambda file: _rank(file, own), default=None)


def is_needed(projector: Path) -> bool:
    """True if models are left in its folder, or below."""
    return any(not is_no_model(file) and not _is_projector(file) for file in projector.parent.rglob("*.gguf"))


def is_no_model(path: Path) -> bool:
    return bool(no_model(path.name)) or head_method(path) is not None


def projector_among(names: Iterable[str], model: str) -> str | None:
    """The projector for a model of a repository, among the files of that; both are names with folders."""
    own, folders = words_of(PurePosixPath(model)), (PurePosixPath("."), PurePosixPath(model).parent)
    paths = [path for path in map(PurePosixPath, names) if path.parent in folders]
    projectors = [path for path in paths if is_gguf(path.name) and "mmproj" in path.name.lower()]
    found = min(projectors, key=lambda path: _rank(path, own), default=None)
    return None if found is None else str(found)


def _rank(projector: PurePath, model: tuple[str, ...]) -> tuple[int, int, str]:
    """A key that sorts the best for a model first: by its name, then by its quantization."""
    form = quantization_in(projector.name)
    return -likeness(projector, model), _FORMS.index(form) if form in _FORMS else len(_FORMS), projector.name


def _is_projector(path: Path) -> bool:
    try:
        state = path.stat()
        return _says_clip(path, state.st_size, state.st_mtime_ns)
    except OSError:
        return False


@lru_cache(4096)
def _says_clip(path: Path, _size: int, _changed_ns: int) -> bool:
    with path.open("rb") as file:
        return _CLIP in file.read(_PEEKED)


def _width(path: Path) -> int:
    """The width of what a model reads for each token; 0 if it does not say."""
    header = _header(path)
    return 0 if header is None else header.number(f"{header.text('general.architecture')}.embedding_length")


def _width_of(projector: Path) -> int:
    """The width of the models that it is for; 0 if it does not say; -1 if it shows them nothing."""
    header = _header(projector)
    if header is None or header.values.get("clip.has_vision_encoder") is not True:
        return -1
    kind = header.text("clip.projector_type") or header.text("clip.vision.projector_type")
    return 0 if kind in _OF_OTHER_WIDTH else header.number("clip.vision.projection_dim")


def _header(path: Path) -> GgufHeader | None:
    try:
        return read_header(path)
    except MendableError:
        return None
