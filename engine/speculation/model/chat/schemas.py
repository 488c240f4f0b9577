"""The reading of JSON schemas, wherever a reply keeps to one."""

from __future__ import annotations

from typing import Any

# Between the parts of a value, as llama.cpp has it: without a limit, a reply might be made of spaces.
WHITESPACE = {"whitespace_flexible": True, "whitespace_pattern": r"( |\n{1,2}[ \t]{0,20})?"}
_INNER = frozenset({"items", "prefixItems", "anyOf", "oneOf"})  # keys of schemas within a schema
_INNER_BY_NAME = frozenset({"properties", "$defs", "definitions"})
_OPEN = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"}
)


def closed_schema(schema: Any) -> Any:
    """The schema, closed: its objects have only the properties that are named, unless it says otherwise, as llama.cpp
    reads schemas; else a model would go on inventing some."""
    if isinstance(schema, list):
        return [closed_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: closed_schema(value) if key in _INNER else value for key, value in schema.items()}
    for key in _INNER_BY_NAME & schema.keys():
        if isinstance(schema[key], dict):
            closed[key] = {name: closed_schema(value) for name, value in schema[key].items()}
    if "properties" in schema and schema.keys().isdisjoint(_OPEN):
        closed["additionalProperties"] = False
    return closed
