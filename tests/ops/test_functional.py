"""nn.functional beyond the op table: messages, running statistics, random masks, odd gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F

torch = pytest.importorskip("torch")
TF = torch.nn.functional


def pair(a, grad: bool = False):
    """The same numbers as a rushlight and as a torch tensor."""
    a = np.asarray(a)
    ours, theirs = rl.from_numpy(a.copy()), torch.from_numpy(a.copy())
    return (ours.requires_grad_(), theirs.requires_grad_()) if grad else (ours, theirs)


def close(ours, theirs, tol: float = 1e-6) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tol, atol=tol, equal_nan=True)


def rand(*shape: int, dtype: str = "float32"):
    return np.random.RandomState(sum(shape)).randn(*shape).astype(dtype)


# -- every name ---------------------------------------------------------------------------------

_ABSENT = {
    "Callable", "DType", "Optional", "ScalingType", "SwizzleType", "Tensor", "assert_int_or_pair",
    "boolean_dispatch", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "scaled_mm", "scaled_grouped_mm", "grouped_mm",
    "linear_cross_entropy", "reproducibility_notes", "tf32_notes", "sparse_support_notes",
    "importlib", "math", "np", "torch", "warnings", "utils", "grad", "TYPE_CHECKING",
}  # fmt: skip


def test_functional_has_torchs_names() -> None:
    missing = [
        n
        for n in dir(TF)
        if not n.startswith("_") and callable(getattr(TF, n)) and n not in _ABSENT and not hasattr(F, n)
    ]
    assert not missing


def test_an_unknown_name_is_refused_in_pytorchs_words() -> None:
    with pytest.raises(AttributeError, match=r"nn\.functional' has no attribute 'cross_entrophy'"):
        _ = F.cross_entrophy


# -- messages -----------------------------------------------------------------------------------


def test_gelu_refuses_other_approximations() -> None:
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        F.gelu(rl.ones(2), approximate="fast")


def test_size_mismatch_warns() -> None:
    x, y = rl.ones(3, 1), rl.ones(3)
    with pytest.warns(UserWarning, match=r"Using a target size \(rushlight.Size\(\[3\]\)\)"):
        F.mse_loss(x, y)


def test_legacy_reduction_flags() -> None:
    x, t = pair(rand(3, 4))
    with pytest.warns(UserWarning, match="reduction='sum' instead"):
        ours = F.mse_loss(x, x * 2, size_average=False)
    close(ours, TF.mse_loss(t, t * 2, reduction="sum"), 1e-5)
    with pytest.raises(ValueError, match="middling is not a valid value for reduction"):
        F.mse_loss(x, x, reduction="middling")


def test_implicit_softmax_dim_warns() -> None:
    x, t = pair(rand(2, 3, 4))
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        ours = F.softmax(x)
    close(ours, TF.softmax(t, 0))


# -- state and randomness -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5)])
def test_running_statistics(shape: tuple) -> None:
    x, t = pair(rand(*shape))
    stats = [pair(np.zeros(4, "float32")), pair(np.ones(4, "float32"))]
    for momentum in (0.1, 0.5):
        ours = F.batch_norm(x, stats[0][0], stats[1][0], training=True, momentum=momentum)
        theirs = TF.batch_norm(t, stats[0][1], stats[1][1], training=True, momentum=momentum)
        close(ours, theirs, 1e-5)
    for a, b in stats:
        close(a, b, 1e-5)
        assert a._version == 2


def test_dropout_keeps_the_mean_and_its_gradient_is_its_mask() -> None:
    rl.manual_seed(3)
    x = rl.ones(100, 100).requires_grad_()
    out = F.dropout(x, 0.3)
    kept = out.detach() != 0
    assert abs(float(kept.float().mean()) - 0.7) < 0.02
    np.testing.assert_allclose(out.detach().numpy()[kept.numpy()], 1 / 0.7, rtol=1e-6)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


def test_dropout_repeats_with_the_seed() -> None:
    rl.manual_seed(5)
    first = F.dropout(rl.ones(50), 0.5).numpy()
    rl.manual_seed(5)
    np.testing.assert_array_equal(F.dropout(rl.ones(50), 0.5).numpy(), first)


def test_channel_dropout_drops_whole_channels() -> None:
    for out in (F.dropout2d(rl.ones(20, 30, 2, 3)), F.dropout1d(rl.ones(20, 30, 6))):
        flat = out.numpy().reshape(600, 6)
        assert set(np.unique(flat)) == {0.0, 2.0}
        assert (flat == flat[:, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    rl.manual_seed(0)
    out = F.alpha_dropout(rl.randn(200, 200), 0.3, training=True).numpy()
    assert abs(out.mean()) < 0.02 and abs(out.std() - 1) < 0.02


def test_gumbel_softmax_hard_is_one_hot_with_soft_gradient() -> None:
    x = rl.randn(6, 5).requires_grad_()
    out = F.gumbel_softmax(x, hard=True)
    np.testing.assert_allclose(np.sort(out.detach().numpy(), 1)[:, -1], 1, atol=1e-6)
    (out * rl.randn(6, 5)).sum().backward()
    assert np.any(x.grad.numpy())


# -- in place -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "silu", "mish",
             "hardswish", "hardsigmoid", "rrelu"],
)  # fmt: skip
def test_inplace_argument(name: str) -> None:
    x, t = pair(rand(4, 5) * 3, grad=True)
    y, ty = x * 1, t * 1
    out = getattr(F, name)(y, inplace=True)
    assert out is y
    (out**2).sum().backward()
    (getattr(TF, name)(ty, inplace=True) ** 2).sum().backward()
    close(out, ty, 1e-5)
    close(x.grad, t.grad, 1e-5)


# -- extremes -----------------------------------------------------------------------------------


def test_extreme_logits_stay_finite() -> None:
    logits = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], "float32")
    x, t = pair(logits, grad=True)
    target, ttarget = pair(np.array([1, 2]))
    ours, theirs = F.cross_entropy(x, target), TF.cross_entropy(t, ttarget)
    ours.backward()
    theirs.backward()
    close(ours, theirs)
    close(x.grad, t.grad)
    assert np.isfinite(x.grad.numpy()).all()


def test_all_targets_ignored_is_nan_without_warning() -> None:
    x, target = rl.randn(3, 4), rl.full((3,), -100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(float(F.cross_entropy(x, target)))
        assert float(F.cross_entropy(x, target, reduction="sum")) == 0.0


def test_fully_masked_query_attends_to_nothing() -> None:
    q, k = rl.randn(2, 3), rl.randn(4, 3)
    mask = rl.tensor([[True] * 4, [False] * 4])
    out = F.scaled_dot_product_attention(q, k, k, mask)
    assert not np.any(out[1].numpy()) and np.any(out[0].numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_accumulates_in_float32(dtype: str) -> None:
    x, t = rl.full((1, 5000), 1.0, dtype=getattr(rl, dtype)), torch.full((1, 5000), 1.0)
    ours = F.layer_norm(x + 0, (5000,)).float()
    close(ours, TF.layer_norm(t, (5000,)))
    loss = F.mse_loss(x, x * 0)
    assert float(loss) == 1.0 and str(loss.dtype).endswith(dtype)
