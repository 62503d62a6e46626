"""Uses of tianshou: a buffer of what was seen."""

import numpy as np
from tianshou.data import Batch, ReplayBuffer

LIBRARY = "tianshou"
REQUIRES = ["tianshou<1"]
ALONE = "other libraries let pip take version 2, whose buffer is another one"


def a_buffer() -> object:
    buffer = ReplayBuffer(size=8)
    for i in range(12):
        buffer.add(
            Batch(
                obs=np.full(2, i),
                act=i % 3,
                rew=float(i),
                terminated=i == 5,
                truncated=False,
                obs_next=np.full(2, i + 1),
                info={},
            )
        )
    batch, places = buffer.sample(4)
    return len(buffer), batch.rew, places
