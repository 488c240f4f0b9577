"""How the figures change from one stretch of a user's chats to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from engine.lab.measuring.bench import Comparison
from engine.lab.measuring.modes import Answer
from engine.lab.measuring.order import PLAIN
from engine.learning.learner import Trial
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply
from engine.proposers.drafting import Teachable

KEPT, PUBLISHED, RETURNED = "kept", "published", "returned"


class Schooling:
    """Lets a drafter learn between the replies of a measurement, as the app does while nobody waits."""

    def __init__(self, drafting: Teachable) -> None:
        """Nothing is learned yet."""
        self._drafting = drafting
        self._learner = drafting.make_learner()
        self._num_replies = 0
        self.trials: list[tuple[int, Trial, str]] = []  # after how many replies; what was found; what came of it

    def teach(self, turns: Sequence[ChatTurn], reply: VerifiedReply | None) -> None:
        """One more reply; all that is to be learned of it is learned here and now."""
        self._num_replies += 1
        if reply is None:
            return
        self._learner.take(self._num_replies, turns, reply)
        while self._learner.has_work:
            trial = self._learner.work(_go_on)
            if trial is None:
                continue
            if trial.adapter is not None:
                self._drafting.use(trial.adapter)
            outcome = KEPT if trial.adapter is None else RETURNED if trial.is_rollback else PUBLISHED
            self.trials.append((self._num_replies, replace(trial, adapter=None), outcome))


def _go_on() -> None: ...


Window = dict[str, object]


def windows(mode: str, comparisons: Sequence[Comparison], size: int) -> list[Window]:
    """For each `size` replies, counted from 1: what stood of the guesses that were checked, by all and by each
    proposer; tokens written for each pass; the share of the tokens that were guessed; and how much faster than plain
    they came, all tokens together."""
    return [_window(mode, comparisons[start : start + size], start + 1) for start in range(0, len(comparisons), size)]


def trials(schooling: Schooling) -> list[dict[str, object]]:
    """What each trial of an adapter found: tokens accepted per round of the replies that were held back."""
    return [
        {
            "after": num_replies,
            "base": round(trial.base, 4),
            "published": round(trial.published, 4),
            "candidate": round(trial.candidate, 4),
            "held_back": trial.num_replies,
            "outcome": outcome,
        }
        for num_replies, trial, outcome in schooling.trials
    ]


def _window(mode: str, comparisons: Sequence[Comparison], first: int) -> Window:
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


def _s_per_token(answers: Sequence[Answer]) -> float:
    written = sum(answer.figures.num_written for answer in answers)
    return sum(answer.wall_s for answer in answers) / written if written else 0.0
