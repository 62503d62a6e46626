"""Every op, one folder per family. Importing this package defines those that nearly every program uses; others load late."""

from .create import filled, from_data, like, ranges  # noqa: F401 - each defines its ops on import
from .index import indexing, slices  # noqa: F401
from .late import load_all  # noqa: F401
from .matrix import matmul  # noqa: F401
from .memory import casting, copies, query, storage  # noqa: F401
from .pointwise import arithmetic, compare, unary  # noqa: F401
from .random import draws, generator  # noqa: F401
from .reduce import extremes, sums, truth  # noqa: F401
from .shape import dim_order, expand, join, rearrange, reshape, split  # noqa: F401
