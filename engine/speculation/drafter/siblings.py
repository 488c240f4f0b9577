"""Small models of well-known families, which may draft for the large ones: they have the same vocabulary.

A family is recognized by what the header of a file says of architecture and vocabulary, or by the name of a repository.
Sizes are rounded; the hub has the exact ones. SmolLM2 is not here, as the starter is its small one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.values.targets import HubFile, TargetDetails

LARGER = 3  # times the bytes of a small model: the least that a target must have for it to draft
_SAME_VOCABULARY = 0.01  # files of a family are padded differently


@dataclass(frozen=True, slots=True)
class Sibling:
    """The small model of a family, as a file of the hub."""

    name: str  # for people
    repository: str
    file: str
    size_bytes: int

    @property
    def hub_name(self) -> str:
        return f"{self.repository}:{self.file}"


@dataclass(frozen=True, slots=True)
class _Family:
    sibling: Sibling
    architectures: frozenset[str]
    vocabulary: str  # how its kind begins, as in `TargetDetails`
    vocabulary_size: int
    repositories: re.Pattern[str]  # what the names of its repositories contain


def _named(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){pattern}", re.IGNORECASE)


_FAMILIES = (
    _Family(
        Sibling(
            "Qwen 2.5 0.5B", "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5-0.5b-instruct-q4_0.gguf", 429_000_000
        ),  # Apache 2.0
        frozenset({"qwen2", "qwen2moe"}),
        "BPE (qwen2)",
        151_936,
        _named(r"qwen-?2(?:\.5)?-(?!vl|audio|omni)"),
    ),
    _Family(
        Sibling("Qwen 3 0.6B", "Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf", 639_000_000),  # Apache 2.0
        frozenset({"qwen3", "qwen3moe"}),
        "BPE (qwen2)",
        151_936,
        _named(r"qwen-?3-(?!vl|omni|next|embedding|reranker)"),
    ),
    _Family(
        Sibling(
            "Llama 3.2 1B", "bartowski/Llama-3.2-1B-Instruct-GGUF", "Llama-3.2-1B-Instruct-Q4_0.gguf", 773_000_000
        ),  # Llama 3.2, as its family
        frozenset({"llama"}),
        "BPE (llama-bpe)",
        128_256,
        _named(r"llama-?3(?:\.[123])?-(?!.*vision)"),
    ),
    _Family(
        Sibling(
            "Gemma 3 270M", "ggml-org/gemma-3-270m-it-GGUF", "gemma-3-270m-it-Q8_0.gguf", 292_000_000
        ),  # Gemma, as its family
        frozenset({"gemma3"}),
        "SPM",
        262_144,
        _named(r"gemma-?3-"),
    ),
)


def sibling_of(details: TargetDetails, size_bytes: int) -> Sibling | None:
    """The small model of a target's family; None if that is not known, or not much smaller."""
    for family in _FAMILIES:
        if (
            details.architecture in family.architectures
            and details.vocabulary_kind.startswith(family.vocabulary)
            and is_same_size(details.vocabulary_size, family.vocabulary_size)
        ):
            return _if_smaller(family.sibling, size_bytes)
    return None


def is_same_size(vocabulary_size: int, other: int) -> bool:
    """True if two files may have one vocabulary."""
    return abs(vocabulary_size - other) <= _SAME_VOCABULARY * other


def sibling_beside(files: tuple[HubFile, ...]) -> Sibling | None:
    """The small model of the family that the files of a repository belong to; see `sibling_of`."""
    smallest = min(files, key=lambda file: file.size_bytes, default=None)
    if smallest is None:
        return None
    family = next((each for each in _FAMILIES if each.repositories.search(smallest.repository)), None)
    return None if family is None else _if_smaller(family.sibling, smallest.size_bytes)


def _if_smaller(sibling: Sibling, size_bytes: int) -> Sibling | None:
    return sibling if LARGER * sibling.size_bytes <= size_bytes else None
