"""Chat templates that know of thoughts, each in the way of some family, without all that tools need."""

# The reply thinks by itself; thoughts are read from a field, or cut off; those of the last turn alone are written.
FIELD_AND_SWITCH = (
    "{%- set ns = namespace(last=0) %}"
    "{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{%- for m in messages %}{% set content = m.content %}{% set reasoning_content = '' %}"
    "{%- if m.reasoning_content is string %}{% set reasoning_content = m.reasoning_content %}"
    "{%- elif m.role == 'assistant' and '</think>' in content %}"
    "{%- set reasoning_content = content.split('</think>')[0].split('<think>')[-1] %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}"
    "{{- '<|im_start|>' + m.role + '\n' }}"
    "{%- if m.role == 'assistant' and loop.index0 > ns.last %}"
    "{{- '<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}"
    "{%- else %}{{- content }}{% endif %}{{- '<|im_end|>\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{% endif %}"
    "{% endif %}"
)
# The prompt ends with the opening mark.
OPEN_IN_PROMPT = (
    "{% for m in messages %}{% set content = m.content %}"
    "{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}"
)
# It opens in the prompt or not, as the switch has it, and is off unless it is told.
OFF_UNLESS_TOLD = (
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content.split('</think>')[-1] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' + ('<think>' if thinking else '</think>') }}{% endif %}"
)
# Marks of several special tokens; a level in place of a switch; the answer has a mark of its own.
CHANNELS = (
    "{% if reasoning_effort is not defined %}{% set reasoning_effort = 'medium' %}{% endif %}"
    "{{ '<|start|>system<|message|>Reasoning: ' ~ reasoning_effort ~ '<|end|>' }}"
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if loop.last and not add_generation_prompt %}"
    "{% if 'thinking' in m %}"
    "{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}"
    "{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|return|>' }}"
    "{% else %}{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}{% endif %}"
    "{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"
)
# Thoughts stay, as a field has them; a budget is told as a number, and is no switch.
KEPT_FIELD = (
    "{% set think_begin = '<seed:think>' %}{% set think_end = '</seed:think>' %}"
    "{% if not thinking_budget is defined %}{% set thinking_budget = -1 %}{% endif %}"
    "{% if thinking_budget <= 0 and not thinking_budget == -1 %}{{ 'Your budget is 0.' }}"
    "{% elif thinking_budget > 0 %}{{ 'Your budget is ' ~ thinking_budget }}{% endif %}"
    "{% for m in messages %}{{ '<s>' + m.role + '\n' }}"
    "{% if m.reasoning_content is defined and m.reasoning_content is string %}"
    "{{ think_begin + m.reasoning_content + think_end }}{% endif %}{{ m.content + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\n' }}{% endif %}"
)
# It tells the model of its marks, and writes a message as it is.
KEPT_INLINE = (
    "{{ '[SYSTEM]Think first, between [THINK] and [/THINK].[/SYSTEM]' }}"
    "{% for m in messages %}{% if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}"
    "{% else %}{{ m.content + '</s>' }}{% endif %}{% endfor %}"
)
