// What sorted rows and counts tell: the middle, the most frequent element, runs of equal ones, bins, whether arrays are
// equal. Before this file stand the prelude and S, the element type.
#ifndef HISTC
#define HISTC 0
#endif
typedef Wide<S>::type T;

__device__ __forceinline__ i64 spot(i64 row, i64 at, i64 n, i64 inner) {
    if (inner == 1) return row * n + at;
    const i64 outer = row / inner;
    return (outer * n + at) * inner + (row - outer * inner);
}
__device__ __forceinline__ bool same(S a, S b) { return widen(a) == widen(b); }

// The lower median of each sorted row, whose NaNs stand last: the first of them, unless they are ignored.
KERNEL(middle)(const S* __restrict__ sorted, const i64* __restrict__ places, S* __restrict__ value, i64* __restrict__ place,
               i64 rows, i64 n, i64 inner, int ignored) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += step) {
        i64 low = 0, high = n;  // the first NaN
        while (low < high) {
            const i64 at = (low + high) / 2;
            const S v = sorted[spot(row, at, n, inner)];
            if (same(v, v)) low = at + 1;
            else high = at;
        }
        i64 k = low == n || ignored ? (low - 1) / 2 : low;
        const i64 from = spot(row, k < 0 ? 0 : k, n, inner);
        value[row] = sorted[from];
        if (place) place[row] = places[from];
    }
}

// Which elements are among a few others, or are not.
KERNEL(is_in)(const S* __restrict__ x, const S* __restrict__ others, bool* __restrict__ out, i64 n, int count, int invert) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const S v = x[i];
        bool found = false;
        for (int k = 0; k < count && !found; k++) found = same(v, others[k]);
        out[i] = found != (bool)invert;
    }
}

// The most frequent element of each sorted row, the smallest of several, and where its last one stood; a block for a row.
KERNEL(most)(const S* __restrict__ sorted, const i64* __restrict__ places, S* __restrict__ value, i64* __restrict__ place,
             i64 n, i64 inner) {
    depend();
    __shared__ i64 longest[256], last[256];
    const i64 row = blockIdx.x;
    i64 length = 0, end = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
        const S v = sorted[spot(row, i, n, inner)];
        if (i + 1 < n && same(v, sorted[spot(row, i + 1, n, inner)])) continue;  // the run goes on
        i64 low = 0, high = i;                                                  // where it begins
        while (low < high) {
            const i64 at = (low + high) / 2;
            if (same(v, sorted[spot(row, at, n, inner)])) high = at;
            else low = at + 1;
        }
        if (i - low + 1 > length) length = i - low + 1, end = i;
    }
    const int me = threadIdx.x;
    longest[me] = length, last[me] = end;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (me < half) {
            const i64 other = longest[me + half];
            if (other > longest[me] || (other == longest[me] && last[me + half] < last[me]))
                longest[me] = other, last[me] = last[me + half];
        }
        __syncthreads();
    }
    if (me == 0) {
        const i64 from = spot(row, last[0], n, inner);
        value[row] = sorted[from];
        place[row] = places[from];
    }
}

// Whether an element of a sorted row differs from the one before it.
KERNEL(begins)(const S* __restrict__ sorted, unsigned char* __restrict__ begins, i64 n) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        begins[i] = i == 0 || !same(sorted[i], sorted[i - 1]);
}

// The lengths of runs, of which `at` has the beginnings.
KERNEL(lengths)(const i64* __restrict__ at, i64* __restrict__ lengths, i64 count, i64 n) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        lengths[i] = (i + 1 < count ? at[i + 1] : n) - at[i];
}

// How many elements are in each bin: the number itself, or HISTC the part of [low, low + span] in which it lies. Blocks
// count in shared memory where `held_bins` says that it has room.
KERNEL(tally)(const S* __restrict__ x, u64* counts, i64 n, i64 bins, double low_, double high_, double span_, int held_bins) {
    depend();
    extern __shared__ unsigned held[];
    for (int i = threadIdx.x; i < held_bins; i += blockDim.x) held[i] = 0u;
    __syncthreads();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const T v = widen(x[i]);
        i64 bin;
#if HISTC
        const T low = (T)low_, high = (T)high_, span = (T)span_;
        if (!(v >= low && v <= high)) continue;
        bin = (i64)((v - low) / span * (T)bins);
        if (bin > bins - 1) bin = bins - 1;
#else
        bin = (i64)v;
#endif
        if (held_bins) atomicAdd(&held[bin], 1u);
        else atomicAdd(&counts[bin], (u64)1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < held_bins; i += blockDim.x)
        if (held[i]) atomicAdd(&counts[i], (u64)held[i]);
}

// found[block]: whether a pair of elements that the block looked at differs.
KERNEL(differs)(const S* __restrict__ x, const S* __restrict__ y, unsigned char* __restrict__ found, i64 n) {
    depend();
    __shared__ int any;
    if (threadIdx.x == 0) any = 0;
    __syncthreads();
    const i64 step = (i64)gridDim.x * blockDim.x;
    bool mine = false;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) mine |= !same(x[i], y[i]);
    if (mine) any = 1;
    __syncthreads();
    if (threadIdx.x == 0) found[blockIdx.x] = (unsigned char)any;
}
