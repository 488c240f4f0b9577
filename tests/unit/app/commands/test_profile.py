"""`slipstream profile`: what is learned in plain words, taken along, taken in, and forgotten."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from typer.testing import CliRunner

from app.commands import cli
from app.commands.profile import learned_lines, outcome_line
from engine import data_dir
from engine.backend.storage import Repository
from engine.values.conversations import Role
from engine.values.learned import (
    AdapterSummary,
    ImportOutcome,
    LearnedSummary,
    NgramRecord,
    RecallSize,
    TargetStatistics,
)
from engine.values.replies import ReplyStatistics, StopReason
from tests.unit.engine.backend.storage.made import reply_of

TARGET, TOKENIZER, DRAFTER = "7a" * 32, "d0" * 32, "f1" * 32
WEIGHTS = save({"up": np.ones(3, np.float32)})
Profile = Callable[..., tuple[int, str]]


@pytest.fixture
def repository() -> Iterator[Repository]:
    """The store that the command line uses, with something of every kind."""
    with closing(Repository.open(data_dir())) as repository:
        summary = repository.create_conversation("chat", "")
        statistics = ReplyStatistics(1, 1, 41, 1.0, 2.0, StopReason.LENGTH, 1, 1, 0, 20, 30, 20, 10.0)
        reply = repository.add_message(summary.id, None, Role.ASSISTANT, "text", "tiny", statistics)
        repository.save_ngrams(TARGET, TOKENIZER, [NgramRecord((5, 6), 7, 3, 1, 10)])
        repository.save_recall(TARGET, {reply.id: [41, 42]})
        repository.save_lesson(TARGET, reply.id, reply_of([41], [[1]], np.zeros((1, 1))), 10)
        repository.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, WEIGHTS)
        yield repository


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Profile:
    """Runs a command; its exit code and all that it said."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["slipstream", "profile", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    return run


def test_an_empty_store_says_so(profile: Profile) -> None:
    assert profile("show") == (0, "Nothing has been learned yet.\n")


def test_show_tells_what_is_learned_in_words_and_numbers(repository: Repository, profile: Profile) -> None:
    code, output = profile("show")
    (adapter,) = repository.list_adapters(TARGET, DRAFTER)
    assert code == 0
    assert output.splitlines() == [
        "Models with the vocabulary 7a7a7a7a7a7a (tiny)",
        "  1 word pattern of the drafter vocabulary d0d0d0d0d0d0",
        "  1 snapshot of the drafter f1f1f1f1f1f1",
        "    1: 2.00 -> 2.50 tokens accepted per round on 30 replies, learned from 200, "
        f"{adapter.created_at.astimezone():%Y-%m-%d %H:%M}, in use",
        "  1 reply to learn from",
        "  1 text to reuse, of 2 tokens",
        "Replies",
        "  tiny: 1 reply, 41 tokens, 2.00 tokens per round, 2.00x as fast as without drafts",
    ]


def test_an_earlier_adapter_is_put_in_use_again(repository: Repository, profile: Profile) -> None:
    repository.save_adapter(TARGET, DRAFTER, 2.0, 2.6, 30, 250, WEIGHTS)

    def in_use() -> list[int]:
        return [adapter.number for adapter in repository.list_adapters(TARGET, DRAFTER) if adapter.is_published]

    assert in_use() == [2]
    code, output = profile("use", "1")
    assert (code, in_use()) == (0, [1])
    assert output == profile("show")[1]
    assert profile("use", "0")[0] == 0
    assert in_use() == []
    code, output = profile("use", "7")
    assert (code, in_use()) == (2, [])
    assert output == "There is no snapshot 7; `slipstream profile show` lists those that are kept.\n"


def test_a_profile_is_exported_shown_and_imported(repository: Repository, profile: Profile, tmp_path: Path) -> None:
    file = tmp_path / "me.slipstream"
    code, output = profile("export", str(file), "--with-recall")
    assert code == 0
    assert output.startswith(f"{file}: written by Slipstream 0.")
    assert profile("show", str(file)) == (0, output)
    assert "to reuse" in output
    assert "to learn from" not in output

    repository.forget_learned()
    with closing(sqlite3.connect(data_dir() / "slipstream.sqlite3")) as connection:
        assert connection.execute("SELECT count(*) FROM ngrams").fetchone() == (0,)
    code, again = profile("import", str(file))
    assert (code, again) == (0, f"{output}New: 1 word pattern, 1 snapshot (1 now in use), 1 text to reuse.\n")
    assert profile("import", str(file)) == (0, f"{output}All of it is already here.\n")
    assert profile("import", str(file), "--replace")[1].endswith(
        "New: 1 word pattern, 1 snapshot (1 now in use), 1 text to reuse.\n"
    )


def test_recall_stays_here_unless_it_is_asked_for(repository: Repository, profile: Profile, tmp_path: Path) -> None:  # noqa: ARG001
    code, output = profile("export", str(tmp_path / "me.slipstream"))
    assert code == 0
    assert "to reuse" not in output


def test_a_file_that_is_there_is_not_overwritten_without_force(profile: Profile, tmp_path: Path) -> None:
    file = tmp_path / "me.slipstream"
    file.write_text("mine")
    code, output = profile("export", str(file))
    assert (code, output.count("\n")) == (2, 1)
    assert "already exists" in output
    assert file.read_text() == "mine"
    assert profile("export", str(file), "--force")[0] == 0
    assert profile("show", str(file))[0] == 0


@pytest.mark.parametrize("command", [("show",), ("import",), ("import", "--replace")])
def test_what_is_no_profile_is_one_sentence(
    repository: Repository, profile: Profile, tmp_path: Path, command: tuple[str, ...]
) -> None:
    before = repository.summarize_learned()
    file = tmp_path / "me.slipstream"
    file.write_bytes(b"no profile")
    for path in (file, tmp_path / "missing"):
        code, output = profile(command[0], str(path), *command[1:])
        assert (code, output.count("\n")) == (2, 1)
        assert str(path) in output
    assert repository.summarize_learned() == before


@pytest.mark.parametrize(("answer", "forgets"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_reset_asks_first(repository: Repository, answer: str, forgets: bool) -> None:
    result = CliRunner().invoke(cli.application, ["profile", "reset"], input=answer)
    assert "Forget all that was learned for good? Chats stay." in result.output
    assert result.exit_code == (0 if forgets else 1)
    assert bool(repository.summarize_learned().vocabularies) != forgets
    assert len(repository.list_conversations()) == 1


def test_reset_need_not_ask(repository: Repository, profile: Profile) -> None:
    code, output = profile("reset", "--yes")
    assert (code, output.startswith("All that was learned is forgotten.")) == (0, True)
    assert repository.summarize_learned().vocabularies == ()


def test_help_names_the_commands(profile: Profile) -> None:
    code, output = profile("--help")
    assert code == 0
    assert all(name in output for name in ("show", "export", "import", "reset"))


def test_large_numbers_can_be_read_and_several_of_a_kind_are_told_apart() -> None:
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    adapters = tuple(AdapterSummary(number, moment, 2.0, 2.5, 30, 200, number == 1) for number in (2, 1))
    summary = LearnedSummary(
        ngrams={("b", "d1"): 50_000, ("b", "d2"): 2},
        adapters={("a", "d"): adapters},
        recall={"c": RecallSize(1_000, 1_000_000)},
        lessons={"b": 2},
        self_distilled={"b": 1},
        target_names={"b": ("one", "two")},
        statistics=(TargetStatistics("plain", 2, 10, 1.0, 0.0, None),),
    )
    lines = learned_lines(summary)
    assert [line for line in lines if not line.startswith(" ")] == [
        "Models with the vocabulary a",
        "Models with the vocabulary b (one, two)",
        "Models with the vocabulary c",
        "Replies",
    ]
    assert [line.endswith("in use") for line in lines[2:4]] == [False, True]
    assert "  50,000 word patterns of the drafter vocabulary d1" in lines
    assert "  1,000 texts to reuse, of 1,000,000 tokens" in lines
    assert "  2 replies to learn from" in lines
    assert "  1 practised reply to learn from" in lines
    assert lines[-1] == "  plain: 2 replies, 10 tokens"


def test_an_outcome_is_one_line() -> None:
    assert (
        outcome_line(ImportOutcome(0, 0, 1, 0)) == "New: 0 word patterns, 0 snapshots (1 now in use), 0 texts to reuse."
    )
    assert outcome_line(ImportOutcome(1_000, 2, 0, 1)) == "New: 1,000 word patterns, 2 snapshots, 1 text to reuse."
