"""How one module is cut: its matrices by columns or rows, its inputs along the sequence."""

from __future__ import annotations

from typing import Any

from ....core.tensor import Tensor
from ..dtensor import DTensor, distribute_tensor
from ..making import as_parameter, distribute_module
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel",
]  # fmt: skip


class ParallelStyle:
    """What `parallelize_module` does to a module; the base of the styles.

    Example:
        >>> from rushlight.distributed.tensor.parallel import ColwiseParallel, ParallelStyle
        >>> isinstance(ColwiseParallel(), ParallelStyle)
        True
    """

    src_data_rank: int | None = 0

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise NotImplementedError

    def _cut(self, module: Any, mesh: Any, kinds: dict[str, Placement]) -> None:
        """Replace parameters by spread ones; those without a placement of their own are whole."""
        for name, p in list(module._parameters.items()):
            if p is not None and not isinstance(p, DTensor):
                kind = kinds.get(name, Replicate())
                made = distribute_tensor(p, mesh, [kind], src_data_rank=self.src_data_rank)
                module._parameters[name] = as_parameter(made)


def _spread_as(t: Any, mesh: Any, given: Any, wanted: Any) -> Any:
    """An input as a DTensor that lies as wanted."""
    if not isinstance(t, Tensor):
        return t
    if not isinstance(t, DTensor):
        t = DTensor.from_local(t, mesh, given, run_check=False)
    return t if t.placements == tuple(wanted) else t.redistribute(placements=wanted)


def _given_back(t: Any, wanted: Any, local: bool) -> Any:
    if isinstance(t, DTensor):
        t = t.redistribute(placements=wanted)
        return t.to_local() if local else t
    return t


class _MatrixStyle(ParallelStyle):
    """Styles of layers that have a matrix; each says how input and output lie if nothing is given."""

    _input: Placement
    _output: Placement

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or self._input,)
        self.output_layouts = (output_layouts or self._output,)
        self.use_local_output = use_local_output
        self.desired: tuple[Placement, ...] = (Replicate(),)

    def _kinds(self, module: Any) -> dict[str, Placement]:
        raise NotImplementedError

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        kinds = self._kinds(module)
        given, wanted = self.input_layouts, self.desired

        def before(m: Any, inputs: Any, mesh: Any) -> Any:
            first = _spread_as(inputs[0], mesh, given, _positive_of(inputs[0], wanted))
            return (first, *inputs[1:])

        def after(m: Any, out: Any, mesh: Any) -> Any:
            return _given_back(out, self.output_layouts, self.use_local_output)

        cut = lambda name, part, mesh: self._cut(part, mesh, kinds)
        return distribute_module(module, device_mesh, cut, before, after)


def _positive_of(t: Any, kinds: Any) -> tuple[Placement, ...]:
    return tuple([Shard(k.dim % t.dim()) if isinstance(k, Shard) else k for k in kinds])


def _what(module: Any) -> str:
    """ "linear" or "embedding", by the class's name: layers of nn are above this file."""
    names = {cls.__name__ for cls in type(module).__mro__}
    if "Linear" in names:
        return "linear"
    if "Embedding" in names:
        return "embedding"
    raise NotImplementedError("ColwiseParallel and RowwiseParallel only support nn.Linear and nn.Embedding!")


class ColwiseParallel(_MatrixStyle):
    """Cut a Linear's outputs, or an Embedding's columns: each rank computes some of them.

    Args:
        input_layouts: how the input lies; whole on every rank if not given.
        output_layouts: how the output shall lie; cut along its last dimension if not given.
        use_local_output: hand on this rank's part as a plain tensor.

    Example:
        >>> from rushlight.distributed.tensor.parallel import ColwiseParallel
        >>> ColwiseParallel().output_layouts
        (Shard(dim=-1),)
    """

    _input, _output = Replicate(), Shard(-1)

    def _kinds(self, module: Any) -> dict[str, Placement]:
        if _what(module) == "linear":
            return {"weight": Shard(0), "bias": Shard(0)}
        return {"weight": Shard(1)}


class RowwiseParallel(_MatrixStyle):
    """Cut a Linear's inputs, or an Embedding's rows: the ranks' results are added up.

    Args:
        input_layouts: how the input lies; cut along its last dimension if not given.
        output_layouts: how the output shall lie; whole on every rank if not given.
        use_local_output: hand on this rank's part as a plain tensor.

    Example:
        >>> from rushlight.distributed.tensor.parallel import RowwiseParallel
        >>> RowwiseParallel().input_layouts
        (Shard(dim=-1),)
    """

    _input, _output = Shard(-1), Replicate()

    def _kinds(self, module: Any) -> dict[str, Placement]:
        if _what(module) == "linear":
            self.desired = (Shard(-1),)
            return {"weight": Shard(1)}
        self.desired = (Replicate(),)
        return {"weight": Shard(0)}


class SequenceParallel(ParallelStyle):
    """A norm or a dropout over inputs that are cut along the sequence; its parameters are whole.

    Args:
        sequence_dim: the dimension that is cut.
        use_local_output: hand on this rank's part as a plain tensor.

    Example:
        >>> from rushlight.distributed.tensor.parallel import SequenceParallel
        >>> SequenceParallel().sequence_sharding
        (Shard(dim=1),)
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        kinds = self.sequence_sharding

        def before(m: Any, inputs: Any, mesh: Any) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {m} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            return (_spread_as(inputs[0], mesh, kinds, kinds), *inputs[1:])

        def after(m: Any, out: Any, mesh: Any) -> Any:
            return out.to_local() if self.use_local_output and isinstance(out, DTensor) else out

        cut = lambda name, part, mesh: self._cut(part, mesh, {})
        return distribute_module(module, device_mesh, cut, before, after)


def _several(layouts: Any) -> tuple:
    return layouts if isinstance(layouts, tuple) else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """Bring a module's inputs to where it wants them.

    Args:
        input_layouts: how each input lies; None for one that is left as it is.
        desired_input_layouts: how each shall lie.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same for inputs by name.
        use_local_output: give plain tensors to the module.

    Raises:
        AssertionError: if the lengths differ.

    Example:
        >>> from rushlight.distributed.tensor import Replicate, Shard
        >>> from rushlight.distributed.tensor.parallel import PrepareModuleInput
        >>> style = PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate())
        >>> style.desired_input_layouts
        (Replicate(),)
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = None if input_layouts is None else _several(input_layouts)
        self.desired_input_layouts = None if desired_input_layouts is None else _several(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")

    def _one(self, t: Any, mesh: Any, given: Any, wanted: Any) -> Any:
        if given is None or not isinstance(t, Tensor):
            return t
        made = _spread_as(t, mesh, (given,), _positive_of(t, (wanted,)) if wanted is not None else (given,))
        return made.to_local() if self.use_local_output else made

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def before(m: Any, args: Any, kwargs: Any) -> Any:
            if self.input_layouts is not None:
                if len(args) != len(self.input_layouts):
                    raise ValueError("module inputs and input_layouts should have same length!")
                layouts = zip(args, self.input_layouts, self.desired_input_layouts or ())
                args = tuple([self._one(t, device_mesh, a, b) for t, a, b in layouts])
            for name, given in self.input_kwarg_layouts.items():
                if name in kwargs:
                    wanted = self.desired_input_kwarg_layouts.get(name)
                    kwargs[name] = self._one(kwargs[name], device_mesh, given, wanted)
            return args, kwargs

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Bring a module's outputs to where the next one wants them.

    Args:
        output_layouts: how each output lies; None for one that is left as it is.
        desired_output_layouts: how each shall lie.
        use_local_output: hand on this rank's part as a plain tensor.

    Example:
        >>> from rushlight.distributed.tensor import Replicate, Shard
        >>> from rushlight.distributed.tensor.parallel import PrepareModuleOutput
        >>> style = PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
        >>> style.desired_output_layouts
        (Replicate(),)
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts = _several(output_layouts)
        self.desired_output_layouts = _several(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def after(m: Any, args: Any, out: Any) -> Any:
            several = isinstance(out, tuple)
            outs = out if several else (out,)
            if len(outs) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            made = []
            for t, given, wanted in zip(outs, self.output_layouts, self.desired_output_layouts):
                if given is not None and isinstance(t, Tensor):
                    t = _spread_as(t, device_mesh, (given,), _positive_of(t, (wanted,)))
                    t = t.to_local() if self.use_local_output else t
                made.append(t)
            return tuple(made) if several else made[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both: bring a module's inputs and its outputs to where they are wanted.

    Args:
        input_layouts, desired_input_layouts, input_kwarg_layouts, desired_input_kwarg_layouts: as in
            `PrepareModuleInput`.
        use_local_input: give plain tensors to the module.
        output_layouts, desired_output_layouts, use_local_output: as in `PrepareModuleOutput`.

    Example:
        >>> from rushlight.distributed.tensor import Replicate, Shard
        >>> from rushlight.distributed.tensor.parallel import PrepareModuleInputOutput
        >>> style = PrepareModuleInputOutput(
        ...     input_layouts=Shard(0), desired_input_layouts=Replicate(),
        ...     output_layouts=Replicate(), desired_output_layouts=Shard(0))
        >>> style.after.desired_output_layouts
        (Shard(dim=0),)
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.before = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.after = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )  # fmt: skip

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.before._apply(module, device_mesh)
        return self.after._apply(module, device_mesh)
