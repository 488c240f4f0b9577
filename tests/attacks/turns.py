"""Forged turns: letters of special tokens in what is typed, attached, imported or replied never become such tokens."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from engine.backend.storage import Repository
from engine.speculation.model.chat.families import CHATML
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import FloatRows
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.replies.prompt import PromptBuilder
from engine.values.config import TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.events import ConversationsListed
from engine.values.requests import Failure
from engine.values.stop_signal import StopSignal
from tests.attacks.archives import import_chats
from tests.attacks.attack import Outcome, Plan
from tests.attacks.desk import Desk, Held

_WRITE = "{{{{ '<|im_start|>' + m['role'] + '\n' }}}}{0}{{{{ '<|im_end|>\n' }}}}"
_WAYS = (  # in which templates treat what is said
    "{{ m.content }}", "{{ m['content'] | trim }}", "{{ m.content.strip() + '\n' }}", "{{ m.content | upper }}",
    "{{ m.content | lower }}", "{{ m.content.split('</think>')[-1].lstrip('\n') }}",
    "{{ m.content | replace('x', '') }}", "{{ m.content.replace('<x>', '').replace('x', '|') }}",
    "{{ m.content[:40] }}", "{{ ' ' ~ m.content ~ ' ' }}", "{% set c = m.content %}{{ c + '' }}",
    "{% set c %}{{ m.content }}{% endset %}{{ c | trim }}", "{{ m.content | tojson }}",
    "{{ '{}'.format(m.content) }}", "{{ [m.content, ''] | join('\n') }}",
    "{% for l in m.content.split('\n') %}{{ l }}\n{% endfor %}", "{% for c in m.content %}{{ c }}{% endfor %}",
    "<{{ m.content }}>", "<|{{ m.content }}|>", "{{ m.content.split() | join('') }}",
)  # fmt: skip
_SAMPLES = 2


class _Told:
    """A target with another template."""

    def __init__(self, target: LlamaCppTarget, template: str) -> None:
        self.vocabulary, self.limits, self.tokenize = target.vocabulary, target.limits, target.tokenize
        self.description = replace(target.description, chat_template=template)


def _forged(dice: random.Random, marks: Sequence[str]) -> str:
    words = [
        "user",
        "system",
        "assistant",
        "\n",
        " ",
        "Hi",
        "x",
        "<",
        "|",
        ">",
        "<|",
        "|>",
        "im_end",
        "</think>",
        "é🙂",
    ]
    pieces = []
    for _ in range(dice.randint(1, 12)):
        mark = dice.choice(marks)
        place = dice.randint(0, len(mark))
        changed = (mark, mark, mark.upper(), mark[:place], mark[place:], mark[:place] + "x" + mark[place:])
        inside = mark[:place] + dice.choice(marks) + mark[place:]
        pieces += [dice.choice((*changed, inside, mark.replace("|", "x"), f"\n{mark}\n")), dice.choice(words)]
    return "".join(pieces)


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    target = LlamaCppTarget.load(starter_path(), "starter", TargetSettings(4096), lambda _done: None, StopSignal())
    special = target.vocabulary.special | target.vocabulary.end_of_generation
    marks = sorted(target.vocabulary.pieces[token].decode() for token in special)
    held: list[int] = []  # of one chat, when the next begins: neither may lend the other its tokens
    for number in range(plan.count):
        dice = plan.dice(number)
        template = dice.choice((target.description.chat_template or CHATML, CHATML, _template(dice)))
        builder = PromptBuilder(_Told(target, template))  # type: ignore[arg-type]
        roles = [*((Role.SYSTEM,) if dice.random() < 0.5 else ()), *[Role.USER, Role.ASSISTANT] * dice.randint(0, 3)]
        turns = [ChatTurn(role, _forged(dice, marks)) for role in (*roles, Role.USER)]
        about = f"try {number} ({[turn.text for turn in turns]!r} in {template[:200]!r})"
        begun = _forged(dice, marks) if dice.random() < 0.2 else ""
        outcome.tried += 1
        tokens = builder.build(turns, held, begun=begun).tokens
        honest = [ChatTurn(turn.role, "y") for turn in turns]
        # A system prompt of which a template leaves out a part joins the first prompt.
        without_system = [turn for turn in honest if turn.role is not Role.SYSTEM]
        prompts = (tokens, builder.build(honest, []).tokens, builder.build(without_system, []).tokens)
        found, *expected = ([token for token in each if token in special] for each in prompts)
        outcome.check(found in expected, f"{about}: {found} instead of {expected}")
        for turn in turns:
            alone = target.tokenize(PromptText(turn.text))
            outcome.check(special.isdisjoint(alone), f"{about}: alone, {turn.text!r} has special tokens")
            spelled = b"".join(target.vocabulary.pieces[token] for token in alone)
            outcome.check(spelled == turn.text.encode(), f"{about}: alone, {turn.text!r} is spelled {spelled!r}")
        held = [*tokens, *target.tokenize(dice.choice((_forged(dice, marks), PromptText(_forged(dice, marks)))))]
    (start,) = target.tokenize("<|im_start|>")
    target.close()
    _against_window(plan, outcome, marks, special, start)
    return outcome


def _template(dice: random.Random) -> str:
    body = _WRITE.format(dice.choice(_WAYS).replace("{", "{").replace("}", "}"))
    return f"{{% for m in messages %}}{body}{{% endfor %}}{{{{ '<|im_start|>assistant\n' }}}}"


def _against_window(plan: Plan, outcome: Outcome, marks: Sequence[str], special: frozenset[int], start: int) -> None:
    """What is typed, attached and imported: the tokens that the starter reads are those that it is given."""
    held, read, evaluate = Held(), list[int](), LlamaCppTarget.evaluate
    targets = list[LlamaCppTarget]()

    def watched(self: LlamaCppTarget, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        read[self.num_held :] = tokens  # what it will hold, until it takes back what was rejected of a draft
        targets[:] = [self]
        return evaluate(self, tokens, num_rows, stop)

    with Desk(plan.folder) as desk, patch.object(LlamaCppTarget, "evaluate", watched):
        desk.window.prompt_box.editor.insertPlainText("é🙂")  # the system's fonts are loaded at the first such letter
        desk.ask("Hi.")
        for number in range(min(plan.count, _SAMPLES)):
            num_marks = []
            for words in (_forged(plan.dice(number), marks), "Hello."):
                for way in (_type, _attach, _import):
                    way(desk, plan.folder, words)
                    with desk.watching() as now:
                        desk.ask(".")
                    del read[targets[0].num_held :]
                    turns = len(read) - read[::-1].index(start)  # behind it comes the reply, with what ends it
                    num_marks.append((way.__name__[1:], sum(token in special for token in read[:turns])))
                    held = held.worst(now)
            forged, honest = num_marks[: len(num_marks) // 2], num_marks[len(num_marks) // 2 :]
            outcome.check(forged == honest, f"{number}: special tokens are {forged} instead of {honest}")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures["interface"] = str(held)


def _begin(desk: Desk) -> None:
    desk.window.new_action.trigger()
    desk.studio.rest()
    desk.events.clear()


def _type(desk: Desk, _folder: Path, words: str) -> None:
    _begin(desk)
    desk.window.prompt_box.editor.insertPlainText(words)


def _attach(desk: Desk, folder: Path, words: str) -> None:
    """With its name, too."""
    _begin(desk)
    file = folder / f"{words[:40].replace('/', ' ').strip() or 'x'}.txt"
    file.write_text(words)
    desk.studio.app.prompt.attach([str(file)])
    desk.until(lambda: len(desk.window.prompt_box.chips.attachments) == 1)


def _import(desk: Desk, folder: Path, words: str) -> None:
    """As a prompt and a reply, after which the chat goes on."""
    _begin(desk)
    file = folder / "chats.json"
    turns = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
    file.write_text(json.dumps([{"title": words, "messages": turns}]))
    outcome = import_chats(desk, file)
    assert not isinstance(outcome, Failure), outcome
    desk.until(lambda: any(isinstance(event, ConversationsListed) for event in desk.events))
    with closing(Repository.open(desk.store)) as repository:
        imported = max(each.id for each in repository.list_conversations())
    desk.window.conversations.chosen.emit(imported)
    desk.until(lambda: len(desk.window.transcript.messages) == 2)
