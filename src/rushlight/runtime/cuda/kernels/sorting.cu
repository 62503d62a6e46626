// Rows put in order: short ones in shared memory, longer ones by the digits of their keys. Nothing asks the host.
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
#ifndef NTH
#define NTH 0
#endif
#define KEY __device__ __forceinline__
// An element's bits as a number that orders as it does, and back: for numbers of any sign, and for floats.
template <int BYTES> struct BitsOf { typedef unsigned char type; };
template <> struct BitsOf<2> { typedef unsigned short type; };
template <> struct BitsOf<4> { typedef unsigned type; };
template <> struct BitsOf<8> { typedef u64 type; };
typedef BitsOf<sizeof(S)>::type Key;
template <class T> struct Kind { static const bool is_signed = T(-1) < T(0); static const u64 infinite = 0; };
template <> struct Kind<bool> { static const bool is_signed = false; static const u64 infinite = 0; };
#define FLOATS(T, bits) template <> struct Kind<T> { static const bool is_signed = true; static const u64 infinite = bits; };
FLOATS(half_t, 0x7c00) FLOATS(bf16_t, 0x7f80) FLOATS(float, 0x7f800000) FLOATS(double, 0x7ff0000000000000ull)
#define INFINITE (Key)(Kind<S>::infinite)  // above it are the NaNs; 0 where elements are no floats
#define ALL (Key)(~(Key)0)
#define SIGN (Key)(ALL - ALL / 2)
union Raw { S value; Key bits; };
KEY Key key_of(S v) {
    Raw raw;
    raw.value = v;
    const Key bits = raw.bits, size = bits & (Key)~SIGN;
    if (!INFINITE) return Kind<S>::is_signed ? bits ^ SIGN : bits;
    if (size > INFINITE) return ALL;
    return !size || bits == size ? size | SIGN : ~bits;
}
// The element of a key, for which one asks `x` at a place where keys do not tell: which zero, and which NaN.
KEY S value_of(Key key, const S* __restrict__ x, i64 at) {
    if (INFINITE && (key == SIGN || key == ALL)) return x[at];
    Raw raw;
    raw.bits = INFINITE ? key & SIGN ? key ^ SIGN : ~key : Kind<S>::is_signed ? key ^ SIGN : key;
    return raw.value;
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

// Items in shared memory, put in order by parts of CHUNK.
KEY void put_in_order(Item* held, int count) {
    bool together = true;  // whether the last step went beyond what one warp looks at
#pragma unroll 1
    for (int size = 2; size <= CHUNK; size <<= 1)
#pragma unroll 1
        for (int step = size >> 1; step; step >>= 1) {
            if (together || step > 32) __syncthreads();
            else __syncwarp();
            together = step > 32;
            for (int p = threadIdx.x; p < count / 2; p += blockDim.x) {
                const int a = 2 * p - (p & (step - 1)), b = a + step;
                const bool falling = a & size & (CHUNK - 1);
                const Item one = held[a], two = held[b];
                if (less(two, one) != falling) held[a] = two, held[b] = one;
            }
        }
    __syncthreads();
}

// ROWS rows of at most CHUNK elements: `k` of each one's order, from `first` on, as values (where wanted) and places.
KERNEL(sort_rows)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values, i64 rows, i64 n, i64 inner,
                  int first, int k, int descending) {
    depend();
    __shared__ Item held[ROWS * CHUNK];
    const i64 begin = (i64)blockIdx.x * ROWS;
    const bool apart = inner > 1;  // then neighbours in memory belong to different rows
    for (int i = threadIdx.x; i < ROWS * CHUNK; i += blockDim.x) {
        const int r = apart ? i % ROWS : i / CHUNK, c = apart ? i / ROWS : i % CHUNK;
        Item item;
        fill_up(item);
        if (begin + r < rows && c < n) {
            const Key key = key_of(x[spot(begin + r, c, n, inner)]);
            pack(item, descending ? (Key)~key : key, (unsigned)c);
        }
        held[r * CHUNK + c] = item;
    }
    put_in_order(held, ROWS * CHUNK);
    for (int i = threadIdx.x; i < ROWS * k; i += blockDim.x) {
        const int r = apart ? i % ROWS : i / k, c = apart ? i / ROWS : i % k;
        if (begin + r >= rows) continue;
        const i64 to = spot(begin + r, c, k, inner);
        const unsigned place = place_of(held[r * CHUNK + first + c]);
        places[to] = place;
        if (values) values[to] = x[spot(begin + r, place, n, inner)];
    }
}

// -- the first of a row, without an order of all: what a tile's bytes, the highest first, leave over ---------------------

#define EACH 8  // items of a thread
#define DIGITS ((int)sizeof(S))

KEY int byte_of(u64 item, int step) { return (int)(item >> 8 * (step < DIGITS ? 3 + DIGITS - step : DIGITS + 3 - step)) & 255; }
KEY int byte_of(const Long& item, int step) { return (int)(step < 8 ? item.key >> 8 * (7 - step) : item.place >> 8 * (11 - step)) & 255; }

// A tile of EACH items for a thread, of rows of `n` that `chunks` tiles hold: the first + k smallest ones, as items in any
// order, or `k` of them from `first` on, in order; or NTH the one at `first` (1), or in the middle of all (2) or of all but
// NaNs (3), of which the first is in the middle wherever there are any (2).
KERNEL(firsts)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values, const Item* __restrict__ items,
               Item* __restrict__ made, i64 chunks, i64 n, i64 extent, int first, int k, int descending) {
    depend();
    __shared__ Item held[CHUNK];
    Item* kept = TO_ITEMS ? made + (i64)blockIdx.x * (first + k) : held;
    __shared__ int counts[256], found[3], taken, nans;
    const int me = threadIdx.x;
    const i64 row = blockIdx.x / chunks, begin = (blockIdx.x - row * chunks) * EACH * blockDim.x;
    Item item[EACH];
    unsigned alive = (1u << EACH) - 1;
    if (!me) taken = nans = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const i64 at = begin + j * blockDim.x + me;
        fill_up(item[j]);
        if (at >= n) continue;
#if FROM_ITEMS
        item[j] = items[row * n + at];
#else
        const Key key = key_of(x[row * n + at]);
        pack(item[j], descending ? (Key)~key : key, (unsigned)at);
        if (NTH > 1 && INFINITE && key == ALL) atomicAdd(&nans, 1);
#endif
    }
    int need = first + k;
    if (NTH > 1) {
        __syncthreads();
        const int told = (int)n - nans;
        need = NTH == 2 && nans ? told + 1 : told ? (told + 1) / 2 : 1;
    }
    for (int step = 0; step < DIGITS + 4; step++) {
        for (int i = me; i < 256; i += blockDim.x) counts[i] = 0;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < EACH; j++)
            if (alive >> j & 1) atomicAdd(&counts[byte_of(item[j], step)], 1);
        __syncthreads();
        if (me < 32) {
            int own = 0, upto;
            for (int i = 0; i < 8; i++) own += counts[8 * me + i];
            upto = own;
#pragma unroll
            for (int d = 1; d < 32; d <<= 1) {
                const int other = __shfl_up_sync(0xffffffffu, upto, d);
                if (me >= d) upto += other;
            }
            int before = upto - own;
            if (before < need && need <= upto) {
                int value = 8 * me;
                for (; before + counts[value] < need; value++) before += counts[value];
                found[0] = value, found[1] = before, found[2] = counts[value];
            }
        }
        __syncthreads();
        const int value = found[0], equal = found[2];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            if (!(alive >> j & 1)) continue;
            const int own = byte_of(item[j], step);
            if (own == value) continue;
            alive &= ~(1u << j);
            if (own > value || NTH) continue;
            kept[atomicAdd(&taken, 1)] = item[j];
        }
        need -= found[1];
        if (equal == (NTH ? 1 : need)) break;
    }
#if NTH
#pragma unroll
    for (int j = 0; j < EACH; j++)
        if (alive >> j & 1) {
            const unsigned place = place_of(item[j]);
            places[row] = place;
            if (values) values[row] = x[row * n + place];
        }
#else
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        if (!(alive >> j & 1)) continue;
        const int to = atomicAdd(&taken, 1);  // beyond the wanted ones only what stands for no element
        if (to < first + k) kept[to] = item[j];
    }
#if !TO_ITEMS
    for (int i = first + k + me; i < CHUNK; i += blockDim.x) fill_up(held[i]);
    put_in_order(held, CHUNK);
    for (int i = me; i < k; i += blockDim.x) {
        const unsigned place = place_of(held[first + i]);
        places[row * k + i] = place;
        if (values) values[row * k + i] = x[row * extent + place];
    }
#endif
#endif
}

KEY int digit_of(Key key, int digit) { return (int)(key >> 8 * digit) & 255; }

// The lanes of the warp that have the same value of 8 bits.
KEY unsigned alike(int value) {
    unsigned lanes = 0xffffffffu;
#pragma unroll
    for (int b = 0; b < 8; b++) {
        const bool on = value >> b & 1;
        const unsigned with = __ballot_sync(0xffffffffu, on);
        lanes &= on ? with : ~with;
    }
    return lanes;
}

// Rows of at most EACH elements for a thread, a block for each, by the bytes of the keys that differ: results as those of
// `sort_rows`.
KERNEL(sort_digits)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values, i64 n, int first, int k,
                    int descending) {
    depend();
    __shared__ Key keys[CHUNK];
    __shared__ unsigned short order[CHUNK];
    __shared__ unsigned counts[(CHUNK + 32 * EACH - 1) / (32 * EACH)][256], starts[256];
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5, warps = blockDim.x >> 5, begin = warp * 32 * EACH + lane;
    const Key flip = descending ? ALL : (Key)0;
    x += blockIdx.x * n;
    Key key[EACH];
    unsigned place[EACH], rank[EACH];
    Key differ = 0;
    const Key one = key_of(x[0]) ^ flip;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        place[j] = begin + 32 * j;
        key[j] = place[j] < n ? key_of(x[place[j]]) ^ flip : ALL;  // what stands for no element comes behind all
        if (place[j] < n) differ |= key[j] ^ one;
    }
#pragma unroll 1
    for (int digit = 0; digit < DIGITS; digit++) {
        if (!__syncthreads_or(digit_of(differ, digit))) continue;
        for (int i = lane; i < 256; i += 32) counts[warp][i] = 0;
        __syncwarp();
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const unsigned lanes = alike(digit_of(key[j], digit)), before = __popc(lanes & ((1u << lane) - 1));
            rank[j] = before | (before ? 0 : __popc(lanes) << 16);
        }
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            unsigned* counted = &counts[warp][digit_of(key[j], digit)];
            const unsigned others = *counted, alike = rank[j] >> 16;
            __syncwarp();
            if (alike) *counted = others + alike;
            __syncwarp();
            rank[j] = (rank[j] & 0xffff) + others;
        }
        __syncthreads();
        for (int i = me; i < 256; i += blockDim.x) {
            unsigned mine = 0;
            for (int w = 0; w < warps; w++) {
                const unsigned others = counts[w][i];
                counts[w][i] = mine;
                mine += others;
            }
            starts[i] = mine;
        }
        __syncthreads();
        if (me < 32) {
            unsigned own = 0, upto;
            for (int i = 0; i < 8; i++) own += starts[8 * me + i];
            upto = own;
#pragma unroll
            for (int d = 1; d < 32; d <<= 1) {
                const unsigned other = __shfl_up_sync(0xffffffffu, upto, d);
                if (me >= d) upto += other;
            }
            upto -= own;
            for (int i = 0; i < 8; i++) {
                const unsigned count = starts[8 * me + i];
                starts[8 * me + i] = upto;
                upto += count;
            }
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int value = digit_of(key[j], digit);
            rank[j] += counts[warp][value] + starts[value];
            keys[rank[j]] = key[j], order[rank[j]] = (unsigned short)place[j];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < EACH; j++) key[j] = keys[begin + 32 * j], place[j] = order[begin + 32 * j];
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int at = begin + 32 * j - first;
        if (at < 0 || at >= k) continue;
        places[(i64)blockIdx.x * k + at] = place[j];
        if (values) values[(i64)blockIdx.x * k + at] = value_of(key[j] ^ flip, x, place[j]);
    }
}

// -- rows that no block holds: a launch for each byte of the keys, the lowest first, which keeps what it finds in order --

#ifndef PER
#define PER (sizeof(S) == 8 ? 8 : 16)  // elements of a thread
#endif
#ifndef COUNT
#define COUNT unsigned  // of a row's elements, and two bits
#endif
#define THREADS 512
#define WARPS (THREADS / 32)
#define TILE (THREADS * PER)
#define AHEAD 8  // tiles that are looked at together
#define OWN ((COUNT)1 << (sizeof(COUNT) * 8 - 2))  // of a tile that has told its own counts,
#define SUM ((COUNT)2 << (sizeof(COUNT) * 8 - 2))  // and of one that has told the sum up to its end

// What the launches tell each other: zeros at first.
struct Told {
    COUNT* counts;   // of every row, digit and value of a digit
    COUNT* live;     // of every row: bits of the digits that differ; the others have no launch to do
    COUNT* done;     // and how many blocks have counted
    COUNT* tickets;  // of every row and digit: tiles begun
    COUNT* sums;     // two by turns: of every row, tile and value
    KEY Told(COUNT* all, i64 rows)
        : counts(all), live(all + rows * DIGITS * 256), done(live + rows), tickets(done + rows), sums(tickets + rows * DIGITS) {}
};

// How often each value of each digit is there; `parts` blocks for a row.
BOUNDED_KERNEL(count_digits, THREADS)(const S* __restrict__ x, COUNT* __restrict__ all, i64 rows, i64 n, int parts) {
    depend();
    __shared__ unsigned held[DIGITS * 256];
    for (int i = threadIdx.x; i < DIGITS * 256; i += THREADS) held[i] = 0;
    __syncthreads();
    const i64 row = blockIdx.x / parts, step = (i64)parts * THREADS;
    const Told told(all, rows);
    x += row * n;
    int last[DIGITS];
    unsigned run[DIGITS];  // neighbours are often equal: only the ends of runs are written
    for (int d = 0; d < DIGITS; d++) last[d] = run[d] = 0;
    for (i64 at = (blockIdx.x - row * parts) * THREADS + threadIdx.x; at < n; at += 4 * step) {
        S v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (at + k * step < n) v[k] = x[at + k * step];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (at + k * step >= n) continue;
            const Key key = key_of(v[k]);
#pragma unroll
            for (int d = 0; d < DIGITS; d++) {
                const int value = digit_of(key, d);
                if (value != last[d]) {
                    if (run[d]) atomicAdd(&held[d * 256 + last[d]], run[d]);
                    last[d] = value, run[d] = 0;
                }
                run[d]++;
            }
        }
    }
#pragma unroll
    for (int d = 0; d < DIGITS; d++)
        if (run[d]) atomicAdd(&held[d * 256 + last[d]], run[d]);
    __syncthreads();
    COUNT* counts = told.counts + row * DIGITS * 256;
    for (int i = threadIdx.x; i < DIGITS * 256; i += THREADS)
        if (held[i]) atomicAdd(&counts[i], (COUNT)held[i]);
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(&told.done[row], (COUNT)1) + 1 < parts) return;
    __threadfence();
    const Key key = key_of(x[0]);
    COUNT live = 0;
    for (int d = 0; d < DIGITS; d++)
        if (((volatile COUNT*)counts)[d * 256 + digit_of(key, d)] != n) live |= (COUNT)1 << d;
    told.live[row] = live ? live : 1;
}

// Rows by one digit: every tile puts its own elements in order, and learns from the tiles before it where they belong.
// The first launch reads `x`, the last one writes those from `first` on; between them are keys and places, two by turns.
BOUNDED_KERNEL(by_digit, THREADS, 2)(const S* __restrict__ x, i64* __restrict__ places, S* __restrict__ values,
                                     Key* __restrict__ keys, unsigned* __restrict__ order, COUNT* all, i64 rows, i64 n,
                                     int tiles, int digit, i64 first, i64 k, int descending) {
    depend();
    __shared__ union { Key keys[TILE]; unsigned order[TILE], counts[WARPS][256]; } held;
    __shared__ unsigned starts[256];  // of each value in the tile
    __shared__ COUNT ends[256];       // and where the row has what the tile has at 0, as if all were of this value
    __shared__ u64 warp_sums[8];
    __shared__ int ticket;
    const i64 row = blockIdx.x / tiles;
    const Told told(all, rows);
    const unsigned live = (unsigned)told.live[row];
    if (!(live >> digit & 1)) return;
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5, turn = __popc(live & ((1u << digit) - 1));
    const bool begins = !turn, finishes = !(live >> digit >> 1);
    const Key flip = descending ? ALL : (Key)0;
    if (!me) ticket = (int)atomicAdd(&told.tickets[row * DIGITS + digit], (COUNT)1);
    for (int i = me; i < WARPS * 256; i += THREADS) (&held.counts[0][0])[i] = 0;
    __syncthreads();
    const int tile = ticket;
    const i64 begin = (i64)tile * TILE, at = begin + warp * 32 * PER + lane;
    const int count = n - begin < TILE ? (int)(n - begin) : TILE;
    const i64 from = ((turn & 1 ^ 1) * rows + row) * n, to = ((turn & 1) * rows + row) * n;
    Key key[PER];
    if (begins) {
#pragma unroll
        for (int j = 0; j < PER; j++) key[j] = at + 32 * j < n ? key_of(x[row * n + at + 32 * j]) ^ flip : ALL;
    } else {
#pragma unroll
        for (int j = 0; j < PER; j++) key[j] = at + 32 * j < n ? keys[from + at + 32 * j] : ALL;
    }
    // How many elements of the same digit stand before each one in its warp's part.
    unsigned rank[PER];
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const unsigned lanes = alike(digit_of(key[j], digit)), before = __popc(lanes & ((1u << lane) - 1));
        rank[j] = before | (before ? 0 : __popc(lanes) << 16);
    }
#pragma unroll
    for (int j = 0; j < PER; j++) {
        unsigned* counted = &held.counts[warp][digit_of(key[j], digit)];
        const unsigned others = *counted, alike = rank[j] >> 16;
        __syncwarp();
        if (alike) *counted = others + alike;
        __syncwarp();
        rank[j] = (rank[j] & 0xffff) + others;
    }
    __syncthreads();
    // And in the whole tile: thread `me` has a value of the digit.
    COUNT mine = 0;
    u64 upto = 0;  // the row's elements of smaller values, and the tile's
    COUNT* sums = told.sums + (((turn & 1) * rows + row) * tiles + tile) * 256 + me;
    if (me < 256) {
        for (int w = 0; w < WARPS; w++) {
            const unsigned others = held.counts[w][me];
            held.counts[w][me] = (unsigned)mine;
            mine += others;
        }
        *(volatile COUNT*)sums = mine | (tile ? OWN : SUM);
        told.sums[(((turn & 1 ^ 1) * rows + row) * tiles + tile) * 256 + me] = 0;
        const u64 both = (u64)told.counts[(row * DIGITS + digit) * 256 + (descending ? 255 - me : me)] << 32 | mine;
        upto = both;
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            const u64 other = __shfl_up_sync(0xffffffffu, upto, d);
            if (lane >= d) upto += other;
        }
        if (lane == 31) warp_sums[warp] = upto;
        upto -= both;
    }
    __syncthreads();
    if (me < 256) {
        for (int w = 0; w < warp; w++) upto += warp_sums[w];
        starts[me] = (unsigned)upto;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const int value = digit_of(key[j], digit);
        rank[j] += held.counts[warp][value] + starts[value];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < PER; j++) held.keys[rank[j]] = key[j];
    if (me < 256) {  // the elements of this value in the tiles before
        COUNT before = 0;
        for (int other = tile - 1; other >= 0;) {
            COUNT seen[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; a++) seen[a] = a <= other ? *(volatile COUNT*)(sums - (i64)(tile - other + a) * 256) : SUM;
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                if (!(seen[a] & (OWN | SUM))) break;
                before += seen[a] & (OWN - 1);
                other = seen[a] & SUM ? -1 : other - 1;
                if (other < 0) break;
            }
        }
        if (tile) *(volatile COUNT*)sums = before + mine | SUM;
        ends[me] = (COUNT)(upto >> 32) + before - (unsigned)upto;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const int i = me + j * THREADS;
        key[j] = held.keys[i];
        if (i < count && !finishes) keys[to + (COUNT)(ends[digit_of(key[j], digit)] + i)] = key[j];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < PER; j++)
        held.order[rank[j]] = begins ? (unsigned)at + 32 * j : at + 32 * j < n ? order[from + at + 32 * j] : 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const int i = me + j * THREADS;
        if (i >= count) continue;
        const COUNT place = ends[digit_of(key[j], digit)] + i;
        const unsigned element = held.order[i];
        if (!finishes) {
            order[to + place] = element;
        } else if ((u64)(place - first) < (u64)k) {
            const i64 there = row * k + place - first;
            places[there] = element;
            if (values) values[there] = value_of(key[j] ^ flip, x + row * n, element);
        }
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
