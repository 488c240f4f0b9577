"""What the meter says of replies of a fake machine, whose passes take what is given: the sentence, the ratio and both
speeds agree as they are shown, and with what the machine did. Each reason that the sentence can give is provoked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import pytest
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.theme import ThemeKeeper
from app.widgets.meter.meter_text import Readiness
from app.widgets.meter.speed_meter import SpeedMeter
from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.catalogue import RECALL, Listed
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Proposer, Supplies
from engine.speculation.proposers.recall import RecallProposer
from engine.speculation.replies.reply import ReplyWriter
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.replies import ReplyStatistics
from engine.values.speed import FASTER, SLOWER, Hindrance, SpeedOutcome
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.machine import Machine, TimedTarget
from tests.fakes.proposers import FakeRecall, FakeSlow
from tests.fakes.target import FakeTarget
from tests.unit.app.wordings import normal, told

NOVEL = "".join(Random(5).choices([chr(code) for code in range(33, 127)], k=220))  # hardly two letters come twice
LINES = "red fox\nblue hen\n" * 14
MIXED = NOVEL[:90] + LINES[:60] + NOVEL[90:140] + LINES[:40]
SPRINKLED = "".join(f"{NOVEL[start : start + 20]}red a" for start in range(0, 220, 20))
CHEAP, MIDDLING, DEAR = {1: 0.05, 16: 0.07}, {1: 0.05, 2: 0.075, 16: 0.2}, {1: 0.05, 16: 1.0}
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def speculating(machine: Machine, *proposers: Proposer) -> Speculation:
    return Speculation(DraftPolicy(machine.costs, proposers))


def recalling(*texts: str) -> RecallProposer:
    index = [SuffixIndex([[*text.encode()] for text in texts])]
    return RecallProposer(lambda _owner: index)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("engine.speculation.replies.run._FIGURES_S", 0.0)
    return Machine.running(monkeypatch, CHEAP)


@pytest.fixture
def meter(qtbot: QtBot, keeper: ThemeKeeper) -> SpeedMeter:
    window = MainWindow(keeper)
    qtbot.addWidget(window)
    window.resize(1400, 800)
    window.show()
    window.meter.show_readiness(Readiness.READY, "")
    return window.meter


@dataclass(frozen=True)
class Written:
    statistics: ReplyStatistics
    true_ratio: float
    listener: RecordingReply


def write(
    machine: Machine, text: str, speculation: Speculation | None, settings: ReplySettings, target: FakeTarget | None
) -> Written:
    target = target or TimedTarget(machine, text)
    writer, listener = ReplyWriter(target, speculation), RecordingReply()
    reply = writer.write(writer.prepare([ChatTurn(Role.USER, "Say it.")]), settings, StopSignal(), listener)
    assert reply.failure is None
    return Written(reply.statistics, machine.ratio(reply.figures), listener)


GREEDY = ReplySettings(SamplingSettings(temperature=0))


def shown(meter: SpeedMeter) -> dict[str, str]:
    meter.show_details()
    assert meter.details is not None
    meter.details.close()
    said = {name.text(): value.text() for name, value in meter.details.rows if not value.isHidden()}
    assert meter.headline.toolTip().splitlines()[0] == meter.headline.text() == meter.details.title.text()
    return {"": meter.headline.text(), **said}


def numbers(words: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(words)]


def check_agreement(said: dict[str, str], true_ratio: float | None = None) -> str:
    """All is recomputed from what is to be read. Returns what was said of the ratio."""
    headline = said[""]
    if "Ratio" not in said:
        assert "faster" not in headline
        assert not headline.startswith((told(SpeedOutcome.SLOWER), told(SpeedOutcome.ABOUT_NORMAL)))
        assert "Without guesses" not in said, "a second speed has a ratio"
        return headline
    (speed,), (plain, percent), (ratio, error) = map(numbers, (said["Speed"], said["Without guesses"], said["Ratio"]))
    quotient, step = speed / plain, 0.1 if ratio >= 1.1 else 0.01
    assert abs(ratio - quotient) <= step / 2 + 1e-9, "the ratio is that of the speeds beside it"
    assert abs(error - max(step, percent / 100 * quotient)) <= step
    within = max(0.05, 3 * percent / 100)  # three standard errors, as they are shown
    assert true_ratio is None or abs(quotient / true_ratio - 1) <= within, "and that of what the machine did"
    is_beyond = abs(quotient - 1) > (percent - 0.5) / 100 * quotient
    if headline.endswith(" faster") or " faster: " in headline:
        assert numbers(headline)[0] == ratio
        assert quotient > FASTER
        assert is_beyond
    elif headline.startswith(told(SpeedOutcome.SLOWER)):
        assert quotient < SLOWER
        assert is_beyond
    elif headline.startswith(normal()):
        assert SLOWER <= quotient <= FASTER
    else:
        assert headline in (told(SpeedOutcome.ABOUT_NORMAL), told(SpeedOutcome.MEASURING))
        assert not SLOWER <= quotient <= FASTER
    return headline


def test_over_fifty_replies_the_sentence_the_ratio_and_both_speeds_agree(machine: Machine, meter: SpeedMeter) -> None:
    """Of every mixture of text, costs, noise and who guesses, while the machine is busy and then not."""
    told: list[str] = []
    for number, (costs, text) in enumerate(product((CHEAP, MIDDLING, DEAR), (NOVEL, LINES, MIXED))):
        for proposers in ((recalling(LINES),), (recalling(),), (FakeRecall([*b"red fox"], (0.9,) * 7),)):
            machine.seconds, machine.noise = costs, 0.2 * (number % 2)
            speculation = speculating(machine, *proposers)
            for busy, settings in ((1.0, GREEDY), (1.8, ReplySettings(SamplingSettings(temperature=0.8, seed=3)))):
                machine.busy = busy
                written = write(machine, text, speculation, settings, None)
                for figures in written.listener.figures[::20]:
                    meter.show_live(figures, 4096, ())
                    meter._show_latest()
                    check_agreement(shown(meter))
                meter.show_reply(written.statistics)
                told.append(check_agreement(shown(meter), written.true_ratio))
    assert len(told) >= 50
    assert {headline.split(":")[0] for headline in told if "faster" not in headline} >= {normal()}
    assert any("faster" in headline for headline in told)


def hindered(machine: Machine, reason: Hindrance) -> Written:
    """A reply that is hindered so."""
    settings, target = GREEDY, None
    match reason:
        case Hindrance.OFF:
            settings, speculation, text = replace(GREEDY, speculate=False), speculating(machine, recalling()), LINES
        case Hindrance.IMPOSSIBLE:
            text, target = LINES, TimedTarget(machine, LINES, can_roll_back=False)
            listed = Listed(RECALL, "tests.fakes.proposers.FakeRecall")
            speculation = open_speculation(DraftPolicy(machine.costs), Supplies(target), [listed])
        case Hindrance.LOADING:
            speculation, text = speculating(machine, recalling()), NOVEL
            speculation.expect([FakeSlow], Supplies(FakeTarget()))
        case Hindrance.COSTS:
            machine.seconds = DEAR
            speculation, text = speculating(machine, recalling()), LINES
        case Hindrance.NOTHING:
            speculation, text = speculating(machine, recalling()), NOVEL
        case Hindrance.LITTLE:
            machine.seconds = MIDDLING
            speculation, text = speculating(machine, recalling()), SPRINKLED
        case _:
            machine.seconds = MIDDLING
            speculation, text = speculating(machine, FakeSlow(0.9, 0.001)), NOVEL
    return write(machine, text, speculation, settings, target)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Hindrance.OFF, normal(Hindrance.OFF)),
        (Hindrance.IMPOSSIBLE, normal(Hindrance.IMPOSSIBLE)),
        (Hindrance.LOADING, normal(Hindrance.LOADING)),
        (Hindrance.COSTS, normal(Hindrance.COSTS)),
        (Hindrance.NOTHING, normal(Hindrance.NOTHING)),
        (Hindrance.LITTLE, normal(Hindrance.LITTLE)),
        (Hindrance.WRONG, normal(Hindrance.WRONG)),
    ],
)
def test_each_reason_is_the_true_one(machine: Machine, meter: SpeedMeter, reason: Hindrance, words: str) -> None:
    written = hindered(machine, reason)
    assert written.statistics.hindrance is reason
    meter.show_reply(written.statistics)
    assert check_agreement(shown(meter), written.true_ratio) == words
    assert written.listener.figures[-1].hindrance is reason, "also while it was written"


def test_it_is_being_measured_until_enough_is_written(machine: Machine, meter: SpeedMeter) -> None:
    written = write(machine, LINES, speculating(machine, recalling()), GREEDY, None)
    said = []
    for figures in written.listener.figures:
        meter.show_live(figures, 4096, ())
        meter._show_latest()
        said.append(meter.headline.text())
    assert said[0] == told(SpeedOutcome.MEASURING)
    assert said[-1].endswith("× faster")


def test_alternating_lines_where_checking_costs_too_much_are_not_called_unpredictable(
    machine: Machine, meter: SpeedMeter
) -> None:
    """As it was seen: 1,532 tokens that repeat from the third line on, and nothing was guessed, on a machine that grew
    busier towards the end."""
    machine.seconds = DEAR
    target = TimedTarget(machine, "red fox\nblue hen\n" * 90)
    num_passes = iter(range(10_000))

    def grow_busier() -> None:
        machine.busy = 1.0 if next(num_passes) < 1_200 else 1.5

    target.on_evaluate = grow_busier
    written = write(machine, "", speculating(machine, recalling()), GREEDY, target)
    assert written.statistics.num_drafted == 0
    assert written.statistics.plain_tokens_per_s == pytest.approx(written.statistics.tokens_per_s, rel=0.02)
    meter.show_reply(written.statistics)
    said = shown(meter)
    assert said[""] == normal(Hindrance.COSTS)
    assert "Without guesses" not in said, "there is one speed"
