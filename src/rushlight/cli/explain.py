"""`rushlight explain ERROR`: what a common error means in plain words, and what to do.

Each row has a script that raises its error; a test runs it, so that no row can outlive the message that it is found by.
"""

from __future__ import annotations

import re
import sys
from textwrap import fill
from typing import NamedTuple

from .errors import UsageError


class Known(NamedTuple):
    """An error that many people meet."""

    pattern: str  # found in its message
    means: str
    todo: str
    example: str  # raises it


KNOWN = (
    Known(
        r"shapes cannot be multiplied|size mismatch, got|inner dimensions",
        "A matrix product (a Linear layer is one) needs as many columns on the left as there are rows on the right.",
        "Print x.shape in front of the layer that fails: its last number must be the layer's in_features. After convolutions flatten first: x.flatten(1).",
        "torch.ones(2, 3) @ torch.ones(4, 5)",
    ),
    Known(
        r"must match the size of tensor|not broadcastable",
        "Two tensors of an elementwise operation differ in a dimension, and neither has 1 there, which would be repeated.",
        "Compare both shapes from the right. unsqueeze(dim) adds a dimension of 1 where one is missing.",
        "torch.ones(3) + torch.ones(4)",
    ),
    Known(
        r"modified by an inplace operation",
        "backward() needs a value that was written over after it had been computed.",
        "Replace x += y, x.relu_() or x[i] = ... by one that makes a new tensor (x = x + y), or write into x.clone(). autograd.set_detect_anomaly(True) shows the line.",
        "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()",
    ),
    Known(
        r"leaf Variable that requires grad is being used in an in-place",
        "A parameter was changed in place where its history is recorded.",
        "Change parameters inside `with torch.no_grad():`, or let an optimizer do it.",
        "torch.ones(3, requires_grad=True).add_(1)",
    ),
    Known(
        r"backward through the graph a second time",
        "What backward() needs is freed by the first call of it.",
        "Call it once, on the sum of the losses; in a loop, detach() what is carried from one step to the next; retain_graph=True keeps everything, and its memory.",
        "y = torch.ones(3, requires_grad=True).exp().sum()\ny.backward()\ny.backward()",
    ),
    Known(
        r"grad can be implicitly created only for scalar",
        "backward() starts from one number, and this tensor has several.",
        "Take loss.mean() or loss.sum() first, or give a gradient of the same shape.",
        "(torch.ones(3, requires_grad=True) * 2).backward()",
    ),
    Known(
        r"does not require grad and does not have a grad_fn",
        "Nothing that this loss was computed from is trained, or its history was cut off.",
        "Look for detach(), .item(), .data, numpy() or no_grad() between the parameters and the loss, and for parameters with requires_grad=False.",
        "torch.ones(3).sum().backward()",
    ),
    Known(
        r"same device|is on cpu|on the meta device",
        "Tensors of two devices meet in one operation.",
        "Move both: net.to(device) once, and each batch with x.to(device). Tensors that a module makes itself need device=x.device; register_buffer moves with the module.",
        "torch.ones(3) + torch.ones(3, device='meta')",
    ),
    Known(
        r"no usable NVIDIA GPU|not compiled with CUDA",
        "A GPU was asked for, and there is none that can be used.",
        "`rushlight doctor` says why. device = 'cuda' if torch.cuda.is_available() else 'cpu' works everywhere.",
        "torch.cuda.is_available() and exit()\ntorch.ones(3, device='cuda')",
    ),
    Known(
        r"Error\(s\) in loading state_dict",
        "The file's parameters are not those of this network: names are missing or added, or sizes differ.",
        "Make the network with the options it was saved with. A prefix `module.` comes from DataParallel, `_orig_mod.` from compile: remove it from the keys. strict=False skips names, never sizes.",
        "torch.nn.Linear(2, 2).load_state_dict({})",
    ),
    Known(
        r"in DataLoader worker process",
        "The dataset, a transform or collate_fn failed in another process; the traceback inside of the message is that of your code.",
        "Read the lines below `Original Traceback`. With num_workers=0 it fails in this process, where a debugger works.",
        "class Bad(torch.utils.data.Dataset):\n    def __len__(self):\n        return 1\n    def __getitem__(self, i):\n        raise ValueError('a broken file')\n"
        "list(torch.utils.data.DataLoader(Bad(), num_workers=1))",
    ),
    Known(
        r"stack expects each tensor to be equal size",
        "The samples of a batch have different shapes.",
        "Bring them to one size in the transform (Resize and a crop), pad them in a collate_fn of your own, or use batch_size=1.",
        "torch.stack([torch.ones(2), torch.ones(3)])",
    ),
    Known(
        r"Target \d+ is out of bounds|out of bounds",
        "A label or an index is larger than what it chooses from.",
        "Classes count from 0: the largest label must be smaller than the network's outputs (or num_embeddings).",
        "torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 7]))",
    ),
    Known(
        r"have the same dtype|expected scalar type|mat1 and mat2 must have",
        "Two tensors of different dtypes meet where nothing is converted by itself.",
        "Arrays of NumPy are float64: .float() makes float32 of them. Inside of autocast leave the conversion to it.",
        "torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)",
    ),
    Known(
        r"is invalid for input of size",
        "view and reshape keep the number of values, and these shapes have different numbers.",
        "Multiply the shape out; one -1 in it stands for what is left: x.view(x.shape[0], -1).",
        "torch.ones(3).view(2, 2)",
    ),
    Known(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "An array of NumPy has no gradients, and this tensor is part of a computation that has.",
        "x.detach().numpy(); on a GPU x.detach().cpu().numpy().",
        "torch.ones(3, requires_grad=True).numpy()",
    ),
    Known(
        r"Boolean value of Tensor with more than one value",
        "`if`, `and`, `or`, `not` need one truth value, and this tensor has several.",
        "Use &, | and ~ by elements, or .any(), .all(), torch.equal(a, b).",
        "bool(torch.ones(3))",
    ),
    Known(
        r"out of memory|not enough memory",
        "The memory of the device is full.",
        "A smaller batch; loss.item() instead of lists of losses; torch.no_grad() for tests; autocast or checkpointing. torch.cuda.memory_summary() says who holds it.",
        "raise torch.cuda.OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')",
    ),
)


def explain(words: list[str]) -> int:
    """Print what is known of an error: its message, or the whole traceback on standard input (-)."""
    if not words:
        for known in KNOWN:
            print(f"{known.pattern.split('|')[0].replace(chr(92), '')}\n    {known.means}")
        return 0
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    found = [known for known in KNOWN if re.search(known.pattern, text)]
    if not found:
        raise UsageError(
            "this error is not among the common ones; `rushlight explain` lists those. "
            "RUSHLIGHT_TRACEBACK=full shows every frame of it"
        )
    for known in found[:1]:
        print(fill(known.means, 100))
        print(fill(known.todo, 100, initial_indent="-> ", subsequent_indent="   "))
    return 0
