"""A small drafter cut out of a target: a few of its layers, and the first merges of its tokenizer.

The vocabulary that remains is a real byte-level BPE tokenizer (any prefix of a list of merges is one), and most of the
target's other tokens are merges of its tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig

from engine.speculation.drafter.from_gguf import OF_LAYER, GgufWeights
from engine.speculation.model.chat.families import CHATML
from engine.values.errors import DrafterUnusable, TargetUnsupported

_SPACE = "Ġ"  # as byte-level BPE writes it
_INSTEAD = "train the built-in drafter on for it (--start built-in)."

# Of the drafter's own chat format (ChatML); they open the vocabulary.
_START_OF_TURN, END_OF_TURN = "<|im_start|>", "<|im_end|>"
SPECIALS = ("<|endoftext|>", _START_OF_TURN, END_OF_TURN)
_KEPT_OF_CONFIG = frozenset(
    {
        "attention_bias",
        "head_dim",
        "hidden_act",
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "mlp_bias",
        "num_attention_heads",
        "num_key_value_heads",
        "rms_norm_eps",
        "rope_parameters",
    }
)


class GgufSource(GgufWeights):
    """The source of a cut. All weights are float32 and under the names that transformers has for them."""

    def __init__(self, path: Path) -> None:
        """Raises TargetUnsupported when it is no Llama-type model with byte-level BPE."""
        try:
            super().__init__(path)
            spelling = json.loads(self.tokenizer.backend_tokenizer.to_str())["model"]
        except Exception as error:  # they may raise anything for an unknown file
            raise TargetUnsupported(f"transformers cannot read {path.name}; {_INSTEAD}") from error
        last_layer = (f"blk.{self.config.num_hidden_layers - 1}.{part}.weight" for part in OF_LAYER.values())
        wanted = ["token_embd.weight", "output_norm.weight", *last_layer]
        if not isinstance(self.config, LlamaConfig | MistralConfig) or not self.tensor_names.issuperset(wanted):
            raise TargetUnsupported(
                f"A drafter can only be cut from a Llama-type model, and {path.name} is none; {_INSTEAD}"
            )
        if spelling["type"] != "BPE" or not spelling["merges"] or _SPACE not in spelling["vocab"]:
            raise TargetUnsupported(
                f"{path.name} does not use byte-level merges, from which to cut a vocabulary; {_INSTEAD}"
            )
        self.merges = [merge if isinstance(merge, list) else merge.split(" ") for merge in spelling["merges"]]
        self.vocabulary: dict[str, int] = spelling["vocab"]


@dataclass(frozen=True, slots=True)
class Cut:
    """A drafter in the making: a model whose first tokens are those it can guess."""

    model: LlamaForCausalLM
    tokenizer: dict[str, Any]  # the content of a tokenizer.json
    chat_template: str | None
    num_outputs: int  # the first tokens of the vocabulary, which it can guess; the others it only reads
    end_of_turn: str = END_OF_TURN


@dataclass(frozen=True, slots=True)
class CutShape:
    layers: tuple[int, ...] | None  # None: the first and the last
    # Tokens: the specials, the bytes, and what its first merges make of them. None: all those of the target.
    vocabulary: int | None
    outputs: int  # of these, the ones that texts of the corpus hold most often; of the target's, all
    feed_forward: int | None = None  # neurons of a layer; None: all


def check_cut(source: GgufSource, shape: CutShape) -> tuple[int, ...]:
    """The layers that are kept. Raises TargetUnsupported when the target has no such layers."""
    count = source.config.num_hidden_layers
    layers = shape.layers if shape.layers is not None else (0, count - 1)
    if not all(0 <= layer < count for layer in layers):
        raise TargetUnsupported(f"This model has layers 0 to {count - 1}; choose among these.")
    return layers


def cut_drafter(source: GgufSource, shape: CutShape, texts: Iterable[str], start: Cut | None = None) -> Cut:
    """Cuts a drafter out of a target. `texts` are replies, in which its tokens are counted: the most frequent ones
    open the vocabulary, so that the head is a slice of the embedding. With `start`, a drafter that was cut from the
    same target, layers and the embeddings of its tokens are taken from there.

    Raises TargetUnsupported when the target has no such layers, and DrafterUnusable when `start` has another shape.
    """
    layers = check_cut(source, shape)
    if shape.vocabulary is None:
        return _with_whole_vocabulary(source, layers, shape.feed_forward, start)
    pieces = _by_frequency(_first_pieces(source.merges, shape.vocabulary), source.merges, texts)
    sources = [source.vocabulary.get(piece, 0) for piece in pieces]  # a byte that it knows only in merges is new
    small = _cut_model(source, layers, shape.feed_forward, sources)
    if start is not None:
        _take_over(small, pieces, start)
    return Cut(small, _tokenizer_json(pieces, source.merges), CHATML, min(shape.outputs, len(pieces)))


def _with_whole_vocabulary(
    source: GgufSource, layers: Sequence[int], feed_forward: int | None, start: Cut | None
) -> Cut:
    """A cut whose tokens keep their numbers, and any of them can be guessed: for programs that do not translate."""
    tokenizer = source.tokenizer
    content: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    end = tokenizer.eos_token
    if end is None:
        raise TargetUnsupported("This model has no token that ends a turn; cut a vocabulary of its own.")
    num_tokens = len(source.embedding)
    small = _cut_model(
        source,
        layers,
        feed_forward,
        range(num_tokens),
        tie_word_embeddings=source.is_tied,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    if start is not None:
        _take_over(small, _pieces_of(content, num_tokens), start)
    return Cut(small, content, tokenizer.chat_template, num_tokens, end)


def _pieces_of(tokenizer: Mapping[str, Any], count: int) -> list[str]:
    """The pieces by id, from the content of a tokenizer.json; empty for padding."""
    pieces = [""] * count
    found = [
        *tokenizer["model"]["vocab"].items(),
        *((each["content"], each["id"]) for each in tokenizer["added_tokens"]),
    ]
    for piece, token in found:
        pieces[token] = piece
    return pieces


def _first_pieces(merges: Sequence[list[str]], size: int) -> list[str]:
    return [*SPECIALS, *sorted(ByteLevel.alphabet()), *dict.fromkeys(map("".join, merges))][:size]


def _by_frequency(pieces: Sequence[str], merges: Sequence[list[str]], texts: Iterable[str]) -> list[str]:
    """The specials, then the others, the most frequent first."""
    tokenizer = Tokenizer.from_str(json.dumps(_tokenizer_json(pieces, merges)))
    counts = np.zeros(len(pieces), np.int64)
    for text in texts:
        counts += np.bincount(tokenizer.encode(text, add_special_tokens=False).ids, minlength=len(counts))
    counts[: len(SPECIALS)] = np.iinfo(np.int64).max
    return [pieces[token] for token in np.argsort(-counts, kind="stable")]


def _cut_model(
    source: GgufSource, layers: Sequence[int], feed_forward: int | None, sources: Sequence[int], **other: Any
) -> LlamaForCausalLM:
    """The model of a cut. `sources`: the target's tokens that become its tokens; `other`: what its config says of
    them."""
    # The rest of the target's configuration speaks of its file.
    shape = {name: value for name, value in source.config.to_dict().items() if name in _KEPT_OF_CONFIG}
    shape.update(
        num_hidden_layers=len(layers),
        vocab_size=len(sources),
        tie_word_embeddings=True,
        bos_token_id=SPECIALS.index(_START_OF_TURN),
        eos_token_id=SPECIALS.index(END_OF_TURN),
        pad_token_id=None,
    )
    shape.update(other)
    if feed_forward is not None:
        shape["intermediate_size"] = min(feed_forward, shape["intermediate_size"])
    small = LlamaForCausalLM(LlamaConfig(**shape))
    with torch.no_grad():
        small.model.embed_tokens.weight.copy_(source.embedding[torch.tensor(sources)])
        small.model.norm.weight.copy_(source.norm)
        for kept, layer in zip(small.model.layers, layers, strict=True):
            kept.load_state_dict(_narrowed(source.layer(layer), shape["intermediate_size"]))
        if not small.config.tie_word_embeddings:
            small.lm_head.weight.copy_(source.head[torch.tensor(sources)])
    small.tie_weights()
    return small


def _take_over(small: LlamaForCausalLM, pieces: Sequence[str], start: Cut) -> None:
    """Takes over layers, and the embeddings of the tokens that both have."""
    old, content = start.model, start.tokenizer
    known: dict[str, int] = dict(content.get("model", {}).get("vocab", {}))
    known |= {token["content"]: token["id"] for token in content.get("added_tokens", ())}
    here = [token for token, piece in enumerate(pieces) if piece in known]
    there = [known[pieces[token]] for token in here]
    inner = small.config.intermediate_size
    try:
        with torch.no_grad():
            small.model.embed_tokens.weight[here] = old.model.embed_tokens.weight[there]
            if not small.config.tie_word_embeddings:
                small.lm_head.weight[here] = old.lm_head.weight[there]
            small.model.norm.load_state_dict(old.model.norm.state_dict())
            for mine, layer in zip(small.model.layers, old.model.layers, strict=True):
                mine.load_state_dict(_narrowed(layer.state_dict(), inner))
    except (ValueError, RuntimeError) as error:
        raise DrafterUnusable(
            "The drafter to start from has another shape than the one to be made; start without it."
        ) from error


def _narrowed(layer: Mapping[str, torch.Tensor], feed_forward: int) -> dict[str, torch.Tensor]:
    """A layer with its `feed_forward` strongest neurons, by the size of what goes in and comes out of each."""
    gate, up, down = (layer[f"mlp.{part}_proj.weight"] for part in ("gate", "up", "down"))
    strength = gate.norm(dim=1) * up.norm(dim=1) * down.norm(dim=0)
    kept = strength.topk(feed_forward).indices.sort().values
    return dict(layer) | {
        "mlp.gate_proj.weight": gate[kept],
        "mlp.up_proj.weight": up[kept],
        "mlp.down_proj.weight": down[:, kept],
    }


def _tokenizer_json(pieces: Sequence[str], merges: Sequence[list[str]]) -> dict[str, Any]:
    vocabulary = {piece: token for token, piece in enumerate(pieces)}
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": token,
                "content": piece,
                "special": True,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            for token, piece in enumerate(SPECIALS)
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            ],
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [
                pair
                for pair in merges
                if "".join(pair) in vocabulary and pair[0] in vocabulary and pair[1] in vocabulary
            ],
        },
    }
