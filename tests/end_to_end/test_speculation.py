"""The starter with the built-in drafter: the distribution is kept, drafts stand, and greedy text forks only at
near-ties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.commands.cli import application
from engine.lab.measuring.bench import LogitGauge
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.choice import BUILT_IN, built_in_drafter, built_in_source
from engine.speculation.model.interface import Target
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.supply import open_drafting
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable
from engine.values.stop_signal import StopSignal
from tests.benchmarks.exactness import open_experiment
from tests.fakes.listener import RecordingReply

pytestmark = pytest.mark.starter

NUM_DRAWS = 10_000  # `tests.benchmarks.exactness` draws more
PROMPTS = ("Tell me a story about a lighthouse.", "Write a Python function that sorts names.")


def config(folder: Path) -> EngineConfig:
    return EngineConfig(folder, SpeculationSettings(device="cpu"))


def write(target: Target, prompt: str, sampling: SamplingSettings, speculation: Speculation | None) -> Reply:
    target.roll_back(0)
    writer = ReplyWriter(target, speculation)
    prepared = writer.prepare([ChatTurn(Role.USER, prompt)])
    reply = writer.write(prepared, ReplySettings(sampling, max_tokens=48), StopSignal(), RecordingReply())
    assert reply.failure is None
    return reply


def test_sampled_tokens_follow_the_targets_distribution(fresh_starter: Target, tmp_path: Path) -> None:
    experiment = open_experiment(fresh_starter, tmp_path, SamplingSettings(temperature=0.8))
    result = experiment.compare(NUM_DRAWS, seed=1, limit=1)
    assert result.num_accepted > NUM_DRAWS / 10  # drafts do stand, so that acceptance is what is tested
    assert result.p_value_of_distribution > 0.01
    assert result.p_value_of_plain > 0.01


def test_greedy_text_is_that_of_plain_decoding_but_for_near_ties(fresh_starter: Target, tmp_path: Path) -> None:
    """Largest gap of the logits: of chains and of trees, whose branches are kept in another order."""
    greedy = SamplingSettings(temperature=0)
    ways = {
        0.5: DraftPolicy(FixedCosts({1: 1.0}), always=Always(3, 3)),
        0.7: DraftPolicy(FixedCosts({1: 1.0, 16: 1.0}), always=Always(3, 7)),
    }
    for policy in ways.values():
        policy.join(open_drafting(config(tmp_path), built_in_source(), fresh_starter.vocabulary).proposer)
    num_accepted = 0
    for prompt in PROMPTS:
        plain = write(fresh_starter, prompt, greedy, None)
        for largest_gap, policy in ways.items():
            drafted = write(fresh_starter, prompt, greedy, Speculation(policy))
            num_accepted += drafted.statistics.num_accepted
            assert drafted.statistics.num_rounds < len(plain.tokens)
            if drafted.tokens != plain.tokens:
                prepared = ReplyWriter(fresh_starter).prepare([ChatTurn(Role.USER, prompt)])
                place = common_prefix_length(plain.tokens, drafted.tokens)
                gauge = LogitGauge(fresh_starter)
                gap = gauge.gap(prepared.prompt.tokens, plain.tokens[:place], drafted.tokens[place], StopSignal())
                assert gap is not None
                assert gap < largest_gap
    assert num_accepted > 45


def test_so_do_rounds_with_trees(fresh_starter: Target, tmp_path: Path) -> None:
    """`tests.benchmarks.exactness` does the same with more."""
    sampling = SamplingSettings(temperature=0.8, top_k=20, top_p=1, min_p=0)  # so that what is rare may stand
    result = open_experiment(fresh_starter, tmp_path, sampling).compare(3_000, seed=1, max_branches=4)
    assert result.num_beside > 15
    assert result.p_value_of_distribution > 0.01


def test_the_built_in_drafter_is_small_and_tells_how_it_was_made() -> None:
    folder = built_in_drafter()
    assert sum(file.stat().st_size for file in folder.iterdir()) < 40 * 2**20
    card = (folder / "README.md").read_text()
    assert "slipstream distill" in card
    assert "apache-2.0" in card


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[LlamaCppTarget]:
    """Every target that is loaded from now on."""
    targets: list[LlamaCppTarget] = []
    load = LlamaCppTarget.load

    def watched(*arguments: Any, **more: Any) -> LlamaCppTarget:
        targets.append(load(*arguments, **more))
        return targets[-1]

    monkeypatch.setattr(LlamaCppTarget, "load", watched)
    return targets


@pytest.mark.parametrize("extra", [[], ["--drafter", BUILT_IN], ["--no-speculation"]])
def test_chat_tells_what_was_drafted_and_gives_memory_back(extra: list[str], loaded: list[LlamaCppTarget]) -> None:
    arguments = ["chat", "--prompt", "Count to ten.", "--max-tokens", "24", "--temperature", "0", "--json", *extra]
    result = CliRunner().invoke(application, arguments)
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["rounds"] > 0
    assert answer["accepted_tokens"] <= answer["drafted_tokens"]
    if "--no-speculation" in extra:
        assert answer["drafted_tokens"] == 0
    (target,) = loaded
    assert target._context is None


def test_a_drafter_that_was_asked_for_and_is_none_is_told(tmp_path: Path) -> None:
    arguments = ["chat", "--prompt", "Hi.", "--max-tokens", "8", "--drafter", str(tmp_path / "nothing")]
    result = CliRunner().invoke(application, arguments)
    assert isinstance(result.exception, DrafterUnusable)
    assert "nothing" in str(result.exception)
