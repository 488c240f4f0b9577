"""Writes a drafter with what it has learned about a target for another program: whole and checked, or not at all."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.backend.profile.opened_drafter import OpenedDrafter, candidates, open_drafter
from engine.backend.storage import Repository
from engine.speculation.drafter.choice import drafter_source
from engine.speculation.drafter.torch_library import preload_torch
from engine.speculation.learning.judge import strength_of
from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.proposers.shared_vocabulary import shares_vocabulary
from engine.values.config import EngineConfig
from engine.values.drafters import DrafterRunner
from engine.values.errors import AdapterUnusable, DrafterUnusable, FileUnusable
from engine.values.exports import DrafterExported, ExportCheck, ExportEngine, ExportOrder
from engine.values.learned import AdapterRecord, AdapterSummary
from engine.values.places import expanded
from engine.values.targets import TargetRecord, TargetSource

_SPARE_BYTES = 64 << 20
_DRAFT_LENGTH = 4
_CARD = """# A drafter for {target}

Made by Slipstream of {drafter}; learned: {learned}. It guesses ahead of that model, and is not meant for chats.

What it learned comes from chats on the computer where it was made. Share it only with people who may know how you
write.
"""


def export_drafter(
    config: EngineConfig,
    order: ExportOrder,
    target: TargetSource,
    repository: Repository,
    library: Sequence[TargetRecord] = (),
) -> DrafterExported:
    """Takes seconds to minutes. Raises FileUnusable when it cannot be written there, DrafterUnusable, AdapterUnusable,
    StoreUnusable, TargetMissing and TargetUnusable."""
    out = expanded(order.out).absolute()
    _check_place(out)
    preload_torch()
    from engine.speculation.drafter.adapter import share_of
    from engine.speculation.drafter.export_check import TEXTS

    with closing(load_vocabulary(target.path)) as words:
        vocabulary = words.vocabulary
        samples = [words.tokenize(text) for text in TEXTS]
    opened = _opened(config, order, vocabulary, repository, library)
    is_shared = shares_vocabulary(vocabulary, opened.pieces)
    if order.engine is ExportEngine.LLAMA_CPP and not is_shared:
        raise DrafterUnusable(
            "{name} has its own vocabulary, but llama.cpp drafts only in the model's; make a drafter that has it: "
            "slipstream distill --target {target} --vocabulary target --out FOLDER",
            name=opened.source.name,
            target=shlex.quote(order.target),
        )
    if not is_shared:
        samples = [opened.encode(text) for text in TEXTS]
    pair = vocabulary.fingerprint, opened.fingerprint
    record = _learned(repository, pair, order, opened.source.name)
    known = repository.candidate(*pair) if order.snapshot is None else None
    strength = strength_of(() if known is None else known.capital)  # at which it drafts here
    adapter = None if record is None else share_of(opened.read_adapter(record.weights), strength)
    written = _Export(order, target, opened, vocabulary if is_shared else None, record)
    with _beside(out) as new:
        check = written.write(new, adapter, samples)
        size_bytes = sum(file.stat().st_size for file in [new, *new.rglob("*")] if file.is_file())
        _move(new, out)
    return written.outcome(out, size_bytes, check)


def command_for(order: ExportOrder, target: TargetSource, out: Path, is_shared: bool) -> tuple[str, str]:
    """The line that serves the target with the drafter, and what is to be put into it."""
    if order.engine is ExportEngine.LLAMA_CPP:
        return shlex.join(
            [
                *("llama-server", "--model", str(target.path), "--spec-type", "draft-simple"),
                *("--spec-draft-model", str(out), "--spec-draft-n-max", str(_DRAFT_LENGTH)),
            ]
        ), ""
    hint = f"MODEL is {target.name} in Hugging Face's format: a folder, or its name on the hub."
    if order.engine is ExportEngine.VLLM:
        settings: dict[str, Any] = {
            "method": "draft_model",
            "model": str(out),
            "num_speculative_tokens": _DRAFT_LENGTH,
        }
        if not is_shared:
            settings["use_heterogeneous_vocab"] = True
        return f"vllm serve MODEL --speculative-config {shlex.quote(json.dumps(settings))}", hint
    more = (
        "" if is_shared else f", tokenizer=tokenizer, assistant_tokenizer=AutoTokenizer.from_pretrained({str(out)!r})"
    )
    return f"model.generate(**inputs, assistant_model=AutoModelForCausalLM.from_pretrained({str(out)!r}){more})", (
        f"model is {target.name} as transformers loads it, and inputs are what its tokenizer made of the prompt."
    )


@dataclass(frozen=True, slots=True)
class _Export:
    order: ExportOrder
    target: TargetSource
    opened: OpenedDrafter
    vocabulary: Vocabulary | None  # of the target, where the drafter shares it
    record: AdapterRecord | None

    def write(self, new: Path, adapter: Any, samples: Sequence[Sequence[int]]) -> ExportCheck:
        """Writes it to a path that is free, and loads it there."""
        from engine.speculation.drafter.export_check import check_folder, check_gguf, check_vllm
        from engine.speculation.drafter.folder_export import write_folder
        from engine.speculation.drafter.gguf_export import GgufOrder, write_gguf

        opened, order = self.opened, self.order
        num_tokens = opened.shape.vocabulary if self.vocabulary is None else len(self.vocabulary)
        drafter = opened.merged(adapter, num_tokens, samples)
        is_gguf = order.engine is ExportEngine.LLAMA_CPP
        _check_disk(new.parent, drafter.num_weights * (order.bits if is_gguf else 16) // 8)
        try:
            if is_gguf:
                write_gguf(new, drafter, GgufOrder(self.target.path, opened.gguf, order.bits))
                return check_gguf(new, drafter)
            new.mkdir()
            write_folder(new, drafter, opened.path, self._card())
        except OSError as error:
            raise _unwritable(new.parent, error) from error
        check = check_folder(new, drafter)
        if order.engine is ExportEngine.TRANSFORMERS:
            return check
        more = check_vllm(new)
        return ExportCheck(check.proven + more.proven, check.unproven + more.unproven)

    def outcome(self, out: Path, size_bytes: int, check: ExportCheck) -> DrafterExported:
        is_shared = self.vocabulary is not None
        command, hint = command_for(self.order, self.target, out, is_shared)
        snapshot = None if self.record is None else _summary(self.record)
        name = self.opened.source.name
        return DrafterExported(
            self.order, name, self.target.name, snapshot, size_bytes, is_shared, check, command, hint
        )

    def _card(self) -> str:
        learned = "nothing yet" if self.record is None else f"from {self.record.num_learned:,} replies"
        return _CARD.format(target=self.target.name, drafter=self.opened.source.name, learned=learned)


def _opened(
    config: EngineConfig,
    order: ExportOrder,
    vocabulary: Vocabulary,
    repository: Repository,
    library: Sequence[TargetRecord],
) -> OpenedDrafter:
    if order.drafter is not None:
        return open_drafter(drafter_source(order.drafter, config.data_dir, lambda: library), config.data_dir)
    learned = {
        drafter: max(each.num_learned for each in snapshots)
        for (target, drafter), snapshots in repository.summarize_learned().adapters.items()
        if target == vocabulary.fingerprint and snapshots
    }
    best: OpenedDrafter | None = None
    for source in candidates(config.data_dir, library):
        if not learned or (source.runner is DrafterRunner.LLAMA_CPP and source.key not in learned):
            continue
        try:
            opened = open_drafter(source, config.data_dir)
        except DrafterUnusable:  # another one may do
            continue
        if opened.fingerprint in learned and (best is None or learned[opened.fingerprint] > learned[best.fingerprint]):
            best = opened
    if best is None:
        raise AdapterUnusable(
            "No drafter has learned from chats with {target} yet; name the one to export with --drafter.",
            target=order.target,
        )
    return best


def _learned(repository: Repository, pair: tuple[str, str], order: ExportOrder, name: str) -> AdapterRecord | None:
    if order.snapshot == 0:
        return None
    if order.snapshot is None:
        return repository.published_adapter(*pair)
    record = repository.adapter(*pair, order.snapshot)
    if record is None:
        raise AdapterUnusable(
            "{name} has no snapshot {snapshot} for this model; `slipstream profile show` lists the snapshots.",
            name=name,
            snapshot=order.snapshot,
        )
    return record


def _summary(record: AdapterRecord) -> AdapterSummary:
    names = AdapterSummary.__dataclass_fields__
    return AdapterSummary(**{name: getattr(record, name) for name in names})


def _check_place(out: Path) -> None:
    if os.path.lexists(out):
        raise FileUnusable("{out} already exists; choose another name, or remove it.", out=out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(out.parent, error) from error


def _check_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        raise FileUnusable(
            "The drafter takes {needed:,.0f} MB, but only {free:,.0f} MB are free at {folder}; free some space or "
            "choose another folder.",
            needed=needed / 1e6,
            free=free / 1e6,
            folder=folder,
        )


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A path in a folder that only this user reads, and that is gone afterwards."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name[:100]}.", suffix=".part", dir=out.parent))
    except OSError as error:
        raise _unwritable(out.parent, error) from error
    try:
        yield folder / out.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(new: Path, out: Path) -> None:
    """Moves the folder into place once all of it is on the disk."""
    try:
        for file in [new, *new.rglob("*")]:
            file.chmod(0o700 if file.is_dir() else 0o600)
            if file.is_file():
                with file.open("rb+") as written:
                    os.fsync(written.fileno())
        _check_place(out)  # another program may have written there meanwhile
        new.rename(out)
    except OSError as error:
        raise _unwritable(out.parent, error) from error


def _unwritable(folder: Path, error: OSError) -> FileUnusable:
    return FileUnusable(
        "{folder} cannot be written ({reason}); choose another folder, or free some disk space.",
        folder=folder,
        reason=error.strerror or error,
    )
