// Rows put in order: chunks of CHUNK elements in shared memory, longer rows by merging them. Nothing asks the host.
// Before this file stand the prelude and S, the element type. An item is a key that orders as PyTorch orders elements
// (-0 equals 0, every NaN equals every other and is the largest) and the element's place, so that no two are equal and
// equal elements keep their order.
#ifndef CHUNK
#define CHUNK 64
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef FROM_ITEMS
#define FROM_ITEMS 0
#endif
#ifndef TO_ITEMS
#define TO_ITEMS 0
#endif
#define KEY __device__ __forceinline__
KEY unsigned key_of(bool v) { return v; }
KEY unsigned key_of(unsigned char v) { return v; }
KEY unsigned key_of(unsigned short v) { return v; }
KEY unsigned key_of(unsigned v) { return v; }
KEY unsigned key_of(signed char v) { return (unsigned)(int)v ^ 0x80000000u; }
KEY unsigned key_of(short v) { return (unsigned)(int)v ^ 0x80000000u; }
KEY unsigned key_of(int v) { return (unsigned)v ^ 0x80000000u; }
KEY u64 key_of(u64 v) { return v; }
KEY u64 key_of(i64 v) { return (u64)v ^ 0x8000000000000000ull; }
// Of 32 bits of a number whose largest that is no NaN is `infinite`.
KEY unsigned key_of_bits(unsigned bits, unsigned infinite) {
    const unsigned size = bits & 0x7fffffffu;
    if (size > infinite) return 0xffffffffu;
    if (!size) return 0x80000000u;
    return bits == size ? bits | 0x80000000u : ~bits;
}
KEY unsigned key_of(float v) { return key_of_bits(__float_as_uint(v), 0x7f800000u); }
KEY unsigned key_of(half_t v) { return key_of_bits((unsigned)v.bits << 16, 0x7c000000u); }
KEY unsigned key_of(bf16_t v) { return key_of_bits((unsigned)v.bits << 16, 0x7f800000u); }
KEY u64 key_of(double v) {
    const u64 bits = (u64)__double_as_longlong(v), size = bits & 0x7fffffffffffffffull;
    if (size > 0x7ff0000000000000ull) return 0xffffffffffffffffull;
    if (!size) return 0x8000000000000000ull;
    return bits == size ? bits | 0x8000000000000000ull : ~bits;
}

struct alignas(16) Long { u64 key, place; };
template <int BYTES> struct ItemOf { typedef u64 type; };
template <> struct ItemOf<8> { typedef Long type; };
typedef ItemOf<sizeof(S)>::type Item;
KEY void pack(u64& to, unsigned key, unsigned place) { to = (u64)key << 32 | place; }
KEY void pack(Long& to, u64 key, unsigned place) { to.key = key, to.place = place; }
KEY void fill_up(u64& to) { to = ~0ull; }
KEY void fill_up(Long& to) { to.key = to.place = ~0ull; }
KEY unsigned place_of(u64 item) { return (unsigned)item; }
KEY unsigned place_of(const Long& item) { return (unsigned)item.place; }
KEY bool less(u64 a, u64 b) { return a < b; }
KEY bool less(const Long& a, const Long& b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }

// Where element `at` of a row of `n` lies; rows are (outer, inner), with `inner` neighbours between elements.
KEY i64 spot(i64 row, i64 at, i64 n, i64 inner) {
    if (inner == 1) return row * n + at;
    const i64 outer = row / inner;
    return (outer * n + at) * inner + (row - outer * inner);
}

// The first `k` of each chunk, from `first` on: as items, or as values (where wanted) and places.
// `rows` counts chunks: of each row of `n` there are `chunks`; `extent` is the length of x's own rows.
KERNEL(sort_chunks)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values,
                    const Item* __restrict__ items, Item* __restrict__ sorted, i64 rows, i64 chunks, i64 n, i64 extent,
                    i64 inner, int first, int k, int descending) {
    depend();
    __shared__ Item held[ROWS * CHUNK];
    const i64 begin = (i64)blockIdx.x * ROWS;
    const bool apart = inner > 1;  // then neighbours in memory belong to different rows
    for (int i = threadIdx.x; i < ROWS * CHUNK; i += blockDim.x) {
        const int r = apart ? i % ROWS : i / CHUNK, c = apart ? i / ROWS : i % CHUNK;
        const i64 chunk = begin + r, row = chunks == 1 ? chunk : chunk / chunks;
        const i64 at = (chunk - row * chunks) * CHUNK + c;
        Item item;
        fill_up(item);
        if (chunk < rows && at < n) {
#if FROM_ITEMS
            item = items[row * n + at];
#else
            const auto key = key_of(x[spot(row, at, n, inner)]);
            pack(item, descending ? ~key : key, (unsigned)at);
#endif
        }
        held[r * CHUNK + c] = item;
    }
    bool together = true;  // whether the last step went beyond what one warp looks at
#pragma unroll 1
    for (int size = 2; size <= CHUNK; size <<= 1)
#pragma unroll 1
        for (int step = size >> 1; step; step >>= 1) {
            if (together || step > 32) __syncthreads();
            else __syncwarp();
            together = step > 32;
            for (int p = threadIdx.x; p < ROWS * CHUNK / 2; p += blockDim.x) {
                const int a = 2 * p - (p & (step - 1)), b = a + step;
                const bool falling = a & size & (CHUNK - 1);
                const Item one = held[a], two = held[b];
                if (less(two, one) != falling) held[a] = two, held[b] = one;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * k; i += blockDim.x) {
        const int r = apart ? i % ROWS : i / k, c = apart ? i / ROWS : i % k;
        const i64 chunk = begin + r;
        if (chunk >= rows) continue;
        const Item item = held[r * CHUNK + first + c];
#if TO_ITEMS
        sorted[chunk * k + c] = item;
#else
        const i64 to = spot(chunk, c, k, inner);
        const unsigned place = place_of(item);
        places[to] = place;
        if (values) values[to] = x[spot(chunk, place, extent, inner)];
#endif
    }
}

// How many of the first `d` items of two sorted runs together come from the first; equal ones come from it first.
KEY i64 of_the_first(const Item* a, i64 na, const Item* b, i64 nb, i64 d) {
    i64 low = d > nb ? d - nb : 0, high = d < na ? d : na;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (less(b[d - 1 - middle], a[middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Runs of `run` items, of rows of `n`, by twos into one; a block makes CHUNK items of it. The results are those of
// `sort_chunks`: all as items, or those from `first` on as values and places.
KERNEL(merge)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values,
              const Item* __restrict__ items, Item* __restrict__ sorted, i64 n, i64 run, i64 extent, i64 inner, i64 first,
              i64 k) {
    depend();
    __shared__ Item held[CHUNK];
    __shared__ i64 ends[2];
    const i64 tiles = n / CHUNK, row = blockIdx.x / tiles, from = (blockIdx.x - row * tiles) * CHUNK;
    if (!TO_ITEMS && (from >= first + k || from + CHUNK <= first)) return;
    const i64 start = from / (2 * run) * (2 * run), offset = from - start;
    const Item* a = items + row * n + start;
    const i64 na = n - start < run ? n - start : run, rest = n - start - na, nb = rest < run ? rest : run;
    const Item* b = a + na;
    if (threadIdx.x < 2) ends[threadIdx.x] = of_the_first(a, na, b, nb, offset + threadIdx.x * CHUNK);
    __syncthreads();
    const i64 a0 = ends[0], b0 = offset - a0;
    const int ours = (int)(ends[1] - a0);
    for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) held[i] = i < ours ? a[a0 + i] : b[b0 + i - ours];
    __syncthreads();
    for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) {
        const Item item = held[i];
        const bool in_a = i < ours;
        int low = in_a ? ours : 0, high = in_a ? CHUNK : ours;  // what stands before it in the other run
        while (low < high) {
            const int middle = (low + high) / 2;
            if (in_a ? less(held[middle], item) : !less(item, held[middle])) low = middle + 1;
            else high = middle;
        }
        const i64 at = from + (in_a ? i + low - ours : i - ours + low);
#if TO_ITEMS
        sorted[row * n + at] = item;
#else
        if (at < first || at >= first + k) continue;
        const i64 to = spot(row, at - first, k, inner);
        const unsigned place = place_of(item);
        places[to] = place;
        if (values) values[to] = x[spot(row, place, extent, inner)];
#endif
    }
}

// Where each value would stand in its sorted row, of which there is one for every `each` values, by bisection: before
// those equal to it, or behind them (`right`). A NaN stands behind everything.
#ifndef PLACE
#define PLACE i64
#endif
KERNEL(search)(const S* __restrict__ sequence, const S* __restrict__ values, PLACE* __restrict__ found, i64 count,
               i64 each, i64 n, int right) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const S* row = sequence + i / each * n;
        const auto value = widen(values[i]);
        i64 low = 0, high = n;
        while (low < high) {
            const i64 middle = (low + high) / 2;
            const auto held = widen(row[middle]);
            if (right ? held > value : held >= value) high = middle;
            else low = middle + 1;
        }
        found[i] = (PLACE)low;
    }
}
