"""What the target wrote and thought, in the drafter's tokens."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.learning.samples import CorpusLesson, Labels, Sample, SampleMaker, join_samples, spellings
from engine.values.conversations import ChatTurn, Role
from tests.unit.engine.speculation.learning.made import END, TARGET, ids, lesson, maker, tokenizer


@pytest.fixture
def tokens(tmp_path: Path) -> DrafterTokenizer:
    return tokenizer(tmp_path)


def _reply(sample: Sample) -> list[int]:
    found: list[int] = sample.tokens[sample.reply_start :].tolist()
    return found


def test_only_the_reply_is_learned_and_its_end_where_it_has_one(tokens: DrafterTokenizer) -> None:
    (finished, cut), _ = maker(tokens).make([lesson(ids(b"The fox")), lesson(ids(b"The fox", False))], {})
    assert _reply(finished) == [*(tokens.encode(b"The fox") or []), tokens.end]
    assert _reply(cut) == tokens.encode(b"The fox")
    assert (finished.weights[: finished.reply_start] == 0).all()
    assert (finished.weights[finished.reply_start :] == 1).all()
    assert (finished.rows == -1).all()


def test_a_reply_in_another_vocabulary_is_learned_as_text(tokens: DrafterTokenizer) -> None:
    (as_tokens,), _ = maker(tokens).make([lesson(ids(b"The fox"))], {})
    (as_text,) = maker(tokens).of_text(lesson(ids(b"The fox")).turns, "The fox")
    assert as_text.tokens.tolist() == as_tokens.tokens.tolist()
    assert as_text.weights.tolist() == as_tokens.weights.tolist()
    assert maker(tokens).of_text((), "") == []


def test_system_prompts_that_a_target_adds_by_itself_are_left_out(tokens: DrafterTokenizer) -> None:
    kept, left_out = (
        maker(tokens, systems=systems).make([lesson(ids(b"The"), system="Be quiet")], {})[0][0]
        for systems in (frozenset[str](), frozenset({"Be quiet"}))
    )
    assert left_out.reply_start < kept.reply_start


def test_going_on_with_a_loop_counts_little(tokens: DrafterTokenizer) -> None:
    (sample,), _ = maker(tokens).make([lesson(ids(b"abcdefghijklmn" * 4, False))], {})
    reply = sample.weights[sample.reply_start :]
    assert (reply[: len(reply) // 4] == 1).all()
    assert (reply[-len(reply) // 4 :] < 0.2).all()


def _labels(reply: list[int]) -> Labels:
    """The target thinks of what it wrote with 0.6, and of one other token with 0.3."""
    other = ids(b" dog", False)[0]
    likely = np.array([[token, other] for token in reply], np.int32)
    return Labels(likely, np.log(np.tile(np.array([0.6, 0.3], np.float32), (len(reply), 1))).astype(np.float16))


def test_distributions_stand_where_tokens_of_both_begin_together_and_inside_those_made_of_several(
    tokens: DrafterTokenizer,
) -> None:
    reply = ids(b"The quick brown fox")
    (sample,), table = maker(tokens).make([lesson(reply)], {0: _labels(reply)})
    written = _reply(sample)
    rows = sample.rows[sample.reply_start :].tolist()
    _, brown = tokens.encode(b" quick brown") or []
    dog = (tokens.encode(b" dog") or [])[0]
    assert sorted(rows) == list(range(len(written)))
    for token, row in zip(written, rows, strict=True):
        distribution = dict(zip(table.tokens[row].tolist(), table.probabilities[row].tolist(), strict=True))
        if token == brown:  # nothing else goes on from " quick"
            assert distribution[brown] == 1
        else:
            assert distribution[token] == pytest.approx(0.6, abs=1e-3)
            assert distribution[dog] == pytest.approx(0.3, abs=1e-3)


def test_inside_a_token_the_distribution_is_that_of_the_tokens_that_go_on_alike(tokens: DrafterTokenizer) -> None:
    quick, brown = tokens.encode(b" quick brown") or []
    fox = (tokens.encode(b" fox") or [])[0]
    strings = spellings(TARGET, tokens, 480)
    strings[ids(b" dog", False)[0], :2] = quick, fox  # as if it were " quick fox"
    made_of = SampleMaker(TARGET, tokens, strings)
    reply = ids(b" quick brown")
    (sample,), table = made_of.make([lesson(reply)], {0: _labels(reply)})
    row = sample.rows[sample.reply_start + 1]
    distribution = dict(zip(table.tokens[row].tolist(), table.probabilities[row].tolist(), strict=True))
    first = sample.rows[sample.reply_start]
    assert table.tokens[first].tolist() == [quick, 0], "once, with what both have together"
    assert table.probabilities[first].tolist() == pytest.approx([0.9, 0.0], abs=1e-3)
    assert distribution[brown] == pytest.approx(2 / 3, abs=1e-3)
    assert distribution[fox] == pytest.approx(1 / 3, abs=1e-3)


def test_what_cannot_be_guessed_has_no_part_in_the_distribution(tokens: DrafterTokenizer) -> None:
    first = (tokens.encode(b"The") or [])[0]
    reply = ids(b"The")
    _, table = maker(tokens, num_outputs=first).make([lesson(reply)], {0: _labels(reply)})
    assert table.probabilities[:, 0].max() == pytest.approx(0.6, abs=1e-3)  # of the end
    assert (table.tokens < first).all()


def test_labels_that_say_nothing_are_no_distributions(tokens: DrafterTokenizer) -> None:
    reply = ids(b"The fox")
    labels = _labels(reply)
    labels.log_probabilities[1:] = -np.inf  # as beyond the context of the target that read it
    (sample,), table = maker(tokens).make([lesson(reply)], {0: labels})
    assert (sample.rows >= 0).sum() == len(table.tokens) == 1


def test_of_what_is_too_long_the_front_of_the_prompt_leaves_and_the_reply_becomes_several_samples(
    tokens: DrafterTokenizer,
) -> None:
    turns = (ChatTurn(Role.USER, "Hi " * 900),)
    short, long = (
        CorpusLesson(0, turns, np.array([1, *ids(text)], np.int32), 1) for text in (b"The fox", b"The fox" * 400)
    )
    (sample,), _ = maker(tokens).make([short], {})
    assert len(sample.tokens) == 512
    assert _reply(sample) == [*(tokens.encode(b"The fox") or []), tokens.end]
    assert sample.weights.sum() == len(_reply(sample))
    windows, table = maker(tokens).make([long], {0: _labels(ids(b"The fox" * 400))})
    assert all(len(window.tokens) == 512 for window in windows)
    assert max(len(_reply(window)) for window in windows) <= 384
    assert [token for window in windows for token in _reply(window)] == [
        *(tokens.encode(b"The fox" * 400) or []),
        tokens.end,
    ]
    for before, after in pairwise(windows):
        assert after.tokens[: after.reply_start].tolist() == before.tokens[-after.reply_start :].tolist()
    rows = np.concatenate([window.rows for window in windows])
    assert sorted(rows[rows >= 0]) == list(range(len(table.tokens))), "each place is learned once"
    assert all((window.weights[: window.reply_start] == 0).all() for window in windows)


def test_tables_of_several_files_become_one(tokens: DrafterTokenizer) -> None:
    reply = ids(b"The fox")
    parts = [
        maker(tokens).make([lesson(reply), lesson(reply, 1)], labels)
        for labels in ({0: _labels(reply)}, {}, {1: _labels(reply)})
    ]
    samples, table = join_samples(parts)
    assert len(samples) == 6
    assert len(table.tokens) == 2 * len(reply)
    assert samples[5].rows.max() == len(table.tokens) - 1
    assert all((sample.rows == -1).all() for sample in samples[1:5])
    assert END not in table.tokens
