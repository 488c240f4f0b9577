"""The library with a real store and made files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec

import pytest

from engine.backend.library.library_service import LibraryService
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.library.suggestions import expected_speed
from engine.backend.storage import Repository
from engine.speculation.model.files.sources import file_source, resolve_target
from engine.values.config import TargetOptions, TargetSettings
from engine.values.draft_policy import KnownCosts, LearnedPolicy, SpanCosts
from engine.values.errors import NotPossible, TargetMissing
from engine.values.events import Event, TargetInfo, TargetsListed
from engine.values.outlook import MachineFigures, Outlook
from engine.values.targets import HeadMethod, LibraryTarget
from tests.fakes.gguf import write
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_llama, tiny_mtp, tiny_qwen3
from tests.projector import width_of, write_projector

P = ParamSpec("P")
OPTIONS = TargetOptions(TargetSettings(threads=3), system_prompt="Be brief.")


class Desk:
    """A service without a starter, and what it told."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.repository = repository
        self.told: list[tuple[LibraryTarget, ...]] = []
        self.loaded: TargetInfo | None = None
        kept = SavedDownloads(folder / "models")
        self.service = LibraryService(repository, kept, lambda: self.loaded, self._hear, _build=lambda: "build")

    def _hear(self, event: Event) -> None:
        assert isinstance(event, TargetsListed)
        self.told.append(event.targets)

    def after(self, change: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> tuple[LibraryTarget, ...]:
        """The library as it is told because of a change."""
        self.told.clear()
        change(*args, **kwargs)
        (listed,) = self.told
        return listed


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr("engine.speculation.model.files.sources._STARTER_PACKAGE", "no_such_package")
    with closing(Repository.open(tmp_path / "store")) as repository:
        yield Desk(repository, tmp_path)


def test_models_of_a_folder_are_added_once_and_stay(desk: Desk, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "x" / f"{name}.gguf")
    for _ in range(2):
        names = [target.name for target in desk.after(desk.service.add, (tmp_path / "x",))]
        assert sorted(names) == ["a", "b"]
    assert len(desk.service.list()) == 2


def test_what_is_left_out_is_told_beside_what_is_added(desk: Desk, tmp_path: Path) -> None:
    write(tmp_path / "x" / "a.gguf")
    write(tmp_path / "x" / "find.gguf", {"general.architecture": "bert"})
    added = desk.service.add((tmp_path / "x",))
    assert [target.name for target in added.targets] == ["a"]
    assert added.left_out == ("find.gguf finds and compares texts but cannot write any; choose a chat model.",)


def test_nothing_to_add_is_an_error_with_the_reason(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"PK")
    with pytest.raises(NotPossible, match=r"a.gguf is not in the GGUF format; choose another model file\.$"):
        desk.service.add((tmp_path / "a.gguf",))
    with pytest.raises(NotPossible, match="is gone"):
        desk.service.add((tmp_path / "gone.gguf",))
    assert desk.service.list() == ()


def test_missing_and_damaged_files_stay_in_the_list_and_say_so(desk: Desk, tmp_path: Path) -> None:
    gone, damaged = (write(tmp_path / f"{name}.gguf") for name in ("gone", "damaged"))
    desk.service.add((gone, damaged))
    gone.unlink()
    damaged.write_bytes(damaged.read_bytes()[:100])
    problems = {target.name: target.problem for target in desk.service.list()}
    assert problems["gone"] == f"The file {gone} is gone; put it back, or remove it from the list."
    assert problems["damaged"] == "damaged.gguf is cut short; download it again."


def test_a_header_is_read_once(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.service.add((write(tmp_path / "a.gguf"),))
    monkeypatch.setattr("engine.speculation.model.files.facts.read_model", None)
    (target,) = desk.service.list()
    assert target.details is not None


def test_an_added_target_is_not_trusted_before_it_was_loaded(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    desk.service.add((path,))
    assert not resolve_target("a", desk.repository).trusted
    desk.repository.remember_target(file_source(path))
    assert resolve_target("a", desk.repository).trusted


def test_options_are_kept_through_loading_and_reading(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    desk.service.add((path,))
    assert desk.after(desk.service.change_options, path, OPTIONS)[0].options == OPTIONS
    desk.repository.remember_target(file_source(path))
    assert desk.service.list()[0].options == OPTIONS
    with pytest.raises(TargetMissing, match="is not in the library; add it first"):
        desk.service.change_options(tmp_path / "other.gguf", OPTIONS)


def test_a_file_that_moved_is_one_target_with_its_options(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    desk.service.add((path,))
    before = desk.repository.remember_target(file_source(path))
    desk.service.change_options(path, OPTIONS)
    moved = path.rename(tmp_path / "b.gguf")
    assert desk.service.list()[0].problem.endswith("is gone; put it back, or remove it from the list.")
    (target,) = desk.after(desk.service.add, (moved,))
    assert (target.path, target.name, target.problem) == (moved, "b", "")
    assert (target.options, target.last_used_at) == (OPTIONS, before.last_used_at)
    assert target.identity == before.identity != ""


def test_a_file_that_changed_has_no_options_and_is_not_trusted(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    desk.service.add((path,))
    desk.repository.remember_target(file_source(path))
    (before,) = desk.after(desk.service.change_options, path, OPTIONS)
    os.utime(write(path, {"general.name": "Tina"}), ns=(1, 1))  # of the same size
    (target,) = desk.service.list()
    assert target.size_bytes == before.size_bytes
    assert target.identity not in ("", before.identity)
    assert (target.options, target.last_used_at) == (TargetOptions(), None)
    assert not resolve_target("a", desk.repository).trusted


def test_a_model_in_parts_of_before_identities_keeps_its_options(desk: Desk, tmp_path: Path) -> None:
    path, _ = (write(tmp_path / f"big-{part:05}-of-00002.gguf") for part in (1, 2))
    desk.repository.remember_target(replace(file_source(path, identity=""), stamp=""))
    desk.repository.change_target_options(path, OPTIONS)
    (target,) = desk.service.list()
    assert target.options == OPTIONS
    assert target.identity != ""
    assert not resolve_target("big", desk.repository).trusted, "nobody knows what it was when it was last loaded"


def test_removing_leaves_the_file_unless_told_otherwise(desk: Desk, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"big-{part:05}-of-00002.gguf") for part in (1, 2)]
    desk.service.add((paths[0],))
    assert desk.after(desk.service.remove, paths[0]) == ()
    assert all(path.exists() for path in paths)
    assert [target.name for target in desk.after(desk.service.add, (paths[1],))] == ["big"]
    assert desk.after(desk.service.remove, paths[0], delete_file=True) == ()
    assert not any(path.exists() for path in paths)


def test_only_model_files_of_the_library_are_deleted(desk: Desk, tmp_path: Path) -> None:
    stranger = write(tmp_path / "stranger.gguf")
    with pytest.raises(NotPossible, match="is not in the library, so its file is left alone"):
        desk.service.remove(stranger, delete_file=True)
    notes = tmp_path / "notes.txt"
    notes.touch()
    desk.repository.remember_target(file_source(notes))
    with pytest.raises(NotPossible, match=r"does not end in \.gguf, so it is left alone"):
        desk.service.remove(notes, delete_file=True)
    assert stranger.exists()
    assert notes.exists()


@pytest.mark.starter
def test_the_file_that_is_loaded_is_not_deleted_by_another_name(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    link = tmp_path / "link.gguf"
    link.symlink_to(path)
    desk.service.add((path, link))
    info = TargetInfo("link", str(link), "", 512, 1, 1)
    desk.loaded = info
    with pytest.raises(NotPossible, match="is loaded"):
        desk.service.remove(path, delete_file=True)
    assert path.exists()


def test_the_starter_is_first_and_stays(tmp_path: Path) -> None:
    with closing(Repository.open(tmp_path / "store")) as repository:
        desk = Desk(repository, tmp_path)
        starter, _ = desk.after(desk.service.add, (write(tmp_path / "a.gguf"),))
        assert starter.is_starter
        for delete in (False, True):
            with pytest.raises(NotPossible, match="The starter model belongs to Slipstream"):
                desk.service.remove(starter.path, delete)
        assert starter.path.exists()
        options = TargetOptions(TargetSettings(context_size=64))
        assert desk.after(desk.service.change_options, starter.path, options)[0].options == options


def test_memory_is_estimated_with_what_the_user_set(desk: Desk, tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf")
    desk.service.add((path,))
    desk.service.change_options(path, TargetOptions(TargetSettings(context_size=512)))

    def context(settings: TargetSettings) -> int:
        estimate = desk.service.estimate(path, settings)
        assert estimate.available > 0
        return estimate.context

    assert context(TargetSettings(context_size=1024)) == 2 * context(TargetSettings())
    with pytest.raises(TargetMissing):
        desk.service.estimate(tmp_path / "gone.gguf", TargetSettings())


def test_speeds_of_suggestions_are_estimated_from_what_was_measured_here(desk: Desk, tmp_path: Path) -> None:
    suggestions = desk.service.suggestions
    assert {each.tokens_per_s for each in suggestions()} == {0.0}, "nothing was measured"
    path = write(tmp_path / "tiny.gguf")
    target = desk.repository.add_target(file_source(path))
    desk.repository.save_policy(
        target.identity, "build", 2, LearnedPolicy(KnownCosts({0: SpanCosts(0.01, (1.0,), (1.0,))}))
    )
    measured = [(path.stat().st_size, 0.01)]
    for each in suggestions():
        assert each.tokens_per_s == expected_speed(each.read_share * each.file.size_bytes, measured)


def test_a_downloaded_projector_goes_with_the_last_model_that_sees_with_it(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "somebody--a-GGUF"
    folder.mkdir(parents=True)
    models = [tiny_llama(folder / f"a-{quantization}.gguf") for quantization in ("Q4_0", "Q8_0")]
    projector = write_projector(folder / "mmproj-F16.gguf", width_of(models[0]))
    own = tiny_llama(tmp_path / "own.gguf")
    own_projector = write_projector(tmp_path / "mmproj-own.gguf", width_of(own))
    listed = desk.after(desk.service.add, (*models, own))
    assert [target.sees_pictures for target in listed] == [True] * 3
    desk.service.remove(models[0], delete_file=True)
    assert projector.exists()
    desk.service.remove(models[1], delete_file=True)
    assert not folder.exists()
    desk.service.remove(own, delete_file=True)
    assert own_projector.exists()


def test_a_drafter_made_for_a_model_is_paired_with_it_and_is_no_model_itself(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    model = tiny_qwen3(tmp_path / "models" / "Qwen3.gguf")
    (alone,) = desk.after(desk.service.add, (model,))
    assert (alone.brings, alone.head) == (None, None)
    before = desk.service.estimate(model, TargetSettings())
    head = tiny_head(tmp_path / "heads.gguf", HeadMethod.DFLASH)
    added = desk.service.add((head,))
    assert ([each.head for each in added.targets], added.left_out) == ([HeadMethod.DFLASH], ())
    listed = {target.path: target for target in desk.service.list()}
    assert (listed[model].brings, listed[model].problem) == (HeadMethod.DFLASH, "")
    assert listed[head].brings is None
    assert "made for one model and writes nothing on its own" in listed[head].problem
    after = desk.service.estimate(model, TargetSettings())
    assert (before.drafter, after.total - before.total) == (0, after.drafter)
    assert after.drafter > head.stat().st_size
    beside = tiny_head(model.with_name("eagle3-Qwen3.gguf"), HeadMethod.EAGLE3, {"target_hidden_size": 128})
    unfit = next(target for target in desk.service.list() if target.path == model)
    assert (unfit.brings, unfit.unfit_drafter) == (HeadMethod.DFLASH, "")
    desk.service.remove(head)
    unfit = next(target for target in desk.service.list() if target.path == model)
    assert unfit.unfit_drafter.startswith(f"{beside.name} was made for a model with 128 numbers")


def test_layers_of_its_own_count_for_what_they_compute(desk: Desk, tmp_path: Path) -> None:
    whole = tiny_mtp(tmp_path / "whole.gguf")
    trunk = tiny_mtp(tmp_path / "trunk.gguf", without="blk.1.nextn")
    listed = desk.after(desk.service.add, (whole, trunk))
    assert {target.name: target.brings for target in listed} == {"whole": HeadMethod.MTP, "trunk": None}
    drafters = [desk.service.estimate(path, TargetSettings()).drafter for path in (whole, trunk)]
    assert drafters[0] > drafters[1] == 0


def test_a_downloaded_drafter_goes_with_the_last_model_that_it_drafts_for(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "somebody--a-GGUF"
    folder.mkdir(parents=True)
    models = [tiny_qwen3(folder / f"a-{quantization}.gguf") for quantization in ("Q4_0", "Q8_0")]
    head = tiny_head(folder / "eagle3-a.gguf", HeadMethod.EAGLE3)
    desk.service.add(tuple(models))
    desk.service.remove(models[0], delete_file=True)
    assert head.exists()
    desk.service.remove(models[1], delete_file=True)
    assert not folder.exists()


def test_what_to_expect_of_models_follows_what_was_measured_now_or_before(desk: Desk, tmp_path: Path) -> None:
    def outlooks(machine: MachineFigures | None = None) -> tuple[Outlook, ...]:
        return desk.service.expect_speeds(machine).outlooks

    assert outlooks() == (), "nothing was measured"
    sizes = [each.suggestion.file.size_bytes for each in outlooks(_machine(0.01)) if each.suggestion is not None]
    assert len(sizes) == 4
    assert sizes == sorted(sizes)
    slow, fast = outlooks(_machine(0.02)), outlooks(_machine(0.01))
    for one, other in zip(slow, fast, strict=True):
        assert other.plain.middle == pytest.approx(2 * one.plain.middle)
    target = desk.repository.add_target(file_source(write(tmp_path / "tiny.gguf")))
    costs = SpanCosts(0.01, (1.0, 1.1), (1.0, 1.0))
    desk.repository.save_policy(target.identity, "build", 2, LearnedPolicy(KnownCosts({0: costs})))
    assert len(outlooks()) == 4, "as it was measured before"


def _machine(single_s: float) -> MachineFigures:
    return MachineFigures("tiny", "file:1", 98_000_000, {1: single_s, 2: 1.5 * single_s, 8: 3 * single_s}, 400.0)
