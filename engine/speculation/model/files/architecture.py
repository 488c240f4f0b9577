"""The meaning of a header's numbers: whether a model can chat and be drafted for, and the memory it will take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.speculation.model.files.brought import (
    method_of,
    no_model_but_head,
    no_use_of_own_layers,
)
from engine.speculation.model.files.gguf_header import GgufHeader
from engine.values.sentences import say, together
from engine.values.targets import HeadMethod

_RECURRENT = ("mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7")
_HYBRID = (
    *("jamba", "falcon-h1", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe"),
    *("qwen3next", "qwen35", "qwen35moe", "kimi-linear"),
)
_STATES = ("ssm.", "wkv.", "shortconv.", "kda.")  # keys that only models with a running state have
# Of these, those for which llama.cpp keeps copies of the state to go back to (llm_arch_supports_rs_rollback).
_KEEPING_STATES = (
    *("lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp"),
    *("bailingmoe3", "deepseek4", "glm5-next", "kimi-k3"),
)
_ENCODERS = (
    *("bert", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3", "eurobert"),
    *("gemma-embedding", "llama-embed", "t5encoder"),
)
# Of other programs that use the same format: stable-diffusion.cpp, ComfyUI, whisper.cpp and those for speech.
_OF_PICTURES = frozenset(
    (
        *("sd", "sd1", "sd2", "sd3", "sdxl", "flux", "flux2", "chroma", "wan", "ltx", "ltxv", "pixart", "lumina"),
        *("lumina2", "qwen_image", "hidream", "cosmos", "aura", "hyvid", "hunyuan_video", "z_image", "kandinsky5"),
    )
)
_OF_SPEECH = frozenset(("whisper", "parakeet", "piper", "kokoro", "vits", "bark", "dia", "parler-tts", "csm"))
_NO_POOLING = (0, 0xFFFFFFFF)  # none, and not said

_NUMBER_BYTES = 2  # of a number in the context: f16
_LAYERS = 4096
_LARGEST = 1 << 40  # bytes or numbers; a header with more is invalid

_STATE_NUMBER_BYTES = 4
_MOST_SHARE = 0.25  # of the weights' size, for all copies


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """The memory a target needs in addition to its weights; see `estimate.py`."""

    token_bytes: int  # of the context, for each of its tokens
    state_bytes: int  # of a running state, whatever the context
    keeps_states: bool  # as many copies of it as `model.states` says
    width: int  # numbers for each token between two layers
    inner_width: int  # and inside one
    vocabulary_size: int
    num_layers: int  # that repeat
    layer_bytes: int  # of the weights, in all of these
    output_bytes: int  # of the weights, after them
    has_own_output: bool  # else the weights before the layers serve as the output, too


def no_chat(header: GgufHeader, name: str) -> str:
    """The sentence for a file that is no model that writes text on its own; empty if it is one."""
    architecture = header.text("general.architecture")
    kind = header.text("general.type")
    if kind == "mmproj" or architecture == "clip":
        return say("{name} only lets another model see pictures; choose that model itself.", name=name)
    if kind == "adapter" or header.text("adapter.type"):
        return say("{name} is an addition to another model; choose that model itself.", name=name)
    if kind == "imatrix" or architecture == "imatrix":
        return say("{name} contains statistics for quantizing models; choose the model itself.", name=name)
    if architecture == "controlvector":
        return say("{name} is an addition to another model; choose that model itself.", name=name)
    if architecture in _OF_PICTURES:
        return say("{name} makes pictures or videos in other programs, no text; choose a chat model.", name=name)
    if architecture in _OF_SPEECH:
        return say("{name} is for speech in other programs, not for chats; choose a chat model.", name=name)
    if not architecture:
        return say(
            "{name} does not say what kind of model it is; download it again, or choose another model file.", name=name
        )
    if head := no_model_but_head(header, name):
        return head
    if finds(header):
        return say("{name} finds and compares texts but cannot write any; choose a chat model.", name=name)
    if architecture == "t5" or architecture.endswith("-dec"):
        return say("{name} is not a model that writes text on its own; choose a chat model.", name=name)
    if not header.num_tensors:
        return say("{name} holds a vocabulary but no weights; choose the model itself.", name=name)
    return ""


def finds(header: GgufHeader) -> bool:
    """True if the model was made for finding and comparing texts."""
    architecture = header.text("general.architecture")
    return architecture in _ENCODERS or header.values.get(f"{architecture}.pooling_type", 0) not in _NO_POOLING


def speculation_of(header: GgufHeader) -> tuple[bool, str]:
    """Tells whether anything can draft ahead of the model, and why, in a sentence. Loading tests it and has the last
    word."""
    architecture = header.text("general.architecture")
    if no_chat(header, ""):
        return False, say("No speed-up: it writes no text.")
    begins = tuple(f"{architecture}.{state}" for state in _STATES)
    has_state = any(key.startswith(begins) for key in header.values)
    more = no_use_of_own_layers(header)
    if architecture in _KEEPING_STATES:
        return True, together(say("Supports speed-up, within limits."), more)
    if architecture in (*_RECURRENT, *_HYBRID) or has_state:
        return False, say("No speed-up: it cannot roll back what it has read.")
    return True, together(say("Supports speed-up."), more)


def memory_of(header: GgufHeader) -> MemoryNeeds | None:
    """The memory needs; None if the header has too little, or impossible numbers."""
    architecture = header.text("general.architecture")

    def of(key: str) -> int:
        return header.number(f"{architecture}.{key}")

    num_layers = min(of("block_count"), _LAYERS)
    width = of("embedding_length")
    if not num_layers or not width:
        return None
    heads = header.numbers(f"{architecture}.attention.head_count", num_layers)
    key_heads = header.numbers(f"{architecture}.attention.head_count_kv", num_layers)
    if f"{architecture}.attention.head_count_kv" not in header.values:
        key_heads = heads
    head_width = width // max(heads, default=0) if any(heads) else 0
    num_stored = (of("attention.key_length") or head_width) + (of("attention.value_length") or head_width)
    vocabulary_size = header.length("tokenizer.ggml.tokens") or of("vocab_size")
    if method_of(header) is HeadMethod.MTP:  # it has the numbers of its whole model, whose layers it lacks
        key_heads = key_heads[-min(of("nextn_predict_layers"), num_layers) :]
    interval = of("full_attention_interval")
    if interval > 1:  # the layers between keep a running state instead
        key_heads = tuple(count if (layer + 1) % interval == 0 else 0 for layer, count in enumerate(key_heads))
    memory = MemoryNeeds(
        token_bytes=0 if architecture in _RECURRENT else sum(key_heads) * num_stored * _NUMBER_BYTES,
        state_bytes=state_bytes(of),
        keeps_states=architecture in _KEEPING_STATES,
        width=width,
        inner_width=max(header.numbers(f"{architecture}.feed_forward_length", num_layers), default=0),
        vocabulary_size=vocabulary_size,
        num_layers=num_layers,
        layer_bytes=header.layer_bytes,
        output_bytes=header.output_bytes,
        has_own_output=header.has_own_output,
    )
    biggest = max(memory.token_bytes, memory.state_bytes, memory.width, memory.inner_width, memory.vocabulary_size)
    return memory if biggest < _LARGEST else None


def state_bytes(number: Callable[[str], int]) -> int:
    """The bytes of one state: an upper bound, as if every layer had one, from the numbers of a model's header (0: not
    there) by their keys without the architecture. 0 if there is no state, or one of an unknown kind."""
    width, kernel = number("embedding_length"), number("ssm.conv_kernel")
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    numbers = max(kernel - 1, 0) * (inner + 2 * number("ssm.group_count") * state) + inner * state
    if head := number("wkv.head_size"):
        numbers += width * (head + 2)
    if head := number("kda.head_dim"):
        numbers += number("attention.head_count") * head * (head + 3 * max(kernel - 1, 0))
    if length := number("shortconv.l_cache"):
        numbers += width * (length - 1)
    return number("block_count") * numbers * _STATE_NUMBER_BYTES


def num_copies(one_bytes: int, weights_bytes: int, most: int) -> int:
    """How many copies of its state a model keeps in addition to the present one, for rolling back."""
    return min(most, int(_MOST_SHARE * weights_bytes) // one_bytes) if one_bytes else most
