// The sum of products of two vectors; blocks leave theirs in `sums`, which the last one adds up in order.
KERNEL(dot)(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ out, A* sums, unsigned* counter, i64 n) {
    depend();
    __shared__ A hold[32];
    A sum = 0;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) sum += up(x[i]) * up(y[i]);
    sum = block_sum(sum, hold);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) sums[blockIdx.x] = sum;
        if (!last_block(counter, gridDim.x)) return;
        sum = threadIdx.x < gridDim.x ? ((volatile A*)sums)[threadIdx.x] : A(0);
        sum = block_sum(sum, hold);
    }
    if (threadIdx.x == 0) *out = dn(sum);
}
