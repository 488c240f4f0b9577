"""Which of the devices that ggml lists are chosen. That it lists them at all is seen wherever there is a card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.loading import load_target
from engine.speculation.model import loading
from engine.speculation.model.files.sources import starter_path, starter_source
from engine.speculation.model.interface import Target
from engine.speculation.model.llama import llama_cpp, opening
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.runtime import _chosen, gpu_support
from engine.values.config import TargetSettings
from engine.values.errors import CardsTooSmall
from engine.values.stop_signal import StopSignal
from engine.values.targets import ComputeDevice, DeviceKind, GpuSupport

CUDA = ComputeDevice("CUDA0", "A card", "CUDA", DeviceKind.GPU, 8, 8)
VULKAN = ComputeDevice("Vulkan0", "A card", "Vulkan", DeviceKind.GPU, 8, 8)
SHARED = ComputeDevice("Vulkan1", "A chip", "Vulkan", DeviceKind.INTEGRATED, 8, 8)
METAL = ComputeDevice("MTL0", "A chip", "Metal", DeviceKind.INTEGRATED, 8, 8)


def test_a_card_that_two_backends_reach_is_one_card() -> None:
    assert _chosen([(CUDA, b"0000:01:00.0"), (VULKAN, b"0000:01:00.0")]) == (CUDA,)
    assert _chosen([(CUDA, b"0000:01:00.0"), (VULKAN, b"0000:02:00.0")]) == (CUDA, VULKAN)
    assert _chosen([(CUDA, None), (VULKAN, None)]) == (CUDA, VULKAN)


def test_what_shares_the_machines_memory_counts_only_alone_and_once() -> None:
    assert _chosen([(SHARED, None), (CUDA, None)]) == (CUDA,)
    assert _chosen([(METAL, None), (SHARED, None)]) == (METAL,)
    assert _chosen([]) == ()


def test_a_build_is_asked_for_its_devices() -> None:
    support = gpu_support()
    assert "CPU" not in support.backends
    if not support.backends:
        assert support == GpuSupport()
        assert support.devices == ()
        assert support.description == ""


@pytest.mark.starter
def test_no_layers_are_on_cards_where_there_are_none() -> None:
    settings = TargetSettings(64, threads=1, gpu_layers=0)
    target = LlamaCppTarget.load(starter_path(), "x", settings, lambda _progress: None, StopSignal())
    assert (target.description.num_gpu_layers, target.description.num_layers) == (0, 31)
    target.close()


@pytest.mark.starter
def test_the_cpu_takes_over_from_a_card_that_refuses_unless_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    gib = 2**30
    card = replace(CUDA, total_memory=8 * gib, free_memory=8 * gib)
    monkeypatch.setattr(loading, "gpu_support", lambda: GpuSupport(("CUDA",), (card,)))
    tried: list[int | None] = []
    really_open = opening.open_model

    def open_on_a_card_that_refuses(path: Path, settings: TargetSettings, *others: Any) -> Any:
        tried.append(settings.gpu_layers)
        if settings.gpu_layers:
            raise CardsTooSmall("There is no room.")
        return really_open(path, settings, *others)

    monkeypatch.setattr(llama_cpp, "open_model", open_on_a_card_that_refuses)

    def load(settings: TargetSettings) -> Target:
        return load_target(starter_source(), settings, lambda _progress: None, StopSignal())

    target = load(TargetSettings(64, threads=1))
    target.close()
    assert tried == [31, 0]
    with pytest.raises(CardsTooSmall):
        load(TargetSettings(64, threads=1, gpu_layers=5))


def test_a_cards_refusal_is_told_apart_from_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(complaint: str, layers: int | None = None) -> str:
        error = opening._cards_too_small(Path("m.gguf"), TargetSettings(gpu_layers=layers), complaint)
        return "" if error is None else str(error)

    assert told("unable to allocate CUDA0 buffer") == "", "there is no card"
    monkeypatch.setattr(opening, "gpu_support", lambda: GpuSupport(("CUDA",), (CUDA,)))
    assert told("unable to allocate CUDA0 buffer") == (
        "m.gguf needs more memory on A card than the 0.0 GB that are free; choose fewer GPU layers or a smaller "
        "context size for it."
    )
    assert told("failed to allocate buffer for kv cache", 3) != ""
    assert told("unable to allocate CPU_Mapped buffer") == ""
    assert told("failed to allocate buffer for kv cache", 0) == ""
    assert told("tensor is missing") == ""
