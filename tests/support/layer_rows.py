"""The table of layers: one row per layer, the text that makes it and the inputs it gets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class In(NamedTuple):
    """An input: floats in (-2, 2), or whole numbers below `below`."""

    shape: tuple[int, ...]
    below: int = 0
    low: float = -2.0
    high: float = 2.0
    grad: bool = True
    values: tuple = ()

    def make(self, rng: np.random.Generator) -> np.ndarray:
        if self.values:
            return np.array(self.values)
        if self.below:
            return rng.integers(0, self.below, self.shape)
        return rng.uniform(self.low, self.high, self.shape).astype(np.float32)


class Layer(NamedTuple):
    """One row."""

    text: str
    inputs: tuple
    train: bool = True
    tol: float = 1e-5
    grad: bool = True  # False where PyTorch's own gradient is not the derivative of its output


def F(*shape: int, **options: float) -> In:
    return In(shape, **options)  # type: ignore[arg-type]


def I(below: int, *shape: int) -> In:  # noqa: E743
    return In(shape, below=below, grad=False)


def V(*values: float) -> In:
    return In((), values=values, grad=False)


def rows(inputs: tuple, *texts: str, **options: object) -> list[Layer]:
    return [Layer(t, inputs, **options) for t in texts]  # type: ignore[arg-type]


SHAPES = {1: F(2, 4, 9), 2: F(2, 4, 7, 8), 3: F(2, 4, 5, 6, 5)}
SMALL = {1: F(4, 9), 2: F(4, 7, 8), 3: F(4, 5, 6, 5)}

LINEAR = [
    *rows((F(5, 4),), "Linear(4, 3)", "Linear(4, 3, bias=False)", "Identity(5, a=3)"),
    *rows((F(4),), "Linear(4, 3)"),
    *rows((F(2, 3, 4),), "Linear(4, 3)"),
    *rows((F(5, 4), F(5, 3)), "Bilinear(4, 3, 2)", "Bilinear(4, 3, 2, bias=False)"),
    *rows((F(2, 3, 4),), "Flatten()", "Flatten(0, 1)", "Unflatten(2, (2, 2))"),
    *rows((F(6, 4),), "LazyLinear(3)", "LazyLinear(3, bias=False)"),
    *rows((F(4, 3), I(5, 4)), "LinearCrossEntropyLoss(3, 5)", "LinearCrossEntropyLoss(3, 5, bias=True)"),
]

CONV = [
    row
    for n in (1, 2, 3)
    for row in [
        *rows(
            (SHAPES[n],),
            f"Conv{n}d(4, 6, 3)",
            f"Conv{n}d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False)",
            f"Conv{n}d(4, 4, 2, padding='same')",
            f"Conv{n}d(4, 4, 3, padding='valid')",
            f"Conv{n}d(4, 6, 3, padding=1, padding_mode='circular')",
            f"Conv{n}d(4, 6, 3, padding=2, padding_mode='reflect')",
            f"Conv{n}d(4, 6, 3, padding=1, padding_mode='replicate')",
            f"Conv{n}d(4, 6, 2, padding='same', padding_mode='circular')",
            f"ConvTranspose{n}d(4, 6, 3)",
            f"ConvTranspose{n}d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2, bias=False)",
        ),
        *rows((SMALL[n],), f"Conv{n}d(4, 2, 3)", f"ConvTranspose{n}d(4, 2, 2)"),
        *rows(
            (SHAPES[n],),
            f"LazyConv{n}d(6, 3)",
            f"LazyConv{n}d(6, 3, stride=2, bias=False, groups=2)",
            f"LazyConvTranspose{n}d(6, 3, stride=2)",
        ),
    ]
]

FOLD = [
    *rows((F(2, 3, 6, 5),), "Unfold(2)", "Unfold((2, 3), dilation=2, padding=1, stride=2)"),
    *rows((F(2, 12, 20),), "Fold((5, 6), 2)"),
]

POOL = [
    row
    for n in (1, 2, 3)
    for row in [
        *rows(
            (SHAPES[n],),
            f"MaxPool{n}d(2)",
            f"MaxPool{n}d(3, stride=2, padding=1, ceil_mode=True)",
            f"MaxPool{n}d(2, dilation=2, stride=1)",
            f"AvgPool{n}d(2)",
            f"AvgPool{n}d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)",
            f"AdaptiveAvgPool{n}d(3)",
            f"AdaptiveMaxPool{n}d(3)",
            f"LPPool{n}d(2, 2)",
            f"LPPool{n}d(3, 2, stride=1)",
        ),
        *rows((SMALL[n],), f"MaxPool{n}d(2)", f"AvgPool{n}d(2)", f"AdaptiveAvgPool{n}d(2)"),
    ]
] + [
    *rows((SHAPES[2],), "AdaptiveAvgPool2d((3, None))", "AdaptiveMaxPool2d((None, 2))"),
    *rows((SHAPES[2],), "AvgPool2d(2, divisor_override=3)", "MaxPool2d((2, 3), stride=(2, 1))"),
    *rows((SHAPES[3],), "AvgPool3d((2, 1, 2), divisor_override=3)"),
]

PADDING = [
    row
    for n in (1, 2, 3)
    for row in rows(
        (SHAPES[n],),
        f"ConstantPad{n}d(1, 2.5)",
        f"ConstantPad{n}d({tuple(range(2 * n))}, -1.0)",
        f"ZeroPad{n}d(2)",
        f"ReflectionPad{n}d(2)",
        f"ReplicationPad{n}d({tuple(range(2 * n))[::-1]})",
        f"CircularPad{n}d(1)",
    )
]

NORM = [
    row
    for n in (1, 2, 3)
    for row in [
        *rows(
            (SHAPES[n],),
            f"BatchNorm{n}d(4)",
            f"BatchNorm{n}d(4, eps=1e-3, momentum=0.3, affine=False)",
            f"BatchNorm{n}d(4, track_running_stats=False)",
            f"BatchNorm{n}d(4, momentum=None, bias=False)",
            f"InstanceNorm{n}d(4)",
            f"InstanceNorm{n}d(4, affine=True, track_running_stats=True)",
            tol=2e-5,
        ),
        *rows((SHAPES[n],), f"BatchNorm{n}d(4)", train=False),
        *rows((SMALL[n],), f"InstanceNorm{n}d(4, affine=True)"),
        *rows((SHAPES[n],), f"LazyBatchNorm{n}d()", f"LazyInstanceNorm{n}d()", tol=2e-5),
    ]
] + [
    *rows((F(6, 4),), "BatchNorm1d(4)"),
    *rows((SHAPES[2],), "SyncBatchNorm(4)", train=False),
    *rows((F(3, 4, 5),), "LayerNorm(5)", "LayerNorm((4, 5), bias=False)", "LayerNorm([4, 5], 1e-3, False)"),
    *rows((F(3, 4, 5),), "RMSNorm(5)", "RMSNorm((4, 5), eps=1e-3)", "RMSNorm(5, elementwise_affine=False)"),
    *rows((SHAPES[2],), "GroupNorm(2, 4)", "GroupNorm(4, 4, affine=False)", "GroupNorm(1, 4, bias=False)"),
    *rows((SHAPES[2],), "LocalResponseNorm(3)", "LocalResponseNorm(2, 0.1, 0.5, 2.0)"),
    *rows((SHAPES[2],), "CrossMapLRN2d(3, 0.1)", "CrossMapLRN2d(2, 0.1)", "CrossMapLRN2d(5, 1.0, 0.5, 2)", grad=False),
]

ACTIVATION = [
    *rows(
        (F(3, 4),),
        "ReLU()", "ReLU6()", "LeakyReLU()", "LeakyReLU(0.3)", "PReLU()", "PReLU(4, init=0.1)",
        "ELU()", "ELU(0.5)", "SELU()", "CELU()", "CELU(0.7)", "GELU()", "GELU('tanh')", "SiLU()",
        "Mish()", "Softplus()", "Softplus(2.0, 1.0)", "Softsign()", "Tanh()", "Sigmoid()",
        "Hardtanh()", "Hardtanh(-0.5, 0.25)", "Hardswish()", "Hardsigmoid()", "Hardshrink()",
        "Hardshrink(0.2)", "Softshrink()", "Softshrink(0.2)", "Tanhshrink()", "LogSigmoid()",
        "Threshold(0.1, 20)", "GLU()", "GLU(1)", "Softmin(1)", "Softmax(1)", "LogSoftmax(1)",
        "Softmax(-2)",
    ),
    *rows((F(3, 4),), "RReLU()", train=False),
    *rows((F(2, 3, 4, 5),), "Softmax2d()"),
    *rows((F(3, 4),), "Dropout()", "AlphaDropout()", "FeatureAlphaDropout(0.2)", train=False),
    *rows((F(3, 4),), "Dropout(0.0)", "Dropout(1.0)"),
    *rows((SMALL[1],), "Dropout1d(0.3)", train=False),
    *rows((SHAPES[2],), "Dropout2d(0.3)", train=False),
    *rows((SHAPES[3],), "Dropout3d(0.3)", train=False),
]  # fmt: skip

SHAPE = [
    *rows((F(2, 8, 3, 4),), "PixelShuffle(2)", "ChannelShuffle(4)"),
    *rows((F(2, 2, 4, 6),), "PixelUnshuffle(2)"),
    *rows(
        (F(2, 2, 4, 6),),
        "Upsample(scale_factor=2)",
        "Upsample(size=(7, 5))",
        "Upsample(scale_factor=(1.5, 2.0), mode='bilinear')",
        "Upsample(size=9, mode='bilinear', align_corners=True)",
        "Upsample(scale_factor=2, mode='bicubic')",
        "UpsamplingNearest2d(scale_factor=2)",
        "UpsamplingNearest2d(5)",
        "UpsamplingBilinear2d(scale_factor=2)",
    ),
    *rows((F(2, 2, 5),), "Upsample(scale_factor=3, mode='linear')"),
    *rows((F(1, 2, 2, 3, 4),), "Upsample(scale_factor=2, mode='trilinear')"),
    *rows((F(3, 4), F(3, 4)), "CosineSimilarity()", "PairwiseDistance()", "PairwiseDistance(1.0, keepdim=True)"),
]

EMBEDDING = [
    *rows(
        (I(7, 2, 3),),
        "Embedding(7, 4)",
        "Embedding(7, 4, padding_idx=-1)",
        "Embedding(7, 4, scale_grad_by_freq=True)",
        "EmbeddingBag(7, 4)",
        "EmbeddingBag(7, 4, mode='sum', padding_idx=1)",
        "EmbeddingBag(7, 4, mode='max')",
    ),
    *rows((I(7, 6), V(0, 2, 2)), "EmbeddingBag(7, 4, mode='sum')", "EmbeddingBag(7, 4)"),
]

RECURRENT = [
    *rows(
        (F(5, 2, 3),),
        "RNN(3, 4)", "RNN(3, 4, nonlinearity='relu')", "RNN(3, 4, 2, 'relu', False)", "GRU(3, 4)", "LSTM(3, 4)", "LSTM(3, 4, bias=False)",
        "LSTM(3, 4, 2, bidirectional=True)", "GRU(3, 4, 2, batch_first=True, bidirectional=True)",
        "LSTM(3, 4, proj_size=2)", "LSTM(3, 4, 2, bidirectional=True, proj_size=3)",
        "RNN(3, 4, num_layers=3, batch_first=True)",
    ),
    *rows((F(5, 3),), "LSTM(3, 4)", "GRU(3, 4, bidirectional=True)", "RNN(3, 4, batch_first=True)"),
    *rows((F(5, 2, 3), F(1, 2, 4)), "GRU(3, 4)", "RNN(3, 4)"),
    *rows((F(5, 3), F(1, 4)), "GRU(3, 4)", "RNN(3, 4)"),
    *rows((F(5, 2, 3), (F(1, 2, 4), F(1, 2, 4))), "LSTM(3, 4)"),
    *rows((F(5, 2, 3), (F(2, 2, 2), F(2, 2, 4))), "LSTM(3, 4, proj_size=2, bidirectional=True)"),
    *rows((F(2, 3),), "RNNCell(3, 4)", "RNNCell(3, 4, bias=False, nonlinearity='relu')", "GRUCell(3, 4)", "LSTMCell(3, 4)"),
    *rows((F(2, 3), F(2, 4)), "RNNCell(3, 4)", "GRUCell(3, 4, bias=False)"),
    *rows((F(3), F(4)), "RNNCell(3, 4)", "GRUCell(3, 4)"),
    *rows((F(2, 3), (F(2, 4), F(2, 4))), "LSTMCell(3, 4)"),
    *rows((F(3), (F(4), F(4))), "LSTMCell(3, 4)"),
]  # fmt: skip

ATTENTION = [
    *rows(
        (F(5, 2, 8), F(6, 2, 8), F(6, 2, 8)),
        "MultiheadAttention(8, 2)",
        "MultiheadAttention(8, 4, bias=False)",
        "MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)",
    ),
    *rows((F(5, 2, 8), F(6, 2, 4), F(6, 2, 3)), "MultiheadAttention(8, 2, kdim=4, vdim=3)"),
    *rows((F(2, 5, 8), F(2, 6, 8), F(2, 6, 8)), "MultiheadAttention(8, 2, batch_first=True)"),
    *rows((F(5, 8), F(6, 8), F(6, 8)), "MultiheadAttention(8, 2)"),
    *rows(
        (F(5, 2, 8),),
        "TransformerEncoderLayer(8, 2, 16, 0.0)",
        "TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True)",
        "TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, bias=False)",
        "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True), 2, enable_nested_tensor=False)",
    ),
    *rows(
        (F(5, 2, 8), F(6, 2, 8)),
        "TransformerDecoderLayer(8, 2, 16, 0.0)",
        "TransformerDecoderLayer(8, 2, 16, 0.0, nn.GELU(), norm_first=True)",
        "TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2, nn.LayerNorm(8))",
    ),
    *rows((F(2, 6, 8), F(2, 5, 8)), "Transformer(8, 2, 1, 2, 16, 0.0, batch_first=True)", tol=5e-5),
]

_same = (F(4, 3), F(4, 3))
LOSS = [
    *rows(_same, "MSELoss()", "MSELoss(reduction='sum')", "L1Loss()", "SmoothL1Loss(beta=0.5)", "HuberLoss(delta=0.3)", "HuberLoss('none')"),
    *rows((F(4, 3), I(3, 4)), "CrossEntropyLoss()", "CrossEntropyLoss(label_smoothing=0.2, ignore_index=1)", "NLLLoss()", "NLLLoss(reduction='sum')", "MultiMarginLoss()", "MultiMarginLoss(2, 0.5)"),
    *rows((F(4, 3), F(4, 3, low=0.1, high=1.0)), "CrossEntropyLoss(reduction='none')", "KLDivLoss(reduction='batchmean')", "PoissonNLLLoss()", "PoissonNLLLoss(full=True)"),
    *rows((F(4, 3, low=0.1, high=0.9), F(4, 3, low=0.0, high=1.0)), "BCELoss()", "BCELoss(reduction='sum')"),
    *rows((F(4, 3), F(4, 3, low=0.0, high=1.0)), "BCEWithLogitsLoss()", "MultiLabelSoftMarginLoss()"),
    *rows((F(4, 3), F(4, 3), F(4, 3, low=0.1, high=1.0)), "GaussianNLLLoss()", "GaussianNLLLoss(full=True, reduction='sum')", "TripletMarginLoss()", "TripletMarginLoss(2.0, 1.0, swap=True)", "TripletMarginWithDistanceLoss()"),
    *rows((F(4), V(1, -1, -1, 1)), "HingeEmbeddingLoss()", "HingeEmbeddingLoss(0.3)", "SoftMarginLoss()"),
    *rows((F(4), F(4), V(1, -1, -1, 1)), "MarginRankingLoss()", "MarginRankingLoss(0.5)"),
    *rows((F(4, 3), F(4, 3), V(1, -1, -1, 1)), "CosineEmbeddingLoss()", "CosineEmbeddingLoss(0.2)"),
    *rows((F(4), V(3, 0, -1, 1)), "MultiLabelMarginLoss()"),
    *rows((F(6, 2, 4), V((1, 2), (3, 3)), V(6, 5), V(2, 2)), "CTCLoss()", "CTCLoss(reduction='sum')", "CTCLoss(0, 'none', zero_infinity=True)"),
    *rows((F(4, 8), I(10, 4)), "AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)", "AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)"),
]  # fmt: skip

CONTAINER = [
    *rows(
        (F(5, 4),),
        "Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))",
        "Sequential(OrderedDict(a=nn.Linear(4, 3), b=nn.Tanh()))",
        "DataParallel(nn.Linear(4, 3))",
    )
]

LAYERS = [
    *LINEAR, *CONV, *FOLD, *POOL, *PADDING, *NORM, *ACTIVATION, *SHAPE, *EMBEDDING, *RECURRENT,
    *ATTENTION, *LOSS, *CONTAINER,
]  # fmt: skip
