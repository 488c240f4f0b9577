"""Drafters that models bring along: layers of a model's own file that predict several tokens (MTP), or a head in a file
of its own that was made for one model.

Which files are such, and which model they fit, is read from headers, and bounded before llama.cpp sees it: there, much
of what does not fit ends the process (a `GGML_ASSERT`) instead of raising an error. The names and conditions are those
of the pinned build (llama.cpp 0c1e57098: `src/models/`, `common/speculative.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from gguf.constants import GGMLQuantizationType

from engine.speculation.model.files.gguf_header import GgufHeader, ListOf, read_list, read_model, texts_in
from engine.speculation.model.files.identity import file_stamp
from engine.speculation.model.files.model_files import model_name, part_paths
from engine.values.errors import MendableError
from engine.values.sentences import say
from engine.values.targets import HeadMethod as HeadMethod

# Architectures that llama.cpp drafts for from layers of their own: most take exactly one.
_ONE_OWN_LAYER = frozenset(
    (
        *("bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "glm-dsa", "glm4moe", "nemotron_h_moe"),
        *("qwen3next", "qwen35", "qwen35moe"),
    )
)
_OWN_LAYERS = _ONE_OWN_LAYER | {"hy_v3", "mimo2", "step35"}
# By the architecture of a head that has one of its own, that of its model: they are known, and not used
# (docs/decisions/0072-brought-heads.md).
_FOR = {"gemma4-assistant": "gemma4"}
# Those whose states between layers it hands to a head in a file of its own,
_TAPPED = frozenset(
    (
        *("bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan-dense", "hunyuan_vl", "lfm2", "llama", "mimo2"),
        *("minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h", "nemotron_h_moe", "qwen3", "qwen35"),
        *("qwen35moe", "qwen3moe", "qwen3next"),
    )
)
# and those of which it hands out the state behind the last one.
_TAPPED_BEHIND = frozenset(("deepseek4", "mimo2", "nemotron_h", "nemotron_h_moe"))
_TAPPED_BEHIND_BY_EAGLE3 = frozenset(
    (
        *("bailingmoe3", "gemma4", "gpt-oss", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe"),
        "qwen3next",
    )
)
_EAGLE3_TAPS = 3
_MOST_OWN_LAYERS = 16
_MOST_LAYERS = 512  # of any model that llama.cpp reads
_MOST_TAPS = 64
_MOST_GUESSES = 256  # of one block; trained ones have 7 to 16
_MOST_HEADS = 1024
_MOST_EXPERTS = 1024
_MOST = 1 << 24  # of any other number; vocabularies have 300,000
_LONGEST_TOKENS = 1 << 25  # bytes of all tokens; 300,000 take 6 million
_LEAST_SAME = 0.99  # of the tokens: a few marks may have other names


def own_layers(header: GgufHeader) -> int:
    """How many layers of this model's own file draft for it (`llama_model_n_layer_nextn`): 0 if it has none, lacks
    their weights, or has more than llama.cpp can use."""
    architecture = header.text("general.architecture")
    count, num_layers = _said_own_layers(header), header.number(f"{architecture}.block_count")
    most = 1 if architecture in _ONE_OWN_LAYER else _MOST_OWN_LAYERS
    if architecture not in _OWN_LAYERS or not 0 < count <= most or not count < num_layers <= _MOST_LAYERS:
        return 0
    if not _has_trunk(header):
        return 0
    width = header.number(f"{architecture}.embedding_length")
    shapes = {"eh_proj": (2 * width, width), "enorm": (width,), "hnorm": (width,)}
    for layer in range(num_layers - count, num_layers):
        for part, shape in shapes.items():
            if _shape(header, f"blk.{layer}.nextn.{part}.weight") != shape:
                return 0
    return count


def no_use_of_own_layers(header: GgufHeader) -> str:
    """The sentence for a model that has such layers, but cannot be drafted for by them; else empty."""
    if not _said_own_layers(header) or own_layers(header) or not any(".nextn." in name for name in header.tensors):
        return ""
    return say("It comes with its own part for guessing ahead, which cannot be used here.")


def method_of(header: GgufHeader) -> HeadMethod | None:
    """The method of a file that is nothing but a head; None for every other file."""
    architecture = header.text("general.architecture")
    if architecture == "eagle3":
        return HeadMethod.EAGLE3
    if architecture == "dflash":
        return HeadMethod.DSPARK if "markov_w1.weight" in header.tensors else HeadMethod.DFLASH
    if architecture in _FOR or (_said_own_layers(header) and header.num_tensors and not _has_trunk(header)):
        return HeadMethod.MTP
    return None


def no_model_but_head(header: GgufHeader, name: str) -> str:
    """The sentence for a head that is opened as a model; empty if it is none."""
    method = method_of(header)
    if method is None:
        return ""
    return say(
        "{name} is a drafter ({method}) made for one model and writes nothing on its own; keep it beside that model, "
        "which finds it by itself, and choose that model.",
        name=name,
        method=method.value,
    )


def misfit(head: Path, target: Path) -> str:
    """Why this file cannot draft for this target, in a sentence; empty if it can. Reads both headers and the numbers of
    a map of tokens, once for every pair of files."""
    return _misfit(head, file_stamp(head), target, file_stamp(target))


@lru_cache(64)
def header_at(path: Path, _stamp: str) -> GgufHeader:
    """What `read_model` reads, once for every file: of large vocabularies it takes 50 ms. Raises the same."""
    return read_model(path)


@lru_cache(1024)
def _misfit(head: Path, head_stamp: str, target: Path, target_stamp: str) -> str:
    try:
        one, other = _File(head, header_at(head, head_stamp)), _File(target, header_at(target, target_stamp))
    except MendableError as error:
        return error.sentence
    method = method_of(one.header)
    if method is None:
        return say("{name} is no drafter made for one model; choose another file.", name=one.name)
    checks: tuple[Callable[[_File, _File, HeadMethod], str], ...]
    checks = (_absurd, _of_other_kind, _of_other_width, _of_other_tokens, _of_other_layers, _incomplete)
    return next((reason for check in checks if (reason := check(one, other, method))), "")


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    header: GgufHeader

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def architecture(self) -> str:
        return self.header.text("general.architecture")

    @property
    def num_layers(self) -> int:
        """Without those that only draft."""
        return max(0, self.of("block_count") - self.of("nextn_predict_layers"))

    @property
    def tokens(self) -> ListOf:
        listed = self.header.values.get("tokenizer.ggml.tokens")
        return listed if isinstance(listed, ListOf) else ListOf(0, None)

    @property
    def vocabulary_size(self) -> int:
        return self.tokens.length or self.of("vocab_size")

    def of(self, key: str) -> int:
        return self.header.number(f"{self.architecture}.{key}")

    def damaged(self, key: str) -> str:
        return say("{name} contradicts itself ({key}); download it again.", name=self.name, key=key)


def _absurd(head: _File, _target: _File, method: HeadMethod) -> str:
    """Numbers that no such file has."""
    values, architecture = head.header.values, head.architecture
    for key, value in values.items():
        if key.startswith(f"{architecture}.") and isinstance(value, int) and not 0 <= value <= _most(key):
            return head.damaged(key)
    most_layers = 1 if method is HeadMethod.EAGLE3 else _MOST_LAYERS
    bounds = {"block_count": most_layers, "embedding_length": _MOST, "attention.head_count": _MOST_HEADS}
    if method in (HeadMethod.DFLASH, HeadMethod.DSPARK):
        bounds["block_size"] = _MOST_GUESSES
    if method is HeadMethod.MTP:
        bounds["nextn_predict_layers"] = 1 if architecture in _ONE_OWN_LAYER else _MOST_OWN_LAYERS
    for key, most in bounds.items():
        of_each_layer = head.header.numbers(f"{architecture}.{key}", _MOST_LAYERS)
        numbers = of_each_layer if key == "attention.head_count" else (head.of(key),)
        if not numbers or not all(0 < number <= most for number in numbers):
            return head.damaged(f"{architecture}.{key}")
    if not _has_sound_experts(head):
        return head.damaged(f"{architecture}.expert_count")
    if method is HeadMethod.MTP:
        return "" if head.of("nextn_predict_layers") <= head.of("block_count") else head.damaged("nextn_predict_layers")
    if head.of("attention.key_length") != head.of("attention.value_length"):
        return head.damaged(f"{architecture}.attention.key_length")
    return ""


def _has_sound_experts(head: _File) -> bool:
    used = max(head.header.numbers(f"{head.architecture}.expert_used_count", _MOST_LAYERS), default=0)
    count, num_groups = head.of("expert_count"), head.of("expert_group_count")
    if not count:
        return not used and not num_groups
    if not 0 < used <= count <= _MOST_EXPERTS or num_groups >= count:
        return False
    return num_groups < 2 or (count % num_groups == 0 and 0 < head.of("expert_group_used_count") < num_groups)


def _of_other_kind(head: _File, target: _File, method: HeadMethod) -> str:
    wanted = _FOR.get(head.architecture, head.architecture) if method is HeadMethod.MTP else target.architecture
    if wanted != target.architecture:
        return say(
            "{name} drafts for the architecture {wanted}, and {target} has {found}; get the drafter made for {target}.",
            name=head.name,
            wanted=wanted,
            target=model_name(target.path),
            found=target.architecture,
        )
    if target.architecture not in (_OWN_LAYERS if method is HeadMethod.MTP else _TAPPED):
        return say(
            "{name} cannot be used: {method} is not supported for the architecture {found} yet.",
            name=head.name,
            method=method.value,
            found=target.architecture,
        )
    return ""


def _of_other_width(head: _File, target: _File, method: HeadMethod) -> str:
    width, found = target.of("embedding_length"), head.of("embedding_length")
    if method is HeadMethod.EAGLE3:
        has_own_ends = {"token_embd.weight", "output.weight"} <= head.header.tensors.keys()
        found = head.of("target_hidden_size") if has_own_ends or found == width else found
    if found == width:
        return ""
    return say(
        "{name} was made for a model with {found:,} numbers for each token, and {target} has {width:,}; get the "
        "drafter made for {target}.",
        name=head.name,
        found=found,
        target=model_name(target.path),
        width=width,
    )


def _of_other_tokens(head: _File, target: _File, method: HeadMethod) -> str:
    if not 0 < head.vocabulary_size == target.vocabulary_size or not _have_same_tokens(head, target):
        return say(
            "{name} was made for a model with other tokens than {target}; get the drafter made for {target}.",
            name=head.name,
            target=model_name(target.path),
        )
    if method in (HeadMethod.DFLASH, HeadMethod.DSPARK):
        mask = head.header.values.get("tokenizer.ggml.mask_token_id")
        if not isinstance(mask, int) or not 0 <= mask < head.vocabulary_size:
            return head.damaged("tokenizer.ggml.mask_token_id")
    return ""


def _of_other_layers(head: _File, target: _File, method: HeadMethod) -> str:
    """A head taps layers of its model by their numbers; one for several tokens takes those that follow."""
    if method is HeadMethod.MTP:
        return "" if head.num_layers in (0, target.num_layers) else _other_layers(head, target)
    listed = head.header.values.get(f"{head.architecture}.target_layers")
    taps = listed.items if isinstance(listed, ListOf) else None
    if not taps or len(taps) > _MOST_TAPS or (method is HeadMethod.EAGLE3 and len(taps) != _EAGLE3_TAPS):
        return head.damaged(f"{head.architecture}.target_layers")
    if any(isinstance(tap, bool) or not isinstance(tap, int) or tap < 0 for tap in taps):
        return head.damaged(f"{head.architecture}.target_layers")
    behind = _TAPPED_BEHIND_BY_EAGLE3 if method is HeadMethod.EAGLE3 else _TAPPED_BEHIND
    most = target.num_layers - (target.architecture not in behind)
    return _other_layers(head, target) if max(taps) > most else ""


def _other_layers(head: _File, target: _File) -> str:
    return say(
        "{name} was made for a model with other layers than {target}; get the drafter made for {target}.",
        name=head.name,
        target=model_name(target.path),
    )


def _incomplete(head: _File, target: _File, method: HeadMethod) -> str:
    """Weights that are missing, or have another shape than the numbers say; the rest is checked when they are
    loaded."""
    width, size = head.of("embedding_length"), head.vocabulary_size
    tensors = head.header.tensors
    wanted: dict[str, tuple[int, ...]] = {"output_norm.weight": (width,)}
    if method is HeadMethod.MTP:
        own = head.of("nextn_predict_layers")
        for layer in range(head.of("block_count") - own, head.of("block_count")):
            wanted[f"blk.{layer}.nextn.eh_proj.weight"] = (2 * width, width)
    else:
        taps = head.header.length(f"{head.architecture}.target_layers")
        wanted["fc.weight"] = (taps * target.of("embedding_length"), width)
        if "token_embd.weight" in tensors:
            wanted["token_embd.weight"] = (width, size)
        if method is HeadMethod.DSPARK:
            wanted["markov_w1.weight"] = (*(_shape(head.header, "markov_w1.weight") or (0,))[:1], size)
    num_guessed = size
    if "d2t" in tensors:
        num_guessed = (_shape(head.header, "d2t") or (0,))[0]
        if not _maps_to_tokens(head, num_guessed):
            return head.damaged("d2t")
    if "d2t" in tensors or (method is not HeadMethod.MTP and "output.weight" in tensors):
        wanted["output.weight"] = (width, num_guessed)
    for name, shape in wanted.items():
        if _shape(head.header, name) != shape:
            return head.damaged(name)
    return ""


def _maps_to_tokens(head: _File, count: int) -> bool:
    """True if each of a smaller vocabulary's tokens is one of the target's."""
    place = head.header.tensors["d2t"]
    if place.kind != GGMLQuantizationType.I64 or place.shape != (count,) or not 0 < count <= head.vocabulary_size:
        return False
    if len(part_paths(head.path)) > 1:  # places are within one of the parts
        return False
    try:
        numbers = np.fromfile(head.path, "<i8", count, offset=place.start)
    except OSError:
        return False
    return len(numbers) == count and numbers.min() >= 0 and numbers.max() < head.vocabulary_size


def _have_same_tokens(head: _File, target: _File) -> bool:
    """True if nearly all tokens are written alike. A head without a list of its own is taken at its word."""
    if not head.tokens.length:
        return True
    if head.header.text("tokenizer.ggml.model") != target.header.text("tokenizer.ggml.model"):
        return False
    if max(head.tokens.num_bytes, target.tokens.num_bytes) > _LONGEST_TOKENS:
        return False
    try:
        one, other = (read_list(part_paths(file.path)[0], file.tokens) for file in (head, target))
        if one == other:
            return True
        own, wanted = texts_in(one), texts_in(other)
        num_same = sum(a == b for a, b in zip(own, wanted, strict=True))
        return num_same >= _LEAST_SAME * len(own) and len(set(own)) == len(own)
    except (OSError, ValueError):  # a file changed meanwhile
        return False


def _said_own_layers(header: GgufHeader) -> int:
    return header.number(f"{header.text('general.architecture')}.nextn_predict_layers")


def _has_trunk(header: GgufHeader) -> bool:
    """False for a file with nothing but the layers that draft."""
    count = _said_own_layers(header)
    is_all = count == header.number(f"{header.text('general.architecture')}.block_count")
    return not is_all and any(name.startswith("blk.0.") for name in header.tensors)


def _shape(header: GgufHeader, name: str) -> tuple[int, ...] | None:
    place = header.tensors.get(name)
    return None if place is None else place.shape


def _most(key: str) -> int:
    return 1 << 31 if "context_length" in key else _MOST
