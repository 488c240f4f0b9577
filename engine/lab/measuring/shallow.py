"""Shallow copies: a target with fewer layers, which drafts for it in its own vocabulary (the mode `self`).

Layers are left out one by one, each time the one whose absence changes the fewest of the target's greedy tokens along
a text. Trying all of them every time would take many minutes, so only those that did least harm when last tried are
tried again, and the search ends after about a minute. llama.cpp writes each copy, in a process of its own. The copy
that is kept is a cache: it may be deleted at any time and is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engine.speculation.model.apart.child import Limits, ask_child
from engine.speculation.model.apart.sandbox import Access
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.quantizations import check_room, copy_without, settle
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers.selection import expected_speedup
from engine.values.clock import now
from engine.values.config import TargetSettings
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable, NotPossible
from engine.values.stop_signal import StopSignal
from engine.values.whole_file import private_folder

FOLDER = "shallow"
_SEARCH_S = 60.0
_MOST_TOKENS = 128  # of the text that copies are tried on
_TRIED = 3  # layers before each is left out
_LEAST_LEFT_OUT = 0.25  # of the layers: a larger copy takes nearly the target's memory and time
_TEXT = """The water in the old harbour is warmer than the sea outside, because the sun reaches the bottom there. That \
is why the first swallows of the year can be seen above it. In the afternoon three boats came back, and each of them \
brought something else: crates of mackerel, a broken engine, and a dog that nobody had seen before.

def average(values):
    total = 0
    for value in values:
        total += value
    return total / len(values) if values else 0

1. Wash the rice until the water is clear.
2. Put it into a pot with one and a half times as much water.
3. Let it boil, turn down the heat, and wait for twelve minutes.

There are 24 apples in a basket. Anna takes a third of them, and Ben takes half of what is left. So Anna has 8 apples, \
16 are left, and Ben has 8 apples, too."""


@dataclass(frozen=True, slots=True)
class Shallow:
    left_out: tuple[int, ...]  # in the order in which they were
    agreement: float  # share of the target's greedy tokens that the copy writes as well


def shallow_copy(path: Path, folder: Path, passes: PassCosts) -> DrafterSource:
    """The copy of the model in `path` that is expected to write most tokens per second at these costs. If `folder` has
    none yet, it is made, which takes a minute or two. Raises DrafterUnusable."""
    facts = facts_of(path)
    copy = folder / f"{facts.identity[:32]}.gguf"
    if not copy.exists():
        num_layers = facts.memory.num_layers if facts.memory else 0

        def worth(each: Shallow) -> float:
            step_s = (1 - len(each.left_out) / num_layers) * passes.of(1)
            return expected_speedup(passes, each.agreement, each.agreement, step_s)

        try:
            if num_layers <= 1:
                raise NotPossible(facts.problem or "it has only one layer; choose another drafter.")
            check_room(folder.parent, 2 * facts.stamp.size_bytes)  # the best one and the one being tried
            found = _searched(path, num_layers, folder)
            fitting = [each for each in found if len(each.left_out) >= _LEAST_LEFT_OUT * num_layers]
            _keep(path, max(fitting, key=worth), copy)
        except (NotPossible, OSError) as error:
            raise DrafterUnusable(
                "No shallow copy of {name} can be made: {reason}", name=path.name, reason=error
            ) from error
    key = f"self:{facts_of(copy).identity[:16]}"
    return DrafterSource(key, "Shallow copy", DrafterRunner.LLAMA_CPP, copy, copy.stat().st_size, trusted=True)


def _searched(path: Path, num_layers: int, folder: Path) -> list[Shallow]:
    """Copies with ever fewer layers, down to half of them. Raises NotPossible."""
    private_folder(folder)
    with TemporaryDirectory(dir=folder) as tried:
        access = Access(reads=True, writes=(Path(tried),))
        answer = ask_child(_search, (path, num_layers, Path(tried)), lambda: False, Limits(), access)
    if not answer:
        raise NotPossible("llama.cpp cannot run it with fewer layers; choose another drafter.")
    return [Shallow(tuple(left_out), agreement) for left_out, agreement in json.loads(answer)]


def _keep(path: Path, best: Shallow, copy: Path) -> None:
    unfinished = copy.with_suffix(".part")
    try:
        unfinished.touch()
        access = Access(reads=True, writes=(unfinished,))
        complaint = ask_child(copy_without, (path, best.left_out, unfinished), lambda: False, Limits(), access)
        if complaint is None or complaint:
            raise NotPossible(complaint or "llama.cpp ended.")
        settle(unfinished, copy)
    finally:
        unfinished.unlink(missing_ok=True)


def _search(path: Path, num_layers: int, folder: Path) -> str:
    """Runs in a child."""
    end = now() + _SEARCH_S
    with closing(load_vocabulary(path)) as vocabulary:
        text = vocabulary.tokenize(_TEXT)[:_MOST_TOKENS]
    wanted = np.array(_greedy(path, text))
    copy = folder / "tried.gguf"

    def agreement(left_out: Sequence[int]) -> float:
        complaint = copy_without(path, tuple(left_out), copy)
        return 0.0 if complaint else float(np.mean(np.array(_greedy(copy, text)) == wanted))

    found = left_out_greedily(num_layers, agreement, lambda: now() > end)
    return json.dumps([(each.left_out, each.agreement) for each in found])


def left_out_greedily(
    num_layers: int, agreement: Callable[[Sequence[int]], float], is_late: Callable[[], bool]
) -> list[Shallow]:
    """Leaves out one more layer each time, down to half of them: the best of a few that seemed best when last tried.
    When time is up, the most promising ones go untried, except that the last copy is always tried."""
    losses = {layer: 0.0 if is_late() else 1 - agreement((layer,)) for layer in range(num_layers)}
    found: list[Shallow] = []
    left_out: list[int] = []
    reached = 1.0
    for number in range(1, num_layers // 2 + 1):
        late = is_late()
        trying = sorted(losses, key=losses.__getitem__)[: 1 if late else _TRIED]
        if late and number < num_layers // 2:
            left_out += trying
        else:
            shares = {layer: agreement((*left_out, layer)) for layer in trying}
            losses |= {layer: reached - share for layer, share in shares.items()}
            best = max(shares, key=shares.__getitem__)
            reached = shares[best]
            left_out.append(best)
            found.append(Shallow(tuple(left_out), reached))
        del losses[left_out[-1]]
    return found


def _greedy(path: Path, text: Sequence[int]) -> list[int]:
    """The likeliest token after each token of the text, for the model in that file."""
    settings = TargetSettings(context_size=2 * _MOST_TOKENS, gpu_layers=0)
    with closing(LlamaCppTarget.load(path, path.name, settings, lambda _share: None, StopSignal())) as model:
        size, found = min(model.limits.max_rows, model.limits.max_tokens), list[int]()
        for start in range(0, len(text), size):
            part = text[start : start + size]
            found += model.evaluate(part, len(part), StopSignal()).argmax(axis=1).tolist()
        return found
