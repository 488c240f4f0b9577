"""Settings of a reply, as clients name them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from engine.backend.server.refusals import invalid
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.errors import SettingInvalid

_MOST_STOPS = 16
_LONGEST_STOP = 1000
_SEEDS = 2**64
# Fields of requests, after OpenAI and llama-server, and what they are called here.
_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repeat_penalty": "repetition_penalty",
    "repetition_penalty": "repetition_penalty",
    "top_n_sigma": "top_n_sigma",
    "xtc_probability": "xtc_probability",
    "xtc_threshold": "xtc_threshold",
    "dynatemp_range": "temperature_range",
    "dynatemp_exponent": "temperature_exponent",
    "dry_multiplier": "dry_multiplier",
    "dry_base": "dry_base",
    "dry_allowed_length": "dry_length",
}

Name = Annotated[str, Field(max_length=1000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
_Item = TypeVar("_Item")
Some = Annotated[
    list[_Item], Field(fail_fast=True)
]  # thousands of errors would take as many times as long as the first
Count = Annotated[int, Field(ge=-1, le=10_000_000)]  # -1: no limit, as llama-server has it


class Lenient(BaseModel):
    """Fields that are unknown here are let pass, as other servers do."""

    model_config = ConfigDict(extra="ignore")


class JsonSchema(Lenient):
    schema_: dict[str, Any] = Field(default_factory=dict, alias="schema")


class ResponseFormat(Lenient):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")  # as llama-server has it


class StreamOptions(Lenient):
    include_usage: bool = False


class Prediction(Lenient):
    type: Literal["content"] = "content"
    content: str | Some[TextPart]


class TextPart(Lenient):
    type: Literal["text", "input_text", "output_text"]
    text: str


Prediction.model_rebuild()


class SampledRequest(Lenient):
    """What requests of both OpenAI's interfaces have."""

    model: Name | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=8)] | None = None
    stop: str | Some[str | None] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=_SEEDS)] | None = None
    logit_bias: dict[str, float] | None = None
    temperature: Number | None = None
    top_p: Number | None = None
    top_k: Annotated[int, Field(ge=-1, le=1_000_000)] | None = None
    min_p: Number | None = None
    presence_penalty: Number | None = None
    frequency_penalty: Number | None = None
    repeat_penalty: Number | None = None
    repetition_penalty: Number | None = None
    top_n_sigma: Number | None = None
    xtc_probability: Number | None = None
    xtc_threshold: Number | None = None
    dynatemp_range: Number | None = None
    dynatemp_exponent: Number | None = None
    dry_multiplier: Number | None = None
    dry_base: Number | None = None
    dry_allowed_length: int | None = None
    grammar: Annotated[str, Field(max_length=100_000)] | None = None
    json_schema: dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    prediction: Prediction | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """Raises RequestRefused."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return checked_stops([*filter(None, stops)], "stop")

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def expected(self) -> str:
        if self.prediction is None:
            return ""
        content = self.prediction.content
        return content if isinstance(content, str) else "".join(each.text for each in content)

    @property
    def chosen(self) -> dict[str, Any]:
        """Fields of `SamplingSettings` that the request sets. Raises RequestRefused."""
        if self.logit_bias:
            raise invalid(
                "Biases for tokens by their numbers are not offered here; leave logit_bias out.", "logit_bias"
            )
        chosen: dict[str, Any] = {
            ours: value for theirs, ours in _NAMES.items() if (value := getattr(self, theirs)) is not None
        }
        if chosen.get("top_k") == -1:
            chosen["top_k"] = 0
        if self.seed is not None:
            chosen["seed"] = None if self.seed == -1 else self.seed % _SEEDS
        if form := self._form:
            chosen["grammar"] = form
        return chosen

    @property
    def _form(self) -> str:
        """The form of the reply: a JSON schema or a grammar; empty: any."""
        form = self.response_format
        if self.grammar and self.grammar.strip():
            return self.grammar
        if self.json_schema is not None:
            return json.dumps(self.json_schema)
        if form is None or form.type == "text":
            return ""
        if form.type == "json_schema" and form.json_schema is None and form.schema_ is None:
            raise invalid("A response_format of this type needs a json_schema.", "response_format.json_schema")
        schema = form.json_schema.schema_ if form.json_schema is not None else form.schema_
        return json.dumps(schema or {"type": "object"})


def checked_stops(stops: list[str], field: str) -> tuple[str, ...]:
    """Raises RequestRefused."""
    if len(stops) > _MOST_STOPS or any(len(each) > _LONGEST_STOP for each in stops):
        raise invalid(f"There may be {_MOST_STOPS} stop texts, of {_LONGEST_STOP:,} characters each.", field)
    return tuple(each for each in stops if each)


def checked_sampling(chosen: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Raises RequestRefused for what is outside its range."""
    try:
        SamplingSettings(**chosen)
    except SettingInvalid as error:
        raise invalid(str(error)) from None
    return tuple(chosen.items())


def checked_count(value: int | None, field: str) -> int | None:
    """A limit in tokens; None: no limit. Raises RequestRefused."""
    if value is None or value == -1:
        return None
    if value < 1:
        raise invalid(f"{field} is {value}; choose at least 1.", field)
    ReplySettings(max_tokens=value)
    return value
