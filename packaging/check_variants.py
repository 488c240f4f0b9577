"""Tries every CPU library that this machine can run: whether the text is the same, and how long passes take.

    python packaging/check_variants.py LIBRARIES [OTHER...] [--files A.gguf B.gguf] [--turns 12]

LIBRARIES is the folder of a build for all CPUs: dist/slipstream/_internal/llama_cpp/lib; each OTHER is that of
another build to compare with. They take turns, so that all meet the same machine (tests/benchmarks/builds.py).
Without files, the model is the starter; `slipstream models tune starter --form Q8_0,Q4_K_M --keep` keeps it in other
forms, whose kernels are others. Needs Slipstream's packages installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LENGTH = 48  # tokens


def main() -> None:
    from engine.speculation.model.files.sources import starter_path
    from engine.speculation.model.llama.cpu import ALL_NAMES, libraries
    from engine.speculation.model.llama.extensions import usable_flags

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("others", nargs="*", type=Path)
    parser.add_argument("--files", nargs="+", type=Path, default=[starter_path()])
    parser.add_argument("--turns", type=int, default=12)
    options = parser.parse_args()

    folder: Path = options.libraries
    usable = [path.stem.rpartition("-")[2] for path in libraries(folder, usable_flags())]
    here = [name for name in ALL_NAMES if (folder / f"libggml-cpu-{name}.so").is_file()]
    print("in the build:", " ".join(here), "\nchosen here: ", usable[0], flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: only(name, folder, Path(temporary) / name) for name in usable}
        folders |= {str(other): other for other in options.others}
        for file in options.files:
            try_all(folders, file, options.turns)


def try_all(folders: dict[str, Path], file: Path, turns: int) -> None:
    from tests.benchmarks.builds import Build, compare, print_table

    builds = {name: Build(folder.resolve(), file.resolve()) for name, folder in folders.items()}
    texts = {name: build.text(LENGTH) for name, build in builds.items()}
    print_table(file.name, compare(builds, turns))
    first = next(iter(texts.values()))
    for name, text in texts.items():
        if text != first:
            same = next((place for place, pair in enumerate(zip(first, text, strict=False)) if pair[0] != pair[1]), 0)
            print(f"{name} wrote another text after {same} of {len(first)} characters")
    for build in builds.values():
        build.close()


def only(name: str, folder: Path, place: Path) -> Path:
    """A folder in which llama.cpp finds this one library for a CPU."""
    place.mkdir()
    for path in folder.iterdir():
        if "ggml-cpu-" not in path.name or path.name == f"libggml-cpu-{name}.so":
            (place / path.name).symlink_to(path.resolve())
    return place


if __name__ == "__main__":
    main()
