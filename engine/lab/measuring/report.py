"""The figures of a measurement as one JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.lab.measuring.bench import BenchOutcome, ModeComparison
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.order import PLAIN
from engine.speculation.decoding.figures import DecodingFigures, ProposerFigures
from engine.speculation.numerics.draft_length import MAX_LENGTH, PassCosts

Json = dict[str, object]

PassMeans = Mapping[int, float]  # rows of a pass -> seconds that such passes took on average in a run
_FEWEST_PASSES = 20  # of a number of rows, for their mean to say something


@dataclass(frozen=True, slots=True)
class Subject:
    target: str
    simulated: bool  # whether the seconds are computed from counts, as for recorded replies
    machine: Mapping[str, object]
    settings: Mapping[str, object]
    pass_costs: Mapping[int, float]  # V(n) as multiples of V(1), for some n; empty where it was not measured


@dataclass(frozen=True, slots=True)
class Preparation:
    seconds: float = 0.0  # to make and load what drafts
    memory_mb: float = 0.0  # that it holds since


def make_report(
    subject: Subject, modes: Sequence[str], outcome: BenchOutcome, preparations: Mapping[str, Preparation] = {}
) -> Json:
    answers = [answer for comparison in outcome.comparisons for answer in comparison.answers.values()]
    means = pass_means(answer.figures for answer in answers)
    return {
        "target": subject.target,
        "simulated": subject.simulated,
        "machine": dict(subject.machine),
        "settings": dict(subject.settings),
        "pass_costs": _costs(subject.pass_costs),
        "modes": {
            mode: {
                **_mode(mode, outcome, subject.pass_costs, means),
                "prepare_s": round(preparations.get(mode, Preparation()).seconds, 2),
                "prepared_mb": round(preparations.get(mode, Preparation()).memory_mb, 1),
            }
            for mode in modes
        },
        "prompts": [
            _prompt(comparison, mode, means) for comparison in outcome.comparisons for mode in comparison.answers
        ],
        "skipped": list(outcome.skipped),
        "interrupted": outcome.interrupted,
    }


def ratio_to_plain(comparison: ModeComparison, mode: str, with_reading: bool = False) -> float | None:
    """The speed relative to plain: seconds per token of plain over the mode's, `with_reading` including those that a
    simulation leaves out. None if nothing can be compared."""
    plain = comparison.answers.get(PLAIN)
    ours, theirs = _s_per_token(comparison.answers[mode], with_reading), _s_per_token(plain) if plain else None
    return theirs / ours if ours and theirs else None


def _s_per_token(answer: ModeAnswer, with_reading: bool = False) -> float | None:
    wall_s = answer.wall_s + (answer.uncounted_s if with_reading else 0.0)
    return wall_s / answer.figures.num_written if answer.figures.num_written else None


def _costs(pass_costs: Mapping[int, float]) -> Json:
    return {str(num_rows): round(cost, 4) for num_rows, cost in pass_costs.items()}


def _mode(mode: str, outcome: BenchOutcome, pass_costs: Mapping[int, float], means: PassMeans) -> Json:
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
        "own_ms": _own_work(answers),
        **own,
        "peak_rss_mb": round(outcome.memory_mb[mode], 1),
        "ratio_to_plain": _ratios(mode, comparisons),
        "ratio_with_reading": _ratios(mode, comparisons, with_reading=True),
        "ratio_by_counts": _ratios_by_counts(mode, comparisons, means),
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
            task: _task(mode, [each for each in comparisons if each.question.task == task], means) for task in tasks
        },
    }


def _counts(answers: Sequence[ModeAnswer]) -> Json:
    """The counts. `tokens` are those of the replies. `written` are those of the rounds, that is without the first token
    of each reply, which comes out of the prompt pass, and with the one that ends it: speeds count these."""
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


def _ms(answers: Sequence[ModeAnswer]) -> Json:
    parts = _parts_s(answers)
    return {name: round(seconds * 1e3, 3) + 0.0 for name, seconds in parts.items()}  # + 0.0: no “-0.0”


def _parts_s(answers: Sequence[ModeAnswer]) -> dict[str, float]:
    figures = [answer.figures for answer in answers]
    parts = {
        "draft": sum(each.draft_s for each in figures),
        "translate": sum(each.translate_s for each in figures),
        "target": sum(each.target_s for each in figures),
        "accept": sum(each.accept_s for each in figures),
    }
    return {**parts, "other": sum(answer.wall_s for answer in answers) - sum(parts.values())}


def _overhead_share(answers: Sequence[ModeAnswer]) -> float:
    """The share of the wall time that is neither the target's nor the drafter's."""
    wall_s = sum(answer.wall_s for answer in answers)
    return round(_own_s(answers) / wall_s, 6) if wall_s > 0 else 0.0


def _own_work(answers: Sequence[ModeAnswer]) -> Json:
    own_ms = _own_s(answers) * 1e3
    written = sum(answer.figures.num_written for answer in answers)
    rounds = sum(answer.figures.num_rounds for answer in answers)
    return {
        "per_token": round(own_ms / written, 4) if written else None,
        "per_round": round(own_ms / rounds, 4) if rounds else None,
    }


def _own_s(answers: Sequence[ModeAnswer]) -> float:
    parts = _parts_s(answers)
    return parts["translate"] + parts["accept"] + parts["other"]


def _own_ms(answers: Sequence[ModeAnswer]) -> float:
    return round(sum(answer.own_s or 0.0 for answer in answers) * 1e3, 3)


def _ratios(mode: str, comparisons: Iterable[ModeComparison], with_reading: bool = False) -> Json | None:
    ratios = [ratio_to_plain(comparison, mode, with_reading) for comparison in comparisons]
    return _spread([ratio for ratio in ratios if ratio is not None])


def _ratios_by_counts(mode: str, comparisons: Iterable[ModeComparison], means: PassMeans) -> Json | None:
    ratios = [_ratio_by_counts(mode, comparison, means) for comparison in comparisons]
    return _spread([ratio for ratio in ratios if ratio is not None])


def _ratio_by_counts(mode: str, comparison: ModeComparison, means: PassMeans) -> float | None:
    plain = comparison.answers.get(PLAIN)
    return None if plain is None else ratio_by_counts(plain.figures, comparison.answers[mode].figures, means)


def _spread(ratios: Sequence[float]) -> Json | None:
    if not ratios:
        return None
    p10, median, p90 = np.percentile(ratios, (10, 50, 90))
    figures = {"median": median, "p10": p10, "p90": p90, "worst": min(ratios)}
    return {name: round(float(ratio), 4) for name, ratio in figures.items()}


def _is_identical(comparison: ModeComparison, mode: str) -> bool:
    return comparison.answers[mode].tokens == comparison.answers[PLAIN].tokens


def _by_proposer(answers: Iterable[ModeAnswer]) -> Json:
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


def _by_place(answers: Iterable[ModeAnswer]) -> list[Json]:
    """The numbers of first, second, … tokens of a draft that were reached, and of those that stood."""
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


def _draft_step(answers: Sequence[ModeAnswer], comparisons: Sequence[ModeComparison]) -> _DraftStep | None:
    steps = sum(answer.figures.num_steps - answer.figures.num_readings for answer in answers)
    single_s = mean_s([each.answers[PLAIN].figures for each in comparisons if PLAIN in each.answers], 1)
    if not steps or not single_s:
        return None
    return _DraftStep(sum(answer.figures.draft_s - answer.figures.reading_s for answer in answers) / steps, single_s)


def _attainable(
    mode: str, comparisons: Sequence[ModeComparison], step: _DraftStep | None, pass_costs: Mapping[int, float]
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


def _passes(answers: Iterable[ModeAnswer]) -> Json:
    """Rows of a pass -> how many such passes."""
    passes: Counter[int] = Counter()
    for answer in answers:
        passes.update(answer.figures.passes)
    return {str(num_rows): passes[num_rows] for num_rows in sorted(passes)}


def _task(mode: str, comparisons: Sequence[ModeComparison], means: PassMeans) -> Json:
    counts = _counts([comparison.answers[mode] for comparison in comparisons])
    return {
        **counts,
        "ratio_to_plain": _ratios(mode, comparisons),
        "ratio_by_counts": _ratios_by_counts(mode, comparisons, means),
    }


def _prompt(comparison: ModeComparison, mode: str, means: PassMeans) -> Json:
    answer, plain = comparison.answers[mode], comparison.answers.get(PLAIN)
    ratio, counted = ratio_to_plain(comparison, mode), _ratio_by_counts(mode, comparison, means)
    return {
        "id": comparison.question.id,
        "task": comparison.question.task,
        "mode": mode,
        **{name: value for name, value in _counts([answer]).items() if name != "num_prompts"},
        "ms": _ms([answer]),
        "ratio_to_plain": None if ratio is None else round(ratio, 4),
        "ratio_by_counts": None if counted is None else round(counted, 4),
        "passes": _passes([answer]),
        "identical": None if plain is None else _is_identical(comparison, mode),
    }


def pass_means(run: Iterable[DecodingFigures]) -> PassMeans:
    """The mean seconds of passes, over all replies of a run, whatever their modes."""
    passes: Counter[int] = Counter()
    seconds: Counter[int] = Counter()
    for figures in run:
        passes.update(figures.passes)
        seconds.update(figures.pass_s)
    return {num_rows: seconds[num_rows] / count for num_rows, count in passes.items() if count}


def ratio_by_counts(plain: DecodingFigures, ours: DecodingFigures, means: PassMeans) -> float | None:
    """Plain's seconds per token over the mode's, if every pass took what such passes take on average: the machine's
    noise on single replies is left out, what drafting cost and gained is not. None if nothing can be compared."""
    our_s, plain_s = _counted_s_per_token(ours, means), _counted_s_per_token(plain, means)
    return plain_s / our_s if our_s and plain_s else None


def _counted_s_per_token(figures: DecodingFigures, means: PassMeans) -> float | None:
    target_s = sum(means[num_rows] * count for num_rows, count in figures.passes.items() if count)
    return (target_s + figures.draft_s) / figures.num_written if figures.num_written else None


@dataclass(frozen=True, slots=True)
class Attainable:
    acceptance: float  # a: share of the drafted tokens that stood, of those that were reached
    pass_costs: dict[int, float]  # V(n): of a pass over n rows, as a multiple of plain's one-row pass; what was seen
    ratio: float  # max over k of (1 + a + … + a^k) / V(k + 1), so 1 where not drafting is best
    covered: float  # the same, if the rounds without a draft (there was nothing to guess from) bring what plain ones do
    # max over k of (1 + a + … + a^k) / (V(k + 1) + k · step), and 1 if not drafting is best. If no steps were taken,
    # with the rounds without a draft as in `covered`: free guesses are not always there.
    allowed: float


def attainable(
    plain: Sequence[DecodingFigures],
    drafting: Sequence[DecodingFigures],
    step: float = 0.0,
    pass_costs: Mapping[int, float] | None = None,
) -> Attainable | None:
    """What guesses as good as these could bring at best: free ones, and ones that cost `step` of a one-row pass each.
    `pass_costs`: V(n) as measured apart from the rounds, for passes that these had too few of. None if no draft was
    checked, or plain had no pass."""
    accepted, single = acceptance(drafting), mean_s(plain, 1)
    if accepted is None or not single:
        return None
    costs = {1: 1.0}
    for num_rows in range(2, MAX_LENGTH + 2):
        if sum(figures.passes[num_rows] for figures in drafting) >= _FEWEST_PASSES:
            costs[num_rows] = mean_s(drafting, num_rows) / single
    ratio = best_ratio(accepted, costs)
    allowed = best_ratio(accepted, {**(pass_costs or {}), **costs}, step)
    covered = covered_ratio(ratio, drafting)
    return Attainable(accepted, costs, ratio, covered, allowed if step else covered_ratio(allowed, drafting))


def acceptance(drafting: Sequence[DecodingFigures]) -> float | None:
    """The share of the drafted tokens that stood, of those that were reached; None where nothing was drafted."""
    checked = sum(sum(figures.checked.values()) for figures in drafting)
    return sum(sum(figures.accepted.values()) for figures in drafting) / checked if checked else None


def best_ratio(acceptance: float, costs: Mapping[int, float], step: float = 0.0) -> float:
    """The best ratio over the lengths of drafts whose passes are known; at least 1, which is not to draft."""
    filled = PassCosts(costs)
    tokens, ratio = 0.0, 1.0
    for length in range(max(costs)):
        tokens += acceptance**length
        ratio = max(ratio, tokens / (filled.of(length + 1) + length * step))
    return ratio


def covered_ratio(ratio: float, drafting: Sequence[DecodingFigures]) -> float:
    """The ratio, if it holds in the rounds with a draft and those without one bring what plain ones do."""
    undrafted = sum(figures.passes[1] for figures in drafting)
    written = sum(figures.num_written for figures in drafting)
    return written / ((written - undrafted) / ratio + undrafted)


def mean_s(all_figures: Sequence[DecodingFigures], num_rows: int) -> float:
    """Seconds of a pass over `num_rows`; 0 if there was none."""
    count = sum(figures.passes[num_rows] for figures in all_figures)
    return sum(figures.pass_s[num_rows] for figures in all_figures) / count if count else 0.0
