"""Folders and files of drafters that anybody may have made: each is refused in a sentence, or takes little."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import shutil
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors.torch import load, save

from engine.backend.storage import Repository
from engine.speculation.drafter.choice import check_drafter, drafter_source
from engine.speculation.proposers.supply import open_drafting
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.values.config import EngineConfig, SpeculationSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.drafters import DrafterSource
from engine.values.errors import MendableError
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held
from tests.fakes.target import FakeTarget
from tests.fakes.tiny_models import tiny_llama

_MOST_S = 30.0  # of the processor, with that of children, for one try
_MOST_READ = 128  # tokens of a text: many layers take their time, for which the app waits while nobody else does
_TRIES_PER_WINDOW = 15  # of which one is made against the open window, too
_LAYERS = 2
_SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
_CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 300,
    "num_hidden_layers": _LAYERS,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "eos_token_id": 0,
    **_SIZES,
}
_TEXTS = (
    b"What is the weather like?",
    b"a" * 5000,
    b" " * 5000,
    b"x" * 200 + b"!" * 200 + b"0" * 200,
    "🙂é日本語\u202e\u0301".encode() * 300,
    bytes(range(256)) * 4,
    b"ab" * 2000 + b"c",
)

Change = Callable[[Path, random.Random], None]


def _sound(folder: Path) -> Path:
    """A drafter that drafts."""
    folder.mkdir(parents=True)
    _write(folder, "config", _CONFIG)
    (folder / "model.safetensors").write_bytes(save(_weights()))
    _write(folder, "tokenizer", _tokenizer())
    _write(folder, "tokenizer_config", {"eos_token": "</s>"})
    return folder


def _weights() -> dict[str, torch.Tensor]:
    dice = torch.Generator().manual_seed(1)
    wide, inner, narrow = _SIZES["hidden_size"], _SIZES["intermediate_size"], 32
    shapes = {"model.embed_tokens.weight": (300, wide), "model.norm.weight": (wide,)}
    for layer in range(_LAYERS):
        begin = f"model.layers.{layer}."
        shapes |= {begin + f"{part}_layernorm.weight": (wide,) for part in ("input", "post_attention")}
        shapes |= {begin + f"self_attn.{part}_proj.weight": (wide, wide) for part in "qo"}
        shapes |= {begin + f"self_attn.{part}_proj.weight": (narrow, wide) for part in "kv"}
        shapes |= {begin + f"mlp.{part}_proj.weight": (inner, wide) for part in ("gate", "up")}
        shapes |= {begin + "mlp.down_proj.weight": (wide, inner)}
    return {name: torch.randn(shape, generator=dice) * 0.1 for name, shape in shapes.items()}


def _tokenizer() -> dict[str, Any]:
    letters = [chr(code) for code in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]]
    letters += [chr(256 + place) for place in range(256 - len(letters))]
    vocab = {letter: token for token, letter in enumerate(["</s>", *letters])}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": 0, "content": "</s>", "special": True, "single_word": False, "lstrip": False, "rstrip": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [end | {"normalized": False}],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": vocab, "merges": []},
    }


def _write(folder: Path, name: str, content: Any) -> None:
    (folder / f"{name}.json").write_text(json.dumps(content))


# What is wrong with the config.

_INTEGERS = (0, -1, 1, 3, 255, 4096, 32_768, 10**6, 2**31, 2**63, 10**30, 10**400)
_NUMBERS: tuple[float, ...] = (*_INTEGERS, 0.5, 1e308, float("nan"), float("inf"))
_VALUES: tuple[Any, ...] = (*_NUMBERS, True, None, "64", "x" * 10**6, [], {}, [1] * 10**5, {"a": {"a": {}}})


def _change_config(folder: Path, dice: random.Random) -> None:
    keys = [*_CONFIG, "head_dim", "rms_norm_eps", "rope_theta", "hidden_act", "num_output_tokens", "sliding_window"]
    changes = {dice.choice(keys): dice.choice(_VALUES) for _ in range(dice.randint(1, 4))}
    _write(folder, "config", _CONFIG | changes)


def _grow(folder: Path, dice: random.Random) -> None:
    """Weights that fit, as large as half a megabyte allows in the most wasteful way."""
    config = _CONFIG | dice.choice(
        (
            {"num_key_value_heads": 512, "num_attention_heads": 512, "head_dim": 1024, "hidden_size": 2},
            {"num_hidden_layers": 128, "hidden_size": 8, "head_dim": 16, "num_key_value_heads": 4},
            {"intermediate_size": 262_144, "hidden_size": 2, "head_dim": 2},
            {"vocab_size": 500_000, "hidden_size": 4, "head_dim": 2},
            {"max_position_embeddings": 10**8, "num_key_value_heads": 4, "head_dim": 128},
            {"hidden_size": 32_768, "intermediate_size": 262_144, "num_hidden_layers": 256, "vocab_size": 524_288},
        )
    )
    _write(folder, "config", config)
    if dice.random() < 0.5:  # else its weights do not fit
        return
    hidden, heads, keys, head_dim = (
        config.get(key, 16) for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim")
    )
    if hidden * config["vocab_size"] > 10**7:
        return
    inner = config["intermediate_size"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(
        min(config["num_hidden_layers"], 10**7 // (hidden * (heads + keys) * head_dim + hidden * inner))
    ):
        begin = f"model.layers.{layer}."
        shapes |= {begin + f"{part}_layernorm.weight": (hidden,) for part in ("input", "post_attention")}
        shapes |= {begin + "self_attn.q_proj.weight": (heads * head_dim, hidden)}
        shapes |= {begin + f"self_attn.{part}_proj.weight": (keys * head_dim, hidden) for part in "kv"}
        shapes |= {begin + "self_attn.o_proj.weight": (hidden, heads * head_dim)}
        shapes |= {begin + f"mlp.{part}_proj.weight": (inner, hidden) for part in ("gate", "up")}
        shapes |= {begin + "mlp.down_proj.weight": (hidden, inner)}
    weights = {name: torch.zeros(shape, dtype=torch.float16) for name, shape in shapes.items()}
    (folder / "model.safetensors").write_bytes(save(weights))


def _turn(folder: Path, dice: random.Random) -> None:
    numbers = [dice.choice(_NUMBERS) for _ in range(4)]
    keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    kind: Any = dice.choice(("llama3", "linear", "yarn", "default", 5))
    rope: dict[str, Any] = {"rope_type": kind, **dict(zip(keys, numbers, strict=True))}
    name = dice.choice(("rope_scaling", "rope_parameters"))
    given = dice.choice((rope, rope | {"rope_theta": dice.choice(_NUMBERS)}, [rope], 5))
    _write(folder, "config", _CONFIG | {name: given})


_JSON_FILES = ("config", "tokenizer", "tokenizer_config", "generation_config", "special_tokens_map")


def _spoil_json(folder: Path, dice: random.Random) -> None:
    deep = dice.choice((900, 10**5, 10**6))
    text = dice.choice(
        (
            b"[" * deep,
            b'{"a":' * deep + b"1" + b"}" * deep,
            b'{"a": [' + b"[]," * (3 * 10**6) + b"0]}",
            b'{"a": {' + b",".join(b'"%d":0' % number for number in range(10**6)) + b"}}",
            b'{"vocab_size": ' + b"9" * 10**6 + b"}",
            b'{"a": "' + b"x" * (70 << 20) + b'"}',
            b"\xff\xfe{}",
            b"\xef\xbb\xbf{}",
            b"",
            b"null",
            b'{"a": NaN, "a": Infinity}',
            b'{"model_type": "\\ud800"}',
        )
    )
    (folder / f"{dice.choice(_JSON_FILES)}.json").write_bytes(text)


def _make_hole(folder: Path, dice: random.Random) -> None:
    name = dice.choice(("config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"))
    with (folder / name).open("ab") as file:
        file.truncate(dice.choice((10**9, 3 * 10**9, 2**40)))


# What is wrong with the tokenizer.

_PATTERNS = (
    "(a+)+$",
    "(?:x+x+)+y",
    "(?:a|a|ab)*c",
    "(?:(?:x*x*x*x*)z)?",
    "(.*)*(.*)*(.*)*q",
    r"(?:\s*\s*\s*\s*)+\n\n",
    "(?<=a{1,100})b|(a?){30}a{30}",
    "(?:(?:(?:a{1,1000}){1,1000}){1,1000})b",
    "(" * 3000 + "a" + ")" * 3000,
    "a" * 10**6,
    "[" + "".join(chr(code) for code in range(0x4E00, 0x9000)) + "]+",
    r"\p{L}++(?=(?:.*?b){5})",
    r"(?=(\w+\s?)+$)",
    "(((",
)


def _spoil_pattern(folder: Path, dice: random.Random) -> None:
    content = _tokenizer()
    pattern = {"Regex": dice.choice(_PATTERNS)}
    if dice.random() < 0.5:
        split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": dice.random() < 0.5}
        level = content["pre_tokenizer"] | {"use_regex": False}
        content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    else:
        content["normalizer"] = {"type": "Replace", "pattern": pattern, "content": "b" * dice.choice((1, 1000))}
    _write(folder, "tokenizer", content)


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _spoil_rules(folder: Path, dice: random.Random) -> None:
    content = _tokenizer()
    deep: dict[str, Any] = {"type": "NFC"}
    for _ in range(100):
        deep = {"type": "Sequence", "normalizers": [deep]}
    content["normalizer"] = dice.choice(
        (
            {"type": "Sequence", "normalizers": [_replace("a", "aa")] * 60},
            _replace("a", "b" * 10**7),
            {"type": "Prepend", "prepend": "x" * 10**7},
            {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA////AAAA" * 1000},
            {"type": "Sequence", "normalizers": [{"type": "NFKD"}] * 10**4},
            deep,
            {"type": "Unknown"},
        )
    )
    _write(folder, "tokenizer", content)


def _spoil_vocabulary(folder: Path, dice: random.Random) -> None:
    content = _tokenizer()
    model, added = content["model"], content["added_tokens"]
    kind = dice.randrange(10)
    if kind == 0:
        added += [added[0] | {"id": number, "content": f"<{number}>"} for number in range(300, 100_000)]
    elif kind == 1:
        added[0] = added[0] | {"id": dice.choice((10**9, 2**32 - 1, 2**32, -1, 1.5, None))}
    elif kind == 2:
        model["vocab"] = {name * (10**5 if token % 7 == 3 else 1): token for name, token in model["vocab"].items()}
    elif kind == 3:
        model["vocab"] |= {f"x{number}": number for number in range(300, 600_000)}
    elif kind == 4:
        model["vocab"] = {name: dice.choice((token, 10**9, 2**32 - 1, 0)) for name, token in model["vocab"].items()}
    elif kind == 5:
        model["merges"] = [[dice.choice([*model["vocab"]]), dice.choice(["a", "nowhere", ""])] for _ in range(1000)]
    elif kind == 6:
        scored = [[name, dice.choice((-1.0, 0, 1e308, -1e308))] for name in model["vocab"]]
        content["model"] = {"type": "Unigram", "unk_id": dice.choice((0, 10**9)), "vocab": scored}
        content["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}
    elif kind == 7:
        content["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "</s>", "type_id": 0}}] * 10**5,
            "pair": [],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [0] * 10**5, "tokens": ["</s>"] * 10**5}},
        }
    elif kind == 8:
        content["truncation"] = {"max_length": 2**63, "strategy": "LongestFirst", "stride": 2**62, "direction": "Right"}
        content["padding"] = {"strategy": {"Fixed": 10**10}, "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
        model["dropout"] = 2.0
    else:
        model["vocab"] = {"\ud800": 1, "\u202e</s>": 2, "": 3} | model["vocab"]
    _write(folder, "tokenizer", content)


def _flip(data: bytes, dice: random.Random, start: int = 0, end: int | None = None) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 20)):
        changed[dice.randrange(start, len(data) if end is None else end)] = dice.randrange(256)
    return bytes(changed)


def _flip_bytes(folder: Path, dice: random.Random) -> None:
    file = dice.choice([*folder.iterdir()])
    data = file.read_bytes()
    file.write_bytes(_flip(data, dice) if dice.random() < 0.7 else data[: dice.randrange(len(data))])


# What is wrong with the weights.


def _spoil_header(folder: Path, dice: random.Random) -> None:
    file = folder / "model.safetensors"
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = dice.choice(list(header))
    kind = dice.randrange(8)
    if kind == 0:
        file.write_bytes(struct.pack("<Q", dice.choice((0, 2**31, 2**63, 10**8, length + 1))) + data[8:])
        return
    if kind == 1:
        header |= {f"x{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(300_000)}
    elif kind == 2:
        header[name]["dtype"] = dice.choice(("F8_E4M3", "F8_E8M0", "F4", "I64", "BOOL", "U8", "I8", "C64", "?", 5))
    elif kind == 3:
        header[name]["shape"] = dice.choice(([2**62, 4], [-1], [], [0, 64], [10**30], "x"))
    elif kind == 4:
        header[name]["data_offsets"] = dice.choice(([0, 2**63], [5, 1], [-1, 3], [0], [0, len(data)]))
    elif kind == 5:
        header["__metadata__"] = {"x" * 1000: "y" * 10**6}
    elif kind == 6:
        del header[name]
    else:
        header[name] = None
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def _spoil_numbers(folder: Path, dice: random.Random) -> None:
    file = folder / "model.safetensors"
    weights = load(file.read_bytes())
    name = dice.choice(list(weights))
    shape = weights[name].shape
    weights[name] = dice.choice(
        (
            torch.full(shape, dice.choice((torch.nan, torch.inf, 3e38, -3e38, 1e-45))),
            torch.full(shape, 127, dtype=torch.int8),
            torch.full(shape, 255, dtype=torch.uint8),
            torch.zeros(shape, dtype=torch.float8_e4m3fn),
            torch.zeros(shape, dtype=torch.complex64),
            torch.zeros((*shape, 1)),
        )
    )
    weights[name + "_scale"] = torch.full((shape[0],), dice.choice((torch.nan, 1e38, 1.0)))
    file.write_bytes(save(weights))


def _spoil_index(folder: Path, dice: random.Random) -> None:
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    names = list(_weights())
    file = dice.choice(
        ("/etc/passwd", "../other.safetensors", "model-1.safetensors\0", "", ".", "x" * 10**6, "config.json", 7)
    )
    listed = dice.choice(
        (dict.fromkeys(names, file), {"a": f"{file}"}, [file], {str(n): f"{n}.x" for n in range(10**5)})
    )
    _write(folder, "model.safetensors.index", {"weight_map": listed})


# What is wrong with the files.


def _put_something_else(folder: Path, dice: random.Random) -> None:
    name = dice.choice(
        (
            *(f"{name}.json" for name in _JSON_FILES),
            "model.safetensors",
            "model.safetensors.index.json",
            "chat_template.jinja",
            "README.md",
            "adapter_config.json",
        )
    )
    path = folder / name
    path.unlink(missing_ok=True)
    if name.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    kind = dice.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to(
            dice.choice(("/dev/zero", "/dev/random", "/dev/stdin", "/proc/kmsg", "/proc/self/mem", "/dev/tty"))
        )
    elif kind == 3:
        path.symlink_to(name)
    elif kind == 4:
        path.write_bytes(b"")
        path.chmod(0)
    else:
        path.symlink_to(folder.parent)


def _add_files(folder: Path, dice: random.Random) -> None:
    for number in range(dice.choice((1500, 5000))):
        (folder / f"{number}.safetensors").touch()


def _bomb_template(folder: Path, dice: random.Random) -> None:
    template = dice.choice(
        (
            "{{ 'x' * 10**9 }}",
            "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}",
            "{{ '%1000000000d' % 1 }}",
            "{{ messages | map('upper') | join('x' * 10**8) }}",
            "{{ 9 ** 9 ** 9 }}",
            "(" * 10**5,
            "{{ " + "[" * 10**4 + " }}",
            "{{ ''.__class__.__mro__ }}",
        )
    )
    if dice.random() < 0.5:
        (folder / "chat_template.jinja").write_text(template)
    else:
        _write(folder, "tokenizer_config", {"chat_template": template, "eos_token": {"content": ["</s>"]}})


def _point_elsewhere(folder: Path, dice: random.Random) -> None:
    """Settings that other programs follow."""
    remote = {"auto_map": {"AutoConfig": "owner/name--code.Config", "AutoTokenizer": ["code.Tokenizer", None]}}
    _write(folder, "adapter_config", {"base_model_name_or_path": "/etc", "peft_type": "LORA"})
    (folder / "code.py").write_text(f"open({str(folder / 'was-run')!r}, 'w')\n")
    quantized = {"quantization_config": {"quant_method": dice.choice(("bitsandbytes", "gptq", "x"))}}
    _write(folder, "config", _CONFIG | remote | dice.choice(({}, quantized)))
    _write(folder, "tokenizer_config", remote | {"tokenizer_class": dice.choice(("Tokenizer", "T5Tokenizer", 5))})
    if dice.random() < 0.5:
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer.model").write_bytes(dice.randbytes(1000))


_CHANGES: tuple[Change, ...] = (
    _change_config,
    _grow,
    _turn,
    _spoil_json,
    _make_hole,
    _spoil_pattern,
    _spoil_rules,
    _spoil_vocabulary,
    _flip_bytes,
    _spoil_header,
    _spoil_numbers,
    _spoil_index,
    _put_something_else,
    _add_files,
    _bomb_template,
    _point_elsewhere,
)


def _hostile(folder: Path, number: int, dice: random.Random) -> tuple[Path, str]:
    """The drafter of one try, and what was done to it."""
    if number % (len(_CHANGES) + 1) == len(_CHANGES):
        file = tiny_llama(folder.with_suffix(".gguf"))
        data = file.read_bytes()
        file.write_bytes(_flip(data, dice, 0, 8000) if dice.random() < 0.8 else data[: dice.randrange(len(data))])
        return file, "GGUF"
    change = _CHANGES[number % (len(_CHANGES) + 1)]
    change(_sound(folder), dice)
    return folder, change.__name__.strip("_")


class _Tries:
    """Opens drafters as the app does, and drafts with those that can be opened."""

    def __init__(self, data_dir: Path) -> None:
        self._config = EngineConfig(data_dir, SpeculationSettings(device="cpu"))
        self._target = FakeTarget().vocabulary

    def use(self, path: Path) -> str:
        """What was said of it; empty where it can be used."""
        try:
            check_drafter(str(path), self._config.data_dir)
            source = drafter_source(str(path), self._config.data_dir)
            self._draft(source)
        except MendableError as error:
            return str(error)
        finally:
            gc.collect()
        return ""

    def _draft(self, source: DrafterSource) -> None:
        drafting = open_drafting(self._config, source, self._target)
        drafting.proposer.measure_cost()
        if not isinstance(drafting.proposer, TranslatedDrafter):
            return
        vocabulary = drafting.proposer._vocabulary
        for text in _TEXTS:
            vocabulary.encode(text)
            tokens = vocabulary.encode_prompt([ChatTurn(Role.USER, text.decode("utf-8", "replace"))])
            drafter = drafting.proposer._drafter
            drafter.roll_back(0)
            if tokens and max(tokens) < len(vocabulary.pieces):
                drafter.read(tokens[: min(_MOST_READ, drafter.max_held)])


def run(plan: Plan) -> Outcome:
    outcome, memory = Outcome(), Memory()
    store = plan.folder / "data"
    Repository.open(store).close()
    before = _digest_of_store(store)
    tries = _Tries(store)
    for name in ("sound", "sound-too"):  # torch is loaded, and there is a child
        complaint = tries.use(_sound(plan.folder / name))
        outcome.check(not complaint, f"a sound drafter is refused: {complaint}")
    num_refused, longest, num_threads = 0, (0.0, ""), threading.active_count()
    for number, path, what in _all(plan):
        began = _processor_s()
        try:
            with memory.watched():
                complaint = tries.use(path)
            outcome.check(_is_sentence(complaint), f"{number} ({what}) is told as {complaint[:200]!r}")
            num_refused += bool(complaint)
        except Exception as error:
            outcome.failures.append(f"{number} ({what}) raises {error!r:.200}")
        seconds = _processor_s() - began
        outcome.tried += 1
        outcome.check(seconds < _MOST_S, f"{number} ({what}) computes for {seconds:.0f} s")
        outcome.check(memory.is_within_bar, f"{number} ({what}): {memory}")
        outcome.check(not (path / "was-run").exists(), f"{number} ({what}): its code was run")
        longest = max(longest, (seconds, what))
        memory.most = 0 if not memory.is_within_bar else memory.most
        _remove(path)
    outcome.check(_digest_of_store(store) == before, "the store has changed")
    outcome.check(threading.active_count() <= num_threads, "threads are left over")
    held = _against_the_window(plan, outcome)
    outcome.figures = {
        "refused": str(num_refused),
        "memory": str(memory),
        "longest": f"{longest[0]:.1f} s of processor ({longest[1]})",
        "interface": str(held),
    }
    return outcome


def _processor_s() -> float:
    """Of this process, and of its children, whether they have ended or not."""
    own = psutil.Process()
    ended = own.cpu_times()
    seconds = ended.user + ended.system + ended.children_user + ended.children_system
    for child in own.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def _all(plan: Plan, every: int = 1) -> Iterator[tuple[int, Path, str]]:
    for number in range(0, plan.count, every):
        path, what = _hostile(plan.folder / f"drafter-{number}-{every}", number, plan.dice(number))
        yield number, path, what


def _against_the_window(plan: Plan, outcome: Outcome) -> Held:
    held = Held()
    with Desk(plan.folder) as desk:
        desk.ask("Name a colour.")
        for number, path, what in _all(plan, _TRIES_PER_WINDOW):
            with desk.watching() as now:
                desk.bridge.ask(desk.bridge.engine.target.use_drafter, str(path))
                reply = desk.ask("Name another colour.")
            outcome.check(bool(reply), f"{number} ({what}): there is no reply")
            outcome.check(now.is_within_bar, f"{number} ({what}): the interface thread was {now}")
            held = held.worst(now)
            _remove(path)
    return held


def _is_sentence(complaint: str) -> bool:
    return not complaint or (complaint.endswith(".") and len(complaint) < 1000)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _digest_of_store(data_dir: Path) -> str:
    files = sorted(data_dir.glob("*.sqlite*"))
    assert files
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
