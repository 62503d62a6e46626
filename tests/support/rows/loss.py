"""Rows of the losses."""

import numpy as np

from optable import Row, T

ALL = ("float32", "float64", "float16", "bfloat16")
CLASSES = {"dtype": "index:4"}


def signs(*shape: int) -> T:
    """Targets of 1 and -1."""
    places = np.arange(np.prod(shape)).reshape(shape)
    return T(*shape, dtype="int", value=np.where(places % 3, 1, -1))


def weights(*shape: int) -> T:
    return T(*shape, kind="positive", grad=False)


ROWS = []
for _r in ("mean", "sum", "none"):
    ROWS += [
        Row("F.cross_entropy", T(5, 4), T(5, **CLASSES), ignore_index=2, reduction=_r),
        Row("F.cross_entropy", T(5, 4), T(5, **CLASSES), label_smoothing=0.2, reduction=_r),
        Row("F.cross_entropy", T(5, 4), T(5, **CLASSES), weights(4), ignore_index=1,
            label_smoothing=0.1, reduction=_r),
        Row("F.cross_entropy", T(2, 4, 3), T(2, 3, **CLASSES), reduction=_r),
        Row("F.cross_entropy", T(4), T(**CLASSES), reduction=_r),
        Row("F.cross_entropy", T(3, 4), T(3, 4, kind="positive"), weights(4), reduction=_r),
        Row("F.cross_entropy", T(2, 4, 3), T(2, 4, 3, kind="positive"), label_smoothing=0.3,
            reduction=_r),
        Row("F.nll_loss", T(5, 4), T(5, **CLASSES), reduction=_r, _dtypes=ALL),
        Row("F.nll_loss", T(5, 4), T(5, **CLASSES), weights(4), ignore_index=1, reduction=_r),
        Row("F.mse_loss", T(3, 4), T(3, 4), reduction=_r, _dtypes=ALL),
        Row("F.l1_loss", T(3, 4, low=1, high=2), T(3, 4, low=-2, high=0), reduction=_r),
        Row("F.smooth_l1_loss", T(3, 4), T(3, 4), reduction=_r, beta=0.7),
        Row("F.smooth_l1_loss", T(3, 4, low=1, high=2), T(3, 4, low=-2, high=0), reduction=_r, beta=0.0),
        Row("F.huber_loss", T(3, 4), T(3, 4), reduction=_r, delta=0.6),
        Row("F.binary_cross_entropy", T(3, 4, low=0.1, high=0.9), T(3, 4, low=0.1, high=0.9),
            reduction=_r),
        Row("F.binary_cross_entropy", T(3, 4, low=0.1, high=0.9), T(3, 4, low=0.1, high=0.9),
            weights(4), reduction=_r),
        Row("F.binary_cross_entropy_with_logits", T(3, 4), T(3, 4, low=0.1, high=0.9),
            reduction=_r),
        Row("F.binary_cross_entropy_with_logits", T(3, 4), T(3, 4, low=0.1, high=0.9),
            weights(3, 4), reduction=_r, pos_weight=weights(4)),
        Row("F.kl_div", T(3, 4), T(3, 4, kind="positive"), reduction=_r if _r != "mean" else "batchmean"),
        Row("F.kl_div", T(3, 4), T(3, 4), reduction=_r if _r != "mean" else "batchmean",
            log_target=True),
        Row("F.hinge_embedding_loss", T(3, 4, kind="nonzero"), signs(3, 4), 0.1, reduction=_r),
        Row("F.cosine_embedding_loss", T(5, 4), T(5, 4), signs(5), 0.1, reduction=_r),
        Row("F.margin_ranking_loss", T(6), T(6), signs(6), 0.3, reduction=_r),
        Row("F.multi_margin_loss", T(5, 4), T(5, **CLASSES), reduction=_r),
        Row("F.multi_margin_loss", T(5, 4), T(5, **CLASSES), 2, 0.7, weights(4), reduction=_r),
        Row("F.multilabel_soft_margin_loss", T(3, 4), T(3, 4, dtype="index:2"), weights(4),
            reduction=_r),
        Row("F.soft_margin_loss", T(3, 4), signs(3, 4), reduction=_r),
        Row("F.triplet_margin_loss", T(3, 4), T(3, 4), T(3, 4), 2.0, 1.0, swap=True, reduction=_r),
        Row("F.triplet_margin_with_distance_loss", T(3, 4), T(3, 4), T(3, 4), reduction=_r),
        Row("F.poisson_nll_loss", T(3, 4), T(3, 4, low=0, high=5, grad=False), reduction=_r),
        Row("F.poisson_nll_loss", T(3, 4, kind="positive"), T(3, 4, low=0, high=5, grad=False),
            log_input=False, full=True, reduction=_r),
        # its check of the variance reads values, which meta tensors do not have
        Row("F.gaussian_nll_loss", T(3, 4), T(3, 4), T(3, 4, kind="positive"), full=True,
            reduction=_r, _meta=False),
        Row("F.gaussian_nll_loss", T(3, 4), T(3, 4), T(3, kind="positive"), reduction=_r,
            _meta=False),
    ]  # fmt: skip

ROWS += [
    Row("F.cross_entropy", T(3, 4), T(3, **CLASSES), _dtypes=ALL, _id="half"),
    Row("F.mse_loss", T(0, 3), T(0, 3)),
    Row("F.mse_loss", T(3, 4), T(3, 4), weight=weights(3, 4)),
    Row("F.l1_loss", T(3, 4, low=1, high=2), T(3, 4, low=-2, high=0), weight=weights(3, 4)),
    Row("F.huber_loss", T(3, 4), T(3, 4), weight=weights(3, 4)),
    Row("F.multilabel_margin_loss", T(2, 4), T(2, 4, dtype="int", value=[[0, 2, -1, 1], [3, -1, 0, 0]])),
    # torch's derivative of ctc_loss is the one behind a log_softmax, so numbers cannot confirm it: too
    # large for the numeric checks, or without any
    Row("F.ctc_loss", T(7, 3, 4, low=-3, high=-0.1),
        T(3, 2, dtype="int", value=[[1, 2], [2, 2], [3, 1]]), (7, 5, 6), (2, 2, 1), reduction="none"),
    Row("F.ctc_loss", T(6, 2, 3, low=-2, high=-0.1), T(3, dtype="int", value=[1, 2, 2]),
        (6, 5), (1, 2), _grad=False),
    Row("F.ctc_loss", T(2, 1, 3, low=-2, high=-0.1), T(1, 2, dtype="int", value=[[2, 2]]), (2,), (2,),
        zero_infinity=True, _grad=False),
]  # fmt: skip
