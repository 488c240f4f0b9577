"""Whether replies keep to the form that is set for them, with drafts.

    python -m tests.benchmarks.grammar [--replies 200] [--temperature 0.8] [--plain]

The starter, with whoever drafts for it, writes replies in a small JSON schema. Printed: how many parse and are of the
schema, tokens, accepted drafts, and the mean time of a mask.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

from engine import (
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    StopSignal,
    TargetSettings,
    data_dir,
    open_writer,
)
from engine.speculation.model.chat.grammar import Grammar
from engine.speculation.numerics.sampling import Allowed
from engine.values.conversations import ChatTurn, Role

KINDS = ("fruit", "tool", "animal")
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 24},
        "kind": {"enum": [*KINDS]},
        "price": {"type": "number", "minimum": 0, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3},
    },
    "required": ["name", "kind", "price", "tags"],
    "additionalProperties": False,
}
PROMPTS = ("Describe an apple.", "Invent something for a shop.", "Name a tool.", "Which animal is the oldest?")


def is_of_schema(text: str) -> bool:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return False
    return (
        isinstance(found, dict)
        and found.keys() == SCHEMA["properties"].keys()  # type: ignore[attr-defined]
        and 1 <= len(found["name"]) <= 24
        and found["kind"] in KINDS
        and 0 <= found["price"] <= 100
        and len(found["tags"]) <= 3
        and all(len(tag) <= 12 for tag in found["tags"])
    )


class _Watch:
    """Counts masks and their seconds."""

    def __init__(self) -> None:
        self.num, self.seconds = 0, 0.0
        allowed = Grammar.allowed

        def timed(grammar: Grammar, line: Sequence[int]) -> Allowed:
            began = time.perf_counter()
            try:
                return allowed(grammar, line)
            finally:
                self.num, self.seconds = self.num + 1, self.seconds + time.perf_counter() - began

        Grammar.allowed = timed  # type: ignore[assignment, method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--plain", action="store_true", help="without drafts")
    options = parser.parse_args()
    watch, stop = _Watch(), StopSignal()
    config = EngineConfig(data_dir(), SpeculationSettings(not options.plain))
    num_good = num_tokens = num_drafted = num_accepted = 0
    with open_writer(config, "starter", TargetSettings(context_size=2048), lambda _progress: None, stop) as writer:
        for seed in range(options.replies):
            # Half of them with a seed, so that guesses are certain; of the others they are drawn.
            sampling = SamplingSettings(
                temperature=options.temperature, seed=seed if seed % 2 else None, grammar=json.dumps(SCHEMA)
            )
            prepared = writer.prepare([ChatTurn(Role.USER, PROMPTS[seed % len(PROMPTS)])])
            reply = writer.write(prepared, ReplySettings(sampling), stop)
            if is_of_schema(reply.text):
                num_good += 1
            else:
                print(f"not of the schema: {reply.text!r} ({reply.failure or reply.statistics.stop_reason})")
            num_tokens += reply.statistics.reply_tokens
            num_drafted += reply.statistics.num_drafted
            num_accepted += reply.statistics.num_accepted
    print(f"{num_good} of {options.replies} replies are of the schema; {num_tokens} tokens")
    mask_us = 1e6 * watch.seconds / watch.num
    print(f"{num_accepted} of {num_drafted} drafted tokens accepted; a mask takes {mask_us:.0f} µs")


if __name__ == "__main__":
    main()
