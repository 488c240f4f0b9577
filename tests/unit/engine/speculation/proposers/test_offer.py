"""Who drafts for a target of a well-known family, and what is offered for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.speculation.numerics.draft_length import PassCosts
from engine.speculation.proposers import supply as supply_module
from engine.speculation.proposers.supply import DrafterSupply
from engine.values.config import EngineConfig, SpeculationSettings
from engine.values.drafters import DrafterChoice
from tests.fakes.gguf import Value, write
from tests.fakes.target import FakeTarget

SIZE = 15_000_000_000
FLAT = PassCosts({1: 1.0, 8: 1.1})
STEEP = PassCosts({1: 1.0, 2: 2.0, 8: 8.0})
QWEN: dict[str, Value] = {
    "general.architecture": "qwen2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.tokens": [""] * 151_936,
}
NAME = "Qwen/Qwen2.5-0.5B-Instruct-GGUF:qwen2.5-0.5b-instruct-q4_0.gguf"


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supply_module, "free_memory", lambda: 8_000_000_000)


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    target = FakeTarget()
    path = write(tmp_path / "large.gguf", QWEN)
    target.description = replace(target.description, path=path, size_bytes=SIZE)
    return target


def choice(target: FakeTarget, data_dir: Path, passes: PassCosts = FLAT, wanted: str = "automatic") -> DrafterChoice:
    config = EngineConfig(data_dir, SpeculationSettings(drafter=wanted))
    return DrafterSupply(config, target).choose(passes)


def test_a_small_one_of_the_family_is_offered_with_what_it_would_bring(target: FakeTarget, tmp_path: Path) -> None:
    found = choice(target, tmp_path)
    assert found.offer is not None
    assert (found.offer.hub_name, found.offer.name) == (NAME, "Qwen 2.5 0.5B")
    chosen = next((each.speedup for each in found.prospects if each.source == found.chosen), 1.0)
    assert found.offer.speedup_now == pytest.approx(chosen)
    assert found.offer.speedup > 1.07 * chosen
    assert found.offer.hub_name not in {each.source.key for each in found.prospects}  # it cannot be chosen yet


def test_nothing_is_offered_where_it_would_not_pay(target: FakeTarget, tmp_path: Path) -> None:
    assert choice(target, tmp_path, STEEP).offer is None


def test_nothing_is_offered_to_who_chose_a_drafter(target: FakeTarget, tmp_path: Path) -> None:
    found = choice(target, tmp_path, wanted="built-in")
    assert (found.is_fixed, found.offer) == (True, None)


def test_nothing_is_offered_without_room(target: FakeTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supply_module, "free_memory", lambda: 1_000_000_000)
    assert choice(target, tmp_path).offer is None


def test_what_is_here_is_not_offered(target: FakeTarget, tmp_path: Path) -> None:
    folder, _, file = NAME.replace("/", "--").partition(":")
    write(tmp_path / "models" / folder / file)
    assert choice(target, tmp_path).offer is None


def test_a_target_of_another_family_gets_no_offer(target: FakeTarget, tmp_path: Path) -> None:
    write(target.description.path, QWEN | {"tokenizer.ggml.pre": "another"})
    assert choice(target, tmp_path).offer is None
