"""Servers of tools with names that collide, and definitions that change after they were allowed: each tool has a name
of its own for the model, and whatever is not exactly as it was allowed is asked for."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from engine.messages.tools import AllowedTool, Tool, ToolServer, definition_of, told_names
from engine.storage import Repository
from tests.attacks.attack import Outcome, Plan

_PARTS = ("a", "b", "a_b", "read", "a b", "a-b", "ä", "_", "2", "read_2")


def run(plan: Plan) -> Outcome:
    outcome, num_shared = Outcome(), 0
    repository = Repository.open(plan.folder)
    chat = repository.create_conversation("Tools", "").id
    for number in range(plan.count):
        dice = plan.dice(number)
        servers, tools = _offered(dice)
        told = told_names(tools)
        missing = {(each.server, each.name) for each in tools} - {(each.server, each.name) for each in told.values()}
        outcome.check(not missing, f"{number}: {missing} cannot be called")
        num_shared += len({each.name for each in tools}) < len(told)
        server, tool = dice.choice(servers), dice.choice(tools)
        server = replace(server, name=tool.server)
        allowed = AllowedTool(server.name, tool.name, definition_of(server, tool))
        if dice.random() < 0.5:
            repository.allow_tool(allowed)
        else:
            repository.allow_tool_in(chat, allowed)
        known = repository.allowed_definitions(chat, server.name, tool.name)
        outcome.check(allowed.definition in known, f"{number}: what was allowed is asked for")
        other_server, other_tool, what = _changed(dice, server, tool)
        outcome.check(
            definition_of(other_server, other_tool) not in known, f"{number}: runs unasked with another {what}"
        )
        outcome.tried += 1
    repository.close()
    outcome.check(num_shared > plan.count // 10, "hardly any names collided")
    outcome.figures = {"with shared names": str(num_shared)}
    return outcome


def _offered(dice: random.Random) -> tuple[list[ToolServer], list[Tool]]:
    names = dice.sample(_PARTS, dice.randrange(2, 6))
    servers = [ToolServer(each, _text(dice), env=((_text(dice), _text(dice)),)) for each in names]
    tools = [
        Tool(
            each,
            "_".join(dice.choices(_PARTS, k=dice.randrange(1, 3))),
            _text(dice),
            json.dumps({"title": _text(dice)}),
        )
        for each in names
        for _ in range(dice.randrange(1, 6))
    ]
    return servers, tools


def _changed(dice: random.Random, server: ToolServer, tool: Tool) -> tuple[ToolServer, Tool, str]:
    more = _text(dice)
    what = dice.choice(("command", "args", "folder", "url", "env", "headers", "description", "schema"))
    of: Any = tool if what in ("description", "schema") else server
    before = getattr(of, what)
    now: Any = before + more if isinstance(before, str) else (*before, more)
    if what in ("env", "headers"):
        now = tuple((dict(before) | {dice.choice(("K", more)): more}).items())
    changed: Any = replace(of, **{what: now})
    return (server, changed, what) if of is tool else (changed, tool, what)


def _text(dice: random.Random) -> str:
    return "".join(dice.choices("ab \n'\"\\{}0\u202e\U0001f642", k=dice.randrange(1, 9)))
