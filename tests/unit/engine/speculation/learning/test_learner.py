"""The learner with a small drafter with random weights, and a target that always says the same kind of thing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from engine.speculation.drafter.adapter import Adapter, adapted
from engine.speculation.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.speculation.drafter.matrices import WeightForm
from engine.speculation.learning import learner as learners
from engine.speculation.learning.judge import Ruling
from engine.speculation.learning.learner import Learner, LearnerSettings, Trial
from engine.speculation.learning.samples import SampleMaker, spellings
from engine.speculation.learning.training import Training, TrainingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import VerifiedReply
from tests.unit.engine.speculation.learning.made import TARGET, drafter_folder, ids

# Without memory, which would know the foxes below by heart.
QUICK = LearnerSettings(TrainingSettings(4, 0.02, batch=2), num_again=5, first_tokens=50, remembers=False)
STILL = LearnerSettings(TrainingSettings(4, 1e-9, batch=2), first_tokens=50)
TURNS = (ChatTurn(Role.USER, "Hi"),)


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> LoadedDrafter:
    folder = drafter_folder(tmp_path_factory.mktemp("drafter"))
    return load_drafter(folder, "cpu", form=WeightForm.DENSE)


def make(drafter: LoadedDrafter, settings: LearnerSettings = QUICK, published: Adapter | None = None) -> Learner:
    strings = spellings(TARGET, drafter.tokenizer, drafter.model.shape.outputs)
    maker = SampleMaker(TARGET, drafter.tokenizer, strings)
    return Learner(
        Training(drafter.model.shape, drafter.model.weights, settings.training, published), maker, settings, published
    )


def reply(text: bytes) -> VerifiedReply:
    """The target was nearly certain of every token, and thought of one other."""
    tokens = ids(text)
    distribution = np.array([[token, (token + 1) % 256] for token in tokens], np.int32)
    logs = np.log(np.tile(np.array([0.95, 0.05], np.float32), (len(tokens), 1))).astype(np.float16)
    return VerifiedReply(np.array(tokens, np.int32), distribution, logs)


class SomebodyCame(Exception):
    pass


def go_on() -> None: ...


def teach(learner: Learner, texts: list[bytes], first: int = 0) -> list[Trial]:
    trials = []
    for number, text in enumerate(texts, first):
        learner.take(number, number, TURNS, reply(text))
        trials += worked_off(learner)
    return trials


def worked_off(learner: Learner) -> list[Trial]:
    trials = []
    while learner.has_work:
        trial = learner.work(go_on)
        if trial is not None:
            trials.append(trial)
    return trials


FOXES = [b"The quick brown fox!! The dog." + b" The fox." * (number % 3) for number in range(20)]


@pytest.fixture(scope="module")
def taught(drafter: LoadedDrafter) -> tuple[Learner, list[Trial]]:
    """What comes of foxes."""
    learner = make(drafter, QUICK)
    return learner, teach(learner, FOXES)


@pytest.fixture(scope="module")
def published(taught: tuple[Learner, list[Trial]]) -> Adapter:
    """What was learned of foxes."""
    adapter = taught[0].in_use.adapter
    assert adapter is not None
    return adapter


def test_what_a_target_says_again_and_again_is_guessed_better(taught: tuple[Learner, list[Trial]]) -> None:
    learner, trials = taught
    assert [trial.number for trial in trials] == [*range(20)], "each reply is scored, before it is learned from"
    assert len(set(trials[0].score.rounds)) == 1, "nothing was learned yet"
    later = [trial.score for trial in trials[5:]]
    assert all(each.rounds[3] < each.rounds[1] < each.original for each in later)
    assert Ruling.PROVEN in [trial.ruling for trial in trials]
    last = trials[-1]
    assert last.score.in_use < last.score.original / 1.5
    assert learner.in_use.strength > 0
    assert 0 < last.gain.num_replies < len(trials)
    assert last.gain.after > last.gain.before + 0.3


def test_what_drafts_changes_ever_more_rarely_and_has_never_learned_from_what_is_scored(drafter: LoadedDrafter) -> None:
    learner = make(drafter)
    learned, published = [], set()
    for number, text in enumerate(FOXES):
        learner.take(number, number, TURNS, reply(text))
        before = learner.in_use.adapter
        while learner._unscored:
            learner.work(go_on)
            assert learner.in_use.adapter is before
        worked_off(learner)
        if learner.in_use.adapter is not before:
            learned.append(learner._training.num_tokens)
            published.add(id(learner.in_use.adapter))
    assert learned[0] >= QUICK.first_tokens
    assert all(later >= QUICK.growth * earlier for earlier, later in pairwise(learned))
    assert 3 <= len(learned) <= 8


def test_what_memory_knows_anyway_saves_nothing(drafter: LoadedDrafter) -> None:
    beside, alone = (teach(make(drafter, replace(QUICK, remembers=knows)), FOXES[2:3] * 8) for knows in (True, False))
    assert alone[-1].score.in_use < alone[-1].score.original / 1.2
    assert beside[-1].score.in_use == pytest.approx(beside[-1].score.original, rel=0.1)
    first, *_, last = (trial.score for trial in beside)
    assert last.original < first.original / 2, "recall drafts"


def test_the_adapter_that_is_published_guesses_better(drafter: LoadedDrafter, published: Adapter) -> None:
    model = drafter.model
    prompt = drafter.tokenizer.encode_prompt(list(TURNS))
    said = drafter.tokenizer.encode(FOXES[0]) or []

    def num_right() -> int:
        found = 0
        for place in range(len(said)):
            model.roll_back(0)
            found += int(model.read([*prompt, *said[:place]]).argmax()) == said[place]
        return found

    own, before = model.weights, num_right()
    model.offer(adapted(own, published))
    model.refresh()
    assert num_right() > before + len(said) // 3
    model.offer(own)
    model.refresh()


def test_a_reply_that_is_not_new_is_no_work(drafter: LoadedDrafter) -> None:
    learner = make(drafter)
    learner.take(1, 1, TURNS, reply(FOXES[0]), is_new=False)
    assert not learner.has_work
    learner.take(2, 2, TURNS, reply(FOXES[1]))
    assert learner.has_work
    learner.forget([1, 2])
    assert not learner.has_work, "nothing is left to read"


def test_a_reply_that_waits_to_be_scored_is_not_scored_by_what_was_forgotten(drafter: LoadedDrafter) -> None:
    scores = []
    for forgets in (True, False):
        learner = make(drafter, replace(STILL, remembers=True))
        learner.take(1, 1, TURNS, reply(FOXES[2] * 2), is_new=False)
        learner.take(2, 2, TURNS, reply(FOXES[2] * 2))

        def come(new: Any = learner._unscored[0]) -> None:
            if new.remembered is not None:
                raise SomebodyCame

        with pytest.raises(SomebodyCame):
            learner.work(come)
        if forgets:
            learner.forget([1])
        scores += [trial.score.original for trial in worked_off(learner)]
    forgotten, known = scores
    assert known < forgotten / 1.5


def test_a_reply_is_not_scored_by_one_that_was_written_after_it(drafter: LoadedDrafter) -> None:
    scores = []
    for is_regenerated in (True, False):
        learner = make(drafter, replace(STILL, remembers=True))
        learner.take(1, 1, TURNS, reply(FOXES[2] * 2))
        if is_regenerated:
            learner.take(2, 1, TURNS, reply(FOXES[2] * 2))
        scores += [trial.score.original for trial in worked_off(learner)]
        assert sum(len(block.texts) for block in learner._memory._blocks) == 1 + is_regenerated, "it is known later"
    after, alone = scores
    assert after == alone


def test_what_was_self_distilled_is_read_once_and_with_new_replies_and_is_no_evidence(drafter: LoadedDrafter) -> None:
    other = (ChatTurn(Role.USER, "Why?"),)
    learner = make(drafter, replace(QUICK, max_distilled=200))
    for number in range(1, 31):
        learner.take(-number, 1, TURNS, reply(FOXES[number % 20]), is_new=False)
    assert not learner.has_work, "they were read before"
    for number in range(31, 61):
        learner.take(-number, 1, TURNS, reply(FOXES[number % 20]))
    assert worked_off(learner) == []
    assert learner._training.num_tokens > 30 * 5
    assert learner.in_use.adapter is not None
    assert list(learner._distilled)[-1] == -60
    assert 0 < sum(len(each.sample.tokens) for some in learner._distilled.values() for each in some) <= 200
    learner.take(1, 1, TURNS, reply(FOXES[1]))
    assert not learner._unscored, "its prompt was self-distilled"
    learner.take(2, 1, other, reply(FOXES[2]))
    (trial,) = worked_off(learner)
    assert trial.number == 2
    assert list(learner._examples) == [1, 2]
    assert {learner._choose().number > 0 for _ in range(50)} == {True, False}
    learner.forget([1, 2, *range(-60, 0)])
    assert not learner._examples
    assert not learner._distilled


def test_a_long_reply_is_learned_from_to_its_end_and_remembered_whole(drafter: LoadedDrafter) -> None:
    learner = make(drafter, replace(STILL, remembers=True))
    learner.take(1, 1, TURNS, reply(b" ".join(FOXES * 3)))
    (examples,) = (each.examples for each in learner._unscored)
    assert len(examples) > 1
    (trial,) = worked_off(learner)
    assert trial.score.num_tokens == examples[0].num_tokens, "as much as tells how it is guessed"
    assert learner._training.num_tokens == sum(each.num_tokens for each in examples)
    (text,) = (text for block in learner._memory._blocks for text in block.texts.values())
    assert len(text) - examples[0].sample.reply_start == learner._training.num_tokens


def test_a_reply_that_was_regenerated_or_scored_before_is_learned_from_and_no_evidence(drafter: LoadedDrafter) -> None:
    learner = make(drafter)
    assert len(teach(learner, FOXES[:1])) == 1
    learner.take(1, 0, TURNS, reply(FOXES[1]))
    learner.take(2, 2, TURNS, reply(FOXES[2]), is_scored=True)
    assert worked_off(learner) == []
    assert list(learner._examples) == [0, 1, 2]


def test_what_does_worse_on_later_replies_is_used_no_more(drafter: LoadedDrafter, published: Adapter) -> None:
    """It was published for foxes; then the user talks of something that only the original drafter can guess."""
    model = drafter.model
    texts = []
    for number in range(20):  # what the drafter says by itself
        model.roll_back(0)
        held = [*drafter.tokenizer.encode_prompt(list(TURNS)), *(drafter.tokenizer.encode(b"%d" % number) or [])]
        said = held[-1:]
        row = model.read(held)
        for _ in range(20):
            words = [t for t in range(3, 480) if drafter.tokenizer.pieces[t].isascii() and drafter.tokenizer.pieces[t]]
            said.append(max(words, key=lambda token: row[token]))
            row = model.read(said[-1:])
        texts.append(b"%d" % number + b"".join(drafter.tokenizer.pieces[token] for token in said[1:]))
    learner = make(drafter, STILL, published)
    trials = teach(learner, texts)
    back = next(trial for trial in trials if trial.ruling is Ruling.STARTED_OVER)
    assert back.score.original < back.score.rounds[1]
    assert sum(trial.score.in_use > 1.02 * trial.score.original for trial in trials) < len(trials) / 2
    assert learner.candidate.parts["0.qkv"].up.abs().max() < 1e-3, "it begins again from the original drafter"
    assert learner._training.num_tokens < sum(trial.score.num_tokens for trial in trials)


def test_a_step_that_is_ended_is_begun_anew(drafter: LoadedDrafter) -> None:
    interrupted, undisturbed = make(drafter), make(drafter)
    for learner in (interrupted, undisturbed):
        for number in range(6):
            learner.take(number, number, TURNS, reply(FOXES[number]))
    calls = 0

    def come() -> None:
        nonlocal calls
        calls += 1
        if calls % 200 == 0:
            raise SomebodyCame

    num_ended = num_steps = 0
    while interrupted.has_work and num_steps < 200:
        num_steps += 1
        try:
            interrupted.work(come)
        except SomebodyCame:
            num_ended += 1
    assert num_ended > 5
    assert not interrupted.has_work
    while undisturbed.has_work:
        undisturbed.work(go_on)
    moved = [part.up.abs().max() for part in interrupted._training.adapter.parts.values()]
    assert min(moved) > 0
    assert all(torch.isfinite(size) for size in moved)


def test_old_replies_thin_out_and_the_latest_stay(drafter: LoadedDrafter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learners, "_NUM_NEWEST", 4)
    learner = make(drafter, LearnerSettings(TrainingSettings(4), max_tokens=600))
    for number in range(60):
        learner.take(number, number, TURNS, reply(FOXES[number % 20]), is_new=False)
    kept = list(learner._examples)
    assert sum(len(each.sample.tokens) for some in learner._examples.values() for each in some) <= 600
    assert kept[-4:] == [56, 57, 58, 59]


def test_the_drafters_own_weights_are_only_read(drafter: LoadedDrafter) -> None:
    drafter.model.roll_back(0)
    before = np.array(drafter.model.read([5, 6, 7]))
    drafter.model.roll_back(0)
    teach(make(drafter), FOXES[:8])
    assert np.array_equal(drafter.model.read([5, 6, 7]), before)
    drafter.model.roll_back(0)


def test_marks_of_the_target_in_the_middle_of_a_reply_are_not_spelled_out(drafter: LoadedDrafter) -> None:
    mark = ids(b"!!", False)[0]
    target = replace(TARGET, special=frozenset({mark}))
    strings = spellings(target, drafter.tokenizer, drafter.model.shape.outputs)
    training = Training(drafter.model.shape, drafter.model.weights, QUICK.training)
    learner = Learner(training, SampleMaker(target, drafter.tokenizer, strings), QUICK)
    learner.take(1, 1, TURNS, reply(b"The quick brown fox!! The dog."), is_new=False)
    ((lesson,),) = learner._examples.values()
    said = lesson.sample.tokens[lesson.sample.reply_start :].tolist()
    assert said == [*(drafter.tokenizer.encode(b"The quick brown fox The dog.") or []), drafter.tokenizer.end]


def test_an_adapter_of_another_rank_is_gone_on_from(drafter: LoadedDrafter, published: Adapter) -> None:
    for rank in (2, 8):
        learner = make(drafter, LearnerSettings(TrainingSettings(rank), remembers=False), published)
        assert learner.candidate.rank == max(rank, published.rank)
        for name, part in published.parts.items():
            assert torch.allclose(learner.candidate.parts[name].product(), part.product(), atol=1e-5)
        teach(learner, FOXES[:1])
