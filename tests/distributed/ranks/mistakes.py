"""Run by two ranks: what goes wrong is named, on time, and the ranks go on."""

import datetime

import rushlight as rl
import rushlight.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
ME = dist.get_rank()


def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"


# a rank that comes too late is named, and the next meeting works
store = dist.distributed_c10d._get_default_store()
if ME == 1:
    store.wait(["given up"])
told = error_of(lambda: dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.7)))
assert ("Rank 1 failed to pass monitoredBarrier in 700 ms" in told) if ME == 0 else ("check rank 0 logs" in told), told
if ME == 0:
    store.set("given up", "yes")
dist.monitored_barrier()

short = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=1))
if ME == 0:
    told = error_of(lambda: dist.all_reduce(rl.ones(2), group=short))
    assert "rank 1 did not come (it has begun nothing yet)" in told and "within 1 s" in told, told
dist.barrier()

dist.set_debug_level(dist.DebugLevel.DETAIL)
told = error_of(lambda: dist.all_reduce(rl.ones(3 + ME)))
assert "Detected mismatch between collectives on ranks" in told and "[(3,)]" in told and "[(4,)]" in told, told
told = error_of(lambda: dist.all_reduce(rl.ones(3, dtype=[rl.float32, rl.float64][ME])))
assert "Tensor dtypes" in told, told
told = error_of((lambda: dist.all_reduce(rl.ones(3))) if ME else (lambda: dist.broadcast(rl.ones(3), 0)))
assert "Op type" in told, told
x = rl.ones(2)
dist.all_reduce(x)
assert x.tolist() == [2.0, 2.0]
dist.set_debug_level(dist.DebugLevel.OFF)

net = rl.nn.Linear(2, 2 + ME)
told = error_of(lambda: rl.nn.parallel.DistributedDataParallel(net))
assert "rank" in told and "shape" in told, told


class Half(rl.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = rl.nn.Linear(2, 2), rl.nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x)


wrapped = rl.nn.parallel.DistributedDataParallel(Half())
wrapped(rl.ones(1, 2)).sum().backward()
told = error_of(lambda: wrapped(rl.ones(1, 2)))
assert "Expected to have finished reduction in the prior iteration" in told and "unused.weight" in told, told
print("passed")
