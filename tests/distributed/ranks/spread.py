"""Run by several ranks, with PyTorch and with rushlight: meshes, spread tensors and their gradients, tensor parallelism."""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.experimental import local_map

dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
LINES = []


def told(t):
    if isinstance(t, DTensor):
        return f"{t.placements} {tuple(t.shape)} {told(t.to_local())}"
    if isinstance(t, torch.Tensor):
        return f"{tuple(t.shape)} {[round(v, 4) + 0.0 for v in t.detach().double().flatten().tolist()]}"
    return repr(t)


def tell(name, make):
    try:
        LINES.append(f"{name}: {told(make())}")
    except Exception as error:
        LINES.append(f"{name}: {type(error).__name__}")


def numbers(*shape):
    torch.manual_seed(5)
    return torch.randn(*shape)


def meshes():
    mesh = init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("dp", "tp"))
    for name, question in {
        "mesh": lambda: mesh, "dp": lambda: mesh["dp"], "ranks": lambda: mesh["tp"].mesh, "place": lambda: tuple(mesh.get_coordinate()),
        "group": lambda: dist.get_process_group_ranks(mesh.get_group("dp")), "local": lambda: mesh.get_local_rank("tp"),
        "same": lambda: mesh["dp"].get_group() is mesh.get_group("dp"), "all": lambda: len(mesh.get_all_groups()),
        "joined": lambda: mesh._flatten("every"), "found": lambda: mesh["every"].mesh, "size": lambda: mesh.size(0),
        "absent": lambda: mesh["none"], "no dim": lambda: mesh.get_group(), "order": lambda: mesh["tp", "dp"] if N > 2 else None,
        "large": lambda: init_device_mesh("cpu", (N + 1,)), "twice": lambda: init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("a", "a")),
        "few": lambda: init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("a",)), "index": lambda: init_device_mesh("cpu:0", (N,)),
        "list": lambda: DeviceMesh("cpu", list(range(N))), "equal": lambda: mesh["dp"] == mesh["dp"],
    }.items():  # fmt: skip
        tell(f"mesh {name}", question)


def moves():
    """Every placement to every other one, with odd sizes, and the gradient back."""
    line = init_device_mesh("cpu", (N,))
    grid = init_device_mesh("cpu", (2, N // 2))
    lines = [[Shard(0)], [Shard(1)], [Replicate()]]
    squares = [[Shard(0), Shard(1)], [Replicate(), Shard(0)], [Shard(0), Replicate()], [Replicate(), Replicate()]]
    if N == 2:  # a second cut of the same dim needs more ranks, and PyTorch pads it in its own way
        squares.append([Shard(1), Shard(0)])
    for mesh, kinds in ((line, lines), (grid, squares)):
        for a in kinds:
            for b in kinds:
                w = numbers(5, 3).requires_grad_()
                x = distribute_tensor(w, mesh, a)
                tell(f"from {a} to {b}", lambda: x.redistribute(placements=b))
                leaf = x.detach().requires_grad_()
                (leaf.redistribute(placements=b).to_local() * (torch.arange(1.0, 2.0))).sum().backward()
                tell(f"gradient {a} {b}", lambda: leaf.grad.full_tensor())
    parts = DTensor.from_local(numbers(4, 3) + ME, line, [Partial()], run_check=False)
    for b in lines:
        tell(f"from parts to {b}", lambda: parts.redistribute(placements=b))
        leaf = numbers(4, 3).requires_grad_()
        summand = DTensor.from_local(leaf, line, [Partial()], run_check=False)
        (summand.redistribute(placements=b).full_tensor() * torch.arange(3.0)).sum().backward()
        tell(f"gradient of parts to {b}", lambda: leaf.grad)
    tell("to parts", lambda: distribute_tensor(numbers(4), line, [Shard(0)]).redistribute(placements=[Partial()]))
    tell("from local", lambda: DTensor.from_local(numbers(2, 3) + ME, line, [Shard(0)]).full_tensor())
    mine = (numbers(2, 3) + ME).requires_grad_()
    whole = DTensor.from_local(mine, line, [Shard(0)])
    (whole.full_tensor() ** 2).sum().backward()
    tell("gradient of from_local", lambda: mine.grad)
    leaf = distribute_tensor(numbers(4, 3), line, [Replicate()]).requires_grad_()
    (leaf.to_local(grad_placements=[Partial()]) * (ME + 1)).sum().backward()
    tell("gradient of parts", lambda: leaf.grad.full_tensor())


def operations():
    mesh = init_device_mesh("cpu", (N,))
    a = distribute_tensor(numbers(4, 6), mesh, [Shard(0)])
    b = distribute_tensor(numbers(4, 6).flip(0), mesh, [Shard(0)])
    w = distribute_tensor(numbers(6, 6), mesh, [Shard(0)])
    whole = distribute_tensor(numbers(4, 6), mesh, [Replicate()])
    row = distribute_tensor(numbers(6), mesh, [Replicate()])
    calls = {
        "add": lambda: a + b, "scaled": lambda: 2 * a - 1, "relu": lambda: a.relu(), "row": lambda: a + row,
        "number": lambda: a + torch.tensor(2.0), "mixed": lambda: a + torch.ones(4, 6), "sum": lambda: a.sum().full_tensor(),
        "item": lambda: round(whole.sum().item(), 4), "turned": lambda: a.t(), "like": lambda: torch.zeros_like(a),
        "numpy": lambda: a.numpy(), "list": lambda: a.tolist(), "length": lambda: len(a), "numel": lambda: a.numel(),
        "stride": lambda: a.stride(), "bytes": lambda: a.nbytes, "bool": lambda: bool(a.sum() > 0), "equal": lambda: torch.equal(a, a),
        "mean": lambda: a.mean().full_tensor(), "norm": lambda: a.norm().full_tensor(), "softmax": lambda: a.softmax(-1),
        "compare": lambda: a > b, "double": lambda: a.double(), "cpu": lambda: a.cpu(), "detach": lambda: a.detach(),
        "product": lambda: (a @ w).full_tensor(), "columns": lambda: F.linear(whole, w), "where": lambda: torch.where(a > 0, a, b),
        "one row": lambda: a[0].full_tensor(), "largest": lambda: a.max().full_tensor(), "down": lambda: a.sum(0).full_tensor(),
        "text": lambda: repr(a.placements), "add_": lambda: a.clone().add_(b), "mul_": lambda: a.clone().mul_(0.5), "zero_": lambda: a.clone().zero_(),
        "both": lambda: (a + whole).full_tensor(), "outside": lambda: distribute_tensor(numbers(4), mesh, [Shard(3)]),
    }  # fmt: skip
    for name, call in calls.items():
        tell(name, call)


def shapes():
    """Other shapes of what is cut."""
    if N > 2:
        return  # PyTorch refuses cuts that are not even
    mesh = init_device_mesh("cpu", (N,))
    for kind in (Shard(0), Shard(1), Shard(2), Replicate()):
        x = distribute_tensor(numbers(4, 6, 8), mesh, [kind])
        for name, call in {
            "flat": lambda t: t.flatten(0, 1), "tail": lambda t: t.flatten(1), "all": lambda t: t.flatten(), "view": lambda t: t.view(4, 6, 2, 4),
            "rows": lambda t: t.reshape(-1, 8), "split": lambda t: t.view(2, 2, 6, 8), "heads": lambda t: t.view(4, 6, 4, 2), "wrong": lambda t: t.view(5, -1),
        }.items():  # fmt: skip
            leaf = x.detach().requires_grad_()
            tell(f"shape {kind} {name}", lambda: call(leaf).full_tensor())
            if name in ("flat", "rows") and kind != Shard(1):
                tell(f"placed {kind} {name}", lambda: call(leaf).placements)
            if name != "wrong":
                (call(leaf).full_tensor() ** 2).sum().backward()
                tell(f"gradient {kind} {name}", lambda: leaf.grad.full_tensor())


def gradients():
    """Products with parts of matrices have the gradients of one process."""
    mesh = init_device_mesh("cpu", (N,))
    for kx, kw, kb in (
        ([Replicate()], [Shard(0)], [Shard(0)]),
        ([Shard(1)], [Shard(1)], [Replicate()]),
        ([Shard(0)], [Replicate()], [Replicate()]),
        ([Replicate()], [Replicate()], [Replicate()]),
    ):
        x, w, b = (
            distribute_tensor(t, mesh, k).requires_grad_()
            for t, k in ((numbers(4, 6), kx), (numbers(6, 6), kw), (numbers(6), kb))
        )
        out = F.linear(x, w, b)
        (out.full_tensor() ** 2).sum().backward()
        for name, t in (("out", out), ("x", x.grad), ("w", w.grad), ("b", b.grad)):
            tell(f"linear {kx} {kw} {name}", lambda: t.full_tensor())
    x = distribute_tensor(numbers(4, 6), mesh, [Shard(0)]).requires_grad_()
    g = distribute_tensor(numbers(6), mesh, [Replicate()]).requires_grad_()
    (F.layer_norm(x, (6,), g) ** 3).sum().full_tensor().backward()
    tell("norm x", lambda: x.grad.full_tensor())
    tell("norm g", lambda: g.grad.full_tensor())
    p = nn.Parameter(distribute_tensor(numbers(4, 6), mesh, [Shard(0)]))
    tell("a parameter", lambda: isinstance(p, nn.Parameter))
    optimizer = torch.optim.Adam([p], lr=0.1)
    (p**2).sum().backward()
    tell("gradient", lambda: p.grad)
    optimizer.step()
    tell("after a step", lambda: p.full_tensor())


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 6)
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        return self.norm(x + self.second(F.gelu(self.first(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 6)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(6, 10)

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def parallel():
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (N,), mesh_dim_names=("tp",))
    plans = {
        "columns and rows": {"blocks.*.first": ColwiseParallel(), "blocks.*.second": RowwiseParallel()},
        "table": {"words": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Replicate())},
        "table by columns": {"words": ColwiseParallel(output_layouts=Replicate())},
        "sequence": {"blocks.*": PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),), use_local_output=True)},
        "norm": {"blocks.*.norm": SequenceParallel()},
    }  # fmt: skip
    ids = torch.arange(8).reshape(2, 4) % 10
    for name, plan in plans.items():
        torch.manual_seed(1)
        net = Net()
        if name == "norm":
            wrap_norms(net)
        net = parallelize_module(net, mesh, plan)
        out = net(ids)
        tell(f"{name} out", lambda: out)
        (out**2).sum().backward()
        for key, p in net.named_parameters():
            g = p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad
            tell(f"{name} {key}", lambda: g)


def squares():
    """Tensor parallelism inside, fully_shard around it, and a checkpoint of both."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

    grid = init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("dp", "tp"))
    plan = {"blocks.*.first": ColwiseParallel(), "blocks.*.second": RowwiseParallel(), "head": ColwiseParallel(use_local_output=False)}  # fmt: skip

    def made():
        torch.manual_seed(1)
        net = parallelize_module(Net(), grid["tp"], plan)
        for block in net.blocks:
            fully_shard(block, mesh=grid["dp"])
        fully_shard(net, mesh=grid["dp"])
        return net, torch.optim.AdamW(net.parameters(), lr=0.01)

    def steps(net, optimizer, seed):
        torch.manual_seed(seed + grid["dp"].get_local_rank())
        for _ in range(3):
            ids = torch.randint(0, 10, (2, 4))
            with loss_parallel():
                loss = F.cross_entropy(net(ids).flatten(0, 1), ids.flatten().flip(0))
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            tell("loss", lambda: loss.full_tensor())

    net, optimizer = made()
    for name, p in net.named_parameters():
        tell(f"lies {name}", lambda: (p.placements, tuple(p.to_local().shape), tuple(p.shape)))
    steps(net, optimizer, 10)
    model, optim = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optim": optim}, checkpoint_id=f"{sys.argv[2]}.squares")
    again, other = made()
    model, optim = get_state_dict(again, other)
    dcp.load({"model": model, "optim": optim}, checkpoint_id=f"{sys.argv[2]}.squares")
    set_state_dict(again, other, model_state_dict=model, optim_state_dict=optim)
    for one, opt in ((net, optimizer), (again, other)):
        steps(one, opt, 20)
        for name, p in one.named_parameters():
            tell(f"weights {name}", lambda: p.full_tensor())


def wrap_norms(net):
    for block in net.blocks:
        block.norm.register_forward_hook(lambda m, i, o: o.full_tensor() if isinstance(o, DTensor) else o)


def modules():
    mesh = init_device_mesh("cpu", (N,))
    torch.manual_seed(1)

    def cut(name, part, mesh):
        for key, p in list(part.named_parameters(recurse=False)):
            part.register_parameter(key, nn.Parameter(distribute_tensor(p, mesh, [Shard(0)])))

    net = distribute_module(
        nn.Linear(4, 6), mesh, cut, lambda m, i, mesh: (distribute_tensor(i[0], mesh, [Replicate()]),), lambda m, o, mesh: o.full_tensor(),
    )  # fmt: skip
    tell("distribute_module", lambda: net(numbers(3, 4)))
    tell("its weight", lambda: net.weight)
    from torch.distributed import tensor as spread

    tell("zeros", lambda: spread.zeros(5, 2, device_mesh=mesh, placements=[Shard(0)]))
    tell("ones", lambda: spread.ones((2, 3), device_mesh=mesh, placements=[Shard(1)]))
    tell("full", lambda: spread.full((4,), 7.0, device_mesh=mesh, placements=[Shard(0)]))


def losses():
    """Cross entropy of scores whose classes are cut, and its gradient."""
    from torch.distributed.tensor.parallel import loss_parallel

    line = init_device_mesh("cpu", (N,))
    x, y = numbers(4, 7), torch.tensor([1, 5, -100, 6])
    cut, whole = [Shard(1)], [Replicate()]

    def loss(scores=x, target=y, kinds=cut, mesh=line, **more):
        given = distribute_tensor(scores, mesh, kinds).requires_grad_()
        with loss_parallel():
            found = F.cross_entropy(given, target, **more)
            total = found.full_tensor()
            (total * torch.arange(1.0, 1 + total.numel()).reshape(total.shape)).sum().backward()
        tell(f"its gradient {kinds} {more}", lambda: given.grad.full_tensor())
        return found

    calls = {
        "mean": loss, "sum": lambda: loss(reduction="sum"), "none": lambda: loss(reduction="none"), "ignored": lambda: loss(target=y.abs() % 7, ignore_index=5),
        "weight": lambda: loss(target=y.abs() % 7, weight=numbers(7).abs()), "images": lambda: loss(numbers(2, 7, 3), torch.arange(6).reshape(2, 3)),
        "one sample": lambda: loss(x[0], torch.tensor(3), [Shard(0)]), "spread target": lambda: loss(target=distribute_tensor(y, line, whole)),
        "cut target": lambda: loss(target=distribute_tensor(y, line, [Shard(0)])), "whole": lambda: loss(kinds=whole), "batch": lambda: loss(kinds=[Shard(0)]),
        "nothing counts": lambda: loss(target=torch.full((4,), -100)), "outside": lambda: F.cross_entropy(distribute_tensor(x, line, cut), y),
    }  # fmt: skip
    if N > 2:
        grid = init_device_mesh("cpu", (2, N // 2))
        batch, copies = [Shard(0), Shard(1)], [Replicate(), Shard(1)]
        mine = distribute_tensor(y, grid, [Shard(0), Replicate()])
        for kinds, target in ((batch, mine), (batch, y), (copies, y), ([Shard(1), Shard(1)], y)):
            for how in ("sum", "none", "mean"):
                name = f"{kinds} {how} {type(target).__name__}"
                calls[name] = lambda k=kinds, t=target, r=how: loss(x, t, k, grid, reduction=r)
    for name, call in calls.items():
        tell(f"loss {name}", call)


def mapped():
    """`local_map`, what is counted of a block, and sums along what is cut."""
    mesh = init_device_mesh("cpu", (N,))
    rows, columns = ([Shard(k)] for k in range(2))
    a, b = distribute_tensor(numbers(8, 4), mesh, columns), distribute_tensor(numbers(4, 8), mesh, rows)
    for name, question in {
        "product": lambda: local_map(lambda _, x, y: x @ y, [Partial()], (None, columns, rows), device_mesh=mesh)(
            mesh, a, b
        ),
        "moved": lambda: local_map(torch.relu, rows, (rows,), redistribute_inputs=True)(a),
        "elsewhere": lambda: local_map(torch.relu, rows, (rows,))(a),
        "two": lambda: local_map(lambda x: (x, 3), (columns, None))(a)[1],
        "few": lambda: local_map(lambda x: (x, x), (columns,))(a),
        "plain": lambda: local_map(torch.relu, rows)(torch.ones(2)),
        "decorated": lambda: local_map(out_placements=columns)(torch.exp)(a),
        "sums": lambda: [told(x) for x in (a.sum(1), a.sum(0), a.sum(1, keepdim=True), a.sum(), a.mean(0))],
        "means": lambda: [x.full_tensor().tolist() for x in (a.mean(1), a.mean())],
    }.items():
        tell(f"mapped {name}", question)
    for name, make in {"gather": lambda: a.redistribute(mesh, [Replicate()]), "sum": lambda: a.sum(1).full_tensor()}.items():  # fmt: skip
        with CommDebugMode() as counted:
            make()
        tell(f"counted {name}", lambda: (counted.get_total_counts(), sorted(f"{k} {n}" for k, n in counted.get_comm_counts().items())))  # fmt: skip
    for name, loss in {"mean": lambda x: x.mean() * 3, "rows": lambda x: (x.sum(1).exp() + x.mean(1)).sum()}.items():
        x = a.detach().clone().requires_grad_()
        loss(x).backward()
        tell(f"gradient {name}", lambda: x.grad.full_tensor())


def files():
    """A rank's part goes into a file and comes back."""
    import copy
    import pickle

    grid = init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("dp", "tp"))
    state = {
        "w": distribute_tensor(numbers(5, 3), grid, [Shard(0), Shard(1)]), "p": nn.Parameter(distribute_tensor(numbers(4), grid, [Replicate(), Shard(0)])),
        "sum": DTensor.from_local(numbers(3) + ME, grid, [Partial(), Replicate()]), "n": 3,
    }  # fmt: skip
    torch.save(state, f"{sys.argv[2]}.pt.{ME}")
    for name, found in {
        "load": torch.load(f"{sys.argv[2]}.pt.{ME}"), "pickle": pickle.loads(pickle.dumps(state)), "copy": {k: copy.copy(v) for k, v in state.items()},
    }.items():  # fmt: skip
        for key, value in found.items():
            tell(f"{name} {key}", lambda: value)
            if key != "n":
                tell(f"whole {key}", lambda: value.full_tensor())
                tell(f"about {key}", lambda: (value.requires_grad, value.device_mesh == grid, repr(value.device_mesh)))


def kept():
    """A model cut by rows and columns, with names that another number of ranks asks for as well."""
    grid = init_device_mesh("cpu", (2, N // 2)) if N > 2 else init_device_mesh("cpu", (N,))
    both = [Shard(0), Shard(1)] if N > 2 else [Shard(1)]
    copies = [Replicate(), Shard(0)] if N > 2 else [Shard(0)]
    return {
        "w": distribute_tensor(numbers(5, 3), grid, both), "b": distribute_tensor(numbers(7), grid, copies),
        "all": distribute_tensor(numbers(2), grid, [Replicate()] * len(both)), "plain": numbers(3), "step": 4,
    }  # fmt: skip


def save():
    import torch.distributed.checkpoint as dcp

    dcp.save(kept(), checkpoint_id=f"{sys.argv[2]}.checkpoint")
    tell("saved", lambda: None)


def load():
    import torch.distributed.checkpoint as dcp

    state = kept()
    for value in state.values():
        if isinstance(value, torch.Tensor):
            value.zero_()
    dcp.load(state, checkpoint_id=f"{sys.argv[2]}.checkpoint")
    for key, value in state.items():
        tell(key, lambda: value)


for part in sys.argv[1].split(","):
    globals()[part]()
dist.barrier()
with open(f"{sys.argv[2]}.{ME}", "w") as f:
    f.write("\n".join(LINES) + "\n")
dist.destroy_process_group()
