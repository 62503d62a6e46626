"""A training with Ray Train's TorchTrainer, on a cluster of two nodes that this machine plays."""

import contextlib
import os
import sys

import ray
import under
from ray.cluster_utils import Cluster
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def work(config) -> None:
    import torch

    # Ray's way for what workers print ends with the driver: they write to the driver's own output.
    with open(config["said"], "w", buffering=1) as said, contextlib.redirect_stdout(said):
        print(f"torch {torch.__version__}\nlosses {under.train()}")
        if config["waits"]:
            under.wait_for_a_death()


if __name__ == "__main__":
    ray.cloudpickle.register_pickle_by_value(under)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        two = ScalingConfig(num_workers=2, placement_strategy="SPREAD", resources_per_worker={"CPU": 0.5})
        config = {"said": f"/proc/{os.getpid()}/fd/1", "waits": "wait" in sys.argv}
        TorchTrainer(work, train_loop_config=config, scaling_config=two, torch_config=TorchConfig(backend="gloo")).fit()
    finally:
        ray.shutdown()
        cluster.shutdown()
