from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

from engine.lab.measuring.bench import BenchOutcome, Fork, ModeComparison
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.prompts import BenchQuestion
from engine.lab.measuring.report import Subject, make_report, pass_means, ratio_by_counts, ratio_to_plain
from engine.speculation.decoding.figures import DecodingFigures
from engine.values.conversations import ChatTurn, Role
from tests.unit.engine.lab.measuring.made import answer, drafted

SUBJECT = Subject("starter", simulated=False, machine={"cpu": "a"}, settings={"seed": 0}, pass_costs={2: 1.12345})


def comparison(
    name: str, answers: dict[str, ModeAnswer], task: str = "", forks: dict[str, Fork] | None = None
) -> ModeComparison:
    return ModeComparison(BenchQuestion(name, task, (ChatTurn(Role.USER, "Hi."),)), answers, forks or {})


def report(*comparisons: ModeComparison) -> Any:
    modes = list(comparisons[0].answers)
    outcome = BenchOutcome(comparisons, ("long",), dict.fromkeys(modes, 123.44), interrupted=False)
    return json.loads(json.dumps(make_report(SUBJECT, modes, outcome)))


def test_the_ratio_is_seconds_per_token_of_plain_over_the_modes() -> None:
    # 3 tokens in 3 s against 6 tokens in 4 s: 1 s over 2/3 s.
    one = comparison("a", {"plain": answer(3.0, (1, 2, 3)), "auto": answer(4.0, (1, 2, 3, 4, 5, 6))})
    assert ratio_to_plain(one, "auto") == pytest.approx(1.5)
    assert ratio_to_plain(one, "plain") == 1.0


def test_what_a_simulation_leaves_out_is_told_beside() -> None:
    auto = replace(answer(0.5), uncounted_s=0.125)
    mode = report(comparison("a", {"plain": answer(1.0), "auto": auto}))["modes"]["auto"]
    assert mode["ratio_to_plain"]["median"] == 2.0
    assert mode["ratio_with_reading"]["median"] == 1.6
    assert mode["drafter_prompt_s"] == 0.125
    measured = answer()
    measured.figures.reading_s = 0.25
    mode = report(comparison("a", {"plain": answer(), "auto": measured}))["modes"]["auto"]
    assert mode["drafter_prompt_s"] == 0.25
    assert mode["ratio_with_reading"] == mode["ratio_to_plain"], "measured seconds have it in them"


def test_a_reply_that_ends_at_once_has_no_ratio() -> None:
    one = comparison("a", {"plain": answer(0.0, ()), "auto": answer(1.0)})
    assert ratio_to_plain(one, "auto") is None
    figures = report(one)["modes"]["auto"]
    assert figures["ratio_to_plain"] is None


def test_ratios_are_summed_up_by_median_tails_and_worst() -> None:
    walls = [1.0, 0.5, 0.8, 0.4, 2.0]  # ratios 1, 2, 1.25, 2.5, 0.5
    figures = report(
        *(comparison(str(place), {"plain": answer(1.0), "auto": answer(wall)}) for place, wall in enumerate(walls))
    )
    # Sorted: 0.5 1 1.25 2 2.5; the 10th percentile of five lies 0.4 of the way from the first to the second.
    assert figures["modes"]["auto"]["ratio_to_plain"] == {"median": 1.25, "p10": 0.7, "p90": 2.3, "worst": 0.5}
    assert figures["modes"]["plain"]["ratio_to_plain"] == {"median": 1.0, "p10": 1.0, "p90": 1.0, "worst": 1.0}


def test_without_plain_there_is_nothing_to_compare_with() -> None:
    figures = report(comparison("a", {"auto": answer()}))
    assert figures["modes"]["auto"]["ratio_to_plain"] is None
    assert figures["modes"]["auto"]["identical"] is None
    assert figures["prompts"][0]["identical"] is None


def test_a_modes_figures_are_those_of_the_design() -> None:
    plain, auto = answer(1.5), answer(1.0, tuple(range(11)), drafted())
    figures = report(comparison("a", {"plain": plain, "auto": auto}), comparison("b", {"plain": plain, "auto": auto}))
    assert {"target", "simulated", "machine", "modes", "prompts"} <= set(figures)
    mode = figures["modes"]["auto"]
    assert {
        "tokens", "wall_s", "tokens_per_s", "prompt_s", "rounds", "drafted", "accepted", "tokens_per_round", "ms",
        "peak_rss_mb", "ratio_to_plain", "identical", "forks", "by_proposer",
    } <= set(mode)  # fmt: skip
    assert (mode["tokens"], mode["written"], mode["rounds"]) == (22, 20, 8)
    assert (mode["drafted"], mode["accepted"], mode["drafter_steps"]) == (16, 12, 18)
    assert (mode["wall_s"], mode["prompt_s"]) == (2.0, 1.0)
    assert (mode["tokens_per_s"], mode["tokens_per_round"]) == (10.0, 2.5)
    assert mode["by_proposer"] == {"drafter": {"rounds": 6, "drafted": 16, "accepted": 12}}
    assert mode["passes"] == {"1": 2, "3": 4, "5": 2}
    assert mode["peak_rss_mb"] == 123.4
    assert figures["skipped"] == ["long"]
    assert figures["pass_costs"] == {"2": 1.1235}


def test_what_is_neither_target_nor_drafter_is_overhead() -> None:
    mode = report(comparison("a", {"auto": answer(1.0, figures=drafted())}))["modes"]["auto"]
    # 1 s of wall time: 0.1 drafting, 0.8 the target; 0.02 translating, 0.03 accepting and 0.05 that nobody counted.
    assert mode["ms"] == pytest.approx(
        {"draft": 100.0, "translate": 20.0, "target": 800.0, "accept": 30.0, "other": 50.0}
    )
    assert mode["overhead_share"] == pytest.approx(0.1)
    assert mode["own_ms"] == {"per_token": pytest.approx(10.0), "per_round": pytest.approx(25.0)}  # 10 tokens, 4 rounds


def test_guesses_are_told_by_their_place_and_the_step_beside_a_pass() -> None:
    plain = DecodingFigures(num_rounds=40, num_written=40, passes=Counter({1: 40}))
    plain.pass_s[1] = 0.4
    auto = drafted()
    auto.checked, auto.accepted = Counter({1: 3, 2: 3, 3: 1}), Counter({1: 3, 2: 1})
    mode = report(comparison("a", {"plain": answer(figures=plain), "auto": answer(figures=auto)}))["modes"]["auto"]
    assert mode["by_place"] == [
        {"place": 1, "checked": 3, "stood": 3},
        {"place": 2, "checked": 3, "stood": 1},
        {"place": 3, "checked": 1, "stood": 0},
    ]
    assert mode["draft_step"] == {"ms": pytest.approx(100 / 9, abs=1e-3), "target_pass_ms": 10.0, "share": 1.1111}
    assert mode["attainable"]["acceptance"] == pytest.approx(4 / 7, abs=1e-3)
    assert mode["attainable"]["share"] == pytest.approx(
        mode["ratio_to_plain"]["median"] / mode["attainable"]["ratio"], abs=1e-3
    )
    assert mode["attainable"]["share_of_covered"] == pytest.approx(
        mode["ratio_to_plain"]["median"] / mode["attainable"]["covered"], abs=1e-3
    )
    assert mode["attainable"]["allowed"] == 1.0, "a step takes longer than a pass"
    assert mode["attainable"]["share_of_allowed"] == mode["ratio_to_plain"]["median"]


def test_same_texts_and_forks_are_counted() -> None:
    same = comparison("a", {"plain": answer(), "auto": answer()})
    parted = comparison("b", {"plain": answer(), "auto": answer(tokens=(5, 9))}, forks={"auto": Fork(1, 0.01)})
    modes = report(same, parted)["modes"]
    assert modes["auto"]["identical"] == 1
    assert modes["plain"]["identical"] == 2
    assert modes["auto"]["forks"] == [{"id": "b", "position": 1, "logit_gap": 0.01}]
    assert modes["plain"]["forks"] == []


def test_prompts_stand_one_by_one() -> None:
    figures = report(comparison("a", {"plain": answer(2.0), "auto": answer(1.0)}, task="chat"))
    first, second = figures["prompts"]
    assert (first["id"], first["mode"], first["tokens"], first["wall_s"]) == ("a", "plain", 3, 2.0)
    assert (second["mode"], second["ratio_to_plain"], second["task"]) == ("auto", 2.0, "chat")


def test_figures_are_grouped_by_task() -> None:
    figures = report(
        comparison("a", {"plain": answer(2.0), "auto": answer(1.0)}, task="chat"),
        comparison("b", {"plain": answer(2.0), "auto": answer(4.0)}, task="math"),
        comparison("c", {"plain": answer(2.0), "auto": answer(2.0)}),
    )
    by_task = figures["modes"]["auto"]["by_task"]
    assert set(by_task) == {"chat", "math"}
    assert by_task["chat"]["num_prompts"] == 1
    assert by_task["chat"]["ratio_to_plain"]["median"] == 2.0
    assert by_task["math"]["ratio_to_plain"]["median"] == 0.5


def test_by_counts_a_pass_takes_what_such_passes_take_in_the_whole_run() -> None:
    def of(wall_s: float, num_rows: int, num_passes: int) -> ModeAnswer:
        figures = DecodingFigures(num_written=4, passes=Counter({num_rows: num_passes}))
        figures.pass_s[num_rows] = wall_s
        return answer(wall_s, (1, 2, 3, 4), figures)

    one = comparison("a", {"plain": of(2.0, 1, 4), "plain-2": of(6.0, 1, 4), "auto": of(1.0, 2, 2)}, task="chat")
    other = comparison("b", {"plain": of(4.0, 1, 4), "plain-2": of(4.0, 1, 4), "auto": of(3.0, 2, 2)}, task="math")
    figures = report(one, other)
    # A pass over one row takes 16 s / 16, one over two rows 4 s / 4, also where a task has quicker ones.
    for by_task in (figures["modes"]["auto"]["by_task"][task] for task in ("chat", "math")):
        assert by_task["ratio_by_counts"]["worst"] == 2.0
    assert figures["modes"]["auto"]["ratio_to_plain"]["worst"] == pytest.approx(4 / 3, abs=1e-4)
    assert figures["modes"]["plain-2"]["ratio_by_counts"]["worst"] == 1.0
    assert figures["modes"]["plain-2"]["ratio_to_plain"]["worst"] == pytest.approx(1 / 3, abs=1e-4)
    prompt = figures["prompts"][2]
    assert (prompt["mode"], prompt["ratio_by_counts"], prompt["passes"]) == ("auto", 2.0, {"2": 2})


def figures(
    num_written: int, passes: dict[int, int], seconds: dict[int, float], draft_s: float = 0.0
) -> DecodingFigures:
    """`seconds`: rows -> of all such passes together."""
    return DecodingFigures(
        num_written=num_written, draft_s=draft_s, passes=Counter(passes), pass_s=defaultdict(float, seconds)
    )


def test_every_pass_takes_what_such_passes_do_on_average() -> None:
    # One-row passes take 1 s on average over all replies, whatever they took of a single one.
    plain = [figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})]
    drafting = [figures(4, {3: 2}, {3: 3.0}), figures(4, {3: 1, 1: 2}, {3: 3.0, 1: 2.0}, draft_s=1.0)]
    means = pass_means([*plain, *drafting])
    # Three rows take 2 s: 4 tokens in 4 s; and 4 tokens in 2 + 2 s and 1 s for drafting, against 4 s of plain.
    ratios = [ratio_by_counts(theirs, ours, means) for theirs, ours in zip(plain, drafting, strict=True)]
    assert ratios == pytest.approx([4 / 4, 4 / 5])


def test_the_machines_noise_makes_no_difference_to_plain_itself() -> None:
    first, again = figures(4, {1: 4}, {1: 2.0}), figures(4, {1: 4}, {1: 6.0})
    assert ratio_by_counts(first, again, pass_means([first, again])) == 1.0


def test_a_reply_that_ended_at_once_has_no_ratio() -> None:
    full, empty = figures(2, {1: 2}, {1: 2.0}), figures(0, {}, {})
    means = pass_means([full, empty])
    assert ratio_by_counts(full, empty, means) is None
    assert ratio_by_counts(empty, full, means) is None
