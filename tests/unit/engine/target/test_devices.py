"""Which of the devices that ggml lists are chosen. That it lists them at all is seen wherever there is a card."""

from __future__ import annotations

import pytest

from engine.records import ComputeDevice, DeviceKind
from engine.target.devices import _chosen, read_support
from engine.target.llama_cpp import gpu_support

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
        assert support == read_support()
        assert support.devices == ()
        assert support.description == ""


@pytest.mark.starter
def test_no_layers_are_on_cards_where_there_are_none() -> None:
    from engine.config import TargetSettings
    from engine.stop_signal import StopSignal
    from engine.target.llama_cpp import LlamaCppTarget
    from engine.targets import starter_path

    settings = TargetSettings(64, threads=1, gpu_layers=0)
    target = LlamaCppTarget.load(starter_path(), "x", settings, lambda _progress: None, StopSignal())
    assert (target.description.num_gpu_layers, target.description.num_layers) == (0, 31)
    target.close()
