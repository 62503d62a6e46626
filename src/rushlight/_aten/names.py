"""Which inner operator of PyTorch's each kernel of ours is, and the operators as objects."""

from __future__ import annotations

from ..base.bounded import Bounded
from ..runtime.door import KERNELS
from .bodies import find
from .overloads import PACKETS, OpOverload, OpOverloadPacket, kept

SPACE = __package__.partition(".")[0]  # the namespace of kernels that PyTorch has no operator for

# Kernels whose operator is called otherwise.
_OTHERWISE = {
    "attention": "_scaled_dot_product_flash_attention_for_cpu",
    "attention_grad": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "seen_attention": "_scaled_dot_product_flash_attention_for_cpu",
    "seen_attention_grad": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "avg_pool": "avg_pool2d", "avg_pool_grad": "avg_pool2d_backward", "batch_norm_eval": "native_batch_norm",
    "batch_norm_grad": "native_batch_norm_backward", "batch_norm_learn": "native_batch_norm",
    "batch_norm_train": "native_batch_norm", "binary_cross_entropy_grad": "binary_cross_entropy_backward",
    "bmm_nt": "bmm", "bmm_tn": "bmm", "cast": "_to_copy", "clamp_backward": "clamp_backward", "conv": "convolution",
    "conv_grad_input": "convolution_backward", "conv_grad_weight": "convolution_backward",
    "conv_grads": "convolution_backward", "copied": "clone", "copy_into": "copy_", "cross_entropy_fused": "cross_entropy_loss",
    "elu_grad": "elu_backward", "embedding_grad": "embedding_dense_backward", "fill_into": "fill_",
    "gelu_grad": "gelu_backward", "group_norm": "native_group_norm", "group_norm_grad": "native_group_norm_backward",
    "hardswish_grad": "hardswish_backward", "hardtanh_grad": "hardtanh_backward", "host_read": "_local_scalar_dense",
    "layer_norm": "native_layer_norm", "layer_norm_grad": "native_layer_norm_backward",
    "leaky_relu_grad": "leaky_relu_backward", "log_softmax": "_log_softmax",
    "log_softmax_grad": "_log_softmax_backward_data", "logsigmoid": "log_sigmoid_forward",
    "logsigmoid_grad": "log_sigmoid_backward", "max_dim": "max", "max_pool": "max_pool2d_with_indices",
    "max_pool_grad": "max_pool2d_with_indices_backward", "median_dim": "median", "min_dim": "min", "mish_grad": "mish_backward",
    "mm_nt": "mm", "mm_tn": "mm", "move": "_to_copy", "mse_loss_grad": "mse_loss_backward", "nll_loss": "nll_loss_forward",
    "nll_loss_grad": "nll_loss_backward", "pad_constant": "constant_pad_nd", "relu_grad": "threshold_backward",
    "reshape_copy": "_unsafe_view", "silu_grad": "silu_backward", "smooth_l1_loss_grad": "smooth_l1_loss_backward",
    "snapshot": "clone", "softmax": "_softmax", "softmax_grad": "_softmax_backward_data", "softplus_grad": "softplus_backward",
    "vector_norm": "linalg_vector_norm", "zeroed": "zeros_like", "zeros_of": "zeros_like",
}  # fmt: skip
# Kernels that have the name of a function of PyTorch's, and do something else.
_NOT_THEIRS = frozenset(("check", "drawn", "filled", "random", "resize", "shift", "window"))
_RANDOM = {"normal": "randn", "uniform": "rand"}
_THEIRS = Bounded(
    4096
)  # by kernel: a name that is not found costs milliseconds, and a profile asks at every kernel


def packet(op: str, space: str = "aten") -> OpOverloadPacket | None:
    """An operator by its name, where something computes it or one of our kernels is it."""
    if (space, op) not in PACKETS:
        known = (
            op in KERNELS if space == SPACE else find(op) is not None or op in _OTHERWISE.values()
        )
        if not known:
            return None
    return kept(op, space)


def operator(name: str) -> OpOverload:
    """`operator("add.Tensor")` is `torch.ops.aten.add.Tensor`."""
    op, _, overload = name.partition(".")
    return getattr(kept(op), overload or "default")


def own(kernel: str) -> OpOverload:
    """The operator of a kernel that PyTorch has none for, `torch.ops.rushlight.name.default`."""
    return kept(kernel, SPACE).default


def aten_name(kernel: str, attrs: dict) -> str | None:
    """The inner operator that a kernel is, without its overload; None where PyTorch has none."""
    if kernel == "full":
        return {0: "zeros", 1: "ones"}.get(attrs.get("value", 2), "full")
    if kernel == "random":
        return _RANDOM.get(attrs.get("kind", "")) if attrs.get("args") == () else None
    if kernel == "fill_into" and attrs.get("value") == 0:
        return "zero_"
    name = _OTHERWISE.get(kernel, kernel)
    if "pool" in kernel and "kernel" in attrs:
        name = name.replace("2d", f"{len(attrs['kernel'])}d")
    return name if kernel in _OTHERWISE or _is_theirs(kernel) else None


def _is_theirs(kernel: str) -> bool:
    """Whether PyTorch has an operator of that name which does the same."""
    known = _THEIRS.get(kernel)
    if known is None:
        known = _THEIRS[kernel] = kernel not in _NOT_THEIRS and find(kernel) is not None
    return known


def shown_name(kernel: str, attrs: dict) -> str:
    """The name of a kernel's event in a profile: "aten::mm", or our own name."""
    name = aten_name(kernel, attrs)
    return f"{SPACE}::{kernel}" if name is None else f"aten::{name}"
