// The true elements of a mask, in order: how many, where, and what stands there. A mask is cut into parts of `chunk`
// bytes, a block for each; EACH bytes belong to a thread.
#ifndef UNIT
#define UNIT int
#endif
#ifndef DIMS
#define DIMS 1
#endif
#define EACH 8
typedef unsigned long long u64;
struct alignas(8) bytes_8 { unsigned v[2]; };
struct alignas(16) bytes_16 { unsigned v[4]; };
struct Sizes { i64 of[DIMS]; };

// EACH bytes as bits of ones: byte k is bit 8 k.
__device__ __forceinline__ u64 truths(const u8* __restrict__ mask, i64 at, i64 n) {
    u64 w = 0;
    if (at + EACH <= n && !((u64)(mask + at) & 7)) {
        w = *(const u64*)(mask + at);
    } else {
        for (int k = 0; k < EACH; k++)
            if (at + k < n) w |= (u64)mask[at + k] << 8 * k;
    }
    w |= w >> 4;
    w |= w >> 2;
    w |= w >> 1;
    return w & 0x0101010101010101ull;
}

// The counts of the threads before this one in `mine`, of all in `all`; `hold` has room for 32 numbers.
__device__ __forceinline__ i64 before_thread(i64 mine, i64& all, i64* hold) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    i64 upto = mine;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const i64 other = __shfl_up_sync(0xffffffffu, upto, d);
        if (lane >= d) upto += other;
    }
    __syncthreads();
    if (lane == 31) hold[warp] = upto;
    __syncthreads();
    i64 before = 0, total = 0;
    for (int i = 0; i < warps; i++) {
        if (i == warp) before = total;
        total += hold[i];
    }
    all = total;
    return before + upto - mine;
}

// starts[part] = true elements before the part, starts[parts] = all of them.
KERNEL(count_true)(const u8* __restrict__ mask, i64* starts, i64 n, i64 chunk, unsigned* counter) {
    depend();
    __shared__ i64 hold[32];
    const i64 begin = (i64)blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
    i64 mine = 0, all;
    for (i64 at = begin + threadIdx.x * EACH; at < end; at += (i64)blockDim.x * EACH)
        mine += __popcll(truths(mask, at, end));
    before_thread(mine, all, hold);
    if (threadIdx.x == 0) starts[blockIdx.x] = all;
    if (!last_block(counter, gridDim.x)) return;
    i64 carry = 0;
    for (i64 at = 0; at < gridDim.x; at += blockDim.x) {
        const i64 i = at + threadIdx.x;
        const i64 count = i < gridDim.x ? ((volatile i64*)starts)[i] : 0;
        const i64 before = before_thread(count, all, hold);
        if (i < gridDim.x) starts[i] = carry + before;
        carry += all;
    }
    if (threadIdx.x == 0) starts[gridDim.x] = carry;
}

// Calls `use(i, k)` for true element k, which stands at i.
template <class F>
__device__ __forceinline__ void each_true(const u8* mask, const i64* starts, i64 n, i64 chunk, F use) {
    __shared__ i64 hold[32];
    const i64 begin = (i64)blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
    i64 carry = starts[blockIdx.x], all;
    for (i64 base = begin; base < end; base += (i64)blockDim.x * EACH) {
        const i64 at = base + threadIdx.x * EACH;
        u64 w = at < end ? truths(mask, at, end) : 0;
        i64 k = carry + before_thread(__popcll(w), all, hold);
        carry += all;
        while (w) {
            use(at + ((__ffsll((i64)w) - 1) >> 3), k++);
            w &= w - 1;
        }
    }
}

KERNEL(places)(const u8* __restrict__ mask, const i64* __restrict__ starts, i64* __restrict__ out, i64 n, i64 chunk) {
    depend();
    each_true(mask, starts, n, chunk, [&](i64 i, i64 k) { out[k] = i; });
}

// For every element, at the place that `at` has for it: how many true ones there are up to it, less one.
KERNEL(ranks)(const u8* __restrict__ mask, const i64* __restrict__ starts, i64* __restrict__ out, i64 n, i64 chunk,
              const i64* __restrict__ at) {
    depend();
    __shared__ i64 hold[32];
    const i64 begin = (i64)blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
    i64 carry = starts[blockIdx.x], all;
    for (i64 base = begin; base < end; base += (i64)blockDim.x * EACH) {
        const i64 i = base + threadIdx.x * EACH;
        const u64 w = i < end ? truths(mask, i, end) : 0;
        i64 k = carry + before_thread(__popcll(w), all, hold) - 1;
        carry += all;
        for (int j = 0; j < EACH && i + j < end; j++) {
            k += w >> 8 * j & 1;
            out[at[i + j]] = k;
        }
    }
}

// The elements of x themselves.
KERNEL(picked)(const u8* __restrict__ mask, const i64* __restrict__ starts, UNIT* __restrict__ out, i64 n, i64 chunk,
               const UNIT* __restrict__ x) {
    depend();
    each_true(mask, starts, n, chunk, [&](i64 i, i64 k) { out[k] = x[i]; });
}

// The other way round: element k of g where the k-th true one stands; `out` is 0 elsewhere already.
KERNEL(spread)(const u8* __restrict__ mask, const i64* __restrict__ starts, UNIT* __restrict__ out, i64 n, i64 chunk,
               const UNIT* __restrict__ g) {
    depend();
    each_true(mask, starts, n, chunk, [&](i64 i, i64 k) { out[i] = g[k]; });
}

// The position along each of DIMS dims, a row of `count` for each dim.
KERNEL(coordinates)(const u8* __restrict__ mask, const i64* __restrict__ starts, i64* __restrict__ out, i64 n,
                    i64 chunk, i64 count, Sizes sizes) {
    depend();
    each_true(mask, starts, n, chunk, [&](i64 i, i64 k) {
#pragma unroll
        for (int d = DIMS - 1; d >= 0; d--) {
            const i64 q = i / sizes.of[d];
            out[d * count + k] = i - q * sizes.of[d];
            i = q;
        }
    });
}
