"""DeZero's convolution and pooling: values against loops, first and second derivatives, dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight.dezero.functions as F
import rushlight.dezero.functions_conv as C
from rushlight.dezero import Variable
from rushlight.dezero.utils import array_allclose, gradient_check
from test_dezero_functions import check_twice

rng = np.random.RandomState(1)


def windows(x, kernel, stride, pad):
    """(N, C, KH, KW, OH, OW), by loops."""
    (kh, kw), (sh, sw), (ph, pw) = kernel, stride, pad
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    oh, ow = (x.shape[2] - kh) // sh + 1, (x.shape[3] - kw) // sw + 1
    out = np.zeros((*x.shape[:2], kh, kw, oh, ow), x.dtype)
    for i in range(oh):
        for j in range(ow):
            out[..., i, j] = x[:, :, i * sh : i * sh + kh, j * sw : j * sw + kw]
    return out


GEOMETRIES = [((7, 7), (3, 3), (1, 1), (0, 0)), ((6, 5), (3, 2), (2, 1), (1, 0)), ((5, 7), (2, 3), (2, 3), (2, 2))]


@pytest.mark.parametrize("size, kernel, stride, pad", GEOMETRIES)
@pytest.mark.parametrize("f", [F.conv2d, F.conv2d_simple])
def test_conv2d(f, size, kernel, stride, pad):
    x, W, b = rng.randn(2, 3, *size), rng.randn(4, 3, *kernel), rng.randn(4)
    expected = np.einsum("nchwij,ochw->noij", windows(x, kernel, stride, pad), W)
    assert array_allclose(f(x, W, None, stride, pad), expected)
    assert array_allclose(f(x, W, b, stride, pad), expected + b[:, None, None])
    small = x[:1, :, :, :]
    check_twice(lambda x: f(x, W[:2], None, stride, pad), small)
    check_twice(lambda W: f(small, W, b[:2], stride, pad), W[:2])
    assert gradient_check(lambda b: f(x, W, b, stride, pad), b.copy())
    args = [Variable(a.astype("f")) for a in (x, W, b)]
    y = f(*args, stride, pad)
    y.backward()
    assert y.dtype == np.float32 and all(a.grad.dtype == np.float32 for a in args)


def test_conv2d_of_mixed_precision():
    """gradient_check makes only one argument float64."""
    x, W, b = rng.randn(2, 3, 5, 5).astype("f"), rng.randn(2, 3, 3, 3).astype("f"), np.zeros(2, "f")
    assert gradient_check(lambda x: F.conv2d(x, W, b), x[:1].copy())
    assert gradient_check(lambda W: F.deconv2d(x, W, b[:1]), rng.randn(3, 1, 2, 2).astype("f"))


@pytest.mark.parametrize("size, kernel, stride, pad", GEOMETRIES)
def test_deconv2d(size, kernel, stride, pad):
    """It is the adjoint of the convolution: <deconv(x), y> = <x, conv(y)>."""
    W, b = rng.randn(3, 2, *kernel), rng.randn(2)
    y = rng.randn(1, 2, *size)
    x = rng.randn(*F.conv2d(y, W, None, stride, pad).shape)
    back = F.deconv2d(x, W, None, stride, pad, outsize=size)
    assert back.shape == y.shape
    np.testing.assert_allclose((back.data * y).sum(), (x * F.conv2d(y, W, None, stride, pad).data).sum())
    with_bias = F.deconv2d(x, W, b, stride, pad, outsize=size)
    assert array_allclose(with_bias, back.data + b[:, None, None])
    check_twice(lambda x: F.deconv2d(x, W, b, stride, pad), x)
    check_twice(lambda W: F.deconv2d(x, W, b, stride, pad), W)
    assert gradient_check(lambda b: F.deconv2d(x, W, b, stride, pad), b.copy())
    assert F.deconv2d(x.astype("f"), W.astype("f")).dtype == np.float32


@pytest.mark.parametrize("size, kernel, stride, pad", GEOMETRIES)
@pytest.mark.parametrize("f", [F.pooling, F.pooling_simple])
def test_pooling(f, size, kernel, stride, pad):
    x = rng.permutation(6 * size[0] * size[1]).reshape(2, 3, *size) - 50.5  # no ties, no zeros
    expected = windows(x, kernel, stride, pad).max((2, 3))  # zeros of the border take part
    assert array_allclose(f(x, kernel, stride, pad), expected)
    x = x[:1, :2] / 10
    check_twice(lambda x: f(x, kernel, stride, pad), x)
    assert f(x.astype("f"), kernel, stride, pad).dtype == np.float32


def test_pooling_steps_by_one():
    assert F.pooling(rng.randn(1, 1, 5, 5), 2).shape == (1, 1, 4, 4)
    assert F.average_pooling(rng.randn(1, 1, 5, 5), 2).shape == (1, 1, 4, 4)


@pytest.mark.parametrize("size, kernel, stride, pad", GEOMETRIES)
def test_average_pooling(size, kernel, stride, pad):
    x = rng.randn(2, 3, *size)
    expected = windows(x, kernel, stride, pad).mean((2, 3))
    assert array_allclose(F.average_pooling(x, kernel, stride, pad), expected)
    check_twice(lambda x: F.average_pooling(x, kernel, stride, pad), x[:1])
    assert F.average_pooling(x.astype("f"), kernel).dtype == np.float32


@pytest.mark.parametrize("size, kernel, stride, pad", GEOMETRIES)
@pytest.mark.parametrize("to_matrix", [True, False])
def test_im2col_and_back(size, kernel, stride, pad, to_matrix):
    x = rng.randn(2, 3, *size)
    expected = windows(x, kernel, stride, pad)
    if to_matrix:
        expected = expected.transpose(0, 4, 5, 1, 2, 3).reshape(-1, 3 * kernel[0] * kernel[1])
    col = F.im2col(x, kernel, stride, pad, to_matrix)
    assert array_allclose(col, expected)
    check_twice(lambda x: F.im2col(x, kernel, stride, pad, to_matrix), x[:1])
    y = rng.randn(*col.shape)
    back = F.col2im(y, x.shape, kernel, stride, pad, to_matrix)
    np.testing.assert_allclose((back.data * x).sum(), (y * col.data).sum())
    shape = (1, 3, *size)
    part = F.im2col(x[:1], kernel, stride, pad, to_matrix).data
    check_twice(lambda c: F.col2im(c, shape, kernel, stride, pad, to_matrix), part)
    assert C.im2col_array(x, kernel, stride, pad, to_matrix).shape == col.shape
    assert C.col2im_array(y, x.shape, kernel, stride, pad, to_matrix).shape == x.shape


def test_step_57():
    assert F.im2col(np.random.rand(1, 3, 7, 7), kernel_size=5, stride=1, pad=0, to_matrix=True).shape == (9, 75)
    assert F.im2col(np.random.rand(10, 3, 7, 7), kernel_size=(5, 5)).shape == (90, 75)
    x, W = Variable(np.random.randn(1, 5, 15, 15)), Variable(np.random.randn(8, 5, 3, 3))
    y = F.conv2d_simple(x, W, b=None, stride=1, pad=1)
    y.backward()
    assert y.shape == (1, 8, 15, 15) and x.grad.shape == (1, 5, 15, 15)


def test_function_classes_work_by_themselves():
    x, W = Variable(rng.randn(1, 2, 6, 6)), Variable(rng.randn(3, 2, 3, 3))
    conv = C.Conv2d(stride=1, pad=1)
    y = conv(x, W, None)
    gy = Variable(rng.randn(*y.shape))
    gW = C.Conv2DGradW(conv)(x, gy)
    y.grad = gy
    y.backward()
    assert array_allclose(gW, W.grad)
    pool = C.Pooling(2, 2, 0)
    y = pool(x)
    assert array_allclose(C.Pooling2DWithIndexes(pool)(x), y)
    spread = C.Pooling2DGrad(pool)(y)
    assert np.isclose(spread.data.sum(), y.data.sum()) and spread.shape == x.shape
    assert C.Deconv2d(stride=2)(x, rng.randn(2, 3, 3, 3), None).shape == (1, 3, 13, 13)
    assert C.AveragePooling(2, 2)(x).shape == (1, 2, 3, 3)
    assert C.Im2col(3, 1, 0, True)(x).shape == (16, 18)
    assert C.Col2im((1, 2, 6, 6), 3, 1, 0, True)(rng.randn(16, 18)).shape == (1, 2, 6, 6)
