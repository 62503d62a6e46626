"""LazyModuleMixin: a module whose parameters take their shapes from the first input."""

from __future__ import annotations

import itertools
from typing import Any

from ..parameter import is_lazy


class LazyModuleMixin:
    """What makes a layer lazy: parameters get their shapes from the first input.

    Used as the first base class, before the layer's. After the first call the object's class is
    `cls_to_become`.

    Args:
        args, kwargs: handed on to the layer.

    Example:
        >>> layer = nn.LazyLinear(2)
        >>> layer.has_uninitialized_params()
        True
        >>> _ = layer(torch.zeros(1, 3))
        >>> type(layer).__name__
        'Linear'
    """

    cls_to_become: Any = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(
        self: Any,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Give parameters the shapes that they have in a checkpoint, before it is loaded."""
        for name, param in itertools.chain(self._parameters.items(), self._buffers.items()):
            key = prefix + name
            if key in state_dict and param is not None and is_lazy(param):
                value = state_dict[key]
                if not is_lazy(value):
                    param.materialize(value.shape)

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call; subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Return whether a parameter or buffer still has no shape."""
        members = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(p) for p in members)

    def _infer_parameters(self: Any, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self: Any) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )
