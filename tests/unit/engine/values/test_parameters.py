"""A number is declared once: what checks it, reads it from a file and offers it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from engine.values.config import OWN_PARAMETERS, OwnSampling, ReplySettings, SamplingSettings
from engine.values.errors import SettingInvalid
from engine.values.parameters import Parameter, Scope, check_parameters, parameter, parameters


@dataclass(frozen=True, slots=True)
class Tea:
    name: str = "green"
    lumps: Annotated[int | None, Parameter("Sugar", 1, 1000, scope=Scope.CHAT)] = None
    warmth: Annotated[float, Parameter("Warmth", 0, 5, least_above_zero=0.1, scope=Scope.COMMAND)] = 0.5

    def __post_init__(self) -> None:
        check_parameters(self)


def test_a_declaration_knows_its_field() -> None:
    lumps, warmth = parameters(Tea)
    assert (lumps.name, lumps.is_whole, lumps.is_optional, lumps.default) == ("lumps", True, True, None)
    assert (warmth.name, warmth.is_whole, warmth.is_optional, warmth.default) == ("warmth", False, False, 0.5)
    assert parameters(Tea, Scope.COMMAND) == (warmth,)
    assert parameter(Tea, "lumps") == lumps


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"lumps": 0}, "Sugar is 0; choose a value from 1 to 1,000."),
        ({"lumps": 1001}, "Sugar is 1,001; choose a value from 1 to 1,000."),
        ({"warmth": float("nan")}, "Warmth is nan; choose a value from 0 to 5."),
        ({"warmth": 0.05}, "Warmth is 0.05; choose 0 or at least 0.1."),
    ],
)
def test_what_is_outside_of_the_range_is_refused_also_where_a_file_is_read(
    values: dict[str, float], sentence: str
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        Tea(**values)  # type: ignore[arg-type]
    assert str(refused.value) == sentence
    with pytest.raises(ValidationError) as unread:
        TypeAdapter(Tea).validate_python(values)
    (error,) = unread.value.errors()
    assert (error["loc"], error["msg"]) == (tuple(values), f"Value error, {sentence}")


def test_the_ends_of_the_range_and_none_are_fine() -> None:
    assert TypeAdapter(Tea).validate_python({"lumps": 1, "warmth": 0}) == Tea(lumps=1, warmth=0)
    assert Tea(lumps=1000, warmth=0.1).lumps == 1000
    assert Tea(lumps=None, warmth=5).lumps is None


@pytest.mark.parametrize("value", [None, True, 1.0, "1", 0, [1]])
def test_of_a_file_only_numbers_of_the_right_kind_are_accepted(value: object) -> None:
    assert not parameter(Tea, "lumps").accepts(value)
    assert parameter(Tea, "lumps").accepts(1)


def test_every_parameter_of_sampling_that_is_set_somewhere_has_words() -> None:
    for scope in (Scope.SETTINGS, Scope.TARGET, Scope.CHAT):
        assert all(each.title and each.explanation.endswith(".") for each in parameters(SamplingSettings, scope))
    assert all(each.option_help.endswith(".") for each in parameters(SamplingSettings, Scope.COMMAND))
    for each in parameters(SamplingSettings):
        assert each.default == getattr(SamplingSettings(), each.name)


def test_a_chat_has_some_parameters_of_its_own_and_no_others() -> None:
    for each in OWN_PARAMETERS:
        own = OwnSampling(**{each.name: each.low})
        assert own.chosen == ((each.name, each.low),)
        assert OwnSampling.from_json(own.to_json()) == own
        changed = own.over(ReplySettings())
        holder = changed if hasattr(changed, each.name) else changed.sampling
        assert getattr(holder, each.name) == each.low
    with pytest.raises(TypeError, match="presence_penalty"):
        OwnSampling(presence_penalty=1.0)
    with pytest.raises(SettingInvalid):
        OwnSampling(temperature=9)


@pytest.mark.parametrize("stored", [None, "", "[]", "{", '{"temperature": 9, "top_k": 1.5, "seed": true, "tea": 1}'])
def test_what_makes_no_sense_of_a_chat_is_not_set(stored: str | None) -> None:
    assert OwnSampling.from_json(stored) == OwnSampling()
    assert OwnSampling().to_json() is None
