"""A proposer as a newcomer would add it: this file, and a line in the list of proposers."""

from __future__ import annotations

from engine.speculation.numerics.draft import Draft
from engine.speculation.proposers.catalogue import Listed
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.values.origins import Origin

TEXT = "the thing in the inn, then nothing; the theme: haha, end"


class ToyProposer(Proposer):
    """Knows a text by heart, except every seventh letter."""

    origin = Origin("toy", "Toy", "#d0e0f0", "#102030")

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        place = len(context.tokens) + 1 - context.reply_start
        tokens = [ord(letter) if index % 7 else ord("?") for index, letter in enumerate(TEXT)][place : place + limit]
        return Draft(tuple(tokens), chances=(0.8,) * len(tokens), num_steps=1, proposer=self.origin.key)


LINE = Listed(ToyProposer.origin, "tests.fakes.toy.ToyProposer")
