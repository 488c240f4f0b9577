"""How much memory a target takes: sums over its header, and the starter as it really is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.speculation.model.files import estimate as estimating
from engine.speculation.model.files.architecture import num_copies
from engine.speculation.model.files.estimate import estimate, fitting_beside
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.loading import check_memory, effective_system_prompt
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetOptions, TargetSettings
from engine.values.errors import TargetUnusable
from tests.fakes.gguf import Value, write
from tests.fakes.tiny_models import tiny_lfm2

MEASURE = """
import json, sys
from pathlib import Path
import psutil
from engine.values.config import TargetSettings
from engine.values.stop_signal import StopSignal
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
before = psutil.Process().memory_info().rss
settings = TargetSettings(context_size=int(sys.argv[2]), threads=1)
target = LlamaCppTarget.load(Path(sys.argv[1]), "x", settings, lambda progress: None, StopSignal())
target.evaluate([5] * 64, 64, StopSignal())
print(json.dumps(psutil.Process().memory_info().rss - before))
"""


def context_bytes(folder: Path, changes: dict[str, Value], size: int = 1024) -> int:
    path = write(folder / "model.gguf", changes)
    return estimate(facts_of(path), TargetSettings(context_size=size)).context


def test_the_context_is_keys_and_values_of_every_layer_in_half_precision(tmp_path: Path) -> None:
    heads, width, layers = 2, 64 // 4, 2
    assert context_bytes(tmp_path, {}) == 1024 * layers * heads * 2 * width * 2


def test_heads_may_differ_by_layer_and_widths_be_told(tmp_path: Path) -> None:
    assert context_bytes(tmp_path, {"llama.attention.head_count_kv": [4, 0]}) == context_bytes(tmp_path, {})
    wide: dict[str, Value] = {"llama.attention.key_length": 32, "llama.attention.value_length": 32}
    assert context_bytes(tmp_path, wide) == 2 * context_bytes(tmp_path, {})


def test_without_a_wish_the_context_is_the_trained_one_up_to_what_is_usual(tmp_path: Path) -> None:
    def chosen(trained: int) -> int:
        facts = facts_of(write(tmp_path / f"{trained}.gguf", {"llama.context_length": trained}))
        return estimating.context_size(facts, TargetSettings())

    assert [chosen(trained) for trained in (2048, 131_072, 0)] == [2048, 8192, 8192]


def test_a_running_state_takes_the_same_whatever_the_context(tmp_path: Path) -> None:
    mamba: dict[str, Value] = {
        "general.architecture": "mamba",
        "mamba.block_count": 2,
        "mamba.embedding_length": 64,
        "mamba.ssm.inner_size": 128,
        "mamba.ssm.state_size": 16,
        "mamba.ssm.conv_kernel": 4,
    }
    assert context_bytes(tmp_path, mamba) == 2 * (3 * 128 + 128 * 16) * 4
    assert context_bytes(tmp_path, mamba, 4096) == context_bytes(tmp_path, mamba)


def test_copies_of_a_state_take_as_much_as_llama_cpp_makes(tmp_path: Path) -> None:
    found = facts_of(tiny_lfm2(tmp_path / "tiny.gguf"))
    state = 2 * (3 - 1) * 64 * 4  # an upper bound: one of the two layers has one
    assert estimate(found, TargetSettings(context_size=256)).context == 256 * 2 * 64 * 2 + (1 + MAX_LENGTH) * state
    assert num_copies(1000, weights_bytes=12_000, most=MAX_LENGTH) == 3, "no more than a quarter of the weights"
    assert num_copies(1000, weights_bytes=1_000, most=MAX_LENGTH) == 0
    assert num_copies(0, weights_bytes=1_000, most=MAX_LENGTH) == MAX_LENGTH


def test_a_header_that_tells_nothing_costs_its_weights(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", {"llama.block_count": 0})
    found = estimate(facts_of(path), TargetSettings())
    assert (found.weights, found.context, found.work) == (path.stat().st_size, 0, 0)


@pytest.mark.starter
@pytest.mark.parametrize("size", [1024, 4096])
def test_the_starter_takes_what_was_estimated(size: int) -> None:
    """In a process of its own, to measure it alone."""
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, str(starter_path()), str(size)]
    taken = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    expected = estimate(facts_of(starter_path()), TargetSettings(context_size=size)).total
    assert taken == pytest.approx(expected, rel=0.2)


def test_what_clearly_does_not_fit_is_refused_in_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "model.gguf")
    check_memory(path, TargetSettings())
    monkeypatch.setattr(estimating, "free_memory", lambda: 2**20)
    with pytest.raises(TargetUnusable) as caught:
        check_memory(path, TargetSettings(context_size=1_000_000))
    assert str(caught.value) == (
        "model takes about 1.3 GB of memory with a context of 1,000,000 tokens, but only 0.0 GB are free; choose a "
        "smaller context size or quantization, close other programs, or load it anyway."
    )


def test_what_cannot_be_estimated_is_left_to_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "free_memory", lambda: 0)
    check_memory(tmp_path / "gone.gguf", TargetSettings())
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    check_memory(tmp_path / "other.gguf", TargetSettings())


def test_a_targets_own_system_prompt_comes_before_that_for_all() -> None:
    assert effective_system_prompt("usual", TargetOptions()) == "usual"
    assert effective_system_prompt("usual", TargetOptions(system_prompt="")) == ""


def test_settings_are_filled_up_where_they_say_nothing() -> None:
    mine, others = TargetSettings(context_size=64), TargetSettings(context_size=128, threads=2, gpu_layers=0)
    assert mine.filled_up(others) == TargetSettings(64, 2, 0)
    assert others.filled_up(mine) == others


def test_beside_a_chat_only_a_small_part_of_the_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = facts_of(starter_path())
    assert facts.memory is not None
    each = 768 * facts.memory.token_bytes

    def fitting(free: int) -> int:
        monkeypatch.setattr(estimating, "free_memory", lambda: free)
        number, num_bytes = fitting_beside(facts, 8, 768)
        assert num_bytes >= number * each
        assert num_bytes <= free // 4 or number == 0
        return number

    assert [fitting(free) for free in (16 << 30, 20 * each, 0)] == [8, 4, 0]
    large = facts_of(write(tmp_path / "large.gguf", {"llama.attention.key_length": 1 << 15}))
    monkeypatch.setattr(estimating, "free_memory", lambda: 1 << 40)
    number, num_bytes = fitting_beside(large, 8, 768)
    assert number < 8
    assert num_bytes <= 512 << 20
    assert fitting_beside(facts_of(write(tmp_path / "odd.gguf", {"llama.block_count": 0})), 8, 768) == (0, 0)
