"""KV memory against cases counted by hand."""

from __future__ import annotations

import pytest

from evaluation.audit.kv_memory import GIB, Gpu, ModelConfigUnusable, kv_report, kv_shape

GQA_70B = {
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
}
MLA = {
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "hidden_size": 7168,
}


def test_a_70b_gqa_model_at_bf16_takes_40_gib_for_128k_tokens() -> None:
    shape = kv_shape(GQA_70B)
    assert shape.bytes_per_token("bf16") == 2 * 80 * 8 * 128 * 2
    assert shape.bytes_per_sequence(131_072, "bf16") / GIB == 40.0
    assert shape.attention == "gqa"


@pytest.mark.parametrize(("precision", "gib"), [("fp32", 80), ("fp8", 20), ("int4", 10)])
def test_precision_scales_it(precision: str, gib: float) -> None:
    size = kv_shape(GQA_70B).bytes_per_sequence(131_072, precision)  # type: ignore[arg-type] # from a list
    assert gib == size / GIB


def test_mla_keeps_one_latent_vector_and_one_rotary_key_per_layer() -> None:
    shape = kv_shape(MLA)
    assert (shape.attention, shape.bytes_per_token("bf16")) == ("mla", 61 * (512 + 64) * 2)


def test_without_grouping_every_head_keeps_its_own() -> None:
    shape = kv_shape({"n_layer": 12, "n_head": 12, "n_embd": 768})
    assert (shape.attention, shape.bytes_per_token("bf16")) == ("mha", 2 * 12 * 12 * 64 * 2)


def test_a_given_head_dimension_wins_over_the_quotient() -> None:
    assert kv_shape(GQA_70B | {"head_dim": 256}).bytes_per_token("bf16") == 2 * 80 * 8 * 256 * 2


def test_layers_with_a_sliding_window_keep_no_more_than_the_window() -> None:
    types = ["sliding_attention", "sliding_attention", "full_attention", "full_attention"] * 20
    shape = kv_shape(GQA_70B | {"sliding_window": 1024, "layer_types": types})
    per_layer = 2 * 8 * 128 * 2
    assert 40 * 1024 * per_layer + 40 * 10_000 * per_layer == shape.bytes_per_sequence(
        10_000, "bf16"
    )


def test_how_many_sequences_fit_beside_the_weights_and_a_pool() -> None:
    # 80 GiB x 0.9 - 40 GiB = 32 GiB; 8,192 tokens x 320 KiB = 2.5 GiB each
    report = kv_report(
        kv_shape(GQA_70B),
        Gpu(80, 40),
        {"p50": 8192},
        pool_blocks=(2048,),
        precisions=("bf16",),
    )
    (row,) = report.rows
    assert row.fitting_sequences == (("p50", 12),)
    # 2,048 blocks x 16 tokens x 320 KiB = 10 GiB, which leaves 22 GiB
    assert row.pools == ((2048, 10 * GIB, 8),)


def test_sequences_take_whole_blocks() -> None:
    report = kv_report(
        kv_shape(GQA_70B), Gpu(80, 0), {"p50": 17}, pool_blocks=(), precisions=("bf16",)
    )
    assert report.rows[0].sequence_bytes == (("p50", 17, 32 * 327_680),)


def test_weights_that_fill_the_gpu_leave_room_for_nothing() -> None:
    report = kv_report(kv_shape(GQA_70B), Gpu(80, 140), {"p50": 100}, pool_blocks=(10,))
    assert {0} == {n for row in report.rows for _, n in row.fitting_sequences}


@pytest.mark.parametrize("missing", ["num_hidden_layers", "num_attention_heads"])
def test_a_configuration_without_a_needed_figure_is_refused(missing: str) -> None:
    config = {k: v for k, v in GQA_70B.items() if k != missing}
    with pytest.raises(ModelConfigUnusable, match=missing):
        kv_shape(config)
