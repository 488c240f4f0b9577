"""Tries every CPU library that this machine can run: whether the text is the same, and how long passes take.

    python packaging/check_variants.py LIBRARIES [OTHER...]

LIBRARIES is the folder of a build for all CPUs, dist/slipstream/_internal/llama_cpp/lib; each OTHER is that of another
build to compare with. They take turns, so that all meet the same machine. Needs Slipstream's packages installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

ROWS = (1, 2, 4, 8)
TURNS = 3
PROMPT = "Explain in three sentences why the sea is salty."
LENGTH = 48  # tokens
PASSES = 25


@dataclass(frozen=True, slots=True)
class Trial:
    text: str
    ms: list[float]  # of a pass, by the order of ROWS


def main(folder: Path, others: list[Path]) -> None:
    from engine.target.cpu import ALL_NAMES, libraries
    from engine.target.extensions import usable_flags

    usable = [path.stem.rpartition("-")[2] for path in libraries(folder, usable_flags())]
    here = [name for name in ALL_NAMES if (folder / f"libggml-cpu-{name}.so").is_file()]
    print("in the build:", " ".join(here), "\nchosen here: ", usable[0], flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        builds = {name: only(name, folder, Path(temporary) / name) for name in usable}
        builds |= {str(other): other for other in others}
        found: dict[str, list[Trial]] = {name: [] for name in builds}
        for _ in range(TURNS):
            for name, build in builds.items():
                found[name].append(tried(build))
    first = found[usable[0]][0].text
    for name, trials in found.items():
        figures = "  ".join(
            f"{rows} rows {min(trial.ms[index] for trial in trials):6.1f} ms" for index, rows in enumerate(ROWS)
        )
        text = trials[0].text
        same = next(
            (place for place, pair in enumerate(zip(first, text, strict=False)) if pair[0] != pair[1]), len(first)
        )
        print(f"{name:12} {figures}   same text: {'all' if text == first else f'{same} of {len(first)} characters'}")


def only(name: str, folder: Path, place: Path) -> Path:
    """A folder in which llama.cpp finds this one library for a CPU."""
    place.mkdir()
    for path in folder.iterdir():
        if "ggml-cpu-" not in path.name or path.name == f"libggml-cpu-{name}.so":
            (place / path.name).symlink_to(path.resolve())
    return place


def tried(build: Path) -> Trial:
    environment = {**os.environ, "LLAMA_CPP_LIB_PATH": str(build)}
    command = [sys.executable, __file__, "--here"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{build.name} ended with {result.returncode}:\n{result.stderr}")
    return Trial(**json.loads(result.stdout))


def here() -> Trial:
    from engine.config import TargetSettings
    from engine.stop_signal import StopSignal
    from engine.target.llama_cpp import LlamaCppTarget
    from engine.target.sources import starter_path

    stop = StopSignal()
    target = LlamaCppTarget.load(starter_path(), "starter", TargetSettings(), lambda _: None, stop)
    prompt = target.tokenize(f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n")
    tokens: list[int] = []
    rows = target.evaluate(prompt, 1, stop)
    while len(tokens) < LENGTH:
        tokens.append(int(rows[0].argmax()))
        rows = target.evaluate(tokens[-1:], 1, stop)
    ms = []
    for count in ROWS:
        taken = []
        for _ in range(PASSES):
            held = target.num_held
            began = time.perf_counter()
            target.evaluate(tokens[:count], count, stop)
            taken.append(time.perf_counter() - began)
            target.roll_back(held)
        ms.append(1000 * min(taken))  # the least disturbed
    text = b"".join(target.vocabulary.pieces[token] for token in tokens).decode("utf-8", "replace")
    target.close()
    return Trial(text, ms)


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        print(json.dumps(asdict(here())))
    else:
        main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
