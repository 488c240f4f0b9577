"""Tries every page and dialog on several screens, with several sizes of text: `python -m tests.pages`.

The app itself is started with the starter model on made-up chats (those of `tests/pictures`), in a process for each
screen and size of text. Each page is opened as a user opens it, in light and in dark, and once more after the size of
text was changed while the window was open. Prints what is cut off, out of reach or without a name, and ends with 1 if
there is any that is not among `exceptions.py`.

With `--language` the window speaks another language; what is cut off in it is found with
`--language de --screen 960x576 --scale 150`.

A screen that offers less than the least logical size (`place.py`), pixels divided by the size of text, is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from tests.pages.catalogue import unseen
from tests.pages.exceptions import is_excepted
from tests.pages.place import LEAST_LOGICAL, Place
from tests.pages.walk import FOUND, SEEN, Walk

SCREENS = ("640x480", "1366x768", "1920x1080")
NARROW = "960x576"  # 640 px wide at 150 %
SCALES = (80, 100, 150, 200)
_PATIENCE_S = 900


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pages", description="Tries every page on several screens.")
    parser.add_argument(
        "--screen", action="append", choices=(*SCREENS, NARROW), help="only this one; may be given several times"
    )
    parser.add_argument("--scale", action="append", type=int, choices=SCALES, help="only this size of text, in percent")
    parser.add_argument("--only", default="", metavar="NAME", help="only groups of pages whose names begin with NAME")
    parser.add_argument("--factor", type=float, default=1.0, help="as QT_SCALE_FACTOR, besides the size of text")
    parser.add_argument("--pictures", default="", metavar="FOLDER", help="keep a picture of each page there")
    parser.add_argument("--quick", action="store_true", help="in light only, and with one size of text in each window")
    parser.add_argument("--language", default="", help="a code such as de, or pseudo: longer words that nobody speaks")
    chosen = parser.parse_args()
    places = [
        Place((int(screen.split("x")[0]), int(screen.split("x")[1])), scale, chosen.factor)
        for screen in chosen.screen or SCREENS
        for scale in chosen.scale or SCALES
    ]
    tried = [place for place in places if place.is_large_enough]
    walks = [Walk(place, chosen.only, chosen.quick, chosen.pictures, chosen.language) for place in tried]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = [line for lines in pool.map(_in_process, walks) for line in lines]
    outcomes = [json.loads(line.removeprefix(FOUND)) for line in told if line.startswith(FOUND)]
    seen = {name for line in told if line.startswith(SEEN) for name in json.loads(line.removeprefix(SEEN))}
    if not chosen.only:
        about = {
            "kind": "never seen",
            "about": "no page of the catalogue shows it",
            "page": "catalogue",
            "place": "all",
        }
        outcomes += [{"widget": name, **about} for name in sorted(unseen(seen))]
    for place in places:
        if place not in tried:
            print(f"Left out: {place} offers less than {LEAST_LOGICAL[0]}×{LEAST_LOGICAL[1]}.")
    return _report(outcomes, len(tried))


def _in_process(walk: Walk) -> list[str]:
    factor = {} if walk.place.factor == 1 else {"QT_SCALE_FACTOR": str(walk.place.factor)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.pages.walk", walk.to_json()],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        env={**os.environ, **factor},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{walk.place} came to no end:\n{done.stderr[-4000:]}")
    return done.stdout.splitlines()


def _report(outcomes: list[dict[str, str]], num_places: int) -> int:
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for outcome in outcomes:
        if not is_excepted(outcome["kind"], outcome["widget"]):
            groups[outcome["kind"], outcome["widget"]].append(outcome)
    for (kind, widget), those in sorted(groups.items()):
        print(f"{kind}: {widget}: {those[0]['about']}")
        for told in ("page", "place"):
            print(f"    {', '.join(dict.fromkeys(each[told] for each in those))}")
    num = sum(map(len, groups.values()))
    print(f"{num} findings, {len(groups)} different ones; {num_places} screens and sizes of text were tried.")
    return 1 if groups else 0


if __name__ == "__main__":
    sys.exit(main())
