"""What the name of a GGUF file shows: which parts belong together, its quantization, what is no model."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from engine.values.errors import FetchFailed
from engine.values.sentences import say, template

NO_EMBEDDER = template(
    "{name} makes no embeddings; name a model made for that, such as all-MiniLM, bge or nomic-embed."
)
_PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.IGNORECASE)
_QUANTIZATION = re.compile(
    r"(?:^|[-_. ])((?:UD-)?I?Q[1-8](?:_[0-9A-Z]{1,3}){0,3}|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|FP16|F32|FP32)"
    r"(?=$|[-_. ])",
    re.IGNORECASE,
)
_MOST_PARTS = 999

_UNUSUAL = re.compile(r"[^\w .()+,=@~-]", re.ASCII)  # forbidden in names by some system
_RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\..*)?", re.IGNORECASE)  # Windows' own
_LONGEST = 180  # bytes of a name, to leave room for the endings of parts and notes
_DEEPEST = 4  # folders of a repository


def is_gguf(name: str) -> bool:
    return name.lower().endswith(".gguf")


def part_of(name: str) -> tuple[int, int]:
    """Which part of how many this file is; (1, 1) for one that is whole."""
    match = _PART.fullmatch(name)
    part, parts = (int(match["part"]), int(match["parts"])) if match else (1, 1)
    return (part, parts) if 1 <= part <= parts <= _MOST_PARTS else (1, 1)


def part_names(name: str) -> tuple[str, ...]:
    """All files that a model is made of, first part first."""
    match = _PART.fullmatch(name)
    _, parts = part_of(name)
    if match is None or parts == 1:
        return (name,)
    between, end = name[match.end("part") : match.start("parts")], name[match.end("parts") :]
    return tuple(f"{match['stem']}-{part:05}{between}{parts:05}{end}" for part in range(1, parts + 1))


def part_paths(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(name) for name in part_names(path.name))


def model_name(path: PurePath) -> str:
    """The name for users: without the ending and the number of a part."""
    match = _PART.fullmatch(path.name)
    return match["stem"] if match else path.stem


def quantization_in(name: str) -> str:
    """The quantization in a name, in llama.cpp's spelling, such as Q4_K_M; empty if there is none."""
    match = _PART.fullmatch(name)
    found = _QUANTIZATION.findall(match["stem"] if match else name.removesuffix(".gguf"))
    return found[-1].upper().replace("FP16", "F16").replace("FP32", "F32") if found else ""


def bits_of(name: str) -> int:
    """The bits for each weight that its quantization names; 0 if it has none."""
    number = re.search(r"\d+", quantization_in(name))
    return int(number[0]) if number else 0


def without_quantization(stem: str) -> str:
    """A name without the quantization that it ends in; the whole of it if there is nothing before that."""
    found = [match for match in _QUANTIZATION.finditer(stem) if match.end() == len(stem)]
    rest = stem[: found[-1].start(1)].rstrip("-_. ") if found else stem
    return rest or stem


def no_model(name: str) -> str:
    """The sentence for a file whose name shows that it is no model of its own; empty if it may be one."""
    lowered = name.lower()
    if "mmproj" in lowered:
        return say("{name} only lets another model see pictures; choose that model itself.", name=name)
    if "imatrix" in lowered:
        return say("{name} contains statistics for quantizing models; choose the model itself.", name=name)
    if re.search(r"(?:^|[-_.])lora(?:[-_.]|$)", lowered):
        return say("{name} is an addition to another model; choose that model itself.", name=name)
    return ""


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
