"""Selective checkpoints: which operators' results are kept, and which are computed again in backward."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """What `create_selective_checkpoint_contexts` does with an operator's result.

    Example:
        >>> from rushlight.utils.checkpoint import CheckpointPolicy
        >>> CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second run.

    Args:
        is_recompute: True in backward.

    Example:
        >>> from rushlight.utils.checkpoint import SelectiveCheckpointContext
        >>> SelectiveCheckpointContext(is_recompute=True).is_recompute
        True
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


_KEPT = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class _Keeping(TorchDispatchMode):
    """The first run: asks the policy about each operator; `kept` has an entry for each call of each operator."""

    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[Any]]) -> None:
        super().__init__()
        self.policy, self.kept = policy, kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        about = SelectiveCheckpointContext(is_recompute=False)
        keep = self.policy(about, func, *args, **kwargs) in _KEPT
        out = func(*args, **kwargs)
        outs = out if isinstance(out, (tuple, list)) else [out]
        versions = [(t, t._version) for t in outs if isinstance(t, Tensor)]
        self.kept[func].append((out, versions) if keep else None)
        return out


class _Giving(TorchDispatchMode):
    """The second run: what was kept is not computed again."""

    def __init__(self, kept: dict[Any, list[Any]], mutation: bool) -> None:
        super().__init__()
        self.kept, self.mutation = kept, mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rows = self.kept.get(func)
        if not rows:
            raise RuntimeError(
                f"{func} encountered during backward, but not found in storage; the second run of a checkpoint has "
                "to call the same operators as the first"
            )
        row = rows.pop(0)
        if row is None:
            return func(*args, **(kwargs or {}))
        out, versions = row
        if not self.mutation and any(t._version != was for t, was in versions):
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. "
                "allow_cache_entry_mutation=True uses it as it is."
            )
        return out


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Two contexts for `checkpoint(context_fn=...)`: results of chosen operators are kept instead of computed again.

    Args:
        policy_fn_or_list: a function of (context, operator, arguments) that returns a CheckpointPolicy, or a list
            of operators whose results are kept.
        allow_cache_entry_mutation: whether a kept result may be changed in place before backward.

    Example:
        >>> from functools import partial
        >>> from rushlight.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> keep_products = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
        >>> w = torch.eye(2, requires_grad=True)
        >>> y = checkpoint(lambda x: (x @ w).sin(), torch.ones(1, 2), use_reentrant=False, context_fn=keep_products)
        >>> y.sum().backward()
        >>> w.grad.shape
        torch.Size([2, 2])
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not hasattr(op, "_overloadpacket"):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
                )
        chosen = set(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _Giving(kept, allow_cache_entry_mutation)
