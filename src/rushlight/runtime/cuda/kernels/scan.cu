// Running sums and products along rows. STORED is the type of elements, WIDE what is computed with,
// RESULT the type of results.
// The order of all additions depends on sizes alone, so equal inputs have equal results.
#ifndef STORED
#define STORED float
#endif
#ifndef WIDE
#define WIDE double
#endif
#ifndef RESULT
#define RESULT float
#endif
#ifndef PRODUCT
#define PRODUCT 0
#endif
#define PER 9  // elements of a thread: odd, so that neighbours read from different banks

template <class V> __device__ __forceinline__ WIDE taken(V v) { return (WIDE)v; }
__device__ __forceinline__ WIDE taken(half_t v) { return (WIDE)up(v); }
__device__ __forceinline__ WIDE taken(bf16_t v) { return (WIDE)up(v); }
template <class V> struct Kept {
    static __device__ __forceinline__ V of(WIDE v) { return (V)v; }
};
template <> struct Kept<half_t> {
    static __device__ __forceinline__ half_t of(WIDE v) { return Down<half_t>::of((float)v); }
};
template <> struct Kept<bf16_t> {
    static __device__ __forceinline__ bf16_t of(WIDE v) { return Down<bf16_t>::of((float)v); }
};
__device__ __forceinline__ WIDE both(WIDE a, WIDE b) { return PRODUCT ? a * b : a + b; }
#define NOTHING WIDE(PRODUCT)

// What stands before a thread of the block in `mine`, all of the block in `all`; `hold` has room for 32 numbers.
__device__ __forceinline__ WIDE before_thread(WIDE mine, WIDE& all, WIDE* hold) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    WIDE upto = mine;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const WIDE other = __shfl_up_sync(0xffffffffu, upto, d);
        if (lane >= d) upto = both(other, upto);
    }
    __syncthreads();
    if (lane == 31) hold[warp] = upto;
    __syncthreads();
    WIDE before = NOTHING, total = NOTHING;
    for (int i = 0; i < warps; i++) {
        if (i == warp) before = total;
        total = both(total, hold[i]);
    }
    all = total;
    const WIDE other = __shfl_up_sync(0xffffffffu, upto, 1);
    return lane ? both(before, other) : before;
}

// The sum of each part of each row: `parts` of `chunk` elements.
KERNEL(part_sums)(const STORED* __restrict__ x, WIDE* __restrict__ sums, i64 n, i64 chunk, i64 parts, int reverse) {
    depend();
    __shared__ WIDE hold[32];
    const i64 row = blockIdx.x / parts, part = blockIdx.x - row * parts;
    const i64 begin = part * chunk, end = begin + chunk < n ? begin + chunk : n;
    WIDE total = NOTHING;
    for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x)
        total = both(total, taken(x[row * n + (reverse ? n - 1 - i : i)]));
    WIDE all;
    before_thread(total, all, hold);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

// One block for each part of each row; what the parts before it sum up to is folded from `sums`.
KERNEL(scan_rows)(const STORED* __restrict__ x, RESULT* __restrict__ out, const WIDE* __restrict__ sums, i64 n, i64 chunk,
                  i64 parts, int reverse) {
    depend();
    __shared__ WIDE hold[32];
    __shared__ double room[256 * PER];
    STORED* in = (STORED*)room;
    RESULT* done = (RESULT*)room;
    const i64 row = blockIdx.x / parts, part = blockIdx.x - row * parts;
    const i64 begin = part * chunk, end = begin + chunk < n ? begin + chunk : n;
    const int tile = blockDim.x * PER;
    WIDE carry = NOTHING;
    if (part) {
        WIDE mine = NOTHING;
        for (i64 i = threadIdx.x; i < part; i += blockDim.x) mine = both(mine, sums[row * parts + i]);
        before_thread(mine, carry, hold);
    }
    for (i64 at = begin; at < end; at += tile) {
        const int count = end - at < tile ? (int)(end - at) : tile;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            in[i] = x[row * n + (reverse ? n - 1 - (at + i) : at + i)];
        __syncthreads();
        WIDE held[PER], mine = NOTHING, all;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const int i = threadIdx.x * PER + k;
            mine = both(mine, i < count ? taken(in[i]) : NOTHING);
            held[k] = mine;
        }
        const WIDE before = both(carry, before_thread(mine, all, hold));
        carry = both(carry, all);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const int i = threadIdx.x * PER + k;
            if (i < count) done[i] = Kept<RESULT>::of(both(before, held[k]));
        }
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            out[row * n + (reverse ? n - 1 - (at + i) : at + i)] = done[i];
    }
}

// A thread for each column of (outer, n, inner).
KERNEL(scan_columns)(const STORED* __restrict__ x, RESULT* __restrict__ out, i64 columns, i64 n, i64 inner, int reverse) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 c = (i64)blockIdx.x * blockDim.x + threadIdx.x; c < columns; c += step) {
        const i64 outer = c / inner, base = outer * n * inner + (c - outer * inner);
        WIDE total = NOTHING;
        for (i64 k = 0; k < n; k++) {
            const i64 at = base + (reverse ? n - 1 - k : k) * inner;
            total = both(total, taken(x[at]));
            out[at] = Kept<RESULT>::of(total);
        }
    }
}
