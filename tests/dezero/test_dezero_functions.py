"""DeZero's functions: values, first and second derivatives, dtypes, shapes."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight.dezero as dezero
import rushlight.dezero.functions as F
from rushlight.dezero import Variable, as_variable
from rushlight.dezero.utils import array_allclose, array_equal, gradient_check

rng = np.random.RandomState(0)


def gradient_of(f):
    """The derivative of a function as a function that can be differentiated again."""

    def gradient(x, *args):
        x = as_variable(x)
        (f(x, *args) ** 2).backward(create_graph=True)
        g = x.grad
        x.cleargrad()
        return g

    return gradient


def check_twice(f, x, *args):
    assert gradient_check(f, x.copy(), *args)
    assert gradient_check(gradient_of(f), x.copy(), *args, rtol=1e-3, atol=1e-4)


X = rng.randn(3, 4)
POSITIVE = rng.rand(3, 4) + 0.5
UNARY = {
    "sin": (F.sin, np.sin, X),
    "cos": (F.cos, np.cos, X),
    "tanh": (F.tanh, np.tanh, X),
    "exp": (F.exp, np.exp, X),
    "log": (F.log, np.log, POSITIVE),
    "sigmoid": (F.sigmoid, lambda x: 1 / (1 + np.exp(-x)), X),
    "sigmoid_simple": (F.sigmoid_simple, lambda x: 1 / (1 + np.exp(-x)), X),
    "relu": (F.relu, lambda x: np.maximum(x, 0), X),
    "leaky_relu": (F.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x), X),
    "softmax": (F.softmax, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), X),
    "softmax0": (lambda x: F.softmax(x, axis=0), lambda x: np.exp(x) / np.exp(x).sum(0), X),
    "softmax_simple": (F.softmax_simple, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), X),
    "log_softmax": (F.log_softmax, lambda x: x - np.log(np.exp(x).sum(1, keepdims=True)), X),
    "clip": (lambda x: F.clip(x, -0.5, 0.7), lambda x: np.clip(x, -0.5, 0.7), X),
    "reshape": (lambda x: F.reshape(x, (2, 6)), lambda x: x.reshape(2, 6), X),
    "transpose": (F.transpose, lambda x: x.T, X),
    "flatten": (F.flatten, lambda x: x.reshape(3, 4), X),
    "expand_dims": (lambda x: F.expand_dims(x, 1), lambda x: x[:, None], X),
    "sum": (F.sum, np.sum, X),
    "sum0": (lambda x: F.sum(x, axis=0), lambda x: x.sum(0), X),
    "sum-1keep": (lambda x: F.sum(x, axis=-1, keepdims=True), lambda x: x.sum(-1, keepdims=True), X),
    "sum(0,1)": (lambda x: F.sum(x, axis=(0, 1)), lambda x: x.sum((0, 1)), X),
    "mean": (F.mean, np.mean, X),
    "average": (lambda x: F.average(x, axis=0), lambda x: x.mean(0), X),
    "broadcast_to": (lambda x: F.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4)), X),
    "sum_to": (lambda x: F.sum_to(x, (1, 4)), lambda x: x.sum(0, keepdims=True), X),
    "max": (F.max, np.max, X),
    "max0": (lambda x: F.max(x, axis=0), lambda x: x.max(0), X),
    "max1keep": (lambda x: F.max(x, axis=1, keepdims=True), lambda x: x.max(1, keepdims=True), X),
    "max(0,1)": (lambda x: F.max(x, axis=(0, 1)), lambda x: x.max((0, 1)), X),
    "min": (F.min, np.min, X),
    "min1": (lambda x: F.min(x, axis=1), lambda x: x.min(1), X),
    "getitem": (lambda x: F.get_item(x, (slice(0, 2), 1)), lambda x: x[0:2, 1], X),
    "getitem_array": (lambda x: F.get_item(x, np.array([0, 0, 2])), lambda x: x[[0, 0, 2]], X),
    "getitem_mask": (lambda x: F.get_item(x, X > 0), lambda x: x[X > 0], X),
    "getitem_pairs": (
        lambda x: F.get_item(x, (np.array([0, 1, 0]), np.array([3, 3, 3]))),
        lambda x: x[[0, 1, 0], [3, 3, 3]],
        X,
    ),
    "getitem_reversed": (lambda x: as_variable(x)[:, ::-2], lambda x: x[:, ::-2], X),
    "getitem_new": (lambda x: as_variable(x)[None, ..., 1], lambda x: x[None, ..., 1], X),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    f, expected, x = UNARY[name]
    y = f(x.copy())
    assert isinstance(y, Variable)
    np.testing.assert_allclose(y.data, expected(x), rtol=1e-7, atol=1e-12)
    check_twice(f, x)
    narrow = Variable(x.astype(np.float32))
    y = f(narrow)
    assert y.dtype == np.float32
    y.backward()
    assert narrow.grad.dtype == np.float32 and narrow.grad.shape == x.shape


@pytest.mark.parametrize("name", ["sin", "exp", "sigmoid", "softmax", "relu", "log_softmax"])
def test_integers_become_float64(name):
    f, expected, _ = UNARY[name]
    x = Variable(np.array([[1, 2], [3, 0]]))
    y = f(x)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y.data, expected(x.data))
    y.backward()
    assert x.grad.dtype == np.float64


def test_third_derivative_through_the_core():
    def second(x):
        return gradient_of(gradient_of(F.sigmoid))(x)

    assert gradient_check(second, rng.randn(3), rtol=1e-3, atol=1e-4)


def test_integer_shapes_of_step_38_to_40():
    x = Variable(np.array([[1, 2, 3], [4, 5, 6]]))
    y = F.reshape(x, (6,))
    y.backward(retain_grad=True)
    assert repr(x.grad) == "variable([[1 1 1]\n          [1 1 1]])"
    x0, x1 = Variable(np.array([1, 2, 3])), Variable(np.array([10]))
    y = x0 + x1
    assert repr(y) == "variable([11 12 13])"
    y.backward()
    assert repr(x1.grad) == "variable([3])"


def test_methods_of_variable():
    x = Variable(rng.rand(2, 3, 4))
    assert x.reshape(6, 4).shape == x.reshape((6, 4)).shape == x.reshape([6, 4]).shape == (6, 4)
    assert x.reshape(-1).shape == (24,)
    assert x.transpose().shape == x.T.shape == x.transpose(None).shape == (4, 3, 2)
    assert x.transpose(1, 0, 2).shape == x.transpose((1, 0, 2)).shape == (3, 2, 4)
    assert x.sum(axis=1, keepdims=True).shape == (2, 1, 4)
    assert x.max(axis=0).shape == x.min(axis=0).shape == (3, 4)
    assert [row.shape for row in x] == [(3, 4), (3, 4)]
    assert x.reshape(2, 3, 4) is x and F.sum_to(x, x.shape) is x


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 0, 1), (-1, 0, 1), [0, 2, 1]])
def test_transpose_axes(axes):
    x = rng.randn(2, 3, 4)
    assert array_equal(F.transpose(x, axes), x.transpose(axes))
    check_twice(lambda x: F.transpose(x, axes), x)


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 5, 3), (3, 4))]
)
def test_matmul(shapes):
    a, b = (rng.randn(*s) for s in shapes)
    assert array_allclose(F.matmul(a, b), a.dot(b))
    check_twice(F.matmul, a, b)
    check_twice(lambda w: F.matmul(a, w), b)
    assert Variable(a).dot(Variable(b)).shape == Variable(a).matmul(b).shape


def test_matmul_of_integers_and_mixed():
    x = Variable(np.array([[1, 2], [3, 4]]))
    assert F.matmul(x, x).data.tolist() == [[7, 10], [15, 22]]
    assert F.matmul(x, np.ones((2, 2), np.float32)).dtype == np.float32


@pytest.mark.parametrize("f", [F.linear, F.linear_simple])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(f, bias):
    x, W, b = rng.randn(5, 3), rng.randn(3, 2), rng.randn(2) if bias else None
    assert array_allclose(f(x, W, b), x.dot(W) + (0 if b is None else b))
    check_twice(lambda x: f(x, W, b), x)
    check_twice(lambda W: f(x, W, b), W)
    if bias:
        check_twice(lambda b: f(x, W, b), b)


def test_linear_of_mixed_precision():
    x, W, b = (Variable(rng.randn(5, 3)), Variable(rng.randn(3, 2).astype("f")), Variable(np.zeros(2, "f")))
    y = F.linear(x, W, b)
    assert y.dtype == np.float64
    y.backward()
    assert (x.grad.dtype, W.grad.dtype, b.grad.dtype) == (np.float64, np.float32, np.float32)


def test_bare_arrays_get_no_gradient():
    x, W = rng.randn(5, 3).astype("f"), Variable(rng.randn(3, 2).astype("f"))
    loss = F.sum(F.linear(x, W) * 2)
    loss.backward()
    assert array_allclose(W.grad, np.repeat(2 * x.sum(0)[:, None], 2, 1))


@pytest.mark.parametrize("f", [F.mean_squared_error, F.mean_squared_error_simple])
@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_mean_squared_error(f, shape):
    a, b = rng.randn(*shape), rng.randn(*shape)
    assert array_allclose(f(a, b), ((a - b) ** 2).sum() / 5)
    check_twice(f, a, b)
    check_twice(lambda b: f(a, b), b)


@pytest.mark.parametrize("f", [F.softmax_cross_entropy, F.softmax_cross_entropy_simple])
@pytest.mark.parametrize("kind", ["int32", "int64", "uint8"])
def test_softmax_cross_entropy(f, kind):
    x, t = rng.randn(10, 6), rng.randint(0, 6, 10).astype(kind)
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    assert array_allclose(f(x, t), -np.log(p[np.arange(10), t]).mean())
    check_twice(f, x, t)
    y = f(Variable(x.astype("f")), Variable(t))
    y.backward()
    assert y.dtype == np.float32


def test_binary_cross_entropies():
    x, t = rng.randn(8), rng.randint(0, 2, 8)
    p = 1 / (1 + np.exp(-x))
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p)).sum() / 8
    assert array_allclose(F.sigmoid_cross_entropy(x, t), expected)
    assert array_allclose(F.binary_cross_entropy(p, t), expected)
    assert array_allclose(F.sigmoid_cross_entropy(x[:, None], t), expected)
    check_twice(F.sigmoid_cross_entropy, x, t)
    assert gradient_check(F.binary_cross_entropy, p.copy(), t)
    loss = F.binary_cross_entropy(F.sigmoid(Variable(x.astype("f"))), t)
    assert loss.dtype == np.float32


def test_accuracy():
    y = np.array([[0.2, 0.8, 0], [0.1, 0.9, 0], [0.8, 0.1, 0.1]])
    acc = F.accuracy(y, np.array([1, 2, 0]))
    assert isinstance(acc, Variable) and np.isclose(acc.data, 2 / 3)


def test_every_maximum_gets_the_gradient():
    x = Variable(np.array([[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]]))
    F.max(x, axis=1).backward()
    assert x.grad.data.tolist() == [[1, 0, 1], [1, 1, 1]]


def test_dropout():
    x = rng.randn(100, 10)
    assert array_equal(F.dropout(x, 0.0), x)
    with dezero.test_mode():
        assert array_equal(F.dropout(x), x)

    def f(x):
        np.random.seed(0)
        return F.dropout(x, 0.5)

    assert gradient_check(f, x[:5].copy())
    np.random.seed(0)
    kept = np.random.rand(100, 10) > 0.3
    np.random.seed(0)
    assert array_allclose(F.dropout(x, 0.3), x * kept / 0.7)
    assert F.dropout(x.astype("f")).dtype == np.float32
    assert F.dropout(np.ones(5)).shape == (5,)


@pytest.mark.parametrize("shape", [(8, 3), (4, 3, 5, 5), (1, 3)])
@pytest.mark.parametrize("train", [True, False])
def test_batch_norm(shape, train):
    x = rng.randn(*shape)
    gamma, beta, mean, var = rng.randn(3), rng.randn(3), rng.randn(3), rng.rand(3) + 0.1
    axes = (0, *range(2, len(shape)))
    wide = (slice(None),) + (None,) * (len(shape) - 2)
    n = x.size // 3
    m, v = (x.mean(axes), x.var(axes)) if train else (mean, var)
    expected = gamma[wide] * (x - m[wide]) / np.sqrt(v[wide] + 2e-5) + beta[wide]
    later = 0.9 * mean + 0.1 * m, 0.9 * var + 0.1 * v * n / max(n - 1, 1)
    seen = mean.copy(), var.copy()
    with dezero.using_config("train", train):
        y = F.batch_nrom(x, gamma, beta, *seen)
        np.testing.assert_allclose(y.data, expected, rtol=1e-6, atol=1e-10)
        for found, wanted in zip(seen, later if train else (mean, var)):
            np.testing.assert_allclose(found, wanted)
        fixed = mean.astype("f"), var.astype("f")  # of another dtype: they only learn
        check_twice(lambda x: F.batch_norm(x, gamma, beta, *fixed), x)
        assert gradient_check(lambda g: F.batch_norm(x, g, beta, *fixed), gamma.copy())
        assert gradient_check(lambda b: F.batch_norm(x, gamma, b, *fixed), beta.copy())
        args = [a.astype("f") for a in (x, gamma, beta)]
        assert F.batch_norm(*args, mean, var).dtype == np.float32


def test_embed_id():
    W, x = rng.randn(5, 3), np.array([[0, 2], [2, 2]])
    assert array_equal(F.embed_id(x, W), W[x])
    check_twice(lambda W: F.embed_id(x, W), W)


def test_concat():
    a, b = rng.randn(2, 3), rng.randn(2, 4)
    assert array_equal(F.concat([a, b]), np.concatenate([a, b], 1))
    check_twice(lambda a: F.concat([a, b, a], axis=-1), a)


def test_function_classes_work_by_themselves():
    x = rng.randn(3, 4)
    assert np.allclose(F.Sin().forward(x), np.sin(x))
    assert np.allclose(F.Sigmoid().forward(x), 1 / (1 + np.exp(-x)))
    assert isinstance(F.Softmax().forward(x), np.ndarray)
    assert F.Sum(0, False)(x).shape == (4,)
    assert F.Linear()(x, np.ones((4, 2)), np.zeros(2)).shape == (3, 2)
    assert F.GetItemGrad((0, slice(None)), (3, 4))(x[0]).shape == (3, 4)
    assert F.LeakyReLU(0.1)(x).shape == F.Clip(0, 1)(x).shape == F.LogSoftmax()(x).shape
    assert F.BatchNorm(np.zeros(4), np.ones(4), 0.9, 2e-5)(x, np.ones(4), np.zeros(4)).shape == (3, 4)


LISTED = """add as_array as_variable average average_pooling batch_nrom binary_cross_entropy broadcast_to
clip col2im conv2d conv2d_simple cos deconv2d div dropout embed_id exp expand_dims flatten get_item
im2col leaky_relu linear linear_simple log log_softmax matmul max mean mean_squared_error
mean_squared_error_simple min mul neg pooling pooling_simple pow relu reshape rsub sigmoid
sigmoid_cross_entropy sigmoid_simple sin softmax softmax_cross_entropy softmax_cross_entropy_simple
softmax_simple sub sum sum_to tanh transpose accuracy BatchNorm BroadcastTo Clip Cos Exp Function GetItem
GetItemGrad LeakyReLU Linear Log LogSoftmax MatMul Max MeanSquaredError Min ReLU Reshape Sigmoid Sin
Softmax SoftmaxCrossEntropy Sum SumTo Tanh Transpose Variable"""


def test_everything_listed_is_there():
    missing = [name for name in LISTED.split() if not hasattr(F, name)]
    assert not missing
    assert sorted(F.__all__) == sorted([*LISTED.split(), "batch_norm", "concat"])


def test_sum_to_leaves_other_axes_as_they_are() -> None:
    from rushlight.dezero import functions, utils

    x = np.arange(24.0).reshape(2, 3, 4)
    assert functions.sum_to(x, (2,)).shape == (4,)  # as in the original, which compares nothing
    np.testing.assert_array_equal(utils.sum_to(x, (1, 4)), x.sum((0, 1)).reshape(1, 4))
    np.testing.assert_array_equal(utils.sum_to(x, (2, 1, 4)), x.sum(1, keepdims=True))
