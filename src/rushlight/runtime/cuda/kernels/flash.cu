// What the kernels of attention in float32 share, behind random.cu: tiles in shared memory and products of them.
//   WIDTH, VALUES  numbers of a head of queries and keys, and of values, rounded up to a multiple of 32
//   TILES, WARPS   16 * TILES rows of scores belong to a warp, WARPS warps to a block
//   STEP           columns of the scores that are computed at once, a multiple of 16
//   TF32           products by tensor cores of numbers rounded to 11 bits; else they are float32's own
//   DROP, BIAS     weights are dropped; something is added to the scores
// A warp's lane is 4 * G + L. Of a tile of 16 x 8 sums, as tensor cores make it, a lane has rows G and G + 8 and two
// neighbouring columns from 2 * L on. Which row, column or depth stands where is free as long as both operands agree.
// Here columns are in such order that of every 16 a lane has four neighbours, from 4 * L on: dropout draws four at a
// time, and scores are the next product's left operand where they are. Lanes without tensor cores share work alike.

#define THREADS (32 * WARPS)
#define ROWS (16 * TILES * WARPS)
#define GROUPS (STEP / 16)
#define LANE ((int)threadIdx.x & 31)
#define WARP ((int)threadIdx.x >> 5)
#define G (LANE >> 2)
#define L (LANE & 3)
#define NEVER __int_as_float(0xff800000)
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f
#define UNROLL _Pragma("unroll")

struct alignas(16) Quad { float v[4]; };
struct alignas(8) Pair { float v[2]; };
struct Lies { i64 batch, head, row; };  // numbers between neighbours of an array [batch, heads, places, numbers]
struct Sizes { int queries, n, heads, shared, width, values, causal, batch; };  // `shared`: heads that one of keys serves
struct Added { i64 by_batch, by_head; };  // rows of the bias between batches and between heads
typedef float Scores[TILES][2 * GROUPS][4];

// Four neighbours of a tile's row of W numbers. They are exchanged within 128 bytes by the row's bits, so that lanes
// read from different banks both along rows (neighbouring rows) and across them (every fourth row). Bits 0, 2 and 3 of the
// row decide: to know an address once, callers add multiples of 16 rows, or the row's bit 1, to the tile instead.
__device__ __forceinline__ int exchanged(int row) {
    return ((row ^ row >> 2 ^ row >> 3) & 1) << 2 | (row >> 2 & 1) << 1;
}
template <int W> __device__ __forceinline__ float* place(float* tile, int row, int four) {
    return tile + row * W + ((four ^ exchanged(row)) << 2);
}
template <int W> __device__ __forceinline__ Quad four_of(const float* tile, int row, int four) {
    return *(const Quad*)place<W>((float*)tile, row, four);
}

// The lane's rows of a warp's tile: eight apart, or neighbours; and the same four of such a row.
__device__ __forceinline__ int row_apart(int m, int h) { return WARP * 16 * TILES + 16 * m + 8 * h + G; }
__device__ __forceinline__ int row_near(int m, int h) { return (WARP * 8 + G) * 2 * TILES + 2 * m + h; }

template <int W, bool NEAR> __device__ __forceinline__ Quad own_four(const float* tile, int m, int h, int four) {
    return NEAR ? four_of<W>(tile + (WARP * 16 * TILES + 2 * m) * W, 2 * TILES * G + h, four)
                : four_of<W>(tile + (WARP * 16 * TILES + 16 * m) * W, 8 * h + G, four);
}

// COUNT rows from `from` on become a tile, zeros where there are no more than `rows` or `width` numbers of a row.
template <int COUNT, int W>
__device__ __forceinline__ void stage(float* tile, const float* from, i64 step, int rows, int width) {
    const int four = threadIdx.x % (W / 4);
    const bool inside = four * 4 < width;
    _Pragma("unroll 1") for (int row = threadIdx.x / (W / 4); row < COUNT; row += THREADS / (W / 4)) {
        const bool live = inside && row < rows;
        bring<16>(place<W>(tile, row, four), from + (live ? row * step + four * 4 : 0), live);
    }
}
// What this thread has staged, once it has arrived.
template <int COUNT, int W> __device__ __forceinline__ void round_staged(float* tile) {
#if TF32
    _Pragma("unroll 4") for (int row = threadIdx.x / (W / 4); row < COUNT; row += THREADS / (W / 4)) {
        Quad* q = (Quad*)place<W>(tile, row, threadIdx.x % (W / 4));
        Quad v = *q;
        UNROLL for (int e = 0; e < 4; e++) v.v[e] = rounded(v.v[e]);
        *q = v;
    }
#endif
}

// Products of the lane's rows of tile a and of all rows of tile b, both K numbers wide.
template <int K, bool NEAR> __device__ __forceinline__ void along(Scores& s, const float* a, const float* b) {
    UNROLL for (int m = 0; m < TILES; m++)
        UNROLL for (int j = 0; j < 2 * GROUPS; j++)
            UNROLL for (int e = 0; e < 4; e++) s[m][j][e] = 0;
    Quad x[TILES][2];
#if TF32
    UNROLL for (int u = 0; u < K / 16; u++) {
        UNROLL for (int m = 0; m < TILES; m++)
            UNROLL for (int h = 0; h < 2; h++) x[m][h] = own_four<K, NEAR>(a, m, h, 4 * u + L);
        Quad y[2 * GROUPS];  // all of them first: a sum should not wait for its last product
        UNROLL for (int j = 0; j < 2 * GROUPS; j++)
            y[j] = four_of<K>(b + (16 * (j / 2) + 2 * (j & 1)) * K, 4 * (G >> 1) + (G & 1), 4 * u + L);
        UNROLL for (int k = 0; k < 4; k += 2)
            UNROLL for (int j = 0; j < 2 * GROUPS; j++)
                UNROLL for (int m = 0; m < TILES; m++)
                    multiply(s[m][j], x[m][0].v[k], x[m][1].v[k], x[m][0].v[k + 1], x[m][1].v[k + 1], y[j].v[k], y[j].v[k + 1]);
    }
#else
    _Pragma("unroll 2") for (int u = 0; u < K / 4; u++) {
        UNROLL for (int m = 0; m < TILES; m++)
            UNROLL for (int h = 0; h < 2; h++) x[m][h] = own_four<K, NEAR>(a, m, h, u);
        UNROLL for (int j = 0; j < GROUPS; j++)
            UNROLL for (int c = 0; c < 4; c++) {
                const Quad y = four_of<K>(b + 16 * j * K, 4 * L + c, u);
                UNROLL for (int k = 0; k < 4; k++)
                    UNROLL for (int m = 0; m < TILES; m++)
                        UNROLL for (int h = 0; h < 2; h++)
                            s[m][2 * j + c / 2][2 * h + c % 2] += x[m][h].v[k] * y.v[k];
            }
    }
#endif
}

// Adds products of scores (rounded) and the columns of tile b, W numbers wide, whose rows are the scores' columns.
// Of every 32 columns a lane has eight, from 8 * L on: the first four in sums 0 and 2, the others in 1 and 3 of four tiles.
template <int W> __device__ __forceinline__ void across(float (&out)[TILES][W / 8][4], const Scores& s, const float* b) {
#if TF32
    UNROLL for (int j = 0; j < GROUPS; j++)
        UNROLL for (int w = 0; w < W / 32; w++) {
            Quad y[4];
            UNROLL for (int c = 0; c < 4; c++) y[c] = four_of<W>(b + 16 * j * W + 32 * w + (c & 2) * W, 4 * L + (c & 1), G);
            UNROLL for (int k = 0; k < 2; k++)
                UNROLL for (int e = 0; e < 4; e++)
                    UNROLL for (int m = 0; m < TILES; m++) {
                        const float* x = s[m][2 * j + k];
                        multiply(out[m][4 * w + e], x[0], x[2], x[1], x[3], y[2 * k].v[e], y[2 * k + 1].v[e]);
                    }
        }
#else
    UNROLL for (int j = 0; j < GROUPS; j++)
        for (int from = 0; from < 4; from++)
            UNROLL for (int c = 0; c < 4; c++) {
                float x[TILES][2];
                UNROLL for (int m = 0; m < TILES; m++)
                    UNROLL for (int h = 0; h < 2; h++)
                        x[m][h] = __shfl_sync(0xffffffffu, s[m][2 * j + c / 2][2 * h + c % 2], from, 4);
                UNROLL for (int w = 0; w < W / 32; w++)
                    UNROLL for (int k = 0; k < 2; k++) {
                        const Quad y = four_of<W>(b + 16 * j * W + 32 * w, 4 * from + c, 2 * L + k);
                        UNROLL for (int m = 0; m < TILES; m++)
                            UNROLL for (int h = 0; h < 2; h++)
                                UNROLL for (int e = 0; e < 4; e++) out[m][4 * w + e][2 * h + k] += x[m][h] * y.v[e];
                    }
            }
#endif
}

// The lane's eight numbers of every 32 of a row of such sums, times a factor, to memory.
template <int W> __device__ __forceinline__ void write_row(float* to, const float (&out)[W / 8][4], int h, int width, float by) {
    UNROLL for (int w = 0; w < W / 32; w++)
        UNROLL for (int k = 0; k < 2; k++) {
            const int at = 32 * w + 8 * L + 4 * k;
            Quad v;
            UNROLL for (int e = 0; e < 4; e++) v.v[e] = out[4 * w + e][2 * h + k] * by;
            if (at < width) *(Quad*)(to + at) = v;
        }
}

// A number that is the same in all lanes, so that the compiler knows: what it makes of it is made once for all of them.
__device__ __forceinline__ u64 shared_by_all(u64 v) {
#if __CUDA_ARCH__ >= 800
    return (u64)__reduce_or_sync(0xffffffffu, (unsigned)(v >> 32)) << 32 | __reduce_or_sync(0xffffffffu, (unsigned)v);
#else
    return v;
#endif
}

// Where the draws of a query's weights begin, and what four neighbours of them are multiplied with.
__device__ __forceinline__ u64 stream_of(i64 row, int n) { return (u64)row * ((n + 3) / 4); }
struct Kept {
    u64 seed, counter;
    unsigned most;  // of the bits drawn for a weight that is kept
    float by;
    __device__ __forceinline__ Kept(const u64* key, float keep) {
        if (!DROP) return;
        seed = shared_by_all(key[0]);
        counter = shared_by_all(key[1]);
        most = (unsigned)ceilf(keep * 16777216.0f) * 256u - 1u;  // where the upper 24 of them are below keep
        by = 1.0f / keep;
    }
    __device__ __forceinline__ Quad draw(u64 stream) const {
        const uint4 w = philox<7>(seed, counter, stream);
        return {w.x <= most ? by : 0.0f, w.y <= most ? by : 0.0f, w.z <= most ? by : 0.0f, w.w <= most ? by : 0.0f};
    }
};

// What is added to the scores of one head: rows of n numbers, one for each query.
struct Bias {
    const float* rows;
    int n, queries;
    bool lined;  // whether four neighbours can be read at once
    __device__ __forceinline__ Bias(const float* bias, const Sizes& z, const Added& added, int b, int head)
        : n(z.n), queries(z.queries) {
        if (!BIAS) return;
        rows = bias + (b * added.by_batch + head * added.by_head) * n;
        lined = !((u64)rows & 15) && !(n & 3);
    }
    // COUNT neighbours; behind the end of a row something, of which nothing may come.
    template <int COUNT> __device__ __forceinline__ void read(float* to, int i, int j) const {
        if (!BIAS) return;
        const float* row = rows + (i64)i * n;
        if (lined) {
            const int at = min(j, n - COUNT);
            if (COUNT == 4) *(Quad*)to = *(const Quad*)(row + at);
            else *(Pair*)to = *(const Pair*)(row + at);
        } else {
            UNROLL for (int c = 0; c < COUNT; c++) to[c] = row[min(j + c, n - 1)];
        }
    }
    // Brings COUNT rows from i0 on, WIDE numbers of each from j on, nearer.
    template <int COUNT, int WIDE> __device__ __forceinline__ void prefetch(int i0, int j) const {
        if (!BIAS) return;
        for (int at = threadIdx.x; at < COUNT * WIDE / 32; at += THREADS) {
            const float* from = rows + (i64)min(i0 + at % COUNT, queries - 1) * n + min(j + at / COUNT * 32, n - 1);
            asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
        }
    }
};

// Scores are kept times log2(e), so that one instruction makes a weight; those with a bias are not: its numbers may be
// as large as they get, and mean that nothing is seen.
__device__ __forceinline__ float score_of(float product, float by, float added) {
    return BIAS ? product * by + added : product * by;
}
__device__ __forceinline__ float power_of_2(float v) {  // exp2f without the care for results that are 0 or nearly so
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
}
__device__ __forceinline__ float weight_of(float score, float top) {
    return power_of_2(BIAS ? (score - top) * LOG2E : score - top);
}
__device__ __forceinline__ float over_lanes(float v) {  // the sum over the four lanes of a row
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}
