"""Which ops autocast runs in low precision, in float32, or in the widest dtype of their inputs."""

from __future__ import annotations

# Matrix products and what is made of them: quick in low precision.
LOW = frozenset(
    "mm mm_nt mm_tn bmm bmm_nt bmm_tn linear addmm conv conv_grad_input conv_grad_weight "
    "lstm_sequence gru_sequence rnn_sequence".split()
)
LOW_CUDA = LOW | {"prelu", "mv"}

# Sums of many terms and functions that grow quickly: they need the digits or the range.
LOSSES = frozenset(
    "cross_entropy_fused nll_loss mse_loss l1_loss smooth_l1_loss "
    "binary_cross_entropy_with_logits ctc_loss".split()
)
FLOAT32_CUDA = LOSSES | frozenset(
    "acos asin cosh cumprod cumsum erfinv exp expm1 layer_norm log log10 log_softmax log1p log2 "
    "pow prod reciprocal rsqrt sinh softmax softplus sum tan vector_norm logsumexp cdist".split()
)
FLOAT32_CPU = LOSSES | frozenset(
    "binary_cross_entropy huber_loss prod view_as_complex fft_forward fft_backward fft_real "
    "fft_to_real linalg_inv linalg_solve linalg_cholesky linalg_qr linalg_svd linalg_eigh "
    "linalg_eig linalg_pinv linalg_det linalg_slogdet linalg_lu_factor linalg_cholesky_solve "
    "linalg_svdvals".split()
)

# Several tensors that must agree.
WIDEST_CPU = frozenset(("cat", "stack"))
WIDEST_CUDA = WIDEST_CPU | frozenset(
    "addcdiv addcmul atan2 cross dot index_put scatter_add".split()
)

_POLICIES = {
    "cuda": (LOW_CUDA, FLOAT32_CUDA, WIDEST_CUDA),
    "cpu": (LOW, FLOAT32_CPU, WIDEST_CPU),
}

LOW_PRECISION, FLOAT32, WIDEST, REFUSED = range(4)
# For whole functions: nothing inside is cast (one kernel in PyTorch, several ops here); the result is cast; all
# tensors have the dtype of a recurrent layer's last state; float16, whichever low precision was asked for.
PLAIN, LOW_RESULT, AS_STATE, HALF = range(4, 8)

# Refused under autocast on the GPU, as PyTorch refuses it.
UNSAFE = {
    "binary_cross_entropy": (
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using torch.nn.functional."
        "binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  "
        "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
    )
}


def policies() -> dict[str, dict[str, int]]:
    """Op name to device type to policy; most ops have none."""
    found: dict[str, dict[str, int]] = {}
    for device_type, lists in _POLICIES.items():
        for policy, names in enumerate(lists):
            for name in names:
                found.setdefault(name, {})[device_type] = policy
    for name in UNSAFE:
        found.setdefault(name, {})["cuda"] = REFUSED
    return found
