"""Tuning through the service, with a real store and tiny models that llama.cpp runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.backend.library.library_service import LibraryService
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.library.tuning.comparing import QuantizationBench
from engine.backend.library.tuning.measuring import Extent
from engine.backend.library.tuning.tuning_service import TuningService
from engine.backend.storage import Repository
from engine.loading import load_target
from engine.speculation.model.files.identity import file_identity
from engine.speculation.model.llama.quantizations import make_quantization
from engine.speculation.model.llama.runtime import read_runtime
from engine.values.config import TargetOptions, TargetSettings
from engine.values.conversations import Role
from engine.values.errors import Cancelled, NotPossible, TargetMissing, TargetUnusable
from engine.values.events import Event, TargetsListed
from engine.values.quantizations import Distance, QuantizationFigures, TuneProgress, TuneReport
from engine.values.stop_signal import StopSignal
from engine.values.targets import LibraryTarget
from tests.fakes.gguf import write
from tests.fakes.tiny_models import tiny_llama

pytestmark = pytest.mark.usefixtures("sound_models")

BUILD = read_runtime().key
SMALL = Extent(num_turns=1, num_prompts=2, reply_tokens=8)


class Desk:
    """The service, and what it told."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.repository = repository
        self.events: list[Event] = []
        saved = SavedDownloads(folder / "models")
        self.library = LibraryService(repository, saved, lambda: None, self.events.append, _build=lambda: BUILD)
        self.service = TuningService(repository, lambda: self.library, load_target, repository.data_dir)

    def listed(self) -> dict[str, LibraryTarget]:
        self.library.report()
        event = self.events[-1]
        assert isinstance(event, TargetsListed)
        return {target.name: target for target in event.targets}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr("engine.speculation.model.files.sources._STARTER_PACKAGE", "no_such_package")
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.USUAL", SMALL)
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.QUICK", SMALL)
    with closing(Repository.open(tmp_path / "store")) as repository:
        yield Desk(repository, tmp_path)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    return tiny_llama(tmp_path / "mine" / "tiny.gguf")


def test_a_target_is_measured_beside_other_quantizations_which_are_removed(desk: Desk, original: Path) -> None:
    desk.library.add((original,))
    told: list[TuneProgress] = []
    report, _ = desk.service.tune(original, ("Q8_0", "Q4_0"), progress=told.append)
    assert [each.quantization for each in report.quantizations] == ["Q8_0", "Q4_0"]
    near, far = (each.distance for each in report.quantizations)
    assert near is not None
    assert far is not None
    assert near.mean_kl < far.mean_kl
    assert report.original.identity == file_identity(original)
    assert report.original.size_bytes == original.stat().st_size > report.quantizations[0].size_bytes
    assert list(original.parent.iterdir()) == [original]
    assert {(each.quantization, each.step.value) for each in told} >= {
        ("Q8_0", "making"), ("Q8_0", "writing"), ("Q4_0", "timing"), ("Q4_0", "comparing"),
    }  # fmt: skip
    assert desk.listed()["tiny"].tuned == desk.repository.tune_reports(BUILD)[report.original.identity]


def test_the_target_alone_is_measured_where_no_quantization_is_asked_for(desk: Desk, original: Path) -> None:
    report, kept = desk.service.tune(original, ())
    assert not report.quantizations
    assert not kept
    assert report.original.plain_tokens_per_s > 0


def test_quantizations_that_are_kept_are_in_the_library(desk: Desk, original: Path) -> None:
    report, kept = desk.service.tune(original, ("Q8_0",), keeps=True)
    assert kept == (original.parent / "tiny-Q8_0.gguf",)
    assert file_identity(kept[0]) == report.quantizations[0].identity
    assert "tiny-Q8_0" in desk.listed()
    with pytest.raises(NotPossible, match="already exists"):
        desk.service.tune(original, ("Q8_0",), keeps=True)


def test_a_quantization_that_is_made_is_in_the_library_and_offered_no_more(desk: Desk, original: Path) -> None:
    made = desk.service.make(original, "Q8_0")
    assert made == original.parent / "tiny-Q8_0.gguf"
    assert "tiny-Q8_0" in desk.listed()
    listed = desk.service.offers(original)
    offers = {offer.quantization: offer for offer in listed}
    assert offers["Q8_0"].problem == "tiny-Q8_0.gguf is there already."
    assert not offers["Q4_K_M"].problem
    assert offers["F16"].size_bytes > offers["Q8_0"].size_bytes == pytest.approx(made.stat().st_size, abs=20_000)
    assert [offer.size_bytes for offer in listed] == sorted((o.size_bytes for o in listed), reverse=True)


def test_a_folder_that_cannot_be_written_is_left_alone(
    desk: Desk, original: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: path != original.parent)
    made = desk.service.make(original, "Q8_0")
    assert made == desk.repository.data_dir / "models" / "tiny-Q8_0.gguf"
    assert list(original.parent.iterdir()) == [original]
    assert tmp_path in made.parents


@pytest.mark.parametrize("moment", ["making", "timing", "writing", "comparing"])
def test_cancelling_at_any_moment_leaves_nothing(desk: Desk, original: Path, moment: str) -> None:
    stop = StopSignal()

    def hear(now: TuneProgress) -> None:
        if now.step.value == moment:
            stop.set()

    with pytest.raises(Cancelled):
        desk.service.tune(original, ("Q8_0", "Q4_0"), keeps=True, stop=stop, progress=hear)
    assert list(original.parent.iterdir()) == [original]
    assert desk.repository.tune_reports(BUILD) == {}


def test_what_cannot_be_measured_is_told(desk: Desk, original: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetMissing):
        desk.service.tune(tmp_path / "gone.gguf")
    with pytest.raises(TargetUnusable, match="cannot write any"):
        desk.service.tune(write(tmp_path / "find.gguf", {"general.architecture": "bert"}), ("Q8_0",))
    with pytest.raises(NotPossible, match="cannot be made here"):
        desk.service.tune(original, ("Q8_0", "IQ1_S"))
    made = desk.service.make(original, "Q8_0")
    with pytest.raises(NotPossible, match="is already in Q8_0"):
        desk.service.tune(made, ("Q8_0",))


@dataclass(frozen=True, slots=True)
class FakeBench(QuantizationBench):
    """Makes quantizations, and finds what it is told to."""

    def compare(
        self,
        quantizations: Sequence[str],  # noqa: ARG002
        folder: Path,
        extent: Extent,  # noqa: ARG002
        keeps: Callable[[QuantizationFigures], bool],
    ) -> tuple[TuneReport, dict[str, Path]]:
        original = QuantizationFigures("F32", self.source.identity, 100, ((1, 0.010),))
        quantization = QuantizationFigures(
            "Q8_0", "file:x", 90, ((1, SPEED.seconds),), SPEED.error, Distance(SPEED.kl, 0.0, 0.99, 500)
        )
        file = folder / "tiny-Q8_0.gguf"
        made = {}
        if keeps(quantization):
            make_quantization(self.source.path, "Q8_0", file, self.stop)
            made["Q8_0"] = file
        SPEED.num_measured += 1
        return TuneReport(BUILD, 2, datetime.now(UTC), original, (quantization,)), made


class Speed:
    seconds, error, kl = 0.008, 0.01, 0.004
    num_measured = 0


SPEED = Speed()


@pytest.fixture
def starter(desk: Desk, original: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny model as starter, whose Q8_0 is said to be faster and near."""
    monkeypatch.setattr("tests.unit.engine.backend.library.tuning.test_tuning_service.SPEED", Speed())
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.QuantizationBench", FakeBench)
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.usable_cores", lambda: 2)
    for module in ("engine.speculation.model.files.sources", "engine.backend.library.tuning.tuning_service"):
        monkeypatch.setattr(f"{module}.starter_path", lambda: original)
    assert desk.listed()["tiny"].is_starter
    return original


def the_starter(desk: Desk) -> LibraryTarget:
    targets = desk.listed().values()
    assert len(targets) == 1, "its other form is not listed beside it"
    return next(iter(targets))


def test_the_starter_is_used_in_the_fastest_quantization_that_is_near(desk: Desk, starter: Path) -> None:
    options = TargetOptions(TargetSettings(threads=2), system_prompt="Be brief.")
    desk.repository.change_target_options(starter, options)
    quantization, report = desk.service.tune_starter(is_quick=True)
    assert quantization == "Q8_0"
    listed = the_starter(desk)
    assert listed.is_starter
    assert listed.starter_quantization == "Q8_0"
    assert listed.path.parent.parent == desk.repository.data_dir / "starter"
    assert listed.options == options, "the user's settings go along"
    assert listed.tuned == report
    assert list(starter.parent.iterdir()) == [starter]
    with pytest.raises(NotPossible, match="belongs to Slipstream"):
        desk.library.remove(listed.path, delete_file=True)

    desk.service.reset_starter()
    back = the_starter(desk)
    assert back.path == starter
    assert back.starter_quantization == ""
    assert back.options == options
    assert not listed.path.exists()


def test_what_was_decided_or_undone_is_thought_over_when_that_is_asked_for_only(desk: Desk, starter: Path) -> None:
    assert desk.service.tune_starter(again=False)[0] == "Q8_0"
    assert desk.service.tune_starter(again=False) == ("Q8_0", None)
    assert SPEED.num_measured == 1
    desk.service.reset_starter()
    assert desk.service.tune_starter(again=False) == ("", None)
    assert SPEED.num_measured == 1
    assert desk.service.tune_starter()[0] == "Q8_0"
    assert SPEED.num_measured == 2
    assert the_starter(desk).path != starter


@pytest.mark.parametrize(("name", "value"), [("seconds", 0.0099), ("kl", 0.02), ("error", 0.2)])
def test_the_starter_stays_where_a_quantization_is_not_clearly_faster_or_not_near(
    desk: Desk, starter: Path, name: str, value: float
) -> None:
    setattr(SPEED, name, value)
    assert desk.service.tune_starter()[0] == ""
    assert the_starter(desk).path == starter


def test_a_measurement_on_a_busy_machine_is_made_again(desk: Desk, starter: Path) -> None:
    SPEED.error = 0.2
    assert desk.service.tune_starter(again=False)[0] == ""
    SPEED.error = 0.01
    assert desk.service.tune_starter(again=False)[0] == "Q8_0"
    assert the_starter(desk).path != starter


def test_the_starter_in_another_quantization_is_tuned_as_it_was_installed(desk: Desk, starter: Path) -> None:
    desk.service.tune_starter()
    used = the_starter(desk).path
    assert used != starter
    report, _ = desk.service.tune(used, ("Q8_0",))
    assert report.original.identity == file_identity(starter)
    assert {offer.path.parent for offer in desk.service.offers(used)} == {desk.repository.data_dir / "models"}


def test_replies_to_what_the_user_asked_are_compared_if_wanted(desk: Desk, original: Path) -> None:
    chat = desk.repository.create_conversation("x", "")
    for text in ("the and a", "the and a", "x" * 1000):
        desk.repository.add_message(chat.id, None, Role.USER, text)
    secret = desk.repository.create_conversation("y", "", incognito=True)
    desk.repository.add_message(secret.id, None, Role.USER, "abc")
    report, _ = desk.service.tune(original, ("Q8_0",), own_prompts=True)
    distance = report.quantizations[0].distance
    assert distance is not None
    assert distance.num_own == 1, "once, and neither long ones nor those of an incognito chat"


def test_what_a_killed_program_left_is_removed_the_next_day(desk: Desk, original: Path) -> None:
    old, new = original.parent / ".forms-old", original.parent / ".forms-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "half.gguf").write_bytes(b"GGUF")
    long_ago = old.stat().st_mtime - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    desk.service.tune(original, ())
    assert sorted(original.parent.iterdir()) == [new, original]
