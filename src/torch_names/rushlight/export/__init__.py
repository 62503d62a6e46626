"""`torch.export`: a module and an example become a program of public functions, with sizes as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.errors import NotYet
from ..io import load as load_file
from ..io import save as save_file
from ..jit._files import packed, unpacked
from ..jit._trace import check, record
from ..jit._traced import _draws
from ..nn.modules.module import Module

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "export", "load", "save"]


class Dim:
    """A size that may differ. Programs here hold sizes as they were in the example, so it is only a name.

    Args:
        name: of the size.
        min, max: its limits.

    Example:
        >>> torch.export.Dim("batch", min=1).__name__
        'batch'
    """

    AUTO = DYNAMIC = STATIC = None

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        self.__name__, self.min, self.max = name, min, max


@dataclass
class ExportGraphSignature:
    """Which inputs of a program are what, by name.

    Args:
        user_inputs, user_outputs: what callers give and get.
        parameters, buffers: what the module holds.

    Example:
        >>> torch.export.export(nn.Linear(2, 1), (torch.ones(1, 2),)).graph_signature.parameters
        ('weight', 'bias')
    """

    user_inputs: tuple[str, ...]
    user_outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    buffers: tuple[str, ...]


class ExportedProgram:
    """A program of one module, and its parameters.

    Args:
        module: a `GraphModule`.
        example_inputs: what it was recorded with.

    Example:
        >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
        >>> program.module()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(self, module: Any, example_inputs: Any = None) -> None:
        self.graph_module = module
        self.example_inputs = example_inputs

    @property
    def graph(self) -> Any:
        """The program's `fx.Graph`."""
        return self.graph_module.graph

    @property
    def code(self) -> str:
        """The program as Python."""
        return self.graph_module.code

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and buffers by name."""
        return self.graph_module.state_dict(keep_vars=True)

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """Which inputs are what."""
        inputs = tuple([n.name for n in self.graph.nodes if n.op == "placeholder"])
        outputs = tuple([n.name for n in self.graph.output_node().all_input_nodes])
        named = [n for n, _ in self.named_parameters()], [n for n, _ in self.named_buffers()]
        return ExportGraphSignature(inputs, outputs, tuple(named[0]), tuple(named[1]))

    def module(self, check_guards: bool = True) -> Any:
        """The program as a module that is called as the original."""
        return self.graph_module

    def parameters(self) -> Any:
        """The parameters."""
        return self.graph_module.parameters()

    def named_parameters(self) -> Any:
        """The parameters with their names."""
        return self.graph_module.named_parameters()

    def buffers(self) -> Any:
        """The buffers."""
        return self.graph_module.buffers()

    def named_buffers(self) -> Any:
        """The buffers with their names."""
        return self.graph_module.named_buffers()

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program itself: its steps are public functions already."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        return f"ExportedProgram:{self.graph_module.print_readable(print_output=False)}"


def export(
    mod: Module,
    args: tuple,
    kwargs: dict | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Any = (),
    **options: Any,
) -> ExportedProgram:
    """The program of one run of a module; it is then run on other inputs and compared with the module.

    Args:
        mod: the module.
        args, kwargs: example inputs; `args` is a tuple.
        dynamic_shapes: not supported; export one program for each size.
        strict, preserve_module_call_signature, options: accepted and not needed.

    Raises:
        ValueError: if `mod` is not a module, or `args` not a tuple.
        NotImplementedError: if `dynamic_shapes` is given.

    Example:
        >>> program = torch.export.export(nn.ReLU(), (torch.ones(2),))
        >>> [node.op for node in program.graph.nodes]
        ['placeholder', 'call_function', 'output']
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if dynamic_shapes:
        raise NotYet(
            "export.export: rushlight's programs hold sizes as they were in the example. Leave dynamic_shapes out and "
            "export one program for each size."
        )
    if not isinstance(args, tuple):
        raise ValueError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    made = record(mod.forward, mod, args, kwargs, type(mod).__name__)
    if not _draws(made):
        check(mod, made, args, kwargs or {}, 1e-5)
    return ExportedProgram(made, (args, kwargs or {}))


def save(ep: ExportedProgram, f: Any, **kwargs: Any) -> None:
    """Write a program to a file.

    Args:
        ep: an `ExportedProgram`.
        f: a path, or a binary file that is open for writing.

    Raises:
        TypeError: if `ep` is something else.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.export.save(torch.export.export(nn.ReLU(), (torch.ones(2),)), file)
        >>> _ = file.seek(0)
        >>> torch.export.load(file).module()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    save_file(packed(ep.graph_module), f)


def load(f: Any, **kwargs: Any) -> ExportedProgram:
    """Read a program that `save` wrote; the file cannot run code of its own.

    Args:
        f: a path, or a binary file that is open for reading.

    Raises:
        CorruptFileError: if the file is damaged.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.export.save(torch.export.export(nn.Linear(2, 1), (torch.ones(1, 2),)), file)
        >>> _ = file.seek(0)
        >>> [name for name, _ in torch.export.load(file).named_parameters()]
        ['weight', 'bias']
    """
    return ExportedProgram(unpacked(load_file(f, weights_only=True)))
