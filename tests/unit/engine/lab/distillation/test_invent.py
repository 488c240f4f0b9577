"""A corpus that the target writes itself: right, and the same whatever comes between."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.lab.distillation import invent as invent_module
from engine.lab.distillation.corpus import read_labels, read_lessons
from engine.lab.distillation.invent import SEEDS, SHARES, SYSTEM_PROMPTS, invent
from engine.lab.distillation.progress import InventProgress
from engine.lab.distillation.work import write_whole
from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.families import CHATML
from engine.values.errors import FileUnusable, MendableError, PromptTooLong, TemplateFailed
from tests.fakes.parallel_target import FakeParallelTarget, babbles, surely
from tests.fakes.target import END, PIECES

TEMPLATE = ChatTemplate(CHATML, begin="", end="")
# Of the kind of Llama 2: no system role, and turns that are marked with ordinary text.
INST_TEMPLATE = ChatTemplate(
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]{% else %} {{ m.content }}{% endif %}{% endfor %}",
    begin="",
    end="",
)
Record = dict[str, Any]


class Killed(BaseException):
    """What no one catches."""


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invent_module, "_SHARD_SIZE", 8)


def run(
    folder: Path,
    target: FakeParallelTarget | None = None,
    count: int = 30,
    seed: int = 3,
    template: ChatTemplate = TEMPLATE,
    on_progress: Callable[[InventProgress], None] = lambda _progress: None,
) -> None:
    invent(target or FakeParallelTarget(), template, folder, count, seed, on_progress)


def read(folder: Path) -> dict[int, tuple[Record, list[list[int]], list[list[float]]]]:
    """Record, label tokens and log-probabilities by number; no number may come twice."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        labels = load_file(path.with_suffix(".safetensors"))
        tokens, logs = labels["tokens"], labels["log_probabilities"]
        assert (tokens.dtype.name, logs.dtype.name) == ("int32", "float16")
        place = 0
        for line in path.read_text().splitlines():
            record = json.loads(line)
            end = place + len(record["ids"]) - record["a"]
            assert record["n"] not in found
            found[record["n"]] = (record, tokens[place:end].tolist(), logs[place:end].tolist())
            place = end
        assert place == len(tokens) == len(logs)
    return found


def text(ids: Sequence[int]) -> str:
    return b"".join(PIECES[token] for token in ids).decode()


def rendered(record: Record) -> str:
    return "".join(f"<|im_start|>{turn['role']}\n{turn['text']}<|im_end|>\n" for turn in record["turns"])


def test_every_number_gets_a_conversation_in_the_template(tmp_path: Path) -> None:
    run(tmp_path)
    found = read(tmp_path)
    assert sorted(found) == list(range(30))
    for record, _, _ in found.values():
        assert text(record["ids"][: record["a"]]) == rendered(record) + "<|im_start|>assistant\n"
        *system, user = record["turns"]
        assert user["text"].startswith(tuple(seed.strip() for seed in SEEDS[record["kind"]]))
        assert all(turn["role"] == "system" and turn["text"] in SYSTEM_PROMPTS for turn in system)
        assert END not in record["ids"][record["a"] : -1]
    assert len({record["kind"] for record, _, _ in found.values()}) >= len(SHARES) - 1
    assert {len(record["turns"]) for record, _, _ in found.values()} == {1, 2}
    temperatures = [record["temperature"] for record, _, _ in found.values()]
    assert temperatures.count(0) == 15
    assert set(temperatures) == {0, 0.7, 1.0}


def test_the_labels_are_the_distribution_that_each_token_of_the_reply_was_drawn_from(tmp_path: Path) -> None:
    run(tmp_path)
    for record, tokens, logs in read(tmp_path).values():
        for place, (likeliest, told) in enumerate(zip(tokens, logs, strict=True), record["a"]):
            row = babbles(record["ids"][:place]).astype(np.float64)
            distribution = row - np.log(np.exp(row).sum())
            assert likeliest == np.argsort(-distribution, kind="stable")[:24].tolist()
            np.testing.assert_allclose(told, distribution[likeliest], rtol=2e-3)
            if record["temperature"] == 0:
                assert record["ids"][place] == likeliest[0]


def test_the_reader_of_corpora_reads_it(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "00000.jsonl"
    lessons = {lesson.line: lesson for lesson in read_lessons(path, PIECES)}
    labels = read_labels([path.with_suffix(".safetensors")], lessons)
    assert len(lessons) == len(labels) == 8
    assert all(len(labels[line].tokens) == len(lesson.reply) for line, lesson in lessons.items())


def test_neighbours_and_order_change_nothing(tmp_path: Path) -> None:
    run(tmp_path / "one", FakeParallelTarget(num_slots=1))
    run(tmp_path / "seven", FakeParallelTarget(num_slots=7))
    run(tmp_path / "other seed", seed=4)
    assert read(tmp_path / "one") == read(tmp_path / "seven")
    assert read(tmp_path / "one") != read(tmp_path / "other seed")


@pytest.mark.parametrize("error", [RuntimeError, Killed, KeyboardInterrupt])
def test_a_run_that_broke_off_is_taken_up_again(tmp_path: Path, error: type[BaseException]) -> None:
    run(tmp_path / "whole")
    target = FakeParallelTarget()

    def break_off() -> None:
        if target.num_passes == 300:
            raise error

    target.on_evaluate = break_off
    with pytest.raises(error):
        run(tmp_path / "broken", target)
    kept = len(read(tmp_path / "broken"))
    assert 0 < kept < 30
    assert (kept % 8 == 0) == (error is not KeyboardInterrupt)  # Ctrl+C keeps what is finished
    told: list[InventProgress] = []
    run(tmp_path / "broken", on_progress=told.append)
    assert read(tmp_path / "broken") == read(tmp_path / "whole")
    assert (told[-1].num_done, told[-1].num_conversations) == (30, 30)
    assert told[-1].num_tokens > 0


def test_a_kill_between_the_two_files_of_a_shard_leaves_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "whole")

    def killed(path: Path, content: bytes) -> None:
        if path.name == "00001.jsonl":
            raise Killed
        write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("engine.lab.distillation.shards.write_whole", killed)
        with pytest.raises(Killed):
            run(tmp_path / "killed")
    assert (tmp_path / "killed" / "00001.safetensors").exists()
    assert len(read(tmp_path / "killed")) == 8
    run(tmp_path / "killed")
    assert read(tmp_path / "killed") == read(tmp_path / "whole")


def test_more_can_be_asked_for_later_and_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    run(tmp_path, count=10)
    run(tmp_path, count=20)
    assert sorted(read(tmp_path)) == list(range(20))
    target = FakeParallelTarget()
    run(tmp_path, target, count=20)
    assert target.num_passes == 0


def test_a_folder_of_another_corpus_is_refused(tmp_path: Path) -> None:
    run(tmp_path, count=2)
    with pytest.raises(FileUnusable, match="the seed is another"):
        run(tmp_path, seed=4)
    about = tmp_path / "about.json"
    about.write_text(about.read_text().replace('"fake"', '"other"'))
    with pytest.raises(FileUnusable, match=r"conversations of other .*they would be of fake"):
        run(tmp_path)
    about.write_text("{}")
    with pytest.raises(FileUnusable, match="not in a format"):
        run(tmp_path)
    about.unlink()
    with pytest.raises(FileUnusable, match="another corpus"):
        run(tmp_path)


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    run(tmp_path, count=2)
    path = tmp_path / "00000.jsonl"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(FileUnusable, match=r"00000\.jsonl is damaged"):
        run(tmp_path)
    path.with_suffix(".safetensors").unlink()
    with pytest.raises(FileUnusable, match="no labels"):
        run(tmp_path)


def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, count=2)

    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MendableError, match="No space left"):
            run(tmp_path)
    run(tmp_path)
    assert len(read(tmp_path)) == 30


def test_a_template_that_marks_turns_with_ordinary_text(tmp_path: Path) -> None:
    """The target never writes an end within a user's turn here, only the template's own words."""
    phrase = " and so [/INST]"

    def next_token(tokens: Sequence[int]) -> int:
        said = text(tokens)
        if "[/INST]" in said:
            return END if said.endswith("!") else ord("!")
        return ord(phrase[_begun(said, phrase)])

    run(tmp_path, FakeParallelTarget(surely(next_token)), count=12, template=INST_TEMPLATE)
    for record, _, _ in read(tmp_path).values():
        prompt = text(record["ids"][: record["a"]])
        *system, user = (turn["text"] for turn in record["turns"])
        assert user.removesuffix("\n```").endswith(" and so")
        assert prompt == "[INST] " + "\n\n".join([*system, user]) + " [/INST]"
        assert text(record["ids"][record["a"] :]) == "!<|im_end|>"


def _begun(said: str, words: str) -> int:
    """How many characters of `words` stand at the end already."""
    return next(length for length in range(len(words), -1, -1) if said.endswith(words[:length]))


def test_a_reply_that_goes_round_in_circles_is_cut_at_the_third_time(tmp_path: Path) -> None:
    def next_token(tokens: Sequence[int]) -> int:
        said = text(tokens)
        _, answers, reply = said.partition("assistant\n")
        return ord("abcde"[len(reply) % 5]) if answers else END

    run(tmp_path, FakeParallelTarget(surely(next_token)), count=4)
    for record, _, _ in read(tmp_path).values():
        reply = text(record["ids"][record["a"] :])
        assert record["looped"]
        assert reply == ("abcde" * 10)[: len(reply)]
        assert reply.count(reply[-12:]) == 3  # none of which overlap, as 15 letters repeat


def test_turns_without_an_end_are_cut(tmp_path: Path) -> None:
    """The user's at the end of a sentence, the reply at its length or when the context is full."""
    random = np.random.default_rng(0)
    letters = random.integers(ord("a"), ord("z"), 1000)
    sentence = " That is all. And"

    def next_token(tokens: Sequence[int]) -> int:
        said = text(tokens)
        if "assistant\n" in said:
            return int(letters[len(tokens)])
        return ord(sentence[_begun(said, sentence) % len(sentence)])

    target = FakeParallelTarget(surely(next_token), context_size=500)
    run(tmp_path, target, count=20)
    for record, _, _ in read(tmp_path).values():
        user = record["turns"][-1]["text"]
        assert user.endswith(("all.", "```"))
        assert len(record["ids"]) - record["a"] == min(384, 500 - record["a"])


def test_a_template_that_is_of_no_use_here_is_told(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailed, match="leaves out what the user says"):
        run(tmp_path, template=ChatTemplate("nothing", begin="", end=""))
    with pytest.raises(PromptTooLong):
        run(tmp_path, FakeParallelTarget(context_size=16))
