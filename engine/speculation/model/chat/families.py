"""Chat templates of families of models, for a model that brings none: the marks that its vocabulary knows say which.

A base model has the marks of its family in its vocabulary, too, long before it is taught what they mean; given them it
writes nonsense. So its names decide as well, except in families whose base models have read such chats.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_NO_SYSTEM = "{% if message['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
_TAUGHT = re.compile(
    r"(?<![a-z])(it|instruct\w*|chat\w*|assistant|sft|dpo|rlhf|tuned|thinking|reasoning|hermes|dolphin|orca|tulu|zephyr)(?![a-z])",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    source: str
    marks: tuple[str, ...] = ()  # each is a token; empty: they are spelled in ordinary letters
    is_known_to_base: bool = False  # its base models have read chats with these marks


# As in llama.cpp, which gives it to any model without a template.
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# That of a model that was not taught to answer: it goes on with the text. A reply follows its prompt at once.
TEXT = (
    "{% for message in messages %}"
    "{% if message['role'] != 'assistant' and not loop.first %}{{ '\n\n' }}{% endif %}{{ message['content'] }}"
    "{% endfor %}"
)


def _turns(before: str, after: str, end: str, reply: str = "assistant") -> str:
    """A template in which the marks are those of any turn, and its role stands between them."""
    is_usual = reply == "assistant"
    role = "message['role']" if is_usual else f"({reply!r} if message['role'] == 'assistant' else 'user')"
    turn = f"{{{{ {before!r} + {role} + {after!r} + message['content'] | trim + {end!r} }}}}"
    return _each("" if is_usual else _NO_SYSTEM, turn, before + reply + after)


def _roles(user: str, end: str, reply: str, reply_end: str, system: str, system_end: str) -> str:
    """A template with marks for each role. `reply_end`: in the words of a template."""
    return _each(
        f"{{% if message['role'] == 'assistant' %}}{{{{ {reply!r} + message['content'] + {reply_end} }}}}"
        f"{{% elif message['role'] == 'system' %}}{{{{ {system!r} + message['content'] + {system_end!r} }}}}",
        f"{{% else %}}{{{{ {user!r} + message['content'] + {end!r} }}}}{{% endif %}}",
        reply,
    )


def _each(first: str, turn: str, reply: str) -> str:
    begun = f"{{% if add_generation_prompt %}}{{{{ {reply!r} }}}}{{% endif %}}"
    return f"{{% for message in messages %}}{first}{turn}{{% endfor %}}{begun}"


FAMILIES = (
    Family("ChatML", CHATML, ("<|im_start|>", "<|im_end|>"), is_known_to_base=True),
    Family(
        "Llama 3",
        _turns("<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"),
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ),
    Family("Gemma", _turns("<start_of_turn>", "\n", "<end_of_turn>\n", "model"), ("<start_of_turn>", "<end_of_turn>")),
    Family(
        "Granite",
        _turns("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>\n"),
        ("<|start_of_role|>", "<|end_of_role|>"),
    ),
    Family(
        "Command R",
        _roles(
            "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
            "<|END_OF_TURN_TOKEN|>",
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
            "'<|END_OF_TURN_TOKEN|>'",
            "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>",
            "<|END_OF_TURN_TOKEN|>",
        ),
        ("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    ),
    Family(
        "DeepSeek",
        _roles("<｜User｜>", "", "<｜Assistant｜>", "eos_token", "", "\n\n"),
        ("<｜User｜>", "<｜Assistant｜>"),
    ),
    Family(
        "GLM",
        "[gMASK]<sop>" + _roles("<|user|>\n", "", "<|assistant|>\n", "''", "<|system|>\n", ""),
        ("[gMASK]", "<sop>", "<|user|>", "<|assistant|>"),
    ),
    Family(
        "Phi",
        _roles("<|user|>\n", "<|end|>\n", "<|assistant|>\n", "'<|end|>\n'", "<|system|>\n", "<|end|>\n"),
        ("<|user|>", "<|assistant|>", "<|end|>"),
        is_known_to_base=True,
    ),
    Family(
        "Mistral",
        _each(
            _NO_SYSTEM + "{% if message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}",
            "{% else %}{{ '[INST] ' + message['content'] + '[/INST]' }}{% endif %}",
            "",
        ),
        ("[INST]", "[/INST]"),
    ),
    Family("Zephyr", _roles("<|user|>\n", "\n", "<|assistant|>\n", "eos_token + '\n'", "<|system|>\n", "\n")),
    Family("Vicuna", _roles("USER: ", "\n", "ASSISTANT: ", "eos_token + '\n'", "", "\n\n")),
    Family("Alpaca", _roles("### Instruction:\n", "\n\n", "### Response:\n", "eos_token + '\n\n'", "", "\n\n")),
)


def family_of(pieces: Collection[bytes], names: str) -> Family | None:
    """The family whose marks are tokens of a vocabulary; None for one that knows the marks of none, or was not taught
    what they mean, as far as its names say."""
    is_taught = _TAUGHT.search(names) is not None
    known = frozenset(pieces)
    return next(
        (
            each
            for each in FAMILIES
            if each.marks
            and (is_taught or each.is_known_to_base)
            and all(mark.encode() in known for mark in each.marks)
        ),
        None,
    )


def name_of(source: str) -> str:
    """The name of the family that this is the template of; empty if it is of none."""
    return next((each.name for each in FAMILIES if each.source == source), "")
