"""Below the door: raw arrays, kernels and devices; no Tensor lives here."""

from __future__ import annotations

from . import cuda, devices


def _meta() -> devices.Backend:
    from .meta import MetaBackend  # most programs never need it

    return MetaBackend()


devices.known.loaders.update(cuda=cuda.load, meta=_meta)
