"""Instance normalisation layers."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    """Normalise every channel of every example by itself."""

    _n: int  # spatial dimensions

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def _check_channels(self, input: Tensor, dim: int) -> None:
        if input.size(dim) == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features "
                f"({self.num_features}), but got: {input.size(dim)}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self._n + 1
        self._check_channels(input, 0 if unbatched else 1)
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return out.squeeze(0) if unbatched else out

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        version = local_metadata.get("version", None)
        if version is None and not self.track_running_stats:
            running = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if running:
                names = " and ".join(f'"{k}"' for k in running)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, "
                    "this may be expected because its default was different: remove these keys "
                    "before loading."
                )
                for key in running:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """As `InstanceNorm2d`, of signals (N, C, L), or (C, L)."""

    _n = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalise every channel of each of the images by itself to mean 0 and variance 1.

    Args:
        num_features: number of channels C.
        eps: added to the variance before the root is taken.
        momentum: weight of the newest batch in the running statistics.
        affine: True adds a learnt `weight` and `bias` per channel.
        track_running_stats: True keeps running statistics and uses them in evaluation.
        bias: False leaves out `bias` alone.

    Shape:
        (N, C, H, W) or (C, H, W) -> the same.

    Example:
        >>> y = nn.InstanceNorm2d(3)(torch.rand(2, 3, 8, 8))
        >>> y.shape, bool(y.mean((2, 3)).abs().max() < 1e-5)
        (torch.Size([2, 3, 8, 8]), True)
    """

    _n = 2


class InstanceNorm3d(_InstanceNorm):
    """As `InstanceNorm2d`, of volumes (N, C, D, H, W), or (C, D, H, W)."""

    _n = 3


class _LazyInstanceNorm(_LazyNormBase):
    """The first base class of lazy instance norms; an input without batch has channels first."""

    _n: int

    def initialize_parameters(self: Any, input: Tensor) -> None:
        batched = input if input.dim() == self._n + 2 else input.unsqueeze(0)
        super().initialize_parameters(batched)


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """As `LazyInstanceNorm2d`: an InstanceNorm1d that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """An InstanceNorm2d that takes `num_features` from its first input.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `InstanceNorm2d`.

    Example:
        >>> layer = nn.LazyInstanceNorm2d()
        >>> layer(torch.zeros(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
        >>> layer.num_features
        3
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """As `LazyInstanceNorm2d`: an InstanceNorm3d that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm3d
