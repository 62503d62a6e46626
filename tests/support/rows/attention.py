"""Rows of attention."""

import numpy as np

from optable import Row, T

ALL = ("float32", "float64", "float16", "bfloat16")
E, HEADS = 4, 2
_ALLOWED = np.array([[1, 0, 1], [0, 1, 0]], bool)
_BLOCKED = np.array([[0, 0, 1], [0, 1, 0]], bool)


def mha(*inputs: T, **options: object) -> Row:
    """A row with small weights; `inputs` are query, key, value."""
    given = {"bias_k": None, "bias_v": None, "add_zero_attn": False, **options}
    return Row(
        "F.multi_head_attention_forward", *inputs, E, HEADS, T(3 * E, E, low=-1, high=1),
        T(3 * E), dropout_p=0.0, out_proj_weight=T(E, E), out_proj_bias=T(E), training=False,
        **given,
    )  # fmt: skip


ROWS = [
    Row("F.scaled_dot_product_attention", T(2, 2, 3), T(2, 4, 3), T(2, 4, 2)),
    Row("F.scaled_dot_product_attention", T(3, 2), T(3, 2), T(3, 2), is_causal=True, scale=0.4),
    Row("F.scaled_dot_product_attention", T(1, 2, 2), T(1, 3, 2), T(1, 3, 2),
        T(2, 3, dtype="bool", value=_ALLOWED)),
    Row("F.scaled_dot_product_attention", T(1, 2, 2), T(1, 3, 2), T(1, 3, 2), T(2, 3)),
    Row("F.scaled_dot_product_attention", T(1, 4, 2, 2), T(1, 2, 3, 2), T(1, 2, 3, 2),
        enable_gqa=True),
    Row("F.scaled_dot_product_attention", T(1, 2, 3, 4), T(1, 2, 3, 4), T(1, 2, 3, 4), _dtypes=ALL,
        _grad=False, _id="half"),
    Row("F.scaled_dot_product_attention", T(3, 2), T(3, 2), T(3, 2), dropout_p=0.5, _nondet=True),
    mha(T(2, 2, E), T(3, 2, E), T(3, 2, E)),
    mha(T(2, E), T(3, E), T(3, E), need_weights=False),
    mha(T(2, 1, E), T(3, 1, E), T(3, 1, E), attn_mask=T(2, 3, dtype="bool", value=_BLOCKED),
        key_padding_mask=T(1, 3, dtype="bool", value=[[False, False, True]]), add_zero_attn=True,
        average_attn_weights=False),
    mha(T(2, 1, E), T(3, 1, E), T(3, 1, E), bias_k=T(1, 1, E), bias_v=T(1, 1, E),
        attn_mask=T(2, 3), _id="bias"),
]  # fmt: skip
