"""Uses of torchinfo."""

import torch
from torch import nn
from torchinfo import summary

LIBRARY = "torchinfo"


def counts_of_a_convolutional_net() -> object:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    told = summary(net, input_size=(2, 3, 8, 8), verbose=0)
    return told.total_params, told.trainable_params, told.total_mult_adds, len(str(told))


def counts_of_a_recurrent_net() -> object:
    net = nn.LSTM(5, 7, batch_first=True)
    told = summary(net, input_data=torch.randn(2, 4, 5), verbose=0, col_names=["output_size"])
    return told.total_params, told.total_mult_adds, told.total_output_bytes
