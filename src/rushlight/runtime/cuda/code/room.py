"""How much scratch memory kernels of ours share on a stream: known without a GPU, by who cuts work into parts."""

PARTIALS = 1 << 21  # floats that one launch writes and the same or the next one reads
COUNTERS = 2048  # counters that rest at 0, for kernels whose last block finishes the work
