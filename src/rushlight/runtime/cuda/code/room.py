"""How much scratch memory kernels of ours share on a stream: known without a GPU, since passes and plans that cut work into parts need it."""

PARTIALS = 1 << 21  # floats that one launch writes and the same or the next one reads
COUNTERS = 2048  # counters that rest at 0, for kernels whose last block finishes the work
