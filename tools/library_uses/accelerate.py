"""Uses of accelerate: training loops, their state, and models whose weights are elsewhere."""

import os

import torch
from accelerate import (
    Accelerator,
    cpu_offload,
    disk_offload,
    init_empty_weights,
    load_checkpoint_and_dispatch,
    skip_first_batches,
)
from accelerate.hooks import ModelHook, SequentialHook, add_hook_to_module, remove_hook_from_module
from accelerate.utils import ProjectConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset

LIBRARY = "accelerate"


def a_training_loop() -> object:
    set_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(data, 4, shuffle=True))
    losses = []
    for x, y in loader:
        with accelerator.accumulate(net):
            loss = torch.nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step(), optimizer.zero_grad()
        losses.append(accelerator.gather(loss))
    return losses


def saved_and_loaded_state() -> object:
    accelerator = Accelerator(cpu=True)
    net = torch.nn.Linear(3, 2)
    net, _ = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    accelerator.save_state("state")
    before = net(torch.ones(1, 3)).tolist()
    torch.nn.init.zeros_(net.weight)
    accelerator.load_state("state")
    return before, net(torch.ones(1, 3))


def models_without_memory() -> object:
    with init_empty_weights():
        net = torch.nn.Linear(10000, 10000)
    return net.weight.is_meta, net.weight.numel()


def _net() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.Linear(16, 2)]
    return torch.nn.Sequential(*layers).eval()


def a_model_partly_on_disk() -> object:
    net, x = _net(), torch.randn(2, 6)
    Accelerator(cpu=True).save_model(net, "big", max_shard_size="1KB")
    with init_empty_weights():
        empty = _net()
    places = {"0": "cpu", "1": "cpu", "2": "disk", "3": "disk"}
    parted = load_checkpoint_and_dispatch(empty, "big", device_map=places, offload_folder="aside")
    return net(x), parted(x), len(os.listdir("big")), len(os.listdir("aside"))


def weights_fetched_when_needed() -> object:
    net, other, x = _net(), _net(), torch.randn(2, 6)
    cpu_offload(net, execution_device=torch.device("cpu"))
    disk_offload(other, "aside", execution_device=torch.device("cpu"))
    return net(x), other(x), net[0].weight.is_meta, other[0].weight.is_meta


def batches_skipped_and_checkpoints_kept() -> object:
    options = ProjectConfiguration(project_dir="p", automatic_checkpoint_naming=True, total_limit=2)
    accelerator = Accelerator(cpu=True, project_config=options)
    set_seed(0)
    net = _net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    data = TensorDataset(torch.randn(20, 6), torch.randn(20, 2))
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, DataLoader(data, 4, shuffle=True), schedule)
    losses = []
    for epoch in range(3):
        for x, y in skip_first_batches(loader, 2) if epoch else loader:
            loss = torch.nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            optimizer.step(), schedule.step(), optimizer.zero_grad()
            losses.append(loss.item())
        accelerator.save_state()
    accelerator.load_state("p/checkpoints/checkpoint_1")
    return losses, len(os.listdir("p/checkpoints")), schedule.get_last_lr(), torch.rand(3)


def hooks_around_a_model() -> object:
    class Doubled(ModelHook):
        def pre_forward(self, module: torch.nn.Module, *args: torch.Tensor, **more: object) -> tuple:
            return (args[0] + 1,), more

        def post_forward(self, module: torch.nn.Module, output: torch.Tensor) -> torch.Tensor:
            return output * 2

    net, x = _net(), torch.randn(2, 6)
    add_hook_to_module(net, SequentialHook(Doubled(), Doubled()))
    hooked = net(x)
    remove_hook_from_module(net)
    return hooked, net(x)
