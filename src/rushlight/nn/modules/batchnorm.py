"""Batch normalisation layers."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.device import device
from ...base.dtypes import dtype
from ...core.overriding import nobody_asks
from ...core.tensor import Tensor
from ...operators.create.filled import empty, ones, zeros
from ...operators.create.from_data import tensor
from ...operators.layers.batch_norm import batch_norm, batch_norm_learn, check_eps, learning_batch_norm
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
    "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """Scale and shift per channel, and running statistics."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    weight: Parameter
    bias: Parameter
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_features, **where)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_features, **where)) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, **where))
            self.register_buffer("running_var", ones(num_features, **where))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=dtypes.int64, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics, set the scale to 1 and the shift to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

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
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # files of version 1 have no batch counter
            count = self.num_batches_tracked
            known = count is not None and not count.is_meta
            state_dict[key] = count if known else tensor(0, dtype=dtypes.int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Normalise over the batch, per channel."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            if (
                self.momentum is not None
                and batch_norm_learn.joins(input)
                and F.batch_norm is batch_norm  # which this goes past
                and nobody_asks(input, self.running_mean, self.running_var, self.weight, self.bias)
            ):
                return self._learn(input, factor)
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            use_batch,
            factor,
            self.eps,
        )

    def _learn(self, input: Tensor, factor: float) -> Tensor:
        """By one kernel that also counts the batch; one that is refused is counted, too, as PyTorch counts before it looks."""
        before = self.num_batches_tracked._version
        try:
            check_eps(self.eps)
            return learning_batch_norm(
                input, self.running_mean, self.running_var, self.num_batches_tracked,
                self.weight, self.bias, factor, self.eps,
            )  # fmt: skip
        except Exception:
            if self.num_batches_tracked._version == before:
                self.num_batches_tracked.add_(1)
            raise


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of vectors or signals: every channel to mean 0, variance 1 over the batch.

    Args:
        num_features, eps, momentum, affine, track_running_stats, bias: as in `BatchNorm2d`.

    Shape:
        (N, C) or (N, C, L) -> the same.

    Raises:
        ValueError: if the input has another number of dimensions, or has one value per channel in
            training.

    Example:
        >>> x = torch.tensor([[0.0, 10.0], [2.0, 30.0]])
        >>> nn.BatchNorm1d(2)(x).detach()
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images: every channel to mean 0, variance 1 over the batch.

    In training the statistics are those of the batch, and running averages of them are kept; in
    evaluation the running averages are used.

    Args:
        num_features: number of channels C.
        eps: added to the variance before the root is taken.
        momentum: weight of the newest batch in the running statistics; None for a plain average.
        affine: False leaves out `weight` and `bias`.
        track_running_stats: False keeps no statistics; evaluation then uses the batch as well.
        bias: False leaves out `bias` alone.

    Shape:
        (N, C, H, W) -> the same.

    Attributes:
        weight: (C,), ones to begin with.
        bias: (C,), zeros to begin with.
        running_mean, running_var: (C,), what evaluation uses.
        num_batches_tracked: how many batches were seen.

    Raises:
        ValueError: if the input has another number of dimensions, or has one value per channel in
            training.

    Example:
        >>> layer = nn.BatchNorm2d(3)
        >>> y = layer(torch.rand(8, 3, 4, 4))
        >>> y.shape, bool(y.mean((0, 2, 3)).abs().max() < 1e-5)
        (torch.Size([8, 3, 4, 4]), True)
        >>> layer.num_batches_tracked
        tensor(1)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """As `BatchNorm2d`, of volumes (N, C, D, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes that train together.

    In a group of one process, and in evaluation, it computes what `BatchNorm2d` computes.

    Args:
        num_features, eps, momentum, affine, track_running_stats, bias: as in `BatchNorm2d`.
        process_group: the processes that share statistics; all of them if None.

    Shape:
        (N, C, *) -> the same.

    Example:
        >>> net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
        SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        from ... import distributed
        from .sync_batchnorm import normalised

        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        if not use_batch or not distributed.is_initialized():
            return super().forward(input)
        group = self.process_group or distributed.group.WORLD
        if distributed.get_world_size(group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        return normalised(self, input, group)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with every BatchNorm in it replaced by a SyncBatchNorm of the same state.

        Args:
            module: a module that may contain batch norms, or is one.
            process_group: the processes that share statistics; all of them if None.
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            sync = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            for table in ("_parameters", "_buffers"):
                getattr(sync, table).update(getattr(module, table))
            sync.training = module.training
            return sync
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module


class _LazyNormBase(LazyModuleMixin):
    """The first base class of lazy norms: `num_features` comes from the first input."""

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # no sizes yet: affine and track_running_stats stay off while the base class is made
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**where)
            if bias:
                self.bias = UninitializedParameter(**where)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**where)
            self.running_var = UninitializedBuffer(**where)
            self.num_batches_tracked = tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            waiting = [self.weight, self.bias, self.running_mean, self.running_var]
            for t in waiting:
                if t is not None:
                    t.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """As `LazyBatchNorm2d`: a BatchNorm1d that takes `num_features` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A BatchNorm2d that takes `num_features` from its first input.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm2d`.

    Example:
        >>> layer = nn.LazyBatchNorm2d()
        >>> layer(torch.zeros(4, 5, 2, 2)).shape
        torch.Size([4, 5, 2, 2])
        >>> layer.num_features
        5
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """As `LazyBatchNorm2d`: a BatchNorm3d that takes `num_features` from its first input."""

    cls_to_become = BatchNorm3d
