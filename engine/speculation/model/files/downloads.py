"""The places of the hub's model files on the disk."""

from __future__ import annotations

import re
from pathlib import Path

from engine.speculation.model.files.model_files import is_gguf
from engine.values.errors import FetchFailed

_UNUSUAL = re.compile(r"[^\w .()+,=@~-]", re.ASCII)  # forbidden in names by some system
_RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\..*)?", re.IGNORECASE)  # Windows' own
_LONGEST = 180  # bytes of a name, to leave room for the endings of parts and notes
_DEEPEST = 4  # folders of a repository


def models_folder(data_dir: Path) -> Path:
    return data_dir / "models"


def download_path(folder: Path, repository: str, name: str) -> Path:
    """The path for the file of this name, or its first part: always inside `folder`. `repository` is a name that the
    hub allows. Raises FetchFailed for what is no model file."""
    *folders, file = [_safe(piece) for piece in name.split("/") if piece.strip(" .")] or [""]
    if not is_gguf(file) or len(folders) > _DEEPEST:
        raise FetchFailed("“{name}” is not a model file; choose one that ends in .gguf.", name=name)
    return folder.joinpath(repository.replace("/", "--"), *folders, file)


def _safe(name: str) -> str:
    """A name that is valid on every system and cannot lead out of the folder."""
    cleaned = _UNUSUAL.sub("_", name).strip(" .")
    if _RESERVED.fullmatch(cleaned):
        cleaned = f"_{cleaned}"
    while len(cleaned.encode()) > _LONGEST:
        cleaned = cleaned[1:]  # the end holds the quantization, the part and the format
    return cleaned or "_"
