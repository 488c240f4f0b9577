"""Shallow copies: a target with fewer layers, which drafts for it in its own vocabulary.

Layers are left out one after the other, each time the one whose absence changes fewest of the target's greedy tokens
along a text. Trying all of them after each would take many minutes; so a few are tried, those that did least harm when
they were tried last, and all of it ends after about a minute. llama.cpp writes every copy that is tried, in a process
of its own. What is kept is a cache: it may be deleted at any time, and is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engine.clock import now
from engine.config import TargetSettings
from engine.drafter.choice import SELF
from engine.errors import DrafterUnusable, NotPossible
from engine.library.facts import facts_of
from engine.messages.drafters import DrafterRunner, DrafterSource
from engine.sentences import say
from engine.stop_signal import StopSignal
from engine.target.child import Limits, ask_child
from engine.target.forms import check_room, copy_without, settle
from engine.target.llama_cpp import LlamaCppTarget
from engine.target.sandbox import Doors
from engine.target.vocabulary import load_vocabulary
from engine.whole_file import private_folder

FOLDER = "shallow"
_SEARCH_S = 60.0
_MOST_TOKENS = 256  # of the text that copies are tried on
_MOST_COPIES = 2  # that are kept, the latest
_TRIED = 3  # layers before each is left out
_LEAST_LEFT_OUT = 0.25  # of the layers: a larger copy takes nearly the target's memory and time

# Where the user has said nothing yet.
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
    """A copy without some layers."""

    left_out: tuple[int, ...]  # in the order in which they were
    agreement: float  # share of the target's greedy tokens that are the copy's, too


def shallow_source(
    path: Path,
    folder: Path,
    texts: Sequence[Sequence[int]],
    worth: Callable[[float, float], float],
    is_cancelled: Callable[[], bool] = lambda: False,
    search_s: float = _SEARCH_S,
) -> DrafterSource:
    """The shallow copy of the model in `path`, made now if it is not in `folder`, which takes about `search_s` and the
    time to write it. `texts`: the user's, in the model's tokens; `worth`: of a copy by its agreement and its share of
    the target's time. Raises DrafterUnusable and Cancelled."""
    facts = facts_of(path)
    copy = folder / f"{facts.identity[:32]}.gguf"
    if not copy.exists():
        num_layers = facts.memory.num_layers if facts.memory else 0
        try:
            if num_layers <= 1:
                raise NotPossible(facts.problem or say("it has only one layer; choose another drafter."))
            check_room(folder.parent, 2 * facts.stamp.size_bytes)  # beside the best, the one that is tried
            found = search(path, num_layers, folder, texts, is_cancelled, search_s)
            fitting = [each for each in found if len(each.left_out) >= _LEAST_LEFT_OUT * num_layers]
            best = max(fitting, key=lambda each: worth(each.agreement, 1 - len(each.left_out) / num_layers))
            _keep(path, best, copy, is_cancelled)
        except (NotPossible, OSError) as error:
            raise DrafterUnusable(
                "No shallow copy of {name} can be made: {reason}", name=path.name, reason=error
            ) from error
    digest = facts_of(copy).identity[:16]
    return DrafterSource(
        f"{SELF}:{digest}", say("Shallow copy"), DrafterRunner.LLAMA_CPP, copy, copy.stat().st_size, True, True
    )


def search(
    path: Path,
    num_layers: int,
    folder: Path,
    texts: Sequence[Sequence[int]],
    is_cancelled: Callable[[], bool] = lambda: False,
    search_s: float = _SEARCH_S,
) -> list[Shallow]:
    """Copies with ever fewer layers, down to half of them. Raises NotPossible and Cancelled."""
    private_folder(folder)
    with TemporaryDirectory(dir=folder) as tried:
        tokens = [[*map(int, text)] for text in texts]
        arguments = path, num_layers, Path(tried), tokens, search_s
        answer = ask_child(_search, arguments, is_cancelled, Limits(), Doors(reads=True, writes=(Path(tried),)))
    if not answer:
        raise NotPossible("llama.cpp cannot run it with fewer layers; choose another drafter.")
    return [Shallow(tuple(left_out), agreement) for left_out, agreement in json.loads(answer)]


def _keep(path: Path, best: Shallow, copy: Path, is_cancelled: Callable[[], bool]) -> None:
    unfinished = copy.with_suffix(".part")
    try:
        unfinished.touch()
        doors = Doors(reads=True, writes=(unfinished,))
        complaint = ask_child(copy_without, (path, best.left_out, unfinished), is_cancelled, Limits(), doors)
        if complaint is None or complaint:
            raise NotPossible(complaint or say("llama.cpp ended."))
        settle(unfinished, copy)
    finally:
        unfinished.unlink(missing_ok=True)
    copies = sorted(copy.parent.glob("*.gguf"), key=lambda each: each.stat().st_mtime)
    for old in copies[:-_MOST_COPIES]:
        old.unlink()


def _search(path: Path, num_layers: int, folder: Path, texts: list[list[int]], search_s: float) -> str:
    """Runs in a child."""
    end = now() + search_s
    texts = _shortened(texts or [_tokens_of_built_in(path)])
    wanted = np.array(_greedy(path, texts))
    copy = folder / "tried.gguf"

    def agreement(left_out: Sequence[int]) -> float:
        complaint = copy_without(path, tuple(left_out), copy)
        return 0.0 if complaint else float(np.mean(np.array(_greedy(copy, texts)) == wanted))

    found = left_out_greedily(num_layers, agreement, lambda: now() > end)
    return json.dumps([(each.left_out, each.agreement) for each in found])


def left_out_greedily(
    num_layers: int, agreement: Callable[[Sequence[int]], float], is_late: Callable[[], bool]
) -> list[Shallow]:
    """One layer more each time, down to half of them: of a few that seemed best when they were tried last, the best.
    Where it is late, the one that seemed best untried; but the last copy is tried in any case."""
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


def _tokens_of_built_in(path: Path) -> list[int]:
    with closing(load_vocabulary(path)) as vocabulary:
        return vocabulary.tokenize(_TEXT)


def _shortened(texts: list[list[int]]) -> list[list[int]]:
    """The beginnings of the latest, as many tokens as are tried."""
    found: list[list[int]] = []
    room = _MOST_TOKENS
    for text in reversed(texts):
        found.append(text[: min(room, _MOST_TOKENS // 2)])
        room -= len(found[-1])
        if room <= 1:
            break
    return [text for text in found if text]


def _greedy(path: Path, texts: Sequence[Sequence[int]]) -> list[int]:
    """What the model in that file takes to be likeliest after each token of the texts."""
    settings = TargetSettings(context_size=2 * _MOST_TOKENS, gpu_layers=0)
    with closing(LlamaCppTarget.load(path, path.name, settings, lambda _share: None, StopSignal())) as model:
        size, found = min(model.limits.max_rows, model.limits.max_tokens), list[int]()
        for text in texts:
            model.roll_back(0)
            for start in range(0, len(text), size):
                part = text[start : start + size]
                found += model.evaluate(part, len(part), StopSignal()).argmax(axis=1).tolist()
        return found
