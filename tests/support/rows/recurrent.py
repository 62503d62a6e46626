"""Rows of the recurrent functions."""

from optable import Row, T

B, F, H = 2, 2, 2
_SIZES = T(3, dtype="int", value=[2, 2, 1])


def weights(gates: int, width: int = F, bias: bool = True, hidden: int = H) -> list[T]:
    made = [T(gates * H, width, low=-1, high=1), T(gates * H, hidden, low=-1, high=1)]
    return made + ([T(gates * H), T(gates * H)] if bias else [])


def state(cells: int = 1, width: int = H) -> T:
    return T(cells, B, width)


_TAIL = (True, 1, 0.0, False, False)  # biases, one layer, no dropout, not training, one direction

ROWS = [
    Row("lstm", T(B, 3, F), [state(), state()], weights(4, bias=False), False, 1, 0.0, False, False,
        True),
    Row("lstm", T(2, B, F), [state(4), state(4)],
        weights(4) + weights(4) + weights(4, 2 * H) + weights(4, 2 * H), True, 2, 0.0, False, True,
        False),
    Row("lstm", T(5, F), _SIZES, [state(), state()], weights(4), *_TAIL, _meta=False),
    Row("lstm", T(2, B, F), [state(1, 1), state()], [*weights(4, hidden=1), T(1, H)], *_TAIL, False,
        _id="projected", _dtypes=("float64",)),
    Row("gru", T(2, B, F), state(2), weights(3, bias=False) * 2, False, 1, 0.0, False, True, False),
    Row("rnn_tanh", T(5, F), _SIZES, state(), weights(1), *_TAIL, _meta=False),
    Row("rnn_relu", T(3, B, F), state(), weights(1), *_TAIL, False),
    Row("lstm", T(2, B, F), [state(2), state(2)], weights(4) + weights(4, H), True, 2, 0.5, True,
        False, False, _nondet=True, _id="dropout"),
    Row("lstm_cell", T(B, F), [T(B, H), T(B, H)], *weights(4)),
    Row("gru_cell", T(B, F), T(B, H), *weights(3)),
    Row("rnn_tanh_cell", T(B, F), T(B, H), *weights(1)),
    Row("rnn_relu_cell", T(B, F), T(B, H), *weights(1)),
]  # fmt: skip
