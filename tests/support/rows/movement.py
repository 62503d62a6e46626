"""Rows of the views that change shape or order."""

from optable import D, Row, T

ROWS = [
    Row("Tensor.view_as", T(3, 4), T(12, grad=False)),
    Row("reshape", T(3, 4), (2, -1)),
    Row("Tensor.reshape", T(3, 4), 12),
    Row("Tensor.reshape_as", T(3, 4), T(2, 6, grad=False)),
    Row("flatten", T(2, 3, 4)),
    Row("flatten", T()),
    Row("ravel", T(2, 3)),
    Row("unflatten", T(2, 6), 1, (2, -1)),
    Row("permute", T(2, 3, 4), (2, 0, 1)),
    Row("Tensor.permute", T(2, 3, 4), -1, 0, 1),
    Row("transpose", T(), 0, -1),
    Row("swapaxes", T(2, 3), 0, 1),
    Row("swapdims", T(2, 3), 0, 1),
    Row("t", T(3)),
    Row("movedim", T(2, 3, 4), 0, 2),
    Row("moveaxis", T(2, 3, 4), (0, 1), (2, 0)),
    Row("Tensor.T", T(2, 3)),
    Row("Tensor.mT", T(2, 3, 4)),
    Row("unsqueeze", T(2, 3), 1),
    Row("squeeze", T(1, 3, 1)),
    Row("Tensor.expand", T(3, 1), 3, 4),
    Row("Tensor.expand_as", T(1, 3), T(2, 3, grad=False)),
    Row("broadcast_to", T(3), (2, 3)),
    Row("Tensor.broadcast_to", T(3), (2, 3)),
    Row("broadcast_tensors", T(3, 1), T(1, 4)),
    Row("Tensor.view", T(2, 4, dtype="int64"), D("int32"), _id="int32"),
]
