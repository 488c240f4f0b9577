"""The facts about a model file: read once, stored, and read again when the file has changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gguf.constants import GGMLQuantizationType, LlamaFileType
from pydantic import TypeAdapter, ValidationError

from engine.speculation.model.files.architecture import MemoryNeeds, memory_of, no_chat, speculation_of
from engine.speculation.model.files.brought import method_of, own_layers
from engine.speculation.model.files.gguf_header import GgufHeader, read_model
from engine.speculation.model.files.identity import file_identity
from engine.speculation.model.files.model_files import model_name, part_paths, quantization_in
from engine.values.errors import MendableError, TargetMissing
from engine.values.sentences import Told
from engine.values.targets import HeadMethod, TargetDetails

_FORMAT = 7  # of stored facts; those in another format are read again
_MIXTURES = {int(kind): kind.name.split("_", 1)[1] for kind in LlamaFileType if kind is not LlamaFileType.GUESSED}
_VOCABULARIES = {"gpt2": "BPE", "llama": "SPM", "bert": "WPM", "t5": "UGM", "rwkv": "RWKV", "plamo2": "PLaMo"}


@dataclass(frozen=True, slots=True)
class Stamp:
    """The stamp that identifies an unchanged file without reading it. All parts together."""

    size_bytes: int
    changed_ns: int  # time of the last change of any part


@dataclass(frozen=True, slots=True)
class TargetFacts:
    format: int
    stamp: Stamp
    identity: str  # as in `TargetSource`
    details: TargetDetails | None  # None where the header cannot be read
    memory: MemoryNeeds | None
    problem: Told  # why it cannot be loaded, in a sentence; else empty
    head: HeadMethod | None = None  # it is nothing but a drafter for one model, which guesses like this
    own_layers: int = 0  # of this model, that draft for it


_ADAPTER = TypeAdapter(TargetFacts)


def facts_of(path: Path, stored: str = "") -> TargetFacts:
    """The stored facts if the file is unchanged, else those read from it. Raises TargetMissing."""
    stamp = stamp_of(path)
    known = _decode(stored)
    return known if known is not None and known.stamp == stamp else _read(path, stamp)


def encode(facts: TargetFacts) -> str:
    return _ADAPTER.dump_json(facts).decode()


def stamp_of(path: Path) -> Stamp:
    """Raises TargetMissing. Missing parts are left out; reading reports them."""
    states = []
    for part in part_paths(path):
        try:
            states.append(part.stat())
        except (OSError, ValueError):
            if part == path:
                raise TargetMissing(
                    "The file {path} is gone; put it back, or remove it from the list.", path=path
                ) from None
    return Stamp(sum(state.st_size for state in states), max(state.st_mtime_ns for state in states))


def _decode(stored: str) -> TargetFacts | None:
    try:
        facts = _ADAPTER.validate_json(stored)
    except ValidationError:
        return None
    return facts if facts.format == _FORMAT else None


def _read(path: Path, stamp: Stamp) -> TargetFacts:
    identity = file_identity(path)
    try:
        header = read_model(path)
    except MendableError as error:
        return TargetFacts(_FORMAT, stamp, identity, None, None, error.sentence)
    problem, head = no_chat(header, path.name), method_of(header)
    details, memory = _details(header, path), memory_of(header)
    return TargetFacts(_FORMAT, stamp, identity, details, memory, problem, head, own_layers(header))


def _details(header: GgufHeader, path: Path) -> TargetDetails:
    architecture = header.text("general.architecture")
    can_speculate, speculation = speculation_of(header)
    kind = header.text("tokenizer.ggml.model")
    pre = header.text("tokenizer.ggml.pre")
    file_type = header.values.get("general.file_type")
    quantization = quantization_of(file_type if isinstance(file_type, int) else None, header.type_bytes)
    vocabulary = _VOCABULARIES.get(kind, kind)
    return TargetDetails(
        name=_line(header.text("general.name")) or model_name(path),
        architecture=_line(architecture),
        num_parameters=header.num_weights,
        quantization=quantization or quantization_in(path.name),
        trained_context=header.number(f"{architecture}.context_length"),
        vocabulary_size=header.length("tokenizer.ggml.tokens") or header.number(f"{architecture}.vocab_size"),
        vocabulary_kind=_line(f"{vocabulary} ({pre})" if pre and vocabulary else vocabulary),
        has_chat_template=bool(header.text("tokenizer.chat_template")),
        licence=_line(header.text("general.license") or header.text("general.license.name")),
        can_speculate=can_speculate,
        speculation=speculation,
    )


def quantization_of(file_type: int | None, type_bytes: dict[int, int]) -> str:
    """The quantization that the file itself names, or else the type that takes the most room; empty if neither is
    known."""
    if file_type in _MIXTURES:
        return _MIXTURES[file_type]
    return GGMLQuantizationType(max(type_bytes, key=type_bytes.__getitem__)).name if type_bytes else ""


def _line(text: str) -> str:
    """Text fit for one line of a window, whatever the file contains."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[:400])
    return " ".join(printable.split())[:200]
