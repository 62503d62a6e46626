"""Names of functions that can be asked of the values alone, and of operators."""

from __future__ import annotations

# Of one tensor: copies, dtypes, devices, filling, and random numbers.
OF_VALUES = frozenset("""
    alpha_dropout bfloat16 bool byte char clone cpu cuda detach detach_ dropout double empty_like fill_ float
    full_like half int long normal_ ones_like pin_memory rand_like randint_like randn_like short to type uniform_
    bernoulli_ zero_ zeros_like
""".split())  # fmt: skip

# Python's operators, where they are not methods by their own name.
_OPERATORS = {
    "rsub": "rsub", "rtruediv": "reciprocal", "rpow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "rand": "bitwise_and", "ror": "bitwise_or", "rxor": "bitwise_xor",
    "invert": "bitwise_not", "floordiv": "floor_divide", "rfloordiv": "floor_divide", "mod": "remainder", "rmod": "remainder",
    "truediv": "div", "radd": "add", "rmul": "mul", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "add": "add", "sub": "sub", "mul": "mul", "pow": "pow",
    "neg": "neg", "pos": "positive", "abs": "abs", "matmul": "matmul", "rmatmul": "rmatmul", "getitem": "getitem",
}  # fmt: skip


def plain_name(func: object) -> str:
    """What a function is called without the marks of operators; in-place forms keep theirs."""
    name = getattr(func, "__name__", str(func))
    if name.startswith("__"):
        return _OPERATORS.get(name.strip("_"), name)
    return name
