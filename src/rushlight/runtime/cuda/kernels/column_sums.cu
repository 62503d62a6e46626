// The second step of sums over rows that other kernels made on their way: a block for 32 columns, whose warps share the parts.
KERNEL(column_sums)(const A* __restrict__ parts, T* __restrict__ out, int splits, int n) {
    depend();
    __shared__ A hold[32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int i = blockIdx.x * 32 + lane;
    A s = (A)0;
    if (i < n)
#pragma unroll 4
        for (int k = warp; k < splits; k += warps) s += parts[(i64)k * n + i];
    hold[warp][lane] = s;
    __syncthreads();
    if (warp || i >= n) return;
    for (int k = 1; k < warps; k++) s += hold[k][lane];
    out[i] = dn(s);
}
