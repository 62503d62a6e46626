"""A training with Ray Train's TorchTrainer, on a cluster of two nodes that this machine plays."""

import sys

import ray
import under
from ray.cluster_utils import Cluster
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

ranks, folder = int(sys.argv[1]), sys.argv[2]


def work() -> None:
    import torch
    import torch.distributed as dist

    losses = under.train()
    with open(f"{folder}/losses-{dist.get_rank()}", "w") as f:
        f.write(f"{torch.__version__}\nlosses {losses}\n")


if __name__ == "__main__":
    ray.cloudpickle.register_pickle_by_value(under)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        one = ScalingConfig(num_workers=ranks, placement_strategy="SPREAD", resources_per_worker={"CPU": 0.5})
        TorchTrainer(work, scaling_config=one, torch_config=TorchConfig(backend="gloo")).fit()
    finally:
        ray.shutdown()
        cluster.shutdown()
