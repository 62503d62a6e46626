"""Uses of pytorch-ignite."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping
from ignite.metrics import Accuracy, Loss
from torch import nn

LIBRARY = "pytorch-ignite"


def _batches() -> list:
    return [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(3)]


def trainer_and_evaluator() -> object:
    net, losses = nn.Linear(4, 3), []
    trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
    trainer.on(Events.ITERATION_COMPLETED)(lambda engine: losses.append(engine.state.output))
    data = _batches()
    trainer.run(data, max_epochs=2)
    checks = {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())}
    return losses, create_supervised_evaluator(net, checks).run(data).metrics


def stopping_early() -> object:
    net = nn.Linear(4, 3)
    trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
    stop = EarlyStopping(1, lambda engine: -engine.state.epoch, trainer)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, stop)
    return trainer.run(_batches(), max_epochs=10).epoch
