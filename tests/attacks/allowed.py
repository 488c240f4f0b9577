"""Servers of tools with names that collide, and definitions that change after they were allowed: each tool has a name
of its own for the model, whatever is not exactly as it was allowed is asked for, and keys are kept for one program."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from engine.backend.remote.keys import Keys
from engine.backend.storage import Repository
from engine.backend.tools.interface import ServerUnusable
from engine.backend.tools.keys import ToolKeys
from engine.backend.tools.servers import write_tool_servers
from engine.values.tools import AllowedTool, Tool, ToolServer, definition_of, told_names
from tests.attacks.attack import Outcome, Plan

_TOOL = Tool("a", "b")
_PARTS = ("a", "b", "a_b", "read", "a b", "a-b", "ä", "_", "2", "read_2")


def run(plan: Plan) -> Outcome:
    outcome, num_shared = Outcome(), 0
    repository = Repository.open(plan.folder)
    keys = ToolKeys(Keys(lambda: None))
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
        outcome.failures += [f"{number}: {each}" for each in _told_of_keys(dice, keys, server)]
        outcome.tried += 1
    repository.close()
    outcome.check(num_shared > plan.count // 10, "hardly any names collided")
    outcome.figures = {"with shared names": str(num_shared)}
    return outcome


def _told_of_keys(dice: random.Random, keys: ToolKeys, server: ToolServer) -> list[str]:
    """What is wrong with how a key is kept."""
    key = f"sk-{dice.getrandbits(128):032x}"
    name, value = dice.choice((("API_KEY", key), ("anything", key), ("URL", f"http://robin:{key}@host"), ("pwd", key)))
    before = replace(server, env=((name, value),), headers=(("X-Odd", key),))
    (kept,) = keys.kept((before,))
    found = (
        ["a key is in the settings"] if key in write_tool_servers((kept,)) + repr(definition_of(kept, _TOOL)) else []
    )
    found += [] if keys.filled(kept) == before else ["it does not come back"]
    try:
        keys.filled(replace(kept, command=f"{kept.command}x"))
        found.append("another program is given it")
    except ServerUnusable:
        pass
    keys.forget_unused((kept,), ())
    try:
        keys.filled(kept)
        found.append("it is not forgotten")
    except ServerUnusable:
        pass
    return found


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
