"""GGUF files as no converter writes them: sound ones, taken apart and put together again with something wrong."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gguf import GGUFReader
from gguf.constants import MODEL_ARCH_NAMES, GGMLQuantizationType

from tests.fakes.tiny_models import byte_pairs, tiny_bert, tiny_lfm2, tiny_llama, tiny_mamba

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_CODES = {
    **{U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"},
}
_INTEGERS = (U8, I8, U16, I16, U32, I32, U64, I64)
_TOKENIZERS = (
    "llama",
    "gpt2",
    "bert",
    "t5",
    "rwkv",
    "plamo2",
    "gemma4",
    "test",
    "none",
    "no_vocab",
    "hybriddna",
    "",
    "?",
)
_WORDS = (
    *("default", "smollm", "llama-bpe", "qwen2", "qwen35", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon"),
    *("bloom", "viking", "tekken", "chameleon", "gpt-4o", "tiny_aya", "kimi-k2", "superbpe", "bailingmoe", "afmoe"),
    *("exaone-moe", "gemma4", "sarvam-moe", "whitespace", "jais-2", "youtu", "spark2_5", "minicpm5", "", "no such"),
)
_NUMBERS = (0, 1, 2, 3, 5, 7, 31, 63, 65, 127, 255, 256, 4097, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_HUGE = (*_NUMBERS, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-30, 1e30, 3e38, float("inf"), float("-inf"), float("nan"))
_TEXTS = (
    *(
        b"",
        b" ",
        b"\0",
        b"\xff\xfe",
        b"\xf0\x9f",
        b"\xf4\x90\x80\x80",
        b"a" * 5000,
        b"<0x0A>",
        b"<0xZZ>",
        b"<0x0",
        b"\n",
    ),
    *("😀".encode(), "▁".encode(), "▁▁".encode(), "\u202e".encode(), b"<|im_end|>", b"</s>", b"[EMPTY_3]", b"llama"),
)
_KEYS = (
    *(
        "expert_count",
        "expert_used_count",
        "vocab_size",
        "attention.key_length",
        "attention.value_length",
        "logit_scale",
    ),
    *("rope.dimension_count", "rope.freq_base", "rope.scaling.factor", "rope.scaling.type", "attention.head_count_kv"),
    *("attention.sliding_window", "attention.layer_norm_rms_epsilon", "pooling_type", "attention.causal"),
    *("ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "full_attention_interval", "expert_weights_scale"),
    *("leading_dense_block_count", "attention.max_alibi_bias", "attention.clamp_kqv", "embedding_scale"),
)
TEMPLATES = (
    *("", "{{", "{% for x in messages %}", "{{ messages[9] }}", "{{ 1/0 }}", "{{ raise_exception('no') }}", "x"),
    *("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "{{ 'a' * 10 ** 9 }}"),
    *("{{ messages[0].content }}" * 500, "{{ '😀' }}{{ messages[0]['content'] }}", "{{ bos_token }}{{ '\\0' }}"),
    *("(" * 5000, "{{" + "(" * 200 + ")" * 200 + "}}", "{{ ''.join(messages[0].content for _ in range(9999)) }}"),
    *("{{ messages|map(attribute='content')|join(' ' * 99999) }}", "{% set ns = namespace(x='a') %}{{ ns.x }}"),
)


@dataclass(slots=True)
class Value:
    """`kind` of a scalar, or of a list's items. Texts are bytes."""

    kind: int
    content: Any
    is_list: bool = False


@dataclass(slots=True)
class Tensor:
    name: bytes
    shape: list[int]
    kind: int
    data: bytes
    offset: int | None = None  # None: behind the one before


@dataclass(slots=True)
class Made:
    """A file, in parts."""

    values: list[tuple[bytes, Value]]
    tensors: list[Tensor]
    version: int = 3
    num_values: int | None = None  # as the header says; None: as many as there are
    num_tensors: int | None = None
    done: list[str] = field(default_factory=list)  # to it

    def index(self, key: str) -> int | None:
        return next((place for place, (name, _) in enumerate(self.values) if name == key.encode()), None)

    def value(self, key: str) -> Value | None:
        place = self.index(key)
        return None if place is None else self.values[place][1]

    def put(self, key: str, value: Value) -> None:
        place = self.index(key)
        if place is None:
            self.values.append((key.encode(), value))
        else:
            self.values[place] = (key.encode(), value)

    def write(self) -> bytes:
        num_tensors = len(self.tensors) if self.num_tensors is None else self.num_tensors
        num_values = len(self.values) if self.num_values is None else self.num_values
        head = b"GGUF" + struct.pack("<IQQ", self.version, num_tensors % 2**64, num_values % 2**64)
        head += b"".join(_text(key) + _value(value) for key, value in self.values)
        body = b""
        for tensor in self.tensors:
            offset = len(body) if tensor.offset is None else tensor.offset
            shape = b"".join(_number(U64, length) for length in tensor.shape)
            head += _text(tensor.name) + struct.pack("<I", len(tensor.shape)) + shape
            head += _number(U32, tensor.kind) + _number(U64, offset)
            body += tensor.data + bytes(-len(tensor.data) % 32)
        return head + bytes(-len(head) % 32) + body


def _text(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def _number(kind: int, number: Any) -> bytes:
    code = _CODES[kind]
    if kind in _INTEGERS:
        size = struct.calcsize(code)
        whole: int = int(number) % (1 << 8 * size)
        return whole.to_bytes(size, "little")
    return struct.pack(f"<{code}", bool(number) if kind == BOOL else _fitting(code, float(number)))


def _fitting(code: str, number: float) -> float:
    return number if code == "d" or abs(number) < 3.4e38 or number != number else float("inf")


def _value(value: Value) -> bytes:
    items: list[Any] = value.content if value.is_list else [value.content]
    data = b"".join(_text(item) if value.kind == STRING else _number(value.kind, item) for item in items)
    kind = struct.pack("<I", value.kind)
    return struct.pack("<I", ARRAY) + kind + struct.pack("<Q", len(items)) + data if value.is_list else kind + data


@cache
def _sound() -> tuple[Made, ...]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.gguf"
        files = [tiny_llama(path), tiny_mamba(path.with_name("b")), tiny_lfm2(path.with_name("c"))]
        files += [tiny_llama(path.with_name("d"), byte_tokens="byte {}"), tiny_bert(path.with_name("e"))]
        found = [_read(file) for file in files]
        return (
            *found,
            *(_with_words(found[0], _read(byte_pairs(path.with_name("f"), words))) for words in _WORDS[:-1]),
        )


def _with_words(model: Made, words: Made) -> Made:
    """A model with the vocabulary of another file."""
    own = [(key, value) for key, value in model.values if not key.startswith(b"tokenizer.")]
    others = [(key, value) for key, value in words.values if key.startswith(b"tokenizer.")]
    tokens = words.value("tokenizer.ggml.tokens")
    assert tokens is not None
    tensors = [replace(tensor) for tensor in model.tensors]
    for tensor in tensors:
        if tensor.name == b"token_embd.weight":
            tensor.shape = [tensor.shape[0], len(tokens.content)]
            size = 4 * tensor.shape[0] * tensor.shape[1]
            tensor.data = (tensor.data * (1 + size // len(tensor.data)))[:size]
    return Made(own + others, tensors)


def _read(path: Path) -> Made:
    reader = GGUFReader(path)
    values = []
    for name, entry in reader.fields.items():
        if name.startswith("GGUF."):
            continue
        kinds = [int(kind) for kind in entry.types]
        content = entry.contents()
        if kinds[-1] == STRING:
            content = [each.encode() for each in content] if kinds[0] == ARRAY else content.encode()
        values.append((name.encode(), Value(kinds[-1], content, kinds[0] == ARRAY)))
    tensors = [
        Tensor(each.name.encode(), [int(length) for length in each.shape], int(each.tensor_type), each.data.tobytes())
        for each in reader.tensors
    ]
    return Made(values, tensors)


def made(dice: random.Random) -> tuple[bytes, str]:
    """A file, and what was done to it."""
    sound = dice.choice(_sound())
    file = Made(
        [(key, replace(value, content=_copy(value.content))) for key, value in sound.values],
        [replace(tensor, shape=list(tensor.shape)) for tensor in sound.tensors],
    )
    if dice.random() < 0.5:
        file.put("tokenizer.chat_template", Value(STRING, dice.choice(TEMPLATES).encode()))
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        harm = dice.choice(_HARMS)
        harm(file, dice)
        file.done.append(harm.__name__.strip("_"))
    data = file.write()
    if dice.random() < 0.15:
        data, what = _damaged(data, dice)
        file.done.append(what)
    return data, " ".join(file.done) or "nothing"


def _copy(content: Any) -> Any:
    return list(content) if isinstance(content, list) else content


def _damaged(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    if dice.random() < 0.3:
        return data[: dice.randrange(len(data))], "cut"
    torn = bytearray(data)
    head = min(len(torn), dice.choice((40, 400, 8000, len(torn))))
    for _ in range(dice.choice((1, 2, 8, 64))):
        torn[dice.randrange(head)] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return bytes(torn), "torn"


def _any_value(dice: random.Random) -> Value:
    kind = dice.choice((*_INTEGERS, F32, F64, BOOL, STRING))
    if dice.random() < 0.3:
        return Value(kind, [_any_item(kind, dice) for _ in range(dice.choice((0, 1, 2, 33, 4097)))], True)
    return Value(kind, _any_item(kind, dice))


def _any_item(kind: int, dice: random.Random) -> Any:
    if kind == STRING:
        return dice.choice(_TEXTS)
    return dice.choice(_HUGE if kind in _INTEGERS else _FLOATS)


def _number_changed(file: Made, dice: random.Random) -> None:
    """Of a scalar, also of what the model's shape is."""
    numbers = [value for key, value in file.values if not value.is_list and value.kind != STRING]
    value = dice.choice(numbers)
    value.content = _any_item(value.kind, dice)


def _value_replaced(file: Made, dice: random.Random) -> None:
    place = dice.randrange(len(file.values))
    file.values[place] = file.values[place][0], _any_value(dice)


def _value_gone(file: Made, dice: random.Random) -> None:
    file.values.pop(dice.randrange(len(file.values)))


def _value_twice(file: Made, dice: random.Random) -> None:
    file.values.append(dice.choice(file.values))


def _value_more(file: Made, dice: random.Random) -> None:
    architecture = file.value("general.architecture")
    name = architecture.content.decode("utf-8", "replace") if architecture and architecture.kind == STRING else "llama"
    file.put(f"{name}.{dice.choice(_KEYS)}", _any_value(dice))


def _general(file: Made, dice: random.Random) -> None:
    keys = ("general.alignment", "split.count", "split.no", "split.tensors.count", "general.type", "general.file_type")
    file.put(dice.choice(keys), _any_value(dice))


def _counts(file: Made, dice: random.Random) -> None:
    if dice.random() < 0.5:
        file.num_values = dice.choice((*_HUGE, len(file.values) - 1, len(file.values) + 1))
    else:
        file.num_tensors = dice.choice((*_HUGE, len(file.tensors) - 1, len(file.tensors) + 1))


def _version(file: Made, dice: random.Random) -> None:
    file.version = dice.choice((0, 1, 2, 4, 0x03000000, 0xFFFFFFFF))


def _architecture(file: Made, dice: random.Random) -> None:
    """The numbers go along with the name, so that some of it fits."""
    before = file.value("general.architecture")
    name = dice.choice(sorted(MODEL_ARCH_NAMES.values()))
    if before is None or before.kind != STRING or before.is_list:
        return
    prefix = before.content + b"."
    file.values = [
        (name.encode() + b"." + key[len(prefix) :] if key.startswith(prefix) else key, value)
        for key, value in file.values
    ]
    file.put("general.architecture", Value(STRING, name.encode()))


def _tokenizer(file: Made, dice: random.Random) -> None:
    file.put("tokenizer.ggml.model", Value(STRING, dice.choice(_TOKENIZERS).encode()))


def _words(file: Made, dice: random.Random) -> None:
    file.put("tokenizer.ggml.pre", Value(STRING, dice.choice(_WORDS).encode()))


def _tokens(file: Made, dice: random.Random) -> None:
    value = file.value("tokenizer.ggml.tokens")
    if value is None or not value.is_list or not value.content:
        return
    tokens: list[Any] = value.content
    for _ in range(dice.choice((1, 3, 40, 300))):
        place = dice.randrange(len(tokens))
        new = dice.choice(_TEXTS)
        tokens[place] = new if dice.random() < 0.1 else new + b"%d" % place  # a name twice ends the loading
    if value.kind != STRING:
        value.content = [0 for _ in tokens]


def _bytes_gone(file: Made, dice: random.Random) -> None:
    value = file.value("tokenizer.ggml.tokens")
    if value is None or value.kind != STRING:
        return
    share = dice.choice((0.01, 0.3, 1.0))
    is_byte = [isinstance(each, bytes) and (each.startswith(b"<0x") or len(each) <= 2) for each in value.content]
    value.content = [
        b"gone%d" % place if is_byte[place] and dice.random() < share else each
        for place, each in enumerate(value.content)
    ]


def _token_count(file: Made, dice: random.Random) -> None:
    value = file.value(dice.choice(("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type")))
    if value is not None and value.is_list:
        value.content = dice.choice((value.content[:-1], value.content[:1], [], value.content * 2))


def _token_kinds(file: Made, dice: random.Random) -> None:
    value = file.value("tokenizer.ggml.token_type")
    if value is not None and value.is_list:
        one = dice.choice((1, 2, 3, 4, 5, 6, 0, 7, -1))
        value.content = [one if dice.random() < 0.5 else dice.choice((1, 3, 4, 6)) for _ in value.content]


def _scores(file: Made, dice: random.Random) -> None:
    value = file.value("tokenizer.ggml.scores")
    if value is not None and value.is_list and value.kind == F32:
        value.content = [dice.choice(_FLOATS) for _ in value.content]


def _merges(file: Made, dice: random.Random) -> None:
    merges = [b"a a", b"aa aa", b"a", b"", b" ", b"a  a", b"\xff \xff", "Ġ a".encode(), "▁ ▁".encode(), b"a a"]
    file.put("tokenizer.ggml.merges", Value(STRING, dice.choices(merges, k=dice.choice((0, 1, 50))), True))


def _special(file: Made, dice: random.Random) -> None:
    keys = ("bos", "eos", "unknown", "separator", "padding", "mask", "eot", "eom", "fim_pre", "cls")
    number = Value(dice.choice((U32, U32, I32, U64)), dice.choice(_HUGE))
    file.put(f"tokenizer.ggml.{dice.choice(keys)}_token_id", number)


def _switches(file: Made, dice: random.Random) -> None:
    keys = ("add_bos_token", "add_eos_token", "add_space_prefix", "remove_extra_whitespaces", "add_sep_token")
    file.put(f"tokenizer.ggml.{dice.choice(keys)}", Value(BOOL, dice.random() < 0.5))


def _rewriting(file: Made, dice: random.Random) -> None:
    """Of a unigram vocabulary."""
    data = [dice.randrange(256) for _ in range(dice.choice((0, 3, 8, 400)))]
    if len(data) >= 4:
        data[:4] = dice.choice(([4, 0, 0, 0], [100, 0, 0, 0], [255, 255, 255, 255]))
    file.put("tokenizer.ggml.model", Value(STRING, b"t5"))
    file.put("tokenizer.ggml.precompiled_charsmap", Value(U8, data, True))


def _tensor(file: Made, dice: random.Random) -> Tensor | None:
    return dice.choice(file.tensors) if file.tensors else None


def _shape(file: Made, dice: random.Random) -> None:
    tensor = _tensor(file, dice)
    if tensor is None:
        return
    if dice.random() < 0.3:
        tensor.shape = dice.choice(([], [1], [1, 1, 1, 1], [1, 1, 1, 1, 1], tensor.shape[::-1], [*tensor.shape, 1]))
    elif tensor.shape:
        tensor.shape[dice.randrange(len(tensor.shape))] = dice.choice(_HUGE)


def _tensor_kind(file: Made, dice: random.Random) -> None:
    """Also one with room for the type that it is said to be."""
    tensor = _tensor(file, dice)
    if tensor is not None:
        tensor.kind = dice.choice([*(int(kind) for kind in GGMLQuantizationType), 4, 5, 31, 99, 0xFFFFFFFF])
        tensor.data += bytes(dice.randrange(256) for _ in range(256))


def _all_tensor_kinds(file: Made, dice: random.Random) -> None:
    """Weights that are any bits of a smaller type."""
    kind = dice.choice([int(kind) for kind in GGMLQuantizationType])
    for tensor in file.tensors:
        if len(tensor.shape) == 2:
            tensor.kind = kind


def _offset(file: Made, dice: random.Random) -> None:
    tensor = _tensor(file, dice)
    if tensor is not None:
        tensor.offset = dice.choice((*_HUGE, 32, 64, (1 << 64) - 32))


def _tensor_name(file: Made, dice: random.Random) -> None:
    tensor = _tensor(file, dice)
    if tensor is not None:
        tensor.name = dice.choice((*_TEXTS, b"x" * 64, b"x" * 63, file.tensors[0].name, b"blk.0.attn_q.bias"))


def _tensor_gone(file: Made, dice: random.Random) -> None:
    if file.tensors:
        file.tensors.pop(dice.randrange(len(file.tensors)))


def _weights(file: Made, dice: random.Random) -> None:
    """Numbers that are none, or too large, in one place or many."""
    tensor = _tensor(file, dice)
    if tensor is None or tensor.kind != 0 or not tensor.data:
        return
    one = struct.pack("<f", _fitting("f", dice.choice(_FLOATS)))
    if dice.random() < 0.5:
        tensor.data = one * (len(tensor.data) // 4)
    else:
        place = 4 * dice.randrange(len(tensor.data) // 4)
        row = dice.choice((4, 256))
        tensor.data = (tensor.data[:place] + one * (row // 4) + tensor.data[place + row :])[: len(tensor.data)]


def _template(file: Made, dice: random.Random) -> None:
    content: Any = dice.choice((*(each.encode() for each in TEMPLATES), *_TEXTS))
    file.put("tokenizer.chat_template", Value(STRING, content))


_HARMS: tuple[Callable[[Made, random.Random], None], ...] = (
    *(_number_changed, _number_changed, _number_changed, _value_replaced, _value_gone, _value_twice, _value_more),
    *(_value_more, _general, _counts, _version, _architecture, _tokenizer, _tokenizer, _words, _tokens, _tokens),
    *(_bytes_gone, _bytes_gone, _token_count, _token_kinds, _token_kinds, _scores, _merges, _special, _special),
    *(_switches, _rewriting, _shape, _tensor_kind, _all_tensor_kinds, _offset, _tensor_name, _tensor_gone, _weights),
    *(_weights, _template, _template),
)
