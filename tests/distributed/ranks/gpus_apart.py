"""Run by ranks that have a GPU each, or say so, and no MPI: another script, then NCCL's id, told to all of them."""

import os
import runpy
import sys

import rushlight.distributed as dist
from rushlight.distributed import gpus, meeting

sys.modules["mpi4py"] = None  # nobody can import it
rank, size, begin = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), dist.init_process_group


class Nccl:
    """What NCCL is asked before a first tensor moves."""

    get_unique_id = staticmethod(lambda: (os.getpid(), "id"))

    def __init__(self, *given):
        self.given = given

    def destroy(self):
        pass


Nccl.NcclCommunicator = Nccl
gpus.nccl_module, gpus.own_gpu = lambda: Nccl, lambda: f"gpu {rank}"
meeting.gpus_for_nccl = lambda: [f"gpu {r}" for r in range(1 if "TEST_SHARED" in os.environ else size)]
dist.init_process_group = lambda backend, **more: begin("nccl", **more)
runpy.run_path(sys.argv[1])
for _ in range(2):  # the script has left its world; the store stays
    begin("nccl")
    engine, told = dist.group.WORLD.engine("cuda"), [None] * size
    assert engine.kind == "nccl"
    dist.all_gather_object(told, engine.comm.given)
    assert told == [(size, told[0][1], r) for r in range(size)], told
    dist.destroy_process_group()
print("passed ids")
