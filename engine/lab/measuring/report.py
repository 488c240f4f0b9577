"""The figures of a measurement as one JSON object, in the form that the design's page promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoding.figures import DecodingFigures, ProposerFigures
from engine.lab.measuring.bench import Comparison, Outcome
from engine.lab.measuring.modes import Answer
from engine.lab.measuring.order import PLAIN
from engine.numerics.draft_length import MAX_LENGTH, PassCosts


def ratios_by_counts(plain: Sequence[DecodingFigures], drafting: Sequence[DecodingFigures]) -> list[float]:
    """For each prompt, plain's seconds per token over the mode's; both sequences are in the order of the prompts.

    Every pass counts as long as passes over as many rows took on average in the same run: the machine's noise on single
    prompts is left out, what drafting cost and gained is not.
    """
    passes: Counter[int] = Counter()
    seconds: Counter[int] = Counter()
    for figures in (*plain, *drafting):
        passes.update(figures.passes)
        seconds.update(figures.pass_s)
    means = {num_rows: seconds[num_rows] / count for num_rows, count in passes.items() if count}
    return [
        _mean_s_per_token(theirs, means) / _mean_s_per_token(ours, means)
        for theirs, ours in zip(plain, drafting, strict=True)
        if theirs.num_written and ours.num_written
    ]


def _mean_s_per_token(figures: DecodingFigures, means: dict[int, float]) -> float:
    target_s = sum(means[num_rows] * count for num_rows, count in figures.passes.items() if count)
    return (target_s + figures.draft_s) / figures.num_written


_FEWEST_PASSES = 20  # of a number of rows, for their mean to say something


@dataclass(frozen=True, slots=True)
class Attainable:
    acceptance: float  # a: share of the drafted tokens that stood, of those that were reached
    pass_costs: dict[int, float]  # V(n): of a pass over n rows, as a multiple of plain's one-row pass; what was seen
    ratio: float  # max over k of (1 + a + … + a^k) / V(k + 1), so 1 where not drafting is best
    covered: float  # the same, if the rounds without a draft (there was nothing to guess from) bring what plain ones do
    # max over k of (1 + a + … + a^k) / (V(k + 1) + k · step), and 1 where not drafting is best. Where nobody took
    # steps, with the rounds without a draft as in `covered`: free guesses are not always there.
    allowed: float


def attainable(
    plain: Sequence[DecodingFigures],
    drafting: Sequence[DecodingFigures],
    step: float = 0.0,
    pass_costs: Mapping[int, float] | None = None,
) -> Attainable | None:
    """What guesses as good as these could bring at best: free ones, and such that cost `step` of a one-row pass each.
    `pass_costs`: V(n) as measured apart from the rounds, for passes that these had too few of. None where no draft was
    checked, or plain had no pass."""
    checked = sum(sum(figures.checked.values()) for figures in drafting)
    stood = sum(sum(figures.accepted.values()) for figures in drafting)
    single = _mean_s(plain, 1)
    if not checked or not single:
        return None
    costs = {1: 1.0}
    for num_rows in range(2, MAX_LENGTH + 2):
        if sum(figures.passes[num_rows] for figures in drafting) >= _FEWEST_PASSES:
            costs[num_rows] = _mean_s(drafting, num_rows) / single
    acceptance = stood / checked
    ratio = _best_ratio(acceptance, costs, step=0.0)
    undrafted = sum(figures.passes[1] for figures in drafting)
    written = sum(figures.num_written for figures in drafting)

    def covered(best: float) -> float:
        return written / ((written - undrafted) / best + undrafted)

    allowed = _best_ratio(acceptance, {**(pass_costs or {}), **costs}, step)
    return Attainable(acceptance, costs, ratio, covered(ratio), allowed if step else covered(allowed))


def _best_ratio(acceptance: float, costs: Mapping[int, float], step: float) -> float:
    """Over the lengths of drafts whose passes are known; at least 1, which is not to draft."""
    filled = PassCosts(costs)
    tokens, ratio = 0.0, 1.0
    for length in range(max(costs)):
        tokens += acceptance**length
        ratio = max(ratio, tokens / (filled.of(length + 1) + length * step))
    return ratio


def _mean_s(all_figures: Sequence[DecodingFigures], num_rows: int) -> float:
    count = sum(figures.passes[num_rows] for figures in all_figures)
    return sum(figures.pass_s[num_rows] for figures in all_figures) / count if count else 0.0


Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Subject:
    """What was measured, and where."""

    target: str
    simulated: bool  # whether the seconds are computed from counts, as for recorded replies
    machine: Mapping[str, object]
    settings: Mapping[str, object]
    pass_costs: Mapping[int, float]  # V(n) as multiples of V(1), for some n; empty where it was not measured


def make_report(subject: Subject, modes: Sequence[str], outcome: Outcome) -> Json:
    return {
        "target": subject.target,
        "simulated": subject.simulated,
        "machine": dict(subject.machine),
        "settings": dict(subject.settings),
        "pass_costs": _costs(subject.pass_costs),
        "modes": {mode: _mode(mode, outcome, subject.pass_costs) for mode in modes},
        "prompts": [
            _prompt(comparison, mode, answer)
            for comparison in outcome.comparisons
            for mode, answer in comparison.answers.items()
        ],
        "skipped": list(outcome.skipped),
        "interrupted": outcome.interrupted,
    }


def ratio_to_plain(comparison: Comparison, mode: str, with_reading: bool = False) -> float | None:
    """How much faster than plain: seconds per token of plain over the mode's, `with_reading` those too that a
    simulation leaves out. None where nothing can be compared."""
    plain = comparison.answers.get(PLAIN)
    ours, theirs = _s_per_token(comparison.answers[mode], with_reading), _s_per_token(plain) if plain else None
    return theirs / ours if ours and theirs else None


def _s_per_token(answer: Answer, with_reading: bool = False) -> float | None:
    wall_s = answer.wall_s + (answer.uncounted_s if with_reading else 0.0)
    return wall_s / answer.figures.num_written if answer.figures.num_written else None


def _costs(pass_costs: Mapping[int, float]) -> Json:
    return {str(num_rows): round(cost, 4) for num_rows, cost in pass_costs.items()}


def _mode(mode: str, outcome: Outcome, pass_costs: Mapping[int, float]) -> Json:
    comparisons = outcome.comparisons
    answers = [comparison.answers[mode] for comparison in comparisons]
    with_plain = [comparison for comparison in comparisons if PLAIN in comparison.answers]
    tasks = sorted({comparison.question.task for comparison in comparisons} - {""})
    step = _draft_step(answers, comparisons)
    own = {} if any(answer.own_s is None for answer in answers) else {"own_ms_measured": _own_ms(answers)}
    return {
        **_counts(answers),
        "ms": _ms(answers),
        "overhead_share": _overhead_share(answers),
        **own,
        "peak_rss_mb": round(outcome.memory_mb[mode], 1),
        "ratio_to_plain": _ratios(mode, comparisons),
        "ratio_with_reading": _ratios(mode, comparisons, with_reading=True),
        "ratio_by_counts": _ratios_by_counts(mode, comparisons),
        "identical": sum(_is_identical(comparison, mode) for comparison in with_plain) if with_plain else None,
        "forks": [
            {
                "id": comparison.question.id,
                "position": comparison.forks[mode].position,
                "logit_gap": comparison.forks[mode].logit_gap,
            }
            for comparison in comparisons
            if mode in comparison.forks
        ],
        "by_proposer": _by_proposer(answers),
        "by_place": _by_place(answers),
        "draft_step": step.as_json() if step else None,
        "attainable": _attainable(mode, comparisons, step, pass_costs),
        "passes": _passes(answers),
        "by_task": {
            task: _task(mode, [comparison for comparison in comparisons if comparison.question.task == task])
            for task in tasks
        },
    }


def _counts(answers: Sequence[Answer]) -> Json:
    """`tokens` are those of the replies. `written` are those of the rounds, that is without the first token of each
    reply, which comes out of the prompt pass, and with the one that ends it: speeds count these."""
    figures = [answer.figures for answer in answers]
    wall_s = sum(answer.wall_s for answer in answers)
    written, rounds = sum(each.num_written for each in figures), sum(each.num_rounds for each in figures)
    return {
        "num_prompts": len(answers),
        "tokens": sum(len(answer.tokens) for answer in answers),
        "written": written,
        "wall_s": round(wall_s, 6),
        "tokens_per_s": round(written / wall_s, 4) if wall_s > 0 else 0.0,
        "prompt_s": round(sum(answer.prompt_s for answer in answers), 6),
        "rounds": rounds,
        "drafted": sum(each.num_drafted for each in figures),
        "accepted": sum(each.num_accepted for each in figures),
        "drafter_steps": sum(each.num_steps for each in figures),
        "drafter_prompt_s": round(sum(answer.drafter_prompt_s for answer in answers), 6),
        "tokens_per_round": round(written / rounds, 4) if rounds else 0.0,
    }


def _ms(answers: Sequence[Answer]) -> Json:
    """Totals of the rounds."""
    parts = _parts_s(answers)
    return {name: round(seconds * 1e3, 3) + 0.0 for name, seconds in parts.items()}  # + 0.0: no “-0.0”


def _parts_s(answers: Sequence[Answer]) -> dict[str, float]:
    figures = [answer.figures for answer in answers]
    parts = {
        "draft": sum(each.draft_s for each in figures),
        "translate": sum(each.translate_s for each in figures),
        "target": sum(each.target_s for each in figures),
        "accept": sum(each.accept_s for each in figures),
    }
    return {**parts, "other": sum(answer.wall_s for answer in answers) - sum(parts.values())}


def _overhead_share(answers: Sequence[Answer]) -> float:
    """Of the wall time, what is neither the target's nor the drafter's."""
    parts = _parts_s(answers)
    wall_s = sum(parts.values())
    return round((parts["translate"] + parts["accept"] + parts["other"]) / wall_s, 6) if wall_s > 0 else 0.0


def _own_ms(answers: Sequence[Answer]) -> float:
    return round(sum(answer.own_s or 0.0 for answer in answers) * 1e3, 3)


def _ratios(mode: str, comparisons: Iterable[Comparison], with_reading: bool = False) -> Json | None:
    ratios = [ratio_to_plain(comparison, mode, with_reading) for comparison in comparisons]
    return _spread([ratio for ratio in ratios if ratio is not None])


def _ratios_by_counts(mode: str, comparisons: Iterable[Comparison]) -> Json | None:
    compared = [comparison.answers for comparison in comparisons if PLAIN in comparison.answers]
    return _spread(
        ratios_by_counts(
            [answers[PLAIN].figures for answers in compared], [answers[mode].figures for answers in compared]
        )
    )


def _spread(ratios: Sequence[float]) -> Json | None:
    if not ratios:
        return None
    p10, median, p90 = np.percentile(ratios, (10, 50, 90))
    figures = {"median": median, "p10": p10, "p90": p90, "worst": min(ratios)}
    return {name: round(float(ratio), 4) for name, ratio in figures.items()}


def _is_identical(comparison: Comparison, mode: str) -> bool:
    return comparison.answers[mode].tokens == comparison.answers[PLAIN].tokens


def _by_proposer(answers: Iterable[Answer]) -> Json:
    totals: dict[str, ProposerFigures] = {}
    for answer in answers:
        for name, figures in answer.figures.by_proposer.items():
            total = totals.setdefault(name, ProposerFigures())
            total.num_rounds += figures.num_rounds
            total.num_drafted += figures.num_drafted
            total.num_accepted += figures.num_accepted
    return {
        name: {"rounds": total.num_rounds, "drafted": total.num_drafted, "accepted": total.num_accepted}
        for name, total in sorted(totals.items())
    }


def _by_place(answers: Iterable[Answer]) -> list[Json]:
    """Of the first, second, … token of a draft: how many were reached, and how many of these stood."""
    checked: Counter[int] = Counter()
    stood: Counter[int] = Counter()
    for answer in answers:
        checked.update(answer.figures.checked)
        stood.update(answer.figures.accepted)
    return [{"place": place, "checked": checked[place], "stood": stood[place]} for place in sorted(checked)]


@dataclass(frozen=True, slots=True)
class _DraftStep:
    seconds: float  # of a pass of the drafter; passes that read a prompt do not count
    pass_s: float  # of a one-row pass of plain

    @property
    def share(self) -> float:
        return self.seconds / self.pass_s

    def as_json(self) -> Json:
        times = {"ms": self.seconds * 1e3, "target_pass_ms": self.pass_s * 1e3, "share": self.share}
        return {name: round(figure, 4) for name, figure in times.items()}


def _draft_step(answers: Sequence[Answer], comparisons: Sequence[Comparison]) -> _DraftStep | None:
    steps = sum(answer.figures.num_steps - answer.figures.num_readings for answer in answers)
    single_s = _mean_s([each.answers[PLAIN].figures for each in comparisons if PLAIN in each.answers], 1)
    if not steps or not single_s:
        return None
    return _DraftStep(sum(answer.figures.draft_s - answer.figures.reading_s for answer in answers) / steps, single_s)


def _attainable(
    mode: str, comparisons: Sequence[Comparison], step: _DraftStep | None, pass_costs: Mapping[int, float]
) -> Json | None:
    compared = [comparison.answers for comparison in comparisons if PLAIN in comparison.answers]
    best = attainable(
        [answers[PLAIN].figures for answers in compared],
        [answers[mode].figures for answers in compared],
        step.share if step else 0.0,
        pass_costs,
    )
    ratios = [ratio for comparison in comparisons if (ratio := ratio_to_plain(comparison, mode)) is not None]
    if best is None or not ratios:
        return None
    return {
        "ratio": round(best.ratio, 4),
        "acceptance": round(best.acceptance, 4),
        "pass_costs": _costs(best.pass_costs),
        "share": round(float(np.median(ratios)) / best.ratio, 4),
        "covered": round(best.covered, 4),
        "share_of_covered": round(float(np.median(ratios)) / best.covered, 4),
        "allowed": round(best.allowed, 4),
        "share_of_allowed": round(float(np.median(ratios)) / best.allowed, 4),
    }


def _passes(answers: Iterable[Answer]) -> Json:
    """Rows of a pass -> how many such passes."""
    passes: Counter[int] = Counter()
    for answer in answers:
        passes.update(answer.figures.passes)
    return {str(num_rows): passes[num_rows] for num_rows in sorted(passes)}


def _task(mode: str, comparisons: Sequence[Comparison]) -> Json:
    counts = _counts([comparison.answers[mode] for comparison in comparisons])
    return {
        **counts,
        "ratio_to_plain": _ratios(mode, comparisons),
        "ratio_by_counts": _ratios_by_counts(mode, comparisons),
    }


def _prompt(comparison: Comparison, mode: str, answer: Answer) -> Json:
    ratio = ratio_to_plain(comparison, mode)
    plain = comparison.answers.get(PLAIN)
    return {
        "id": comparison.question.id,
        "task": comparison.question.task,
        "mode": mode,
        **{name: value for name, value in _counts([answer]).items() if name != "num_prompts"},
        "ms": _ms([answer]),
        "ratio_to_plain": None if ratio is None else round(ratio, 4),
        "identical": None if plain is None else _is_identical(comparison, mode),
    }
