"""What is said of presets, and which of them a chat has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.text.numbers import formatted, whole
from app.text.translation import Words, translate
from app.text.unseen import one_line
from engine import OwnSampling
from engine.values.config import OWN_PARAMETERS, OWN_TEXTS
from engine.values.order import Preset, TargetChoice
from engine.values.sentences import shortened

_LONG = 2**31
_LONGEST = 60  # characters of a system prompt in a line
Presets = Words("Presets")


@dataclass(frozen=True, slots=True)
class ChatValues:
    """What a preset can set, as it is in a chat."""

    system_prompt: str
    sampling: OwnSampling
    thinks: bool | None = None  # None: the model in use cannot be told
    target: TargetChoice | None = None  # in use


def preset_of(presets: Iterable[Preset], chat: ChatValues) -> Preset | None:
    """The preset that matches the chat; of several the most specific."""
    fitting = [each for each in presets if _num_set(each) and _fits(each, chat)]
    return max(fitting, key=_num_set, default=None)


def is_same_target(one: TargetChoice, other: TargetChoice | None) -> bool:
    if other is None:
        return False
    return one.identity == other.identity if one.identity and other.identity else one.name == other.name


def preset_words(preset: Preset) -> str:
    """Its values in one line."""
    told = [_shortened(preset.system_prompt)] if preset.system_prompt else []
    facts = [*told, sampling_words(preset.sampling), thinking_words(preset.thinks)]
    model = "" if preset.target is None else preset.target.name
    return " · ".join(filter(None, (*facts, model))) or Presets.tr("Changes nothing yet")


def sampling_words(sampling: OwnSampling) -> str:
    """Numbers with their values, texts by name; empty if nothing is set."""
    titles = {each.name: each.title for each in OWN_PARAMETERS} | {each.name: each.title for each in OWN_TEXTS}
    facts = []
    for name, value in sampling.chosen:
        title = translate("Settings", titles[name])
        number = "" if isinstance(value, str) else _number(value)
        facts.append(Presets.tr("{title} {number}", title=title, number=number) if number else title)
    return " · ".join(facts)


def own_words(system_prompt: str, sampling: OwnSampling, usual_prompt: str) -> str:
    """What the chat has of its own; empty: nothing. Others begin with `usual_prompt`."""
    told = "" if system_prompt == usual_prompt else Presets.tr("System prompt")
    return " · ".join(filter(None, (told, sampling_words(sampling))))


def thinking_words(thinks: bool | None) -> str:
    if thinks is None:
        return ""
    return Presets.tr("Thinks first") if thinks else Presets.tr("Answers without thinking")


def _number(value: float) -> str:
    if isinstance(value, int):
        return whole(value) if value < _LONG else str(value)  # a long one is a seed, which is copied
    return formatted(value, "g")


def _shortened(text: str) -> str:
    return shortened(one_line(" ".join(text.split())), _LONGEST)


def _fits(preset: Preset, chat: ChatValues) -> bool:
    thinks_so = preset.thinks is None or chat.thinks is None or preset.thinks == chat.thinks
    return (
        preset.system_prompt in (None, chat.system_prompt)
        and preset.sampling == chat.sampling
        and thinks_so
        and (preset.target is None or is_same_target(preset.target, chat.target))
    )


def _num_set(preset: Preset) -> int:
    others = (preset.system_prompt, preset.thinks, preset.target)
    return len(preset.sampling.chosen) + sum(each is not None for each in others)
