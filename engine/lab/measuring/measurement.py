"""One measurement, from a loaded target to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from engine.lab.measuring.bench import Bench, LogitGauge, ModeComparison
from engine.lab.measuring.machine import NUM_ROWS, PassProbe, describe_machine
from engine.lab.measuring.modes import Mode, ModeAnswer, ReplayMode, SimulatedMode, WriterMode
from engine.lab.measuring.order import PASS_S, PLAIN, WAYS, BenchOrder
from engine.lab.measuring.prompts import ScriptedChat
from engine.lab.measuring.report import Json, Preparation, Subject, make_report
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.learning.judge import Ruling
from engine.speculation.learning.learner import Trial
from engine.speculation.model.body import BodyTarget
from engine.speculation.model.interface import Target
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.proposers.drafting import Teachable
from engine.speculation.proposers.recall import RecallTexts
from engine.values.conversations import ChatTurn, Role
from engine.values.drafters import DrafterSource
from engine.values.learned import RecallText, VerifiedReply
from engine.values.stop_signal import StopSignal

Speculations = Mapping[str, Speculation]  # by mode, plain not among them

Window = dict[str, object]


class Measurement:
    """A measurement, which owns its target."""

    def __init__(
        self,
        order: BenchOrder,
        chats: Sequence[ScriptedChat],
        target: Target,
        speculations: Speculations,
        memories: Mapping[str, RecallTexts] | None = None,
        schoolings: Mapping[str, Schooling] | None = None,
        drafters: Mapping[str, DrafterSource] | None = None,
        preparations: Mapping[str, Preparation] | None = None,
    ) -> None:
        """`memories`: what the modes remember of earlier questions, by mode, and `schoolings` what their drafters
        learn; those that do not are left out. `drafters`: those that draft. `preparations`: what the modes took before
        the first question."""
        self._order = order
        self._chats = chats
        self._target = target
        self._memories = memories or {}
        self._schoolings = schoolings or {}
        self._drafters = drafters or {}
        self._preparations = preparations or {}
        self._num_remembered = 0
        self._probe = PassProbe(target)
        gauge = LogitGauge(target) if order.temperature == 0 else None
        self._bench = Bench({mode: self._mode(speculations.get(mode), mode) for mode in order.modes}, gauge)

    @property
    def num_questions(self) -> int:
        return sum(len(chat.prompts) for chat in self._chats)

    def run(self, stop: StopSignal, on_answered: Callable[[str], None] = lambda _id: None) -> Json:
        """The report, even when `stop` gets set: it then says so. `on_answered` is given each question's id. Raises
        what writing a reply raises."""

        def tell(comparison: ModeComparison) -> None:
            self._remember(comparison)
            if not self._order.is_simulated:
                self._probe.measure(stop)
            on_answered(comparison.question.id)

        outcome = self._bench.run(self._chats, stop, tell)
        report = make_report(self._subject(), self._order.modes, outcome, self._preparations)
        if self._order.window is not None:
            report["windows"] = {
                mode: windows(mode, outcome.comparisons, self._order.window) for mode in self._order.modes
            }
        if self._schoolings:
            report["learning"] = {mode: trials(schooling) for mode, schooling in self._schoolings.items()}
        return report

    def close(self) -> None:
        self._target.close()

    def _remember(self, comparison: ModeComparison) -> None:
        """Remembers a chat as the app does."""
        prompt = self._target.tokenize(PromptText(comparison.question.turns[-1].text))
        for mode, memory in self._memories.items():
            said = (prompt, comparison.answers[mode].tokens)
            memory.add(
                RecallText(2 * self._num_remembered + place, self._num_remembered, np.array(tokens, np.int32))
                for place, tokens in enumerate(said)
            )
        self._num_remembered += 1
        for mode, schooling in self._schoolings.items():
            schooling.teach(comparison.question.turns, comparison.answers[mode].verified)

    def _mode(self, speculation: Speculation | None, mode: str) -> Mode:
        assert (speculation is not None) == WAYS[mode].drafts
        settings = replace(self._order.reply_settings, keeps_distributions=mode in self._schoolings)
        trace = self._target.inner if isinstance(self._target, BodyTarget) else self._target
        found: Mode = WriterMode(self._target, settings, speculation)
        if isinstance(trace, TraceTarget):
            found = ReplayMode(trace, self._target, settings, speculation)
        if not self._order.is_simulated:
            return found
        drafter = self._drafters.get(mode)
        return SimulatedMode(found, self._order.costs if drafter is None else self._order.costs.of_drafter(drafter))

    def _subject(self) -> Subject:
        order, drafting = self._order, self._order.speculation
        settings: dict[str, object] = {
            "prompts": str(order.prompts),
            "limit": order.limit,
            "max_tokens": order.max_tokens,
            "temperature": order.temperature,
            "seed": order.seed,
            "draft_length": order.draft_length,
            "drafter": drafting.drafter,
            "drafters": {mode: source.name for mode, source in self._drafters.items()},
            "drafter_device": drafting.device,
            "merge": drafting.merge,
            "teaches": order.teaches,
            "remembers": order.remembers,
            "profile": None if order.profile is None else str(order.profile),
            "shift": None if order.shift is None else str(order.shift),
            "body": None if order.body is None else str(order.body),
        }
        pass_costs = self._probe.costs
        if order.is_simulated:
            settings |= {"drafter_cost": order.costs.step, "drafter_costs": dict(order.costs.steps)}
            settings |= {"pass_costs": list(order.costs.passes), "pass_s": PASS_S}
            pass_costs = {num_rows: order.costs.pass_s(num_rows) / order.costs.pass_s(1) for num_rows in NUM_ROWS}
        description = self._target.description
        name = description.name if order.vocabulary is None else order.target
        return Subject(name, order.is_simulated, describe_machine(description.threads), settings, pass_costs)


class Schooling:
    """Lets a drafter learn between the replies of a measurement, as the app does while no one waits."""

    def __init__(self, drafting: Teachable, remembers: bool = True) -> None:
        """Begins with nothing learned. `remembers`: whether drafts are made with memory."""
        self._drafting = drafting
        self._learner = drafting.make_learner(remembers=remembers)
        self._in_use = self._learner.in_use
        self._num_replies = 0
        self._chats: dict[str, int] = {}  # by what the user said first
        self.trials: list[Trial] = []

    def teach(self, turns: Sequence[ChatTurn], reply: VerifiedReply | None) -> None:
        """Learns all that is to be learned from one more reply, right away."""
        self._num_replies += 1
        if reply is None:
            return
        opening = next((turn.text for turn in turns if turn.role is Role.USER), "")
        chat = self._chats.setdefault(opening, len(self._chats))
        self._learner.take(self._num_replies, chat, turns, reply)
        while self._learner.has_work:
            trial = self._learner.work(lambda: None)
            if trial is not None:
                self.trials.append(trial)
            if self._learner.in_use is not self._in_use:
                self._in_use = self._learner.in_use
                self._drafting.use(self._in_use.adapter, self._in_use.strength)


def windows(mode: str, comparisons: Sequence[ModeComparison], size: int) -> list[Window]:
    """The figures of each `size` replies, counted from 1: what stood of the guesses that were checked, by all and by
    each proposer; tokens written for each pass; the share of the tokens that were guessed; and how much faster than
    plain they came, all tokens together."""
    return [_window(mode, comparisons[start : start + size], start + 1) for start in range(0, len(comparisons), size)]


def trials(schooling: Schooling) -> list[dict[str, object]]:
    """The outcomes of the replies on which the judge ruled, and of the last one: tokens accepted per round by the
    original drafter, by what was in use and by all that was learned, over all replies until then."""
    found: list[dict[str, object]] = []
    for place, trial in enumerate(schooling.trials, 1):
        if trial.ruling is not Ruling.KEPT or place == len(schooling.trials):
            scores = [each.score for each in schooling.trials[:place]]
            num_tokens = sum(score.num_tokens for score in scores)
            rounds = {
                "original": sum(score.original for score in scores),
                "in_use": sum(score.in_use for score in scores),
                "at_full_strength": sum(score.rounds[-1] for score in scores),
            }
            figures = {name: round(num_tokens / each - 1, 4) for name, each in rounds.items()}
            found.append({"after": trial.number, **figures, "replies": place, "outcome": trial.ruling.value})
    return found


def _window(mode: str, comparisons: Sequence[ModeComparison], first: int) -> Window:
    answers = [comparison.answers[mode] for comparison in comparisons]
    figures = [answer.figures for answer in answers]
    checked = sum(sum(each.checked.values()) for each in figures)
    accepted = sum(each.num_accepted for each in figures)
    written = sum(each.num_written for each in figures)
    rounds = sum(each.num_rounds for each in figures)
    by_proposer: Counter[str] = Counter()
    for each in figures:
        by_proposer.update({name: proposer.num_accepted for name, proposer in each.by_proposer.items()})
    plain = [comparison.answers[PLAIN] for comparison in comparisons if PLAIN in comparison.answers]
    ours_s, plain_s = _s_per_token(answers), _s_per_token(plain)
    return {
        "from": first,
        "to": first + len(comparisons) - 1,
        "acceptance": round(accepted / checked, 4) if checked else None,
        "tokens_per_round": round(written / rounds, 4) if rounds else None,
        "guessed_share": round(accepted / written, 4) if written else None,
        "accepted_by_proposer": dict(sorted(by_proposer.items())),
        "ratio_to_plain": round(plain_s / ours_s, 4) if ours_s and plain_s else None,
    }


def _s_per_token(answers: Sequence[ModeAnswer]) -> float:
    written = sum(answer.figures.num_written for answer in answers)
    return sum(answer.wall_s for answer in answers) / written if written else 0.0
