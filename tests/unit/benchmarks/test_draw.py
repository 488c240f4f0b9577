from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path

from tests.benchmarks.draw import draw, in_visits, read_sources

NUM_LINES = {"alpaca/koala": 30, "mt_bench/writing": 5, "code/senior": 2}


def trace(path: Path) -> Path:
    lines = [
        json.dumps(
            {"id": f"{source} {number}", "source": source, "response": f"Grüße\u2028{number}"}, ensure_ascii=False
        )
        for source, num_lines in NUM_LINES.items()
        for number in range(num_lines)
    ]
    path.write_text("\n".join(lines) + "\n\n", "utf-8")
    return path


def drawn(paths: list[Path], count: int, seed: int = 7, even: bool = True) -> list[str]:
    return draw(read_sources(paths), count, seed, even)


def sources(lines: list[str]) -> list[str]:
    return [json.loads(line)["source"] for line in lines]


def test_every_source_gives_as_many_as_it_has_up_to_the_same_number(tmp_path: Path) -> None:
    paths = [trace(tmp_path / "a.jsonl")]
    assert Counter(sources(drawn(paths, 12))) == {"alpaca/koala": 5, "mt_bench/writing": 5, "code/senior": 2}
    assert max(Counter(sources(drawn(paths, 5))).values()) == 2
    assert len(drawn(paths, 3)) == len(set(sources(drawn(paths, 3)))) == 3


def test_the_seed_alone_decides_which_and_in_what_order(tmp_path: Path) -> None:
    paths = [trace(tmp_path / "a.jsonl")]
    first = drawn(paths, 12)
    assert drawn(paths, 12) == first
    assert drawn(paths, 12, seed=8) != first
    assert len(set(first)) == 12
    assert sources(first) != sorted(sources(first))


def test_otherwise_every_reply_is_as_likely_as_any_other(tmp_path: Path) -> None:
    paths = [trace(tmp_path / "a.jsonl")]
    counts: Counter[str] = Counter()
    for seed in range(300):
        counts.update(sources(drawn(paths, 6, seed, even=False)))
    for source, num_lines in NUM_LINES.items():
        assert 0.7 < counts[source] / (300 * 6 * num_lines / 37) < 1.3


def test_lines_are_kept_as_they_are_and_no_more_are_drawn_than_there_are(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.jsonl")
    everything = drawn([path], 1000)
    assert sorted(everything) == sorted(path.read_text("utf-8").strip().split("\n"))


def test_every_file_is_drawn_from(tmp_path: Path) -> None:
    paths = [trace(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert Counter(sources(drawn(paths, 6))) == dict.fromkeys(NUM_LINES, 2)


def test_tasks_can_take_turns_instead_of_sources(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    lines = [
        {"source": "one", "task": "math" if number % 4 else "chat", "turns": [str(number)]} for number in range(40)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    both = draw(read_sources([path], "task"), 12, 7, even=True)
    assert Counter(json.loads(line)["task"] for line in both) == {"math": 6, "chat": 6}


def test_one_person_asks_some_of_a_subject_in_a_row_and_comes_back_to_it(tmp_path: Path) -> None:
    found = read_sources([trace(tmp_path / "a.jsonl")])
    everything = in_visits(found, 1000, 7)
    assert sorted(everything) == sorted(line for lines in found.values() for line in lines)
    assert in_visits(found, 20, 7) == everything[:20]
    visits = [source for source, _ in groupby(sources(in_visits(found, 30, 2)))]
    assert len(visits) < 12
    assert visits.count("alpaca/koala") > 1
