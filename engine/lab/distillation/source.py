"""The weights and the tokenizer of a Llama-type target in a GGUF file, read one by one.

A weight is dequantized only when it is read: from a target with billions of weights a drafter takes two layers and some
rows.
"""

from __future__ import annotations

import json
from pathlib import Path

from transformers import LlamaConfig, MistralConfig

from engine.speculation.drafter.from_gguf import OF_LAYER, GgufWeights
from engine.values.errors import TargetUnsupported

_SPACE = "Ġ"  # as byte-level BPE writes it
_INSTEAD = "train the built-in drafter on for it (--start built-in)."


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
