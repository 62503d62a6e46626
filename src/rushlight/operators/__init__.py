"""Every op, one folder per family; importing this package defines them and gives Tensor its methods."""

from . import foreach, update  # noqa: F401 - as every module below, it defines its ops on import
from .create import filled, from_data, legacy, like, ranges, wrapper  # noqa: F401
from .image import fold, grid, padding, resample  # noqa: F401
from .index import gather, indexing, masked, scatter_reduce, slices  # noqa: F401
from .late import LATE, load_all, load_late  # noqa: F401
from .layers import (  # noqa: F401
    batch_norm,
    conv,
    conv_kernels,
    dropout,
    embedding,
    embedding_bag,
    group_norm,
    instance_norm,
    layer_norm,
    linear,
    normalize,
    pool,
    pool_fractional,
    softmax,
)
from .layers.attention import attention, multi_head  # noqa: F401
from .loss import cross_entropy, difference, distance, margin  # noqa: F401
from .matrix import add_product, einsum, matmul, products  # noqa: F401
from .memory import casting, copies, interop, query, sharing, storage  # noqa: F401
from .pointwise import (  # noqa: F401
    activation,
    activation_smooth,
    arithmetic,
    bitwise,
    compare,
    complex,
    pairs,
    rounding,
    select,
    special,
    unary,
)
from .random import draws, generator, sampling  # noqa: F401
from .reduce import (  # noqa: F401
    counting,
    differences,
    extremes,
    quantiles,
    scan,
    sorting,
    statistics,
    sums,
    truth,
    vector_norm,
)
from .shape import (  # noqa: F401
    combine,
    diagonal,
    dim_order,
    expand,
    join,
    rearrange,
    reshape,
    reshape_inplace,
    split,
    strided,
    view_copies,
    windows,
)
