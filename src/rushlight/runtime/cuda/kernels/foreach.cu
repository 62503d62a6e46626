// Lists of up to MAXT arrays in one launch: array k holds size[k] numbers without gaps. ORDER is a norm's: 1, 2,
// or 0 for the largest absolute value.
#ifndef MAXT
#define MAXT 16
#endif
#ifndef ORDER
#define ORDER 2
#endif
struct List { T* at[MAXT]; i64 size[MAXT]; };

// Every array times the number at `by`; with a limit of zero or more, times what brings the norm at `by` to it.
extern "C" __global__ void list_scale(List t, const T* by, double limit) {
    depend();
    const int k = blockIdx.y;
    T* x = t.at[k];
    A factor = up(*by);
    if (limit >= 0) {  // rounded as often as if each step were a tensor of this dtype
        factor = up(dn((A)limit / up(dn(factor + (A)1e-6))));
        factor = factor > (A)1 ? (A)1 : factor;
        if (factor == (A)1) return;  // x * 1 is x, NaN included
    }
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < t.size[k]; i += step) x[i] = dn(up(x[i]) * factor);
}

extern "C" __global__ void list_zero(List t) {
    depend();
    const int k = blockIdx.y;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < t.size[k]; i += step) t.at[k][i] = dn((A)0);
}

__device__ __forceinline__ A joined(A u, A v) {
#if ORDER == 0
    return (u > v || u != u) ? u : v;
#else
    return u + v;
#endif
}

__device__ __forceinline__ A block_joined(A v, A* hold) {
#if ORDER == 0
    return block_max(v, hold);
#else
    return block_sum(v, hold);
#endif
}

// What each block saw of its array: parts[k * gridDim.x + block]. No atomics: the same bits at each run.
extern "C" __global__ void list_parts(List t, A* parts) {
    depend();
    __shared__ A hold[32];
    const int k = blockIdx.y;
    const i64 step = (i64)gridDim.x * blockDim.x;
    A sum = (A)0;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < t.size[k]; i += step) {
        const A v = up(t.at[k][i]);
        sum = joined(sum, ORDER == 2 ? v * v : v < (A)0 ? -v : v);
    }
    sum = block_joined(sum, hold);
    if (threadIdx.x == 0) parts[k * (i64)gridDim.x + blockIdx.x] = sum;
}

// Block b joins `count` parts to the norm out[b].
extern "C" __global__ void list_norm(const A* parts, A* out, i64 count) {
    depend();
    __shared__ A hold[32];
    A sum = (A)0;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) sum = joined(sum, parts[blockIdx.x * count + i]);
    sum = block_joined(sum, hold);
#if ORDER == 2
    sum = sizeof(A) == 8 ? (A)sqrt((double)sum) : (A)sqrtf((float)sum);
#endif
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
