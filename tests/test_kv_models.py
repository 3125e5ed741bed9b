"""Sizes of language models' caches: known models and files of a model's configuration."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.suites.kv_models import KvModel, known_models, model_of, parse_model

KIB = 1 << 10
GROUPED = {"num_hidden_layers": 32, "num_key_value_heads": 8, "head_dim": 128}
LATENT = {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}


@pytest.mark.parametrize(
    ("name", "token_bytes", "piece_bytes"),
    [
        ("llama3-8b", 128 * KIB, 32 * KIB),
        ("llama3-70b", 320 * KIB, 32 * KIB),
        ("llama3-405b", 504 * KIB, 32 * KIB),
        ("qwen2.5-7b", 56 * KIB, 16 * KIB),
        ("deepseek-v3", 61 * 576 * 2, 576 * 2 * 16),
    ],
)
def test_known_models_have_the_sizes_that_their_papers_say(
    name: str, token_bytes: int, piece_bytes: int
) -> None:
    model = model_of(name)
    assert model.token_bytes(2) == token_bytes
    assert model.piece_bytes(16, 2) == piece_bytes
    assert model.piece_bytes(16, 2) * model.pieces_of_block == 16 * token_bytes


def test_every_known_model_names_its_source() -> None:
    text = Path("src/tierscope/suites/kv_models.json").read_text()
    assert set(known_models()) == set(json.loads(text))
    for name, numbers in json.loads(text).items():
        assert numbers["source"].endswith("/config.json"), name


def test_what_a_file_leaves_out_follows_from_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "own" / "config.json"
    file.parent.mkdir()
    file.write_text(
        json.dumps({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256,
                    "head_dim": None, "rope_scaling": {"factor": 8.0}, "vocab_size": 128256})
    )  # fmt: skip
    assert model_of(str(file)) == KvModel("own", layers=2, numbers=4 * 64)


def test_a_model_that_sees_pictures_has_its_numbers_one_level_down() -> None:
    model = parse_model(json.dumps({"text_config": LATENT, "vision_config": {}}), "a/b")
    assert (model.layers, model.numbers, model.sides) == (61, 576, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f:1: has to be a mapping"),
        ("[1]", "f:1: has to be a mapping"),
        ('{"num_hidden_layers": 0}', "f:1: key 'num_hidden_layers': '0' is not a whole number"),
        ('{"num_hidden_layers":\n "many"}', "f:2: key 'num_hidden_layers': 'many' is not"),
        ('{"num_hidden_layers": [1]}', "f:1: key 'num_hidden_layers' has to be one plain value"),
        ('{"num_hidden_layers": 2}', "f:1: no key 'num_attention_heads'"),
        ('{"num_hidden_layers": 2, "kv_lora_rank": 512}', "f:1: no key 'qk_rope_head_dim'"),
        ('{"num_hidden_layers": 2, "num_key_value_heads": 2}', "f:1: no key 'hidden_size'"),
        ('{"head_dim": 2', "f:1: not valid YAML"),
    ],
)
def test_errors_name_the_line_and_the_key(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_model(text, "f")
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_says_which_are_known() -> None:
    with pytest.raises(UserError, match="did you mean 'llama3-8b'"):
        model_of("llama3-8")


def parsed(text: str) -> KvModel | str:
    """The model, or what is said of the text."""
    try:
        return parse_model(text, "f")
    except UserError as refused:
        return str(refused)


def is_one_line(said: str) -> bool:
    return said.startswith("f:") and "\n" not in said


_KEYS = st.sampled_from([*GROUPED, *LATENT, "num_attention_heads", "hidden_size", "text_config"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS | st.text(max_size=4), _VALUES, max_size=8))
def test_any_json_gives_a_model_or_one_line(numbers: dict[str, object]) -> None:
    found = parsed(json.dumps(numbers))
    if isinstance(found, str):
        assert is_one_line(found)
        return
    assert found.layers >= 1
    assert found.numbers >= 1
    assert found.pieces_of_block * found.piece_bytes(16, 2) == 16 * found.token_bytes(2)


@given(st.text(max_size=200))
def test_any_text_gives_a_model_or_one_line(text: str) -> None:
    found = parsed(text)
    assert isinstance(found, KvModel) or is_one_line(found)
