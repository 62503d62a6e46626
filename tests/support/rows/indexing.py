"""Rows of brackets and index_put."""

from optable import Row, T

MASK = T(3, value=[True, False, True], dtype="bool")
MASK2 = T(2, 3, value=[[True, False, True], [False, True, False]], dtype="bool")


def at(*shape: int, size: int) -> T:
    return T(*shape, dtype=f"index:{size}")


def get(x: T, index: object, name: str, **options: object) -> Row:
    return Row("Tensor.__getitem__", x, index, _id=name, **options)


ROWS = [
    get(T(3, 4), 0, "int"),
    get(T(3, 4), -1, "negative"),
    get(T(3, 4), (1, 2), "ints"),
    get(T(3, 4), slice(1, 3), "slice"),
    get(T(5, 4), slice(None, None, 2), "step"),
    get(T(3, 4), slice(3, 1), "empty"),
    get(T(3, 4), None, "none"),
    get(T(3, 4), ..., "ellipsis"),
    get(T(2, 3, 4), (0, ..., None, slice(1, 2)), "mixed-basic"),
    get(T(), (), "scalar"),
    get(T(), None, "scalar-none"),
    get(T(3, 4), True, "true", _meta=False),
    get(T(3, 4), False, "false", _meta=False),
    get(T(3, 4), [0, 2, 0], "list"),
    get(T(3, 4), [], "empty-list"),
    get(T(3, 4), at(5, size=3), "tensor"),
    get(T(3, 4), at(2, 2, size=3), "tensor2"),
    get(T(3, 4), at(size=3), "tensor0", _meta=False),
    get(T(3, 4), (slice(None), at(3, size=4)), "column-tensor"),
    get(T(2, 3, 4), (at(2, size=2), slice(None), at(2, size=4)), "apart"),
    get(T(2, 3, 4), (at(2, 1, size=2), at(3, size=3)), "together"),
    get(T(2, 3, 4), (0, slice(None), at(2, size=4)), "int-and-tensor"),
    get(T(2, 3, 4), (at(2, size=2), None, at(2, size=3)), "none-between"),
    get(T(2, 3, 4), (..., at(2, size=4)), "ellipsis-tensor"),
    get(T(2, 3, 4), (slice(1), at(2, size=3), slice(0, 4, 2)), "window-and-tensor"),
    get(T(3, 4), MASK, "mask", _meta=False),
    get(T(2, 3, 4), MASK2, "mask2", _meta=False),
    get(T(2, 3, 4), (slice(None), MASK), "mask-later", _meta=False),
    get(T(3, 4), (MASK, at(2, size=4)), "mask-and-tensor", _meta=False),
    get(T(3, 4), (MASK, 1), "mask-and-int", _meta=False),
    Row("index_put", T(3, 4), (T(2, value=[2, 0], dtype="int64"), at(2, size=4)), T(1)),
    Row("index_put", T(3, 4), (at(2, 2, size=3), at(2, size=4)), T(), accumulate=True),
    Row("index_put", T(3, 4), (MASK,), T(1, 4), _id="mask", _meta=False),
]
