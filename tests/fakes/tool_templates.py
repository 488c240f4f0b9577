"""Chat templates that know tools, each in the way of some family, without all else that theirs have. Turns are those of
ChatML, so that `Caller` finds its way."""

from __future__ import annotations

from engine.speculation.model.chat.tool_format import Shape
from tests.fakes.caller import HERMES

_TOLD = "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}"
_OTHERS = "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
_END = "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"


def _template(call: str, between: str = "", begin: str = "", end: str = "", result: str = "") -> str:
    result = result or "{{ m.content }}"
    result = "{{ '<|im_start|>tool\n<tool_response>' }}" + result + "{{ '<|im_end|>\n' }}"
    return (
        _TOLD + "{% for m in messages %}{% if m.role == 'assistant' and m.tool_calls %}"
        "{{ '<|im_start|>assistant\n' + m.content }}"
        f"{begin}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{call}"
        f"{{% if not loop.last %}}{between}{{% endif %}}{{% endfor %}}{end}{{{{ '<|im_end|>\n' }}}}"
        f"{{% elif m.role == 'tool' %}}{result}{{% else %}}{_OTHERS}{{% endif %}}{_END}"
    )


MISTRAL = _template(
    '{{ \'{"name": "\' + f.name + \'", "arguments": \' }}{{ f.arguments | tojson }}{{ \', "id": "\' + c.id + \'"}\' }}',
    ", ",
    "[TOOL_CALLS][",
    "]",
    "{{ '[TOOL_RESULTS]{\"content\": ' }}{{ m.content | tojson }}{{ ', \"call_id\": \"' + m.tool_call_id + '\"}' }}",
)
MISTRAL_NEW = _template("{{ '[TOOL_CALLS]' + f.name + '[ARGS]' }}{{ f.arguments | tojson }}")
LLAMA = _template(
    "{% if m.tool_calls | length != 1 %}{{ raise_exception('one call') }}{% endif %}"
    "{{ '{\"name\": \"' + f.name + '\", \"parameters\": ' }}{{ f.arguments | tojson }}{{ '}' }}"
)
DEEPSEEK = _template(
    "{{ '<|call|>function<|sep|>' + f.name + '\\n```json\\n' }}{{ f.arguments | tojson }}{{ '\\n```<|call_end|>' }}",
    "\n",
    "<|calls|>",
    "<|calls_end|>",
)
FUNCTIONARY = _template("{{ '<function=' + f.name + '>' }}{{ f.arguments | tojson }}{{ '</function>' }}")
_VALUE = "{{ v if v is string else v | tojson }}"
QWEN_CODER = _template(
    "{{ '<tool_call>\\n<function=' + f.name + '>\\n' }}{% for k, v in f.arguments | items %}"
    f"{{{{ '<parameter=' + k + '>\\n' }}}}{_VALUE}{{{{ '\\n</parameter>\\n' }}}}{{% endfor %}}"
    "{{ '</function>\\n</tool_call>' }}",
    "\n",
)
GLM = _template(
    "{{ '<tool_call>' + f.name + '\\n' }}{% for k, v in f.arguments.items() %}"
    f"{{{{ '<arg_key>' + k + '</arg_key>\\n<arg_value>' }}}}{_VALUE}{{{{ '</arg_value>\\n' }}}}{{% endfor %}}"
    "{{ '</tool_call>' }}",
    "\n",
)
# It wants arguments as a text.
AS_TEXT = _template(
    "{% if f.arguments is not string %}{{ raise_exception('a text') }}{% endif %}"
    "{{ '<tool_call>{\"name\": \"' + f.name + '\", \"arguments\": ' + f.arguments + '}</tool_call>' }}"
)
# It tells of tools, and leaves calls out.
TOLD_ONLY = f"{_TOLD}{{% for m in messages %}}{_OTHERS}{_END}"

FAMILIES = [
    ("hermes", HERMES, Shape.OBJECT, "<tool_call>"),
    ("mistral", MISTRAL, Shape.OBJECT, "[TOOL_CALLS]"),
    ("mistral-new", MISTRAL_NEW, Shape.NAMED, "[TOOL_CALLS]"),
    ("llama", LLAMA, Shape.OBJECT, ""),
    ("deepseek", DEEPSEEK, Shape.NAMED, "<|calls|>"),
    ("functionary", FUNCTIONARY, Shape.NAMED, "<function="),
    ("qwen-coder", QWEN_CODER, Shape.TAGGED, "<tool_call>"),
    ("glm", GLM, Shape.TAGGED, "<tool_call>"),
    ("as-text", AS_TEXT, Shape.OBJECT, "<tool_call>"),
]
