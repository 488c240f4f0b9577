"""Tiny models with random weights that llama.cpp really loads and runs: a llama, a Qwen 2, a Qwen 2 VL, a Qwen 3, a
Gemma 2, a Gemma 3, a Mamba, an LFM2 and a BERT; and a vocabulary alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFWriter, PoolingType, TokenType

_WIDTH = 64
_INNER = 128
_HEADS = 4
_CONTEXT = 512
_STATE, _CONVOLUTION, _STEP_RANK = 16, 4, 4  # of a Mamba
_SHORT_CONVOLUTION = 3  # of an LFM2
_WINDOW = 8  # tokens that every other layer of a Gemma 2 looks back on

_WORDS = ["▁", "a", "b", "c", "▁a", "ab", "▁ab", "abc", "▁the", "▁and", "e", "t", "n", "d", "th"]
_BYTES = "<0x{:02X}>"
_NUM_SPM = 3 + 256 + len(_WORDS)
_SPM_KINDS = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
_WORD_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + letter) for letter in range(26)), "##a"]

_Shapes = dict[str, tuple[int, ...]]  # by the name of a tensor, in numpy's order


def tiny_llama(
    path: Path, byte_tokens: str = _BYTES, tokenizer: str = "llama", chat_template: str | None = None
) -> Path:
    """A model that can draft, with a SentencePiece vocabulary. `byte_tokens`: how it names tokens for single bytes;
    `tokenizer`: what is to spell with that vocabulary."""
    writer = _begin("llama", num_layers=1)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_sentencepiece(writer, byte_tokens, tokenizer)
    square, wide = (_WIDTH, _WIDTH), (_INNER, _WIDTH)
    attention = {f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")}
    inside = {"blk.0.ffn_gate.weight": wide, "blk.0.ffn_up.weight": wide, "blk.0.ffn_down.weight": wide[::-1]}
    norms = {f"{name}.weight": (_WIDTH,) for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")}
    return _write(path, writer, {"token_embd.weight": (_NUM_SPM, _WIDTH), **attention, **inside, **norms})


def tiny_qwen2(path: Path, architecture: str = "qwen2", pooling: PoolingType | None = None) -> Path:
    """A model that can draft, with a head of its own, biases, and fewer heads of keys than of queries. With `pooling`
    it makes embeddings instead."""
    writer = _begin(architecture, num_layers=2)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS // 2)
    writer.add_layer_norm_rms_eps(1e-5)
    if architecture == "qwen2vl":
        writer.add_rope_dimension_sections([4, 2, 2, 0])
    _add_sentencepiece(writer)
    keys = _WIDTH // 2
    shapes: _Shapes = {
        "token_embd.weight": (_NUM_SPM, _WIDTH),
        "output.weight": (_NUM_SPM, _WIDTH),
        "output_norm.weight": (_WIDTH,),
    }
    for layer in range(2):
        shapes |= {f"blk.{layer}.{part}_norm.weight": (_WIDTH,) for part in ("attn", "ffn")}
        for part, outputs in (("q", _WIDTH), ("k", keys), ("v", keys)):
            shapes |= {
                f"blk.{layer}.attn_{part}.weight": (outputs, _WIDTH),
                f"blk.{layer}.attn_{part}.bias": (outputs,),
            }
        shapes[f"blk.{layer}.attn_output.weight"] = (_WIDTH, _WIDTH)
        shapes |= {f"blk.{layer}.ffn_{part}.weight": (_INNER, _WIDTH) for part in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down.weight"] = (_WIDTH, _INNER)
    return _write(path, writer, shapes)


def tiny_qwen3(path: Path) -> Path:
    """A model that can draft, with norms of its heads, which are wider than its states have room for."""
    writer = _begin("qwen3", num_layers=2)
    writer.add_head_count_kv(_HEADS // 2)
    writer.add_rope_freq_base(1_000_000.0)
    return _write(path, writer, _with_head_norms(writer, 2, _HEADS // 2))


def tiny_gemma3(path: Path, cap: float | None = None) -> Path:
    """A model that can draft, with norms behind its layers, and windows in all but every sixth. With a `cap` it holds
    its logits below that."""
    num_layers = 7
    writer = _begin("gemma3", num_layers)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_sliding_window(_WINDOW)
    if cap is not None:
        writer.add_final_logit_softcapping(cap)
    shapes = _with_head_norms(writer, num_layers, 1)
    for layer in range(num_layers):
        shapes |= {f"blk.{layer}.{norm}.weight": (_WIDTH,) for norm in ("post_attention_norm", "post_ffw_norm")}
    return _write(path, writer, shapes)


def _with_head_norms(writer: GGUFWriter, num_layers: int, num_kv_heads: int) -> _Shapes:
    """A tied model whose heads are half as wide as its states."""
    head = _WIDTH // 2
    writer.add_head_count(_HEADS)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(1e-6)
    _add_sentencepiece(writer)
    shapes: _Shapes = {"token_embd.weight": (_NUM_SPM, _WIDTH), "output_norm.weight": (_WIDTH,)}
    for layer in range(num_layers):
        shapes |= {f"blk.{layer}.{part}_norm.weight": (_WIDTH,) for part in ("attn", "ffn")}
        shapes |= {f"blk.{layer}.attn_{part}_norm.weight": (head,) for part in ("q", "k")}
        for part, heads in (("q", _HEADS), ("k", num_kv_heads), ("v", num_kv_heads)):
            shapes[f"blk.{layer}.attn_{part}.weight"] = (heads * head, _WIDTH)
        shapes[f"blk.{layer}.attn_output.weight"] = (_WIDTH, _HEADS * head)
        shapes |= {f"blk.{layer}.ffn_{part}.weight": (_INNER, _WIDTH) for part in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down.weight"] = (_WIDTH, _INNER)
    return shapes


def tiny_qwen2vl(path: Path) -> Path:
    """A model whose positions have several dimensions, so that a picture takes up fewer of them than it has cells."""
    return tiny_qwen2(path, "qwen2vl")


def tiny_gemma2(path: Path) -> Path:
    """A model in which every other layer sees the last few tokens alone."""
    writer = _begin("gemma2", num_layers=2)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_key_length(_WIDTH // _HEADS)
    writer.add_value_length(_WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_sliding_window(_WINDOW)
    _add_sentencepiece(writer)
    shapes: _Shapes = {"token_embd.weight": (_NUM_SPM, _WIDTH), "output_norm.weight": (_WIDTH,)}
    for layer in range(2):
        norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        shapes |= {f"blk.{layer}.{norm}.weight": (_WIDTH,) for norm in norms}
        shapes |= {f"blk.{layer}.attn_{part}.weight": (_WIDTH, _WIDTH) for part in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.ffn_{part}.weight": (_INNER, _WIDTH) for part in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down.weight"] = (_WIDTH, _INNER)
    return _write(path, writer, shapes)


def tiny_mamba(path: Path) -> Path:
    """A recurrent model: it writes text, but cannot take back what it has read."""
    writer = _begin("mamba", num_layers=1)
    writer.add_ssm_conv_kernel(_CONVOLUTION)
    writer.add_ssm_inner_size(_INNER)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_STEP_RANK)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_sentencepiece(writer)
    shapes: _Shapes = {
        "token_embd.weight": (_NUM_SPM, _WIDTH),
        "output_norm.weight": (_WIDTH,),
        "blk.0.attn_norm.weight": (_WIDTH,),
        "blk.0.ssm_in.weight": (2 * _INNER, _WIDTH),
        "blk.0.ssm_conv1d.weight": (_INNER, _CONVOLUTION),
        "blk.0.ssm_conv1d.bias": (_INNER,),
        "blk.0.ssm_x.weight": (_STEP_RANK + 2 * _STATE, _INNER),
        "blk.0.ssm_dt.weight": (_INNER, _STEP_RANK),
        "blk.0.ssm_dt.bias": (_INNER,),
        "blk.0.ssm_a": (_INNER, _STATE),
        "blk.0.ssm_d": (_INNER,),
        "blk.0.ssm_out.weight": (_WIDTH, _INNER),
    }
    return _write(path, writer, shapes)


def tiny_lfm2(path: Path) -> Path:
    """A hybrid model: it can take back the last tokens that it has read, of which it keeps states."""
    writer = _begin("lfm2", num_layers=2)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv([0, _HEADS])  # the first layer keeps a state
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_shortconv_l_cache(_SHORT_CONVOLUTION)
    _add_sentencepiece(writer)
    square, wide, norm = (_WIDTH, _WIDTH), (_INNER, _WIDTH), (_WIDTH,)
    shapes: _Shapes = {
        "token_embd.weight": (_NUM_SPM, _WIDTH),
        "token_embd_norm.weight": norm,
        "blk.0.shortconv.conv.weight": (_WIDTH, _SHORT_CONVOLUTION),
        "blk.0.shortconv.in_proj.weight": (3 * _WIDTH, _WIDTH),
        "blk.0.shortconv.out_proj.weight": square,
        **{f"blk.1.attn_{part}.weight": square for part in ("q", "k", "v", "output")},
        **{f"blk.1.attn_{part}_norm.weight": (_WIDTH // _HEADS,) for part in ("q", "k")},
    }
    for layer in range(2):
        shapes |= {f"blk.{layer}.{part}_norm.weight": norm for part in ("attn", "ffn")}
        shapes |= {f"blk.{layer}.ffn_{part}.weight": wide for part in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down.weight"] = wide[::-1]
    return _write(path, writer, shapes)


def tiny_mtp(path: Path, without: str = "none.") -> Path:
    """A mixture of experts that brings a head along for the token after the next: a second layer, which its own passes
    leave out. `without`: how the names of tensors begin that the file lacks."""
    writer = _begin("glm4moe", num_layers=2)
    writer.add_nextn_predict_layers(1)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_leading_dense_block_count(1)
    writer.add_expert_count(2)
    writer.add_expert_used_count(1)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(_INNER)
    _add_sentencepiece(writer)
    square, wide, norm = (_WIDTH, _WIDTH), (_INNER, _WIDTH), (_WIDTH,)
    shapes: _Shapes = {
        "token_embd.weight": (_NUM_SPM, _WIDTH),
        "output.weight": (_NUM_SPM, _WIDTH),
        "output_norm.weight": norm,
        **{f"blk.0.ffn_{part}.weight": wide for part in ("gate", "up")},
        "blk.0.ffn_down.weight": wide[::-1],
        "blk.1.ffn_gate_inp.weight": (2, _WIDTH),
        "blk.1.exp_probs_b.bias": (2,),
        **{f"blk.1.ffn_{part}_exps.weight": (2, *wide) for part in ("gate", "up")},
        "blk.1.ffn_down_exps.weight": (2, *wide[::-1]),
        **{f"blk.1.ffn_{part}_shexp.weight": wide for part in ("gate", "up")},
        "blk.1.ffn_down_shexp.weight": wide[::-1],
        "blk.1.nextn.eh_proj.weight": (_WIDTH, 2 * _WIDTH),
        **{f"blk.1.nextn.{part}.weight": norm for part in ("enorm", "hnorm", "shared_head_norm")},
    }
    for layer in range(2):
        shapes |= {f"blk.{layer}.attn_{part}.weight": square for part in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.{part}_norm.weight": norm for part in ("attn", "post_attention")}
    return _write(path, writer, {name: shape for name, shape in shapes.items() if not name.startswith(without)})


def tiny_bert(path: Path) -> Path:
    """An embedding model: it compares texts, and writes none."""
    writer = _begin("bert", num_layers=1)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType.MEAN)
    writer.add_token_type_count(2)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(_WORD_PIECES)
    writer.add_token_types([TokenType.CONTROL] * 5 + [TokenType.NORMAL] * (len(_WORD_PIECES) - 5))
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    matrices: _Shapes = {f"blk.0.attn_{part}": (_WIDTH, _WIDTH) for part in ("q", "k", "v", "output")}
    matrices |= {"blk.0.ffn_up": (_INNER, _WIDTH), "blk.0.ffn_down": (_WIDTH, _INNER)}
    norms = ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm")
    shapes: _Shapes = {
        "token_embd.weight": (len(_WORD_PIECES), _WIDTH),
        "token_types.weight": (2, _WIDTH),
        "position_embd.weight": (_CONTEXT, _WIDTH),
    }
    shapes |= {f"{name}.weight": shape for name, shape in matrices.items()}
    shapes |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
    shapes |= {f"{name}.{part}": (_WIDTH,) for name in norms for part in ("weight", "bias")}
    return _write(path, writer, shapes)


def byte_pairs(path: Path, words: str) -> Path:
    """A vocabulary without weights: every byte, two letters and a mark. `words`: how it splits a text into words."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    letters = [chr(code) for code in printable] + [chr(0x100 + place) for place in range(len(others))]
    tokens = ["<s>", "<|mark|>", *letters, "aa"]
    writer = _begin("llama", num_layers=1)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(words)
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL] * 2 + [TokenType.NORMAL] * (len(tokens) - 2))
    writer.add_token_merges(["a a"])
    writer.add_bos_token_id(0)
    return _write(path, writer, {})


def _begin(architecture: str, num_layers: int) -> GGUFWriter:
    writer = GGUFWriter(None, architecture)
    writer.add_name(f"Tiny {architecture}")
    writer.add_file_type(0)
    writer.add_context_length(_CONTEXT)
    writer.add_block_count(num_layers)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_INNER)
    return writer


def _add_sentencepiece(writer: GGUFWriter, byte_tokens: str = _BYTES, tokenizer: str = "llama") -> None:
    writer.add_tokenizer_model(tokenizer)
    writer.add_tokenizer_pre("default")
    writer.add_token_list(["<unk>", "<s>", "</s>", *(byte_tokens.format(byte) for byte in range(256)), *_WORDS])
    writer.add_token_scores([0.0] * 259 + [-float(place) for place in range(len(_WORDS))])
    writer.add_token_types([*_SPM_KINDS, *[TokenType.NORMAL] * len(_WORDS)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)


def _write(path: Path, writer: GGUFWriter, shapes: _Shapes) -> Path:
    """The same weights every time."""
    dice = np.random.default_rng(1)
    for name, shape in shapes.items():
        weights = dice.normal(0, 0.1, shape).astype(np.float32)
        if "norm.weight" in name:
            weights += 1
        if name.endswith("ssm_a"):  # a state that fades
            weights = -np.exp(weights)
        writer.add_tensor(name, weights)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
