"""The change of figures from one stretch of a user's chats to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from engine.lab.measuring.bench import ModeComparison
from engine.lab.measuring.modes import ModeAnswer
from engine.lab.measuring.order import PLAIN
from engine.speculation.learning.judge import Ruling
from engine.speculation.learning.learner import Trial
from engine.speculation.proposers.drafting import Teachable
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import VerifiedReply


class Schooling:
    """Lets a drafter learn between the replies of a measurement, as the app does while no one waits."""

    def __init__(self, drafting: Teachable, remembers: bool = True) -> None:
        """Begins with nothing learned. `remembers`: whether drafts are made with memory."""
        self._drafting = drafting
        self._learner = drafting.make_learner(remembers=remembers)
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
            trial = self._learner.work(_go_on)
            if trial is not None:
                if trial.is_change:
                    self._drafting.use(trial.adapter)
                self.trials.append(replace(trial, adapter=None))


def _go_on() -> None: ...


Window = dict[str, object]


def windows(mode: str, comparisons: Sequence[ModeComparison], size: int) -> list[Window]:
    """The figures of each `size` replies, counted from 1: what stood of the guesses that were checked, by all and by
    each proposer; tokens written for each pass; the share of the tokens that were guessed; and how much faster than
    plain they came, all tokens together."""
    return [_window(mode, comparisons[start : start + size], start + 1) for start in range(0, len(comparisons), size)]


def trials(schooling: Schooling) -> list[dict[str, object]]:
    """The outcomes of the replies on which the judge ruled, and of the last one: tokens accepted per round since
    another adapter was put in use before."""
    found, since = [], 0
    for place, trial in enumerate(schooling.trials, 1):
        if trial.ruling is not Ruling.KEPT or place == len(schooling.trials):
            scores = [each.score for each in schooling.trials[since:place]]
            num_tokens = sum(score.num_tokens for score in scores)
            rounds = {
                name: sum(getattr(score, name) for score in scores) for name in ("original", "published", "candidate")
            }
            figures = {name: round(num_tokens / each - 1, 4) for name, each in rounds.items()}
            found.append({"after": trial.number, **figures, "replies": len(scores), "outcome": trial.ruling.value})
            since = place if trial.is_change else since
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
