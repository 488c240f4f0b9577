"""Profiles with more than anybody learned, damaged ones, and ones that lie: shown, imported, and in the window."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from safetensors.numpy import save

from engine.backend.profile.members import pack
from engine.backend.profile.transfer import import_profile, summarize_profile
from engine.backend.storage import Repository
from engine.values.errors import FileUnusable
from engine.values.learned import NgramRecord
from tests.attacks.archives import carried_out, digest
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held

_IN_WINDOW = 5  # tries
_HUGE = 12_000_000  # tokens: as many as a file of 46 MB holds


def _rows(dice: random.Random, most_tokens: int) -> dict[str, Any]:
    """Rows of tokens, any of which may be too long, too many, or none."""
    num_rows = dice.choice([1, 100, 10_000, 60_000, 60_001, 1_000_000])
    length = dice.choice([1, 3, 3, 16, 17, max(1, most_tokens // num_rows)])
    num_rows = min(num_rows, max(1, most_tokens // length))
    tokens = np.arange(num_rows * length, dtype=np.int32) * dice.choice([1, 7_919]) % dice.choice([5, 2**31 - 1])
    lengths = np.full(num_rows, length, np.int32)
    match dice.randrange(12):
        case 0:
            lengths[-1] += dice.choice([-1, 1, 2**30])
        case 1:
            tokens[dice.randrange(len(tokens))] = -1
    return {"tokens": tokens.astype(np.int32), "lengths": lengths}


def _ngrams(dice: random.Random) -> bytes:
    rows = _rows(dice, _HUGE)
    num = len(rows["lengths"])
    counters = {name: np.full(num, dice.choice([1, 1, 1, 2**40, 0, 2**62]), np.int64) for name in ("count", "last_use")}
    return pack(rows | {"token": np.arange(num, dtype=np.int32), "doubts": np.zeros(num, np.int64)} | counters)


def _adapter(dice: random.Random) -> bytes:
    size = dice.choice([1, 1_000, 6_000_000, 12_000_000, 30_000_000])
    weights = np.full(
        size, dice.choice([0.0, 1.0, 1.0, float("nan"), float("inf")]), dice.choice([np.float32, np.float16])
    )
    weights[0] = dice.random()
    parts = {f"w{number}": part for number, part in enumerate(np.array_split(weights, dice.choice([1, 2, 500])))}
    return bytes(save(parts))


def _recall(dice: random.Random) -> bytes:
    return pack(_rows(dice, _HUGE))


_CONTENTS = {"ngrams": _ngrams, "adapters": _adapter, "recall": _recall}


def _written(dice: random.Random, path: Path) -> Path:
    members: dict[str, bytes] = {"statistics.json": b'{"targets":[]}'}
    items: dict[str, list[dict[str, Any]]] = {"ngrams": [], "adapters": [], "recall": []}
    for place in range(1, dice.choice([2, 2, 3, 8])):
        kind = dice.choice(list(items))
        name = f"{kind}/{place}.safetensors"
        members[name] = _CONTENTS[kind](dice)
        pair = {"target": f"t{place}" if kind == "ngrams" else "t", "drafter": "d"}
        if kind == "recall":
            items[kind].append({"vocabulary": f"v{place}", "member": name})
        elif kind == "ngrams":
            items[kind].append(pair | {"member": name})
        else:
            figures = {"before": 1.0, "after": 2.0, "num_replies": 1, "num_learned": 1, "is_published": False}
            items[kind].append(pair | figures | {"member": name, "number": place, "created_at": "2026-01-01T00:00:00Z"})
    manifest: dict[str, Any] = {"format": 1, "program": "1", "created_at": "2026-01-01T00:00:00Z", **items}
    manifest["members"] = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    ]
    is_sound = dice.random() < 0.4  # on the outside
    match 7 if is_sound else dice.randrange(8):
        case 0:
            manifest[dice.choice(["format", "program", "members"])] = dice.choice([-1, "x" * 10**6, [], None, 2])
        case 1:
            manifest["more"] = [[]] * dice.choice([1, 10**6])
        case 2:
            members["statistics.json"] = b'{"targets":' + dice.choice([b"[", b'[{"a":', b"[1,"]) * 10**6
    packing = zipfile.ZIP_STORED if is_sound or dice.random() < 0.8 else zipfile.ZIP_BZIP2
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    if not is_sound and dice.random() < 0.4:
        size = path.stat().st_size
        with path.open("r+b") as file:
            for _ in range(dice.randint(1, 4)):
                file.seek(max(0, dice.choice([dice.randrange(size), size - dice.randint(1, 300)])))
                file.write(bytes([dice.randrange(256)]))
            if dice.random() < 0.2:
                file.truncate(dice.randrange(size))
    return path


def run(plan: Plan) -> Outcome:
    outcome, memory, held = Outcome(), Memory(), Held()
    folder = plan.folder / "own"
    num_taken, slowest = 0, 0.0
    for number in range(plan.count):
        path = _written(plan.dice(number), plan.folder / "it.slipstream")
        with closing(Repository.open(folder)) as repository:
            repository.save_ngrams("t", "d", [NgramRecord((5,), 1, 1, 0, 0)])
        before = digest(folder)
        start, is_taken = process_time(), False
        with closing(Repository.open(folder)) as repository, memory.watched():
            try:
                summarize_profile(path)
                import_profile(repository, path)
                is_taken = True
            except FileUnusable as error:
                outcome.check(str(error).endswith("."), f"{number}: no sentence: {error}")
            except Exception as error:
                outcome.failures.append(f"{number}: {type(error).__name__}: {error}")
        slowest = max(slowest, process_time() - start)
        outcome.check(is_taken or digest(folder) == before, f"{number}: the store has changed")
        num_taken += is_taken
        for file in folder.iterdir() if is_taken else ():
            file.unlink()
        outcome.tried += 1
    with Desk(plan.folder) as desk:
        for number in range(0, plan.count, max(1, plan.count // _IN_WINDOW)):
            path = _written(plan.dice(number), plan.folder / "it.slipstream")
            with desk.watching() as now:
                carried_out(desk, desk.bridge.engine.personal.summarize_profile, path)
            held = held.worst(now)
        outcome.check(bool(desk.ask("Name a colour.")), "the chat does not go on")
    outcome.check(memory.is_within_bar, f"it took {memory}")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures = {
        "taken": str(num_taken),
        "memory": str(memory),
        "slowest": f"{slowest:.0f} s of processor",
        "interface": str(held),
    }
    return outcome
