"""The starter and the built-in drafter: chats teach it, and what they taught lasts, travels and is forgotten."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine import (
    BUILT_IN,
    BenchOrder,
    Engine,
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    StopSignal,
    TargetSettings,
    export_profile,
    forget_learned,
    import_profile,
    open_bench,
    summarize_learned,
)
from engine.speculation.learning import learner
from engine.speculation.learning.adapting import Check
from engine.speculation.learning.remembered import RecentTexts, Remembered
from engine.speculation.learning.samples import Sample
from engine.values.config import LearningSettings
from engine.values.events import DrafterLearned, ReplyFinished, SpeculationChanged, TargetInfo, TargetReady
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue

pytestmark = [pytest.mark.starter, pytest.mark.timeout(400)]

SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=40)
COLOURS = ("red", "blue", "green", "yellow", "black", "white", "grey", "pink", "brown", "orange")
PROMPTS = [f"Write the word {colour} twenty times, each on a line of its own." for colour in COLOURS]
PROMPTS += [f"Write the name of the colour {colour} again and again." for colour in COLOURS[:4]]


def config(folder: Path) -> EngineConfig:
    return EngineConfig(
        folder, SpeculationSettings(drafter=BUILT_IN), learning=LearningSettings(share=1.0, on_battery=True)
    )


def chat_until_something_is_learned(folder: Path) -> DrafterLearned:
    events = EventQueue()
    engine = Engine(config(folder), events)
    try:
        engine.ask(engine.target.load, LoadOrder("starter", TargetSettings(context_size=512)))
        told: TargetInfo | SpeculationChanged = events.wait_for(TargetReady).target
        while told.awaits_drafter:  # which may have joined before
            told = events.wait_for(SpeculationChanged)
        for prompt in PROMPTS:
            engine.ask(engine.chat.answer, Send(prompt, None, SETTINGS))
            events.wait_for(ReplyFinished)
        return events.wait_for(DrafterLearned, 300)
    finally:
        assert engine.close()


def figures(folder: Path, profile: Path | None) -> dict[str, Any]:
    """Of questions that were asked."""
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": prompt, "turns": [prompt]}) + "\n" for prompt in PROMPTS[:12:2]))
    order = BenchOrder("starter", prompts, modes=("neural",), max_tokens=40, draft_length=3, profile=profile)
    measurement = open_bench(config(folder), order, StopSignal())
    try:
        modes: Any = measurement.run(StopSignal())["modes"]
    finally:
        measurement.close()
    neural: dict[str, Any] = modes["neural"]
    return {name: neural[name] for name in ("rounds", "drafted", "accepted", "tokens")}


def nothing_remembered(_memory: RecentTexts, sample: Sample, _check: Check) -> Remembered:
    return Remembered.nothing(len(sample.tokens) - sample.reply_start)


def test_what_chats_teach_lasts_travels_and_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is written quickest to learn from is what recall copies, and the judge would see no use in learning it.
    monkeypatch.setattr(RecentTexts, "of", nothing_remembered)
    monkeypatch.setattr(learner, "LearnerSettings", partial(learner.LearnerSettings, first_tokens=400))
    home, other = tmp_path / "home", tmp_path / "other"
    learned = chat_until_something_is_learned(home)
    assert learned.number == 1
    kept = summarize_learned(config(home))
    ((adapter, *_),) = kept.adapters.values()
    assert adapter.is_published
    assert sum(kept.lessons.values()) == len(PROMPTS)

    profile = tmp_path / "me.slipstream"
    export_profile(config(home), profile)
    before, after = figures(tmp_path, None), figures(tmp_path, profile)
    assert after["accepted"] > before["accepted"]
    assert after["rounds"] < before["rounds"]

    import_profile(config(other), profile)
    again = tmp_path / "again.slipstream"
    export_profile(config(other), again)
    assert figures(tmp_path, again) == after

    forget_learned(config(home))
    gone = summarize_learned(config(home))
    assert not gone.adapters
    assert not gone.lessons
    assert not gone.ngrams
