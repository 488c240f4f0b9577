"""Writes a tiny projector with random weights that libmtmd really loads: with it beside a model, that model sees.

    python -m tests.projector OUT.gguf [--for MODEL.gguf] [--kind mlp]

Without `--for` it fits the starter. What such a model says of a picture means nothing, but differs from picture to
picture. The same model and kind give the same file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from engine.speculation.model.files.gguf_header import read_header
from engine.speculation.model.files.sources import starter_path

KINDS = (
    "mlp",  # a picture is one run, of as many cells as places
    "tiles",  # a picture is several runs
    "idefics3",  # likewise, with marks between them that few models have
    "gemma3",  # the cells of a picture see each other, so they are read in one pass
    "qwen2vl_merger",  # for a Qwen 2 VL: fewer places than cells
)
_WIDTH, _INNER, _HEADS, _LAYERS = 32, 64, 2, 2
_MERGED = 2  # patches a side that make one cell, where the kind has fewer cells than patches


def width_of(model: Path) -> int:
    """Of what the model reads for each token."""
    header = read_header(model)
    return header.number(f"{header.text('general.architecture')}.embedding_length")


def write_projector(path: Path, width: int, kind: str = "mlp", side: int = 56, patch: int = 14) -> Path:
    """For models that read `width` numbers for each token. `side`: to which a picture is made, of patches of `patch`,
    both in pixels."""
    writer = GGUFWriter(None, "clip")
    writer.add_name(f"Tiny {kind}")
    writer.add_type("mmproj")
    writer.add_file_type(1)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp" if kind == "tiles" else kind)
    writer.add_vision_projection_dim(width)
    writer.add_vision_embedding_length(_WIDTH)
    writer.add_vision_feed_forward_length(_INNER)
    writer.add_vision_block_count(_LAYERS)
    writer.add_vision_head_count(_HEADS)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_image_size(side)
    writer.add_vision_patch_size(patch)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(True)
    if kind in ("idefics3", "gemma3"):
        writer.add_vision_projector_scale_factor(_MERGED)
    if kind == "tiles":
        writer.add_array("clip.vision.image_grid_pinpoints", [side, 2 * side, 2 * side, side])
    if kind == "idefics3":
        writer.add_vision_preproc_image_size(2 * side)
    dice = np.random.default_rng(1)
    for name, shape in _shapes(width, kind, (side // patch) ** 2, patch).items():
        is_norm = name.endswith("weight") and ("ln" in name or "norm" in name)
        weights = dice.normal(0, 0.2, shape) + is_norm
        in_halves = len(shape) > 1 and "position" not in name
        writer.add_tensor(name, weights.astype(np.float16 if in_halves else np.float32))
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(width: int, kind: str, num_patches: int, patch: int) -> dict[str, tuple[int, ...]]:
    """By the name of a tensor, in numpy's order."""
    shapes: dict[str, tuple[int, ...]] = {"v.patch_embd.weight": (_WIDTH, 3, patch, patch)}
    matrices: dict[str, tuple[int, ...]] = {f"attn_{part}": (_WIDTH, _WIDTH) for part in ("q", "k", "v", "out")}
    matrices |= {"ffn_up": (_INNER, _WIDTH), "ffn_down": (_WIDTH, _INNER), "ln1": (_WIDTH,), "ln2": (_WIDTH,)}
    for layer in range(_LAYERS):
        for name, shape in matrices.items():
            shapes[f"v.blk.{layer}.{name}.weight"] = shape
            shapes[f"v.blk.{layer}.{name}.bias"] = shape[:1]
    merged = _MERGED**2 * _WIDTH
    if kind == "qwen2vl_merger":
        shapes["v.patch_embd.weight.1"] = (_WIDTH, 3, patch, patch)
    else:
        shapes["v.position_embd.weight"] = (num_patches, _WIDTH)
    shapes |= {f"v.post_ln.{part}": (_WIDTH,) for part in ("weight", "bias")}
    match kind:
        case "mlp" | "tiles":
            inner = _INNER
            shapes |= {"mm.0.weight": (inner, _WIDTH), "mm.2.weight": (width, inner)}
            shapes |= {"mm.0.bias": (inner,), "mm.2.bias": (width,)}
        case "qwen2vl_merger":
            shapes |= {"mm.0.weight": (merged, merged), "mm.2.weight": (width, merged)}
            shapes |= {"mm.0.bias": (merged,), "mm.2.bias": (width,)}
        case "gemma3":
            shapes |= {"mm.input_projection.weight": (_WIDTH, width), "mm.soft_emb_norm.weight": (_WIDTH,)}
        case "idefics3":
            shapes |= {"mm.model.fc.weight": (width, merged)}
    return shapes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT.gguf")
    parser.add_argument("--for", type=Path, metavar="MODEL.gguf", dest="model", help="default: the starter")
    parser.add_argument("--kind", choices=KINDS, default="mlp")
    arguments = parser.parse_args()
    path = write_projector(arguments.out, width_of(arguments.model or starter_path()), arguments.kind)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
