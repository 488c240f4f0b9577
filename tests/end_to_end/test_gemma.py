"""Gemma 3 270M as target and as drafter, with the starter as the other: another family and vocabulary, windows of 512
tokens, and no chat template. `make test-gemma` runs these tests."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.lab.measuring.bench import LogitGauge
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.choice import drafter_source
from engine.speculation.model.files.estimate import estimate
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.speculation.model.interface import FloatRow, Target, TargetFeature, branching, keeping
from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.numerics.draft_length import FixedCosts
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.supply import open_drafting
from engine.speculation.replies.reopening import Reopening
from engine.speculation.replies.reply import ReplyWriter
from engine.values.config import (
    STARTER,
    EngineConfig,
    PromptCacheSettings,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
)
from engine.values.conversations import ChatTurn, Role
from engine.values.drafters import DrafterSource
from engine.values.stop_signal import StopSignal
from tests.benchmarks.exactness import open_experiment
from tests.gemma import gemma_path
from tests.unit.engine.speculation.model.files.test_estimate import MEASURE

pytestmark = [pytest.mark.gemma, pytest.mark.timeout(600)]

GO = StopSignal()
WINDOW = 512
GREEDY = SamplingSettings(temperature=0)
NUM_DRAWS = 3_000
PROMPTS = ("The old lighthouse on the cliff", "def sort_names(names):\n    ")
LARGEST_GAP = 0.9  # of logits, where greedy texts part: Gemma's spread further than the starter's
ROUNDING = 0.15  # of logits computed in batches of another size, as a share of their spread; wrong ones differ by 0.5
GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


@pytest.fixture(scope="module")
def text() -> str:
    return GUIDE.read_text("utf-8")


def drafting_policy(source: DrafterSource, target: Target, folder: Path, most: int) -> DraftPolicy:
    """One that always drafts."""
    policy = DraftPolicy(FixedCosts({1: 1.0, 16: 1.0}), always=Always(3, most))
    policy.join(open_drafting(EngineConfig(folder, SpeculationSettings()), source, target.vocabulary).proposer)
    return policy


def other(target: Target, folder: Path) -> DrafterSource:
    """The one of both models that is not the target."""
    return drafter_source(STARTER if target.description.name == "gemma" else str(gemma_path()), folder)


@pytest.fixture(params=["gemma, the starter drafts", "the starter, gemma drafts"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue("gemma" if request.param.startswith("gemma") else "starter")
    found.roll_back(0)
    return found


def row_after(target: Target, tokens: list[int]) -> FloatRow:
    """The logits after these tokens, read from the first one on."""
    target.roll_back(0)
    row: FloatRow = Session(target).read(tokens, GO)[0].copy()
    return row


def assert_same(row: FloatRow, expected: FloatRow) -> None:
    assert (row - expected).std() < ROUNDING * expected.std()
    assert expected.max() - expected[row.argmax()] < LARGEST_GAP


def test_it_is_what_these_tests_are_about(gemma: Target) -> None:
    assert len(gemma.vocabulary) == 262_144
    assert gemma.description.chat_template is None
    assert gemma.limits.rolls_back_freely
    assert {TargetFeature.BRANCHES, TargetFeature.KEEPS, TargetFeature.STATES} <= gemma.features


def test_greedy_text_is_that_of_plain_decoding_but_for_near_ties(target: Target, tmp_path: Path) -> None:
    policies = [drafting_policy(other(target, tmp_path), target, tmp_path, most) for most in (3, 7)]
    num_accepted = 0
    for prompt in PROMPTS:
        turns = [ChatTurn(Role.USER, prompt)]
        replies = []
        for policy in (None, *policies):
            target.roll_back(0)
            writer = ReplyWriter(target, None if policy is None else Speculation(policy))
            prepared = writer.prepare(turns)
            replies.append(writer.write(prepared, ReplySettings(GREEDY, max_tokens=48), GO))
        plain = replies[0]
        for drafted in replies[1:]:
            assert drafted.failure is None
            num_accepted += drafted.statistics.num_accepted
            if drafted.tokens != plain.tokens:
                place = common_prefix_length(plain.tokens, drafted.tokens)
                tokens = prepared.prompt.tokens, plain.tokens[:place]
                gap = LogitGauge(target).gap(*tokens, drafted.tokens[place], GO)
                assert gap is not None
                assert gap < LARGEST_GAP
    assert num_accepted > 20


@pytest.mark.parametrize("max_branches", [1, 4], ids=["sampled drafts", "trees"])
def test_what_is_drafted_follows_the_targets_distribution(target: Target, tmp_path: Path, max_branches: int) -> None:
    experiment = open_experiment(target, tmp_path, SamplingSettings(temperature=0.8), other(target, tmp_path))
    result = experiment.compare(NUM_DRAWS, seed=1, max_branches=max_branches)
    assert result.num_accepted > NUM_DRAWS / 20
    assert result.p_value_of_distribution > 0.001
    assert result.p_value_of_plain > 0.001


def test_beyond_the_window_chains_and_trees_are_rejected_without_a_trace(gemma: Target, text: str) -> None:
    """700 tokens, then 120 rounds in which most of a draft is rejected, then rollbacks to before the window."""
    chance = random.Random(1)
    tokens = gemma.tokenize(text)[:2000]
    gemma.roll_back(0)
    gemma_tree = branching(gemma)
    held = tokens[:700]
    Session(gemma).read(held, GO)
    for number in range(120):
        pending, draft = tokens[len(held)], [chance.choice(tokens) for _ in range(6)]
        if number % 2:
            gemma.evaluate([pending, *draft], 7, GO)
            num_accepted = chance.choice((0, 1, 2, 6))
            held += [pending, *draft[:num_accepted]]
            gemma.roll_back(len(held))
        else:
            gemma_tree.evaluate_tree(pending, draft, [-1, -1, 0, 1, 1, 4], GO)
            places = chance.choice(((), (0, 2), (1, 4, 5), (1, 3)))
            gemma_tree.keep_branch(places)
            held += [pending, *(draft[place] for place in places)]
    assert len(held) > 2 * WINDOW
    follows = tokens[:3]
    found = {len(held): gemma.evaluate(follows, 1, GO)[0].copy()}
    for place in (900, 600, 300, 40):
        assert gemma.roll_back(place)
        found[place] = gemma.evaluate(follows, 1, GO)[0].copy()
    for place, row in found.items():
        assert_same(row, row_after(gemma, [*held[:place], *follows]))


def test_after_a_break_a_long_chat_can_be_taken_back_to_its_beginning(gemma: Target, text: str) -> None:
    """As after a program's reply: what was saved and restored has all that the window has passed."""
    tokens = gemma.tokenize(text)[:1100]
    gemma.roll_back(0)
    session = Session(gemma)
    session.read(tokens[:1040], GO)
    with session.aside():
        gemma.roll_back(0)
        gemma.evaluate(tokens[:9], 1, GO)
    assert session.tokens == tokens[:1040]
    for place in (1000, 800, 300):
        assert session.keep(place)
        row = session.extend(tokens[1050:1060], GO, num_rows=1)[0].copy()
        assert_same(row, row_after(gemma, [*tokens[:place], *tokens[1050:1060]]))
        session = Session(gemma)
        session.read(tokens[:1040], GO)


def test_the_prompt_cache_reopens_a_chat_beyond_the_window(gemma: Target, text: str, tmp_path: Path) -> None:
    tokens = gemma.tokenize(text)[:1300]
    gemma.roll_back(0)
    session = Session(gemma)
    cache = PromptCache(tmp_path, PromptCacheSettings())
    reopening, chat = Reopening(gemma, cache, "gemma"), cache.chat(1)
    expected = session.read(tokens, GO)[0].copy()
    while (part := reopening.copy(session, chat)) is not None:
        assert cache.write(part.key, part.chat, part.lacking, part.tokens, part.saved)
    assert keeping(gemma).saves_parts
    for kept in (1300, 1150, 400):  # all of it, one whose last part is cut, one from before the window
        gemma.roll_back(0)
        session = Session(gemma)
        asked = [*tokens[:kept], *tokens[:8]]
        reopening.reopen(session, asked, GO)
        assert len(session.tokens) == kept
        row = session.read(asked, GO)[0].copy()
        assert session.num_evaluated <= 8
        assert_same(row, row_after(gemma, asked))
        assert session.keep(200)
        assert_same(
            session.extend(tokens[:8], GO, num_rows=1)[0].copy(), row_after(gemma, [*tokens[:200], *tokens[:8]])
        )
    gemma.roll_back(0)
    assert_same(row_after(gemma, tokens), expected)


def test_drafted_sessions_beyond_the_window_write_what_plain_ones_do(gemma: Target, text: str, tmp_path: Path) -> None:
    """A prompt of 600 tokens, so that every draft of the starter is checked beyond the window."""
    turns = [ChatTurn(Role.USER, gemma_text(gemma, text, 600))]
    policy = drafting_policy(other(gemma, tmp_path), gemma, tmp_path, 7)
    gemma.roll_back(0)
    plain = ReplyWriter(gemma)
    prepared = plain.prepare(turns)
    expected = plain.write(prepared, ReplySettings(GREEDY, max_tokens=64), GO)
    gemma.roll_back(0)
    writer = ReplyWriter(gemma, Speculation(policy))
    drafted = writer.write(writer.prepare(turns), ReplySettings(GREEDY, max_tokens=64), GO)
    assert drafted.failure is None
    assert drafted.statistics.num_rounds < len(drafted.tokens)
    place = common_prefix_length(expected.tokens, drafted.tokens)
    if place < len(expected.tokens):
        gap = LogitGauge(gemma).gap(prepared.prompt.tokens, expected.tokens[:place], drafted.tokens[place], GO)
        assert gap is not None
        assert gap < LARGEST_GAP


def gemma_text(gemma: Target, text: str, num_tokens: int) -> str:
    pieces = gemma.vocabulary.pieces
    return b"".join(pieces[token] for token in gemma.tokenize(text)[:num_tokens]).decode("utf-8", "ignore")


@pytest.mark.parametrize("size", [1024, 8192])
def test_it_takes_the_memory_that_was_estimated(size: int) -> None:
    command = [sys.executable, "-W", "ignore", "-c", MEASURE, str(gemma_path()), str(size)]
    taken = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    expected = estimate(facts_of(gemma_path()), TargetSettings(context_size=size)).total
    assert taken == pytest.approx(expected, rel=0.2)
