"""Uses of torchsummary."""

import contextlib
import io

from torch import nn
from torchsummary import summary

LIBRARY = "torchsummary"


def the_printed_table() -> object:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        summary(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (3, 8, 8), device="cpu")
    return [float(w.replace(",", "")) for w in told.getvalue().split() if w.replace(".", "").isdigit()]
