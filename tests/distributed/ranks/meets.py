"""Run by ranks that no mpiexec started: they meet by the store alone, from "hosts" that the test names."""

import datetime
import os
import sys
import time

import numpy as np

import rushlight as rl
import rushlight.distributed as dist
from rushlight.distributed import places

host = os.environ.get("TEST_HOST")
if host:
    own = places._host()
    places._host = lambda: f"{own}/{host}"
if "TEST_VERSION" in os.environ:
    places.__version__ = os.environ["TEST_VERSION"]

seconds = float(os.environ.get("TEST_SECONDS", "600"))
try:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=seconds))
except RuntimeError as error:
    print("refused:", error, flush=True)
    sys.exit(3)
x = rl.ones(300_000) * (dist.get_rank() + 1)
dist.all_reduce(x)
names = [None] * dist.get_world_size()
dist.all_gather_object(names, (dist.get_rank(), host))
print("sum", x[0].item(), x[-1].item(), names, flush=True)
if "TEST_FAILS" in os.environ and dist.get_rank() == 1:
    os._exit(7)
if "wait" in sys.argv:  # until somebody else is gone
    try:
        while True:
            dist.all_reduce(rl.ones(1))
    except RuntimeError as error:
        print("told at", time.time(), error, flush=True)
        sys.exit(4)
if "sends" in sys.argv:  # to a rank that is gone, which MPI's transport refuses sooner or later
    from rushlight.distributed import sends

    of = dist.group.WORLD
    while not of.world.presence.gone:
        time.sleep(0.01)
    for _ in range(1000):
        of.engine("cpu").start_send(np.zeros(1), 1 - dist.get_rank(), 0).Test()
    print("refused", sends.refused(), flush=True)
    try:
        dist.all_reduce(rl.ones(1))
    except RuntimeError as error:
        print("told at", time.time(), error, flush=True)
        sys.exit(4)
dist.destroy_process_group()
