"""What of a target goes on graphics cards: sums over made headers, and cards that are not there."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from engine.backend.library.library_service import LibraryService
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.storage import Repository
from engine.speculation.drafter.gguf import room_for_drafter
from engine.speculation.model import loading
from engine.speculation.model.files.estimate import estimate, room_on
from engine.speculation.model.files.facts import TargetFacts, facts_of
from engine.speculation.model.files.sources import starter_path
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnusable
from engine.values.targets import ComputeDevice, DeviceKind, GpuSupport, HeadMethod, MemoryEstimate
from tests.fakes.gguf import TINY, gguf
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_qwen3

MIB = 1 << 20
LAYER, ENDS = (1024, 1024), (1024, 512)  # F32: 4 MiB and 2 MiB
CARD = ComputeDevice("CUDA0", "A card", "CUDA", DeviceKind.GPU, 8192 * MIB, 8192 * MIB)


def card(free_mib: int) -> GpuSupport:
    return GpuSupport(("CUDA",), (replace(CARD, free_memory=free_mib * MIB),))


def model(folder: Path, tied: bool = False) -> Path:
    tensors = {"token_embd.weight": ENDS, "output.weight": ENDS, "blk.0.w.weight": LAYER, "blk.1.w.weight": LAYER}
    if tied:
        del tensors["output.weight"]
    path = folder / f"model-{tied}.gguf"
    path.write_bytes(gguf(TINY, tensors))
    return path


@pytest.fixture
def facts(tmp_path: Path) -> TargetFacts:
    return facts_of(model(tmp_path))


def on(
    support: GpuSupport, facts: TargetFacts, layers: int | None, loaded: MemoryEstimate | None = None
) -> MemoryEstimate:
    return estimate(facts, TargetSettings(1024, gpu_layers=layers), support, loaded)


def test_the_output_goes_first_then_layers_with_their_context(facts: TargetFacts) -> None:
    shares = [on(card(8192), facts, layers).gpu for layers in range(4)]
    assert [share.num_layers for share in shares] == [0, 1, 2, 3]
    assert shares[0].num_bytes == 0
    context = on(card(8192), facts, 0).context
    steps = [after.num_bytes - before.num_bytes for before, after in pairwise(shares[1:])]
    assert steps == [4 * MIB + context // 2] * 2
    assert on(card(8192), facts, 99).gpu.num_layers == 3, "two layers, and the output"


def test_without_a_wish_as_many_go_as_there_is_room_for(facts: TargetFacts) -> None:
    assert on(card(8192), facts, None).gpu.num_layers == 3
    share = on(card(8192), facts, 2).gpu
    spare = card(8192).devices[0].free_memory - share.room
    snug = GpuSupport(("CUDA",), (replace(CARD, free_memory=spare + share.num_bytes),))
    assert on(snug, facts, None).gpu.num_layers == 2
    assert on(card(256), facts, None).gpu.num_layers == 0
    assert not on(card(256), facts, None).is_too_much
    assert on(card(256), facts, 3).is_too_much


def test_without_a_card_nothing_goes(facts: TargetFacts) -> None:
    share = on(GpuSupport(("Vulkan",)), facts, 3).gpu
    assert (share.num_layers, share.num_bytes) == (0, 0)


def test_what_comes_before_the_layers_stays_with_the_machine(tmp_path: Path, facts: TargetFacts) -> None:
    whole = on(card(8192), facts, 3)
    assert whole.on_machine == whole.total - whole.gpu.num_bytes
    tied = on(card(8192), facts_of(model(tmp_path, tied=True)), 3)
    assert tied.gpu.num_bytes == whole.gpu.num_bytes
    assert tied.gpu.twice == 2 * MIB, "it serves behind the layers, too"
    assert tied.on_machine == tied.total - tied.gpu.num_bytes + 2 * MIB


def test_a_target_that_goes_makes_room(facts: TargetFacts) -> None:
    loaded = on(card(8192), facts, 3)
    full = card(256)
    assert room_on(full) == 0
    assert on(full, facts, 3, loaded).gpu.room == room_on(full, loaded.gpu.num_bytes)
    assert room_on(card(8192), 10**15) < 8192 * MIB, "never more than there is"


def test_layers_are_fitted_before_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path)
    assert loading.fitted(path, TargetSettings()) == TargetSettings(), "there is no card"
    monkeypatch.setattr(loading, "gpu_support", lambda: card(8192))
    assert loading.fitted(path, TargetSettings(threads=2)) == TargetSettings(threads=2, gpu_layers=3)
    assert loading.fitted(path, TargetSettings(gpu_layers=1)) == TargetSettings(gpu_layers=1), "as the user wants"
    assert loading.fitted(tmp_path / "gone.gguf", TargetSettings()) == TargetSettings()


def test_more_than_the_cards_have_is_refused_in_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path)
    tiny = GpuSupport(("CUDA",), (replace(CARD, total_memory=4 * MIB, free_memory=4 * MIB),))
    monkeypatch.setattr(loading, "gpu_support", lambda: tiny)
    loading.check_memory(path, TargetSettings(1024))
    with pytest.raises(
        TargetUnusable, match=r"^3 layers of .* GB on A card, which has 0\.0 GB; choose fewer GPU layers"
    ):
        loading.check_memory(path, TargetSettings(1024, gpu_layers=3))


def snug(facts: TargetFacts, layers: int, more_bytes: int = 0) -> GpuSupport:
    """A card with room for so many layers, and some bytes."""
    share = on(card(8192), facts, layers).gpu
    spare = card(8192).devices[0].free_memory - share.room
    return GpuSupport(("CUDA",), (replace(CARD, free_memory=spare + share.num_bytes + more_bytes),))


@pytest.mark.parametrize(("more_mib", "reserved_mib", "layers"), [(0, 3, 1), (3, 3, 2), (0, 100, 0), (0, 0, 2)])
def test_room_is_left_for_the_drafter_beside_a_target_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more_mib: int, reserved_mib: int, layers: int
) -> None:
    path = model(tmp_path)
    monkeypatch.setattr(loading, "gpu_support", lambda: snug(facts_of(path), 2, more_mib * MIB))
    fitted = loading.fitted(path, TargetSettings(1024), reserved_mib * MIB)
    assert fitted.gpu_layers == layers


def test_the_library_says_how_many_layers_that_leaves(tmp_path: Path) -> None:
    path, asked = model(tmp_path), list[Path]()

    def room_for_drafter(target: Path) -> int:
        asked.append(target)
        return 3 * MIB

    with closing(Repository.open(tmp_path / "store")) as repository:
        machine = (lambda: snug(facts_of(path), 2)), room_for_drafter
        kept = SavedDownloads(tmp_path / "models")
        library = LibraryService(repository, kept, lambda: None, lambda _event: None, *machine)
        assert library.estimate(path, TargetSettings(1024)).gpu.num_layers == 1
    assert asked == [path]


def test_a_target_that_fits_whole_gives_up_nothing_for_a_drafter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(tmp_path)
    monkeypatch.setattr(loading, "gpu_support", lambda: snug(facts_of(path), 3))
    assert loading.fitted(path, TargetSettings(1024), 10**10).gpu_layers == 3


@pytest.mark.parametrize(("room_for", "layers"), [(3, 3), (2, 0), (1, 0)])
def test_a_drafter_is_on_the_card_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room_for: int, layers: int
) -> None:
    path = model(tmp_path)
    monkeypatch.setattr(loading, "gpu_support", lambda: snug(facts_of(path), room_for))
    assert loading.fitted_whole(path, TargetSettings(1024)).gpu_layers == layers
    assert loading.bytes_on_cards(path, TargetSettings(1024)) == on(card(8192), facts_of(path), 3).gpu.num_bytes


def test_without_a_card_there_is_nothing_to_fit_or_to_leave(tmp_path: Path) -> None:
    path = model(tmp_path)
    assert loading.fitted_whole(path, TargetSettings(1024)) == TargetSettings(1024)
    assert loading.bytes_on_cards(path, TargetSettings(1024)) == 0


def test_beside_a_large_target_the_card_keeps_room_for_the_starter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large.gguf"
    with large.open("wb") as file:
        file.truncate(4_000_000_000)
    assert room_for_drafter(large) == 0, "there is no card"
    monkeypatch.setattr(loading, "gpu_support", lambda: card(8192))
    assert starter_path().stat().st_size < room_for_drafter(large) < 4 * starter_path().stat().st_size
    assert room_for_drafter(starter_path()) == 0


def test_beside_a_target_with_a_drafter_of_its_own_the_card_keeps_room_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tiny_qwen3(tmp_path / "target.gguf")
    assert room_for_drafter(target) == 0
    head = tiny_head(tmp_path / "eagle3.gguf", HeadMethod.EAGLE3)
    assert room_for_drafter(target) == 0, "there is no card"
    monkeypatch.setattr(loading, "gpu_support", lambda: card(8192))
    whole = estimate(facts_of(head), TargetSettings(gpu_layers=2), card(8192)).gpu
    assert room_for_drafter(target) == whole.num_bytes > 0
    assert room_for_drafter(tmp_path / "gone.gguf") == 0
