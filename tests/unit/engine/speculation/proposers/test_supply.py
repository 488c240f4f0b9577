"""Finding who drafts for a target, loading it, and thinking again after a reply."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.choice import BUILT_IN, folder_source, starter_drafter
from engine.speculation.drafter.tokenizer_apart import TokenizerApart
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.identity import file_identity, file_stamp
from engine.speculation.model.interface import TargetFeature
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.drafting import Drafting
from engine.speculation.proposers.gguf_drafting import TeachableGgufDrafting
from engine.speculation.proposers.selection import Applicant, Pair
from engine.speculation.proposers.supply import Applicants, DrafterSupply, Known, open_drafting
from engine.speculation.proposers.teachable import TeachableDrafting
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import AUTOMATIC, STARTER, EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.drafters import DrafterRecord, DrafterRunner, DrafterSource, Guesses
from engine.values.errors import Cancelled, DrafterUnusable, StoreUnusable, TargetMissing
from engine.values.spare_time import SpareTime
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod, TargetRecord, TargetSource
from tests.fakes.gguf import TINY, Value, gguf
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import FREE
from tests.fakes.supply import FAKE_STARTER, TEXT, FakeSupply, large_target
from tests.fakes.target import FakeTarget
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_qwen3
from tests.unit.engine.speculation.learning.made import drafter_folder

STEEP = FixedCosts({1: 1.0, 16: 16.0})
GENTLE = FixedCosts({1: 1.0, 2: 1.2, 16: 4.0})
TARGET = "7a" * 32
WRONG = Guesses(2000, 0, 0, 0)


@pytest.fixture(autouse=True)
def _starter(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Is there, whether it is installed or not."""
    if "starter" not in request.keywords:
        monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", lambda: FAKE_STARTER)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository.open(tmp_path / "store")
    yield repository
    repository.close()


def never() -> bool:
    return False


def write(target: FakeTarget, drafting: Drafting | None) -> Reply:
    target.roll_back(0)
    speculation = None if drafting is None else Speculation(DraftPolicy(FREE, [drafting.proposer], step_s=0.0))
    writer = ReplyWriter(target, speculation)
    prepared = writer.prepare([ChatTurn(Role.USER, "Say it.")])
    settings = ReplySettings(SamplingSettings(temperature=0))
    return writer.write(prepared, settings, StopSignal(), RecordingReply())


def key_of(source: DrafterSource | None) -> str:
    return "" if source is None else source.key


# Who is chosen


def test_for_a_target_of_flat_passes_it_is_the_starter(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    choice = supply.choose(FREE)
    assert choice.chosen == FAKE_STARTER
    assert [each.source.key for each in choice.prospects] == [STARTER, BUILT_IN]
    assert choice.prospects[0].memory_bytes > FAKE_STARTER.size_bytes
    assert supply.choice == choice
    assert supply.choices == [choice]
    assert supply.opened == [], "nothing is loaded yet"


def test_where_nothing_pays_it_is_nobody(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    choice = supply.choose(STEEP)
    assert choice.chosen is None
    assert choice.why.startswith("No drafter pays for this model")
    assert not supply.reconsider(), "after a reply neither"
    assert supply.told == []


def test_a_given_step_decides(tmp_path: Path) -> None:
    steps = {STARTER: 0.5, BUILT_IN: 0.001}
    choice = FakeSupply(tmp_path).choose(FREE, lambda source: steps[source.key])
    assert key_of(choice.chosen) == BUILT_IN


def test_the_starter_does_not_draft_for_itself_but_the_drafter_that_it_taught_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    itself = DrafterSource(STARTER, "Starter", DrafterRunner.LLAMA_CPP, Path("fake.gguf"), 1_000, True, True)
    monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", lambda: itself)
    (prospect,) = FakeSupply(tmp_path).choose(FREE).prospects
    assert prospect.source.key == BUILT_IN
    assert (prospect.chance_first, prospect.chance_next) == pytest.approx(Pair.TAUGHT.value)


def test_the_starter_does_not_draft_for_another_form_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, used = large_target(), TargetSource(tmp_path / "starter-Q8_0.gguf", "starter")
    target.description = replace(target.description, path=used.path)
    monkeypatch.setattr("engine.speculation.proposers.supply.starter_in_use", lambda _data_dir: used)
    (prospect,) = FakeSupply(tmp_path, target).choose(FREE).prospects
    assert prospect.source.key == BUILT_IN


def test_an_installation_without_the_starter_has_the_built_in_drafter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> DrafterSource:
        raise TargetMissing("The starter model is not installed.")

    monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", missing)
    assert key_of(FakeSupply(tmp_path).choose(FREE).chosen) == BUILT_IN


def test_what_the_user_chose_drafts_whether_it_pays_or_not(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path, drafter=BUILT_IN)
    choice = supply.choose(STEEP)
    assert key_of(choice.chosen) == BUILT_IN
    assert choice.is_fixed
    assert choice.why == "You chose the built-in drafter."
    assert {each.source.key for each in choice.prospects} == {BUILT_IN, STARTER}, "the others can be compared"
    supply.load(never)
    supply.note(WRONG)
    assert not supply.reconsider()
    assert len(supply.told) == 1


def test_a_choice_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        FakeSupply(tmp_path, drafter=str(tmp_path / "nothing")).choose(FREE)


# Models of the library


class Library:
    """Model files with headers that mean something, and the target among them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[TargetRecord] = []
        self.target = large_target()
        self.add("target", num_weights=10_000)
        self.target.description = type(self.target.description)(
            self.records[0].path, "target", "llama", self.records[0].size_bytes, 1, None
        )

    def add(
        self, name: str, changes: dict[str, Value] | None = None, num_weights: int = 1_000, used: bool = False
    ) -> Path:
        path = self.folder / f"{name}.gguf"
        path.write_bytes(gguf({**TINY, "general.name": name, **(changes or {})}, {"weight": (32, num_weights)}))
        last_used_at = datetime.now(UTC) if used else None
        identity, stamp = file_identity(path), file_stamp(path) if used else ""
        size_bytes = path.stat().st_size
        record = TargetRecord(name, path, size_bytes, last_used_at, identity=identity, loaded_stamp=stamp)
        self.records.append(record)
        return path

    def supply(self, drafter: str = AUTOMATIC) -> FakeSupply:
        return FakeSupply(self.folder, self.target, drafter, known=Known(library=lambda: tuple(self.records)))

    def candidates(self) -> list[str]:
        """As they come: those of the family first, and then the smallest."""
        return [each.source.name for each in self.found()]

    def found(self) -> list[Applicant]:
        applicants = Applicants(self.target.description, self.folder, lambda: tuple(self.records)).find()
        return [each for each in applicants if not each.source.is_ours]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


OTHER_WORDS: dict[str, Value] = {"tokenizer.ggml.pre": "qwen2"}


def test_models_up_to_a_third_of_the_target_are_candidates(library: Library) -> None:
    library.add("third", num_weights=3_300)
    library.add("half", num_weights=5_000)
    library.add("tiny", num_weights=100)
    assert library.candidates() == ["tiny", "third"]


def test_the_drafter_made_for_a_target_is_a_candidate_wherever_the_library_has_it(library: Library) -> None:
    (library.folder / "heads").mkdir()
    head = tiny_head(library.folder / "heads" / "any.gguf", HeadMethod.DSPARK)
    tiny_head(library.folder / "eagle3-target.gguf", HeadMethod.EAGLE3, {"target_hidden_size": 128})
    library.records.append(TargetRecord("any", head, head.stat().st_size, None))
    target = replace(library.target.description, path=tiny_qwen3(library.folder / "Qwen3.gguf"))

    def made_for_it(*features: TargetFeature) -> list[tuple[DrafterRunner, HeadMethod | None, Path]]:
        found = Applicants(target, library.folder, lambda: tuple(library.records)).find(features=features)
        sources = [each.source for each in found if each.source.path == head]
        return [(each.runner, each.method, each.path) for each in sources]

    assert made_for_it(TargetFeature.LEADS) == [(DrafterRunner.BROUGHT, HeadMethod.DSPARK, head)]
    assert made_for_it() == [], "it is no model that drafts by itself"


def test_those_of_the_targets_family_come_first_and_are_expected_to_guess_better(library: Library) -> None:
    library.add("stranger", OTHER_WORDS, num_weights=500)
    library.add("cousin", num_weights=2_000)
    library.add("mistral", {"general.architecture": "qwen2"}, num_weights=400)
    library.add("larger words", {"tokenizer.ggml.tokens": [*"abcdefgh"]}, num_weights=300)
    assert library.candidates() == ["cousin", "larger words", "mistral", "stranger"]
    expected = {each.source.name: each.pair for each in library.found()}
    assert expected["cousin"] is Pair.FAMILY
    assert {pair for name, pair in expected.items() if name != "cousin"} == {Pair.SMALL}


def test_the_starter_is_looked_for_once_however_large_the_library_is(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[DrafterSource] = []

    def starter() -> DrafterSource:
        looks.append(FAKE_STARTER)
        return FAKE_STARTER

    monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", starter)
    library.add("first", num_weights=500)
    library.add("second", num_weights=400)
    assert library.candidates() == ["second", "first"]
    assert len(looks) == 1


def test_no_more_than_four_are_compared(library: Library) -> None:
    for number in range(6):
        library.add(f"small {number}", num_weights=1_000 - number)
    assert library.candidates() == ["small 5", "small 4", "small 3", "small 2"]


def test_models_that_cannot_draft_are_left_out(library: Library) -> None:
    library.add("embeds", {"general.architecture": "bert"})
    library.add("sees", {"general.type": "mmproj"})
    library.add("runs on", {"general.architecture": "mamba"})
    library.add("damaged").write_bytes(b"GGUF but no more than that")
    library.add("gone").unlink()
    library.add("good")
    assert library.candidates() == ["good"]


def test_one_that_would_take_half_of_what_is_free_is_left_out(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add("small", num_weights=1_000)
    memory = library.found()[0].memory_bytes
    assert memory > facts_of(library.records[-1].path).stamp.size_bytes, "with its context"
    monkeypatch.setattr("engine.speculation.proposers.supply.free_memory", lambda: 2 * memory + 2)
    assert library.candidates() == ["small"]
    monkeypatch.setattr("engine.speculation.proposers.supply.free_memory", lambda: 2 * memory - 2)
    assert library.candidates() == []


def test_the_starter_is_no_candidate_twice(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library.add("starter copy")
    source = DrafterSource(STARTER, "Starter", DrafterRunner.LLAMA_CPP, path, 1_000, True, True)
    monkeypatch.setattr("engine.speculation.proposers.supply.starter_drafter", lambda: source)
    assert library.candidates() == []
    keys = [each.source.key for each in library.supply().choose(FREE).prospects]
    assert sorted(keys) == [BUILT_IN, STARTER]


def test_a_cousin_in_the_library_is_chosen_where_it_gains_most(library: Library) -> None:
    path = library.add("cousin", used=True)
    source = library.supply().choose(FREE, lambda _source: 0.01).chosen
    assert source is not None
    assert (source.name, source.path, source.runner) == ("cousin", path, DrafterRunner.LLAMA_CPP)
    assert source.key == file_identity(path)
    assert source.trusted


def test_a_name_of_the_library_can_be_chosen_though_it_is_no_candidate(library: Library) -> None:
    library.add("as large", num_weights=9_000)
    choice = library.supply("as large").choose(STEEP)
    assert choice.chosen is not None
    assert choice.chosen.name == "as large"
    assert "as large" in [each.source.name for each in choice.prospects]


# Loading


def test_the_chosen_one_is_loaded_and_told_before_it_drafts(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    supply.choose(FREE)
    proposer = supply.load(never)
    (drafting,) = supply.told
    assert drafting is not None
    assert drafting.proposer is proposer
    assert (drafting.key, drafting.teachable, proposer.label) == (STARTER, None, "the starter")
    assert write(supply.target, drafting).text == write(large_target(), None).text == TEXT


def test_its_step_is_measured_before_anybody_else_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supply, steps = FakeSupply(tmp_path), list[float]()

    def teach(drafting: Drafting | None) -> None:
        assert drafting is not None
        steps.append(drafting.proposer.step_s)

    monkeypatch.setattr(supply, "_on_drafting", teach)
    supply.choose(FREE)
    proposer = supply.load(never)
    assert steps == [proposer.step_s]
    assert 0 < proposer.step_s < 0.01


def test_beside_a_reply_its_step_is_what_it_was_or_what_it_is_expected_to_be(
    tmp_path: Path, repository: Repository
) -> None:
    for known_s in (0.0, 0.05):
        repository.save_drafter_record(TARGET, DrafterRecord(STARTER, Guesses(), known_s))
        supply, spare = FakeSupply(tmp_path, identity=TARGET, known=Known(drafters=repository)), SpareTime()
        supply.is_quick = True
        expected = supply.choose(FREE).prospects[0]
        with spare.taken():
            proposer = supply.load(never, spare)
        assert proposer.step_s == expected.step_s
        assert expected.is_measured == bool(known_s)
        assert isinstance(proposer, DrafterProposer)
        assert proposer._drafter.num_held == 0, "nothing was read"


def test_where_one_cannot_be_loaded_the_next_one_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    supply = FakeSupply(tmp_path)
    supply.unusable = {STARTER}
    supply.choose(FREE)
    with caplog.at_level(logging.CRITICAL):
        assert supply.load(never).label == "the built-in drafter"
    assert supply.opened == [STARTER, BUILT_IN]
    assert [key_of(choice.chosen) for choice in supply.choices] == [STARTER, BUILT_IN]
    assert [drafting and drafting.key for drafting in supply.told] == [BUILT_IN]


def test_where_none_can_be_loaded_the_last_one_says_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    supply = FakeSupply(tmp_path)
    supply.unusable = {STARTER, BUILT_IN}
    supply.choose(FREE)
    with caplog.at_level(logging.CRITICAL), pytest.raises(DrafterUnusable, match="Built-in drafter cannot draft"):
        supply.load(never)
    assert supply.choice.chosen is None
    assert supply.told == []


def test_no_other_one_takes_the_place_of_what_the_user_chose(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path, drafter=BUILT_IN)
    supply.unusable = {BUILT_IN}
    supply.choose(FREE)
    with pytest.raises(DrafterUnusable, match="Built-in drafter cannot draft"):
        supply.load(never)
    assert supply.opened == [BUILT_IN]


def test_one_that_comes_too_late_is_told_to_nobody(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    supply.choose(FREE)
    supply.load(lambda: True)
    assert supply.told == []
    assert not supply.reconsider()


def test_loading_that_nobody_waits_for_does_not_begin(tmp_path: Path) -> None:
    vocabulary = large_target().vocabulary
    with pytest.raises(Cancelled):
        open_drafting(EngineConfig(tmp_path), FAKE_STARTER, vocabulary, is_cancelled=lambda: True)


def test_a_folder_is_run_by_torch_and_learns(tmp_path: Path) -> None:
    folder, told = drafter_folder(tmp_path), list[Drafting | None]()
    config = EngineConfig(tmp_path, SpeculationSettings(drafter=str(folder), device="cpu"))
    target = large_target()
    supply = DrafterSupply(config, target, on_drafting=told.append)
    assert supply.choose(STEEP).is_fixed
    proposer = supply.load(never)
    (drafting,) = told
    assert drafting is not None
    assert isinstance(drafting, TeachableDrafting)
    assert drafting.teachable is drafting
    assert isinstance(drafting._drafter.tokenizer, TokenizerApart), "its folder is not ours"
    assert proposer.label == folder.name
    assert write(target, drafting).text == TEXT


def num_pauses(config: EngineConfig, source: DrafterSource) -> int:
    """Times that loading asks whether it may go on."""
    asked: list[None] = []
    open_drafting(config, source, large_target().vocabulary, pause=lambda: asked.append(None))
    return len(asked)


def test_torch_waits_before_every_step_that_takes_long(tmp_path: Path) -> None:
    config = EngineConfig(tmp_path, SpeculationSettings(device="cpu"))
    source = folder_source(drafter_folder(tmp_path))
    for steps in (
        ["the library", "what imports it", "the trial", "the weights", "the map"],
        ["the library", "what imports it", "the trial", "the weights"],
    ):
        assert num_pauses(config, source) == len(steps)

    def never_again() -> None:
        raise Cancelled("Nobody needs it.")

    with pytest.raises(Cancelled):
        open_drafting(config, source, large_target().vocabulary, pause=never_again)


@pytest.mark.starter
def test_what_llama_cpp_loads_in_no_time_waits_for_nothing(tmp_path: Path) -> None:
    config, source = EngineConfig(tmp_path), starter_drafter()
    assert num_pauses(config, source) == 1, "the map is built"
    assert num_pauses(config, source) == 0
    assert num_pauses(config, replace(source, size_bytes=10**9)) == 1


@pytest.mark.starter
def test_the_real_starter_drafts_for_another_vocabulary(tmp_path: Path) -> None:
    told: list[Drafting | None] = []
    target = large_target()
    supply = DrafterSupply(EngineConfig(tmp_path), target, on_drafting=told.append)
    assert key_of(supply.choose(FREE).chosen) == STARTER
    supply.load(never)
    (drafting,) = told
    assert isinstance(drafting, TeachableGgufDrafting)
    reply = write(target, drafting)
    assert reply.text == TEXT
    assert reply.statistics.num_drafted


# After a reply


def proposer_of(supply: FakeSupply) -> DrafterProposer:
    drafting = supply.told[-1]
    assert drafting is not None
    assert isinstance(drafting.proposer, DrafterProposer)
    return drafting.proposer


def loaded(folder: Path, repository: Repository, identity: str = TARGET) -> FakeSupply:
    supply = FakeSupply(folder, identity=identity, known=Known(drafters=repository))
    supply.choose(FREE)
    supply.load(never)
    return supply


def test_what_was_seen_is_stored_and_known_at_the_next_start(tmp_path: Path, repository: Repository) -> None:
    supply = loaded(tmp_path, repository)
    reply = write(supply.target, supply.told[0])
    assert not supply.reconsider()
    record = repository.drafter_records(TARGET)[STARTER]
    assert record.guesses.num_first > 0
    assert record.guesses.first_right > 0
    assert record.guesses.first_right + record.guesses.next_right <= reply.statistics.num_accepted
    again = FakeSupply(tmp_path, identity=TARGET, known=Known(drafters=repository)).choose(FREE)
    known = next(each for each in again.prospects if each.source.key == STARTER)
    assert known.num_seen == record.guesses.num_first + record.guesses.num_next
    assert known.chance_first > Pair.SMALL.value[0]


def test_guesses_are_counted_once_and_added_to_those_before(tmp_path: Path, repository: Repository) -> None:
    repository.save_drafter_record(TARGET, DrafterRecord(STARTER, Guesses(10, 6, 4, 2), 0.01))
    supply = loaded(tmp_path, repository)
    proposer_of(supply).step_s = 0.01
    for _ in range(2):
        supply.note(Guesses(5, 3, 0, 0))
        supply.reconsider()
    supply.reconsider()
    assert repository.drafter_records(TARGET)[STARTER] == DrafterRecord(STARTER, Guesses(20, 12, 4, 2), 0.01)


def test_a_step_that_was_measured_again_is_stored_though_nothing_was_guessed(
    tmp_path: Path, repository: Repository
) -> None:
    supply = loaded(tmp_path, repository)
    proposer_of(supply).step_s = 0.02
    supply.reconsider()
    assert repository.drafter_records(TARGET)[STARTER] == DrafterRecord(STARTER, Guesses(), 0.02)


def test_a_chosen_drafter_is_remembered_too(tmp_path: Path, repository: Repository) -> None:
    supply = FakeSupply(tmp_path, drafter=BUILT_IN, identity=TARGET, known=Known(drafters=repository))
    repository.save_drafter_record(TARGET, DrafterRecord(BUILT_IN, Guesses(10, 6, 4, 2)))
    supply.choose(FREE)
    supply.load(never)
    supply.note(Guesses(5, 3, 0, 0))
    assert not supply.reconsider()
    assert repository.drafter_records(TARGET)[BUILT_IN].guesses == Guesses(15, 9, 4, 2)


def test_of_a_target_without_an_identity_nothing_is_stored(tmp_path: Path, repository: Repository) -> None:
    supply = loaded(tmp_path, repository, identity="")
    supply.note(Guesses(5, 3, 0, 0))
    supply.reconsider()
    assert repository.drafter_records("") == {}


def test_a_store_that_takes_nothing_changes_nothing_else(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: object) -> None:
        raise StoreUnusable("The disk is full; free some space.")

    supply = loaded(tmp_path, repository)
    monkeypatch.setattr(repository, "save_drafter_record", fail)
    supply.note(WRONG)
    with caplog.at_level(logging.CRITICAL):
        assert supply.reconsider()
    assert key_of(supply.choice.chosen) == BUILT_IN


def test_a_drafter_that_guesses_badly_leaves_its_place_to_another(tmp_path: Path, repository: Repository) -> None:
    supply = loaded(tmp_path, repository)
    supply.note(WRONG)
    assert supply.reconsider()
    assert supply.told[-1] is None
    assert key_of(supply.choice.chosen) == BUILT_IN
    assert supply.load(never).label == "the built-in drafter"
    assert not supply.reconsider()


def test_where_every_drafter_guesses_badly_none_is_left(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    supply.choose(GENTLE)
    for is_last in (False, True):
        supply.load(never)
        supply.note(WRONG)
        assert supply.reconsider()
        assert (supply.choice.chosen is None) is is_last
    assert [drafting and drafting.key for drafting in supply.told] == [STARTER, None, BUILT_IN, None]
    assert supply.choice.why.startswith("No drafter pays for this model")
    assert not supply.reconsider()
