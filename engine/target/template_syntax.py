"""A chat template's source as jinja2 parses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jinja2.ext
from jinja2 import Environment, TemplateError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from engine.sentences import say
from engine.target.template_values import Budget

_MOST_CHARACTERS = 128_000  # of the source: the longest of seventy has 17,000
_STEPS_PER_TOKEN = 100


def parsed(source: str) -> nodes.Template:
    """Raises TemplateError, RecursionError or ValueError."""
    if len(source) > _MOST_CHARACTERS:
        raise TemplateError(say("it has more than {most:,} characters", most=_MOST_CHARACTERS))
    return _ENVIRONMENT.parse(source)


def cost_of(statement: nodes.Node) -> int:
    """Steps of a statement without the blocks inside it, which take their own."""
    cost, waiting = 0, [statement]
    while waiting:
        each = waiting.pop()
        cost += 1
        waiting += (
            child
            for name, field in each.iter_fields()
            if name not in ("body", "else_")
            for child in (field if isinstance(field, list) else (field,))
            if isinstance(child, nodes.Node)
        )
    return cost


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks replies for training; the text inside is ordinary."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Patience(jinja2.ext.Extension):
    """Parsing takes from a budget, too."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Any]:
        budget = Budget(0)
        for token in stream:
            budget.take(_STEPS_PER_TOKEN)
            yield token


_ENVIRONMENT = Environment(
    trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, _Generation, _Patience]
)
