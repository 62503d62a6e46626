// Lists of up to MAXT arrays in one launch: array k holds size[k] numbers without gaps. ORDER is a norm's: 1, 2,
// or 0 for the largest absolute value.
#ifndef MAXT
#define MAXT 16
#endif
#ifndef ORDER
#define ORDER 2
#endif
struct List { T* at[MAXT]; i64 size[MAXT]; };
// The first block of each array; one of `length` numbers follows the other.
struct Cut { int first[MAXT + 1]; };

struct Share { T* at; i64 size; };

// What this block has to do: the array whose blocks it is among, found by halving.
__device__ __forceinline__ Share share_of(const List& t, const Cut& cut, i64 length) {
    int low = 0, high = MAXT - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (cut.first[middle] <= (int)blockIdx.x) low = middle;
        else high = middle - 1;
    }
    const i64 from = (blockIdx.x - cut.first[low]) * length, left = t.size[low] - from;
    return {t.at[low] + from, left < length ? left : length};
}

// Every array times the number at `by`; with a limit of zero or more, times what brings the norm at `by` to it.
KERNEL(list_scale)(List t, Cut cut, i64 length, const T* by, double limit) {
    depend();
    A factor = up(*by);
    if (limit >= 0) {  // rounded as often as if each step were a tensor of this dtype
        factor = up(dn((A)limit / up(dn(factor + (A)1e-6))));
        factor = factor > (A)1 ? (A)1 : factor;
        if (factor == (A)1) return;  // x * 1 is x, NaN included
    }
    const Share s = share_of(t, cut, length);
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.size; i += 256) s.at[i] = dn(up(s.at[i]) * factor);
}

KERNEL(list_zero)(List t, Cut cut, i64 length) {
    depend();
    const Share s = share_of(t, cut, length);
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.size; i += 256) s.at[i] = dn((A)0);
}

// Every element to [-limit, limit]; NaN stays.
KERNEL(list_limit)(List t, Cut cut, i64 length, double limit) {
    depend();
    const Share s = share_of(t, cut, length);
    const A most = up(dn((A)limit)), least = -most;
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.size; i += 256) {
        const A v = up(s.at[i]);
        if (v > most || v < least) s.at[i] = dn(v > most ? most : least);
    }
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

// What each block saw of its array. No atomics: the same bits at each run.
KERNEL(list_parts)(List t, Cut cut, i64 length, A* parts) {
    depend();
    __shared__ A hold[32];
    const Share s = share_of(t, cut, length);
    A sum = (A)0;
#pragma unroll 4
    for (i64 i = threadIdx.x; i < s.size; i += 256) {
        const A v = up(s.at[i]);
        sum = joined(sum, ORDER == 2 ? v * v : v < (A)0 ? -v : v);
    }
    sum = block_joined(sum, hold);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__device__ __forceinline__ void join(const A* parts, i64 count, A* out) {
    __shared__ A hold[32];
    A sum = (A)0;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x) sum = joined(sum, parts[i]);
    sum = block_joined(sum, hold);
#if ORDER == 2
    sum = sizeof(A) == 8 ? (A)sqrt((double)sum) : (A)sqrtf((float)sum);
#endif
    if (threadIdx.x == 0) *out = sum;
}

// All parts to one norm.
KERNEL(list_norm)(const A* parts, A* out, i64 count) {
    depend();
    join(parts, count, out);
}

// The parts of array b to the norm out[b].
KERNEL(list_norms)(Cut cut, const A* parts, A* out) {
    depend();
    const int from = cut.first[blockIdx.x];
    join(parts + from, cut.first[blockIdx.x + 1] - from, out + blockIdx.x);
}
