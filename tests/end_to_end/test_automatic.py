"""With drafting automatic, on the starter nothing is loaded for it: neither torch nor a second context."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.starter

_ROOT = Path(__file__).parents[2]

# In a process of its own, since this one may have torch already.
_CHILD = """
import json
import sys
from pathlib import Path

import engine.loading
import engine.threads
from engine import Engine, EngineConfig, LearningSettings, ReplySettings, SamplingSettings
from engine.values.orders import Send
from engine import TargetSettings
from engine.values.events import DrafterChosen, ReplyFinished, SpeculationChanged, TargetReady
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.model.llama import opening
from tests.fakes.listener import EventQueue
from engine.values.targets import LoadOrder

engine.threads._CLOSING_PATIENCE_S = 20.0
# As on two cores with nothing else to do: how busy this machine is must not decide.
quiet = FixedCosts({1: 0.0100, 2: 0.0137, 3: 0.0167, 4: 0.0171, 8: 0.0227, 16: 0.0400})
engine.loading.measure_passes = lambda _target, _stop, _known: quiet
events, with_torch = EventQueue(), set()

def hear(event):
    if "torch" in sys.modules:
        with_torch.add(type(event).__name__)
    events(event)

folder, drafter = sys.argv[1:]
running = Engine(EngineConfig(Path(folder), learning=LearningSettings(on_battery=True)), hear)
running.ask(running.target.use_drafter, drafter)
running.ask(running.target.load, LoadOrder("starter", TargetSettings(context_size=512)))
ready = events.wait_for(TargetReady)
told = ready.target
while told.awaits_drafter:  # which may have joined before
    told = events.wait_for(SpeculationChanged)
settings = ReplySettings(SamplingSettings(temperature=0), max_tokens=24)
texts = []
for prompt in ("Name three colours.", "Name three animals."):
    events.ask(running, running.chat.answer, Send(prompt, None, settings))
    texts.append(events.wait_for(ReplyFinished).message.text)
has_torch = "torch" in sys.modules
chosen = next(event.choice for event in events.seen if isinstance(event, DrafterChosen))
told = {
    "texts": texts,
    "has_torch": has_torch,
    "with_torch": sorted(with_torch),
    "kinds": sorted({type(event).__name__ for event in events.seen}),
    "chosen": chosen.chosen and chosen.chosen.key,
    "why": chosen.why,
    "sentence": ready.target.speculation,
    "awaits_drafter": ready.target.awaits_drafter,
    "num_users": [model.num_users for model in opening._open_models],
}
assert running.close()
print(json.dumps(told))
"""


def replies(folder: Path, drafter: str) -> dict[str, Any]:
    """What a fresh start of the engine tells of two replies."""
    command = [sys.executable, "-c", _CHILD, str(folder), drafter]
    ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_on_the_starter_replies_are_written_without_torch_and_without_a_second_context(tmp_path: Path) -> None:
    told = replies(tmp_path, "automatic")
    assert told["chosen"] is None
    assert told["why"].startswith("No drafter pays for this model on this computer, so none is loaded")
    assert told["sentence"] == told["why"]
    assert not told["awaits_drafter"]
    assert {"ReplySoFar", "ReplyFinished"} <= set(told["kinds"])
    assert all(told["texts"])
    assert told["with_torch"] == [], "neither before nor during the replies"
    assert not told["has_torch"], "nor right after them"
    assert told["num_users"] == [1]


def test_asked_for_the_built_in_drafter_is_loaded_there_as_well(tmp_path: Path) -> None:
    told = replies(tmp_path, "built-in")
    assert told["chosen"] == "built-in"
    assert told["has_torch"]
    assert all(told["texts"])
