from __future__ import annotations

from pathlib import Path

import pytest

from engine.speculation.model.files.model_files import model_name, no_model, part_names, part_of, quantization_in


@pytest.mark.parametrize(
    ("name", "quantization"),
    [
        ("Llama-3.2-1B-Instruct-Q4_K_M.gguf", "Q4_K_M"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("qwen2.5-7b-instruct-q5_k_m-00001-of-00002.gguf", "Q5_K_M"),
        ("gemma-3-4b-it-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("model-IQ2_XXS.gguf", "IQ2_XXS"),
        ("model-Q8_0.gguf", "Q8_0"),
        ("model-fp16.gguf", "F16"),
        ("model.BF16.gguf", "BF16"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("Q4-study.gguf", "Q4"),
        ("phi.gguf", ""),
    ],
)
def test_quantization_as_the_name_tells(name: str, quantization: str) -> None:
    assert quantization_in(name) == quantization


def test_parts() -> None:
    assert part_names("a.gguf") == ("a.gguf",)
    assert part_names("a-00002-of-00003.gguf") == tuple(f"a-0000{part}-of-00003.gguf" for part in (1, 2, 3))
    assert part_names("A-00002-OF-00002.GGUF") == ("A-00001-OF-00002.GGUF", "A-00002-OF-00002.GGUF")
    assert part_of("a-00002-of-00003.gguf") == (2, 3)
    assert part_of("a-00009-of-00003.gguf") == (1, 1)
    assert part_names("a-00001-of-99999.gguf") == ("a-00001-of-99999.gguf",)
    assert model_name(Path("/x/a-00001-of-00003.gguf")) == "a"
    assert model_name(Path("/x/a.Q4_1.gguf")) == "a.Q4_1"


@pytest.mark.parametrize("name", ["mmproj-model-f16.gguf", "x.imatrix.gguf", "my-lora.gguf", "lora-x.gguf"])
def test_what_is_no_model_of_its_own(name: str) -> None:
    assert no_model(name).startswith(name)


@pytest.mark.parametrize("name", ["exploration.gguf", "flora.gguf", "model.gguf"])
def test_what_may_be_one(name: str) -> None:
    assert no_model(name) == ""
