"""What is learned as the members of a profile, with their manifest, and back where every one of them is in order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from engine.backend.profile import archive
from engine.backend.profile.manifest import (
    FORMAT,
    MANIFEST,
    MOST_NAMES,
    STATISTICS,
    AdapterItem,
    Format,
    Manifest,
    Member,
    NamesItem,
    NgramsItem,
    RecallItem,
    Statistics,
    TargetItem,
)
from engine.backend.profile.members import (
    LONGEST_STRING,
    MOST_NGRAMS,
    MOST_TEXTS,
    TensorsBroken,
    check_weights,
    pack_ngrams,
    pack_texts,
    unpack_ngrams,
    unpack_texts,
)
from engine.values.learned import AdapterRecord, FingerprintPair, Learned, TargetStatistics
from engine.values.sentences import say

_MOST_JSON_BYTES = 2**22
_CANNOT_TRAVEL = (ValidationError, TensorsBroken)
_Key = TypeVar("_Key")
_Value = TypeVar("_Value", covariant=True)
_Read = Callable[[str], bytes]
_CONTROL_CODES = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Contents:
    created_at: datetime
    program: str
    learned: Learned


def to_members(contents: Contents) -> dict[str, bytes]:
    """Returns members by their names, the manifest first. Leaves out what could not be imported, so that damage of
    the store does not travel. Raises FileUnusable for more than could be imported."""
    learned = contents.learned
    if any(len(rows) > MOST_NGRAMS for rows in learned.ngrams.values()):
        raise archive.too_much()
    members: dict[str, bytes] = {STATISTICS: _statistics(learned.statistics)}
    ngrams, adapters, recall = [], [], []
    for place, (pair, records) in enumerate(sorted(learned.ngrams.items()), start=1):
        name = f"ngrams/{place}.safetensors"
        short = [each for each in records if len(each.string) <= LONGEST_STRING]
        if not short:
            continue
        with suppress(*_CANNOT_TRAVEL):
            ngrams.append(NgramsItem(target=pair[0], drafter=pair[1], member=name))
            members[name] = pack_ngrams(short)
    for pair, of_pair in sorted(learned.adapters.items()):
        for adapter in of_pair:
            name = f"adapters/{adapter.number}.safetensors"  # a number is that of one adapter in the whole store
            with suppress(*_CANNOT_TRAVEL):
                check_weights(adapter.weights)
                adapters.append(_adapter_item(pair, adapter, name))
                members[name] = adapter.weights
    for place, (vocabulary, texts) in enumerate(sorted(learned.recall.items()), start=1):
        name = f"recall/{place}.safetensors"
        with suppress(*_CANNOT_TRAVEL):
            recall.append(RecallItem(vocabulary=vocabulary, member=name))
            members[name] = pack_texts(texts[-MOST_TEXTS:])
    manifest = Manifest(
        format=FORMAT,
        program=contents.program,
        created_at=contents.created_at,
        members=tuple(
            Member(name=name, size=len(content), sha256=_sha256(content)) for name, content in members.items()
        ),
        ngrams=tuple(ngrams),
        adapters=tuple(adapters),
        recall=tuple(recall),
        names=tuple(_names(learned)),
    )
    return {MANIFEST: manifest.model_dump_json(indent=2).encode()} | members


def from_members(path: Path, members: Mapping[str, bytes]) -> Contents:
    """`path` is named in errors. Raises FileUnusable unless all of it is in order."""
    manifest = _read_manifest(path, members)
    read = _checked(path, manifest, members)
    try:
        statistics = Statistics.model_validate_json(read(STATISTICS))
    except ValidationError as error:
        raise archive.damaged(path, say("its statistics are not in Slipstream's form")) from error
    pairs = {(item.target, item.drafter): item.member for item in manifest.ngrams}
    vocabularies = {item.vocabulary: item.member for item in manifest.recall}
    told = {target for target, _ in pairs} | {item.target for item in manifest.adapters} | {*vocabularies}
    learned = Learned(
        ngrams=_Lazy({pair: partial(_unpacked, path, read, name, unpack_ngrams) for pair, name in pairs.items()}),
        adapters=_adapters(path, manifest.adapters, read),
        recall=_Lazy({each: partial(_unpacked, path, read, name, unpack_texts) for each, name in vocabularies.items()}),
        statistics=tuple(TargetStatistics(**item.model_dump()) for item in statistics.targets),
        target_names={item.vocabulary: item.names for item in manifest.names if item.vocabulary in told},
    )
    for each in chain(learned.ngrams.values(), learned.recall.values(), *learned.adapters.values()):
        del each  # it was in order, or raised
    return Contents(manifest.created_at, manifest.program, learned)


class _Lazy(Mapping[_Key, _Value]):
    """Makes each value when it is read: all of them together would fill the memory."""

    def __init__(self, made: Mapping[_Key, Callable[[], _Value]]) -> None:
        self._made = made

    def __getitem__(self, key: _Key) -> _Value:
        return self._made[key]()

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class _LazyAdapters(Sequence[AdapterRecord]):
    """Makes each adapter when it is read."""

    def __init__(self, made: Sequence[Callable[[], AdapterRecord]]) -> None:
        self._made = made

    def __getitem__(self, place: Any) -> Any:
        return self._made[place]()

    def __len__(self) -> int:
        return len(self._made)


def _read_manifest(path: Path, members: Mapping[str, bytes]) -> Manifest:
    content = members.get(MANIFEST, b"")
    if not content:
        raise archive.damaged(path, say("it has no manifest"))
    try:
        if len(content) > _MOST_JSON_BYTES or len(members.get(STATISTICS, b"")) > _MOST_JSON_BYTES:
            raise ValueError("these are a few lines at most")
        if Format.model_validate_json(content).format > FORMAT:
            why = say("was written by a newer version of Slipstream")
            raise archive.not_used(path, why, say("install that version to import it"))
        return Manifest.model_validate_json(content)
    except ValueError as error:  # pydantic's, too
        raise archive.damaged(path, say("its manifest is not in Slipstream's form")) from error


def _checked(path: Path, manifest: Manifest, members: Mapping[str, bytes]) -> _Read:
    """Every member is listed once, used once, and has its size and digest, as often as it is read; nothing is listed
    twice."""
    listed = [MANIFEST, *(member.name for member in manifest.members)]
    items = manifest.ngrams, manifest.adapters, manifest.recall
    used = [MANIFEST, STATISTICS, *(item.member for kind in items for item in kind)]
    if sorted(listed) != sorted(members) or sorted(used) != sorted(members):
        raise archive.damaged(path, say("its manifest lists other members than it has"))
    by_name = {member.name: member for member in manifest.members}

    def read(name: str) -> bytes:
        content = members[name]
        if (len(content), _sha256(content)) != (by_name[name].size, by_name[name].sha256):
            raise archive.damaged(path, say("a member was changed after it was written"))
        return content

    subjects = (
        [(item.target, item.drafter) for item in manifest.ngrams],
        [item.vocabulary for item in manifest.recall],
        [item.vocabulary for item in manifest.names],
        [item.number for item in manifest.adapters],
        [(item.target, item.drafter) for item in manifest.adapters if item.is_published],
    )
    if any(len(set(each)) < len(each) for each in subjects):
        raise archive.damaged(path, say("its manifest lists something twice"))
    for name in by_name:
        read(name)
    return read


def _unpacked(path: Path, read: _Read, name: str, unpack: Callable[[bytes], _Value]) -> _Value:
    try:
        return unpack(read(name))
    except TensorsBroken as error:
        raise archive.damaged(path, say("numbers in it are not in Slipstream's form")) from error


def _adapters(path: Path, items: Iterable[AdapterItem], read: _Read) -> dict[FingerprintPair, Sequence[AdapterRecord]]:
    made: dict[FingerprintPair, list[Callable[[], AdapterRecord]]] = {}
    for item in sorted(items, key=lambda item: item.number):
        made.setdefault((item.target, item.drafter), []).append(partial(_adapter, path, item, read))
    return {pair: _LazyAdapters(found) for pair, found in made.items()}


def _adapter(path: Path, item: AdapterItem, read: _Read) -> AdapterRecord:
    weights = _unpacked(path, read, item.member, check_weights)
    figures = item.model_dump(exclude={"target", "drafter", "member"})
    return AdapterRecord(**figures, weights=weights)


def _adapter_item(pair: FingerprintPair, adapter: AdapterRecord, name: str) -> AdapterItem:
    figures = asdict(adapter)
    del figures["weights"], figures["ordinal"]  # which counts those of one store
    return AdapterItem(target=pair[0], drafter=pair[1], member=name, **figures)


def _statistics(statistics: Iterable[TargetStatistics]) -> bytes:
    items = []
    for each in statistics:
        with suppress(*_CANNOT_TRAVEL):
            items.append(TargetItem(**(asdict(each) | {"name": _name(each.name)})))
    return Statistics(targets=tuple(items)).model_dump_json(indent=2).encode()


def _names(learned: Learned) -> Iterator[NamesItem]:
    """The names of targets in the profile; other models that were used here are left out."""
    told = {vocabulary for vocabulary, _ in (*learned.ngrams, *learned.adapters)} | set(learned.recall)
    for vocabulary, names in sorted(learned.target_names.items()):
        if vocabulary in told:
            with suppress(*_CANNOT_TRAVEL):
                yield NamesItem(vocabulary=vocabulary, names=tuple(map(_name, names[:MOST_NAMES])))


def _name(name: str) -> str:
    return _CONTROL_CODES.sub("\ufffd", name)[:500]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
