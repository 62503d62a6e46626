"""Run by several ranks, with PyTorch and with rushlight: a network in stages, its losses and gradients beside one process.

`data_parallel` and `attention` run with rushlight alone: PyTorch's need a GPU.
"""

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    pipe_split,
    pipeline,
)
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
CPU = torch.device("cpu")
LINES = []
OURS = hasattr(torch, "as_torch") or torch.__name__ == "rushlight"


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.down(torch.relu(self.up(x))))


class Net(nn.Module):
    def __init__(self, splits=False):
        super().__init__()
        torch.manual_seed(0)
        self.splits = splits
        self.embed = nn.Embedding(30, 8)
        self.layers = nn.ModuleList([Block(8) for _ in range(4)])
        self.out = nn.Linear(8, 30)

    def forward(self, tokens):
        h = self.embed(tokens)
        for i, layer in enumerate(self.layers):
            if self.splits and i and i % (4 // N) == 0:
                pipe_split()
            h = layer(h)
        return self.out(h)


def loss_of(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


torch.manual_seed(1)
X, Y = torch.randint(0, 30, (8, 6)), torch.randint(0, 30, (8, 6))
WHOLE = Net()
LOSSES = [loss_of(WHOLE(x), y) for x, y in zip(X.chunk(4), Y.chunk(4))]
torch.stack(LOSSES).mean().backward()


def told(name, stages, schedule, names=None):
    """A step twice; what one process has is what came out."""
    losses, output = [], None
    for _ in range(2):
        for stage in stages:
            stage.submod.zero_grad()
        last = {"target": Y, "losses": losses} if any(s.is_last for s in stages) else {}
        output = schedule.step(*((X,) if any(s.is_first for s in stages) else ()), **last)
    near = all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(losses, LOSSES))
    wanted = {n: p.grad for n, p in WHOLE.named_parameters()}
    for stage in stages:
        for key, p in stage.submod.named_parameters():
            near = near and torch.allclose(p.grad, wanted[names[id(p)] if names else key], atol=1e-6)
    with torch.no_grad():
        same = output is None or torch.allclose(output, WHOLE(X), atol=1e-5)
    LINES.append(f"{name}: {near} {same} {len(losses)} {[round(v.item(), 4) for v in losses]}")


def parts(count, wrap=lambda m: m, order=None):
    net, each = Net(), 4 // count
    names = {id(p): n for n, p in net.named_parameters()}
    made = []
    for i in range(count):
        first = [net.embed] if i == 0 else []
        last = [net.out] if i == count - 1 else []
        made.append(nn.Sequential(*first, *net.layers[i * each : (i + 1) * each], *last))
    mine = range(ME, count, N) if order is None else order
    return [PipelineStage(wrap(made[i]), i, count, CPU) for i in mine], names


def manual():
    for kind in (ScheduleGPipe, Schedule1F1B):
        stages, names = parts(N)
        told(kind.__name__, stages, kind(stages[0], 4, loss_fn=loss_of), names)
    for kind in (ScheduleInterleaved1F1B, ScheduleLoopedBFS, ScheduleInterleavedZeroBubble):
        stages, names = parts(4)
        told(kind.__name__, stages, kind(stages, 4, loss_fn=loss_of), names)
    for kind in (ScheduleZBVZeroBubble, ScheduleDualPipeV) if N == 2 else ():
        stages, names = parts(4, order=(ME, 3 - ME))
        schedule = kind(stages, 4, loss_fn=loss_of)
        told(kind.__name__, stages, schedule, names)
        if OURS:  # gradients of weights are computed between those of inputs
            assert "weights" in [kind for kind, _, _ in schedule._order[:-4]], schedule._order


def cut():
    spec = {f"layers.{4 // N * i}": SplitPoint.BEGINNING for i in range(1, N)}
    for name, net, how in (("spec", Net(), spec), ("pipe_split", Net(splits=True), None)):
        pipe = pipeline(net, (X[:2],), split_spec=how)
        stage = pipe.build_stage(ME, CPU)
        told(f"{name} {pipe.num_stages}", [stage], ScheduleGPipe(stage, 4, loss_fn=loss_of))


def mistakes():
    for name, make in {
        "stage": lambda: PipelineStage(nn.Linear(2, 2), 9, N, CPU),
        "few": lambda: Schedule1F1B(parts(N)[0][0], N - 1, loss_fn=loss_of),
        "zero bubble": lambda: ScheduleInterleavedZeroBubble(parts(4)[0], 2 * N + 1, loss_fn=loss_of),
        "few for V": lambda: ScheduleDualPipeV(
            parts(4, order=(ME, 3 - ME))[0] if N == 2 else parts(4)[0], 3, loss_fn=loss_of
        ),
        "rounds": lambda: ScheduleInterleaved1F1B(parts(4)[0], 2 * N + 1, loss_fn=loss_of),
        "no grad": lambda: torch.no_grad()(ScheduleGPipe(parts(N)[0][0], 4, loss_fn=loss_of).step)(),
    }.items():
        try:
            make()
            LINES.append(f"{name}: nothing")
        except Exception as error:
            LINES.append(f"{name}: {type(error).__name__}")


def data_parallel():
    """Each stage twice, on half of the batch each."""
    groups = [dist.new_group([0, 2]), dist.new_group([1, 3])]  # pipelines
    copies = [dist.new_group([0, 1]), dist.new_group([2, 3])]  # of one stage
    index, half = divmod(ME, 2)
    net = Net()
    names = {f"module.{n}": p for n, p in net.named_parameters()}
    modules = [nn.Sequential(net.embed, *net.layers[:2]), nn.Sequential(*net.layers[2:], net.out)]
    own = {id(p): n.removeprefix("module.") for n, p in names.items()}
    stage = PipelineStage(DDP(modules[index], process_group=copies[index]), index, 2, CPU, group=groups[half])
    schedule = Schedule1F1B(stage, 2, loss_fn=loss_of)
    rows = slice(half * 4, half * 4 + 4)
    schedule.step(X[rows]) if index == 0 else schedule.step(target=Y[rows])
    wanted = {n: p.grad for n, p in WHOLE.named_parameters()}
    for p in stage.submod.parameters():
        assert torch.allclose(p.grad, wanted[own[id(p)]], atol=1e-6), own[id(p)]


def attention():
    """Each rank has a part of the sequence: outputs and gradients are those of one process."""
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    mesh = dist.init_device_mesh("cpu", (N,))
    for causal in (False, True):
        torch.manual_seed(2)
        whole = [torch.randn(2, 3, 8 * N, 4, requires_grad=True) for _ in range(3)]
        parts = [x.detach().clone().requires_grad_() for x in whole]
        weight = torch.randn(2, 3, 8 * N, 4)
        wanted = F.scaled_dot_product_attention(*whole, is_causal=causal)
        (wanted * weight).sum().backward()
        with context_parallel(mesh, buffers=[*parts, weight], buffer_seq_dims=[2] * 4):
            assert parts[0].shape == (2, 3, 8, 4)
            out = F.scaled_dot_product_attention(*parts, is_causal=causal)
            (out * weight).sum().backward()
            grads = [x.grad for x in parts]
        assert parts[0].shape == weight.shape == (2, 3, 8 * N, 4)
        found = context_parallel_unshard(mesh, [out.detach(), *grads], [2] * 4)
        for a, b in zip(found, [wanted, *[x.grad for x in whole]]):
            assert torch.allclose(a, b, atol=1e-5), causal


for part in sys.argv[1].split(","):
    globals()[part]()
with open(f"{sys.argv[2]}.{ME}", "w") as f:
    f.write("\n".join(LINES))
dist.destroy_process_group()
