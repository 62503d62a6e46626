// Products of some million multiply-adds in float32: 64 x 32 results a block, 4 x 4 of them a thread. (Tiles of twice the
// size read half as much shared memory per product and were slower everywhere: too few blocks.) The k terms are cut
// into gridDim.z parts so that small results fill the GPU too; the block that finishes a tile last adds the parts up,
// always in the same order.
#define TM 64
#define TN 32
#define TK 32
#define THREADS 128
#define STAGES 3  // turns of TK terms that are on their way or being used
#define TILE (TM * TN + TM)  // numbers of one part: results, then sums

typedef Vec<float, 4> Four;

// One operand: SIZE rows (or columns) of a tile, and the threads that share it along that dim. It lies in shared memory
// as it does outside: ALONG says that neighbours are terms, else they are rows. Both pitches let a warp's
// reads of 16 bytes touch every bank once.
template <int SIZE, int SHARED, bool ALONG>
struct Operand {
    static constexpr int LINES = ALONG ? SIZE : TK, WIDTH = ALONG ? TK : SIZE, PITCH = WIDTH + 4;
    typedef float Room[LINES][PITCH];

    // Row i (of 4) of this thread in the tile, where `who` is its number among SHARED.
    static __device__ __forceinline__ int at(int who, int i) {
        return ALONG ? who + SHARED * i : 4 * who + i;
    }

    // Terms from `k0` on, of which `left` exist, and rows from `first` on, of which `rows` exist.
    static __device__ __forceinline__ void bring_turn(Room& room, const float* from, int pitch, int first, int rows,
                                                      int k0, int left, bool by_fours) {
        const int lines = ALONG ? rows : left, width = ALONG ? left : rows;
        from += ALONG ? first * pitch + k0 : k0 * pitch + first;
        if (by_fours) {
#pragma unroll
            for (int e = 0; e < LINES * WIDTH / 4 / THREADS; e++) {
                const int i = threadIdx.x + e * THREADS, line = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
                bring<16>(&room[line][c], from + line * pitch + c, line < lines && c < width);
            }
        } else {
#pragma unroll 8
            for (int e = 0; e < LINES * WIDTH / THREADS; e++) {
                const int i = threadIdx.x + e * THREADS, line = i / WIDTH, c = i % WIDTH;
                bring<4>(&room[line][c], from + line * pitch + c, line < lines && c < width);
            }
        }
    }

    // This thread's rows of four terms from j on.
    static __device__ __forceinline__ void read(float (*into)[4], const Room& room, int who, int j) {
        if (ALONG) {
#pragma unroll
            for (int i = 0; i < 4; i++) *(Four*)into[i] = *(const Four*)&room[at(who, i)][j];
        } else {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const Four v = *(const Four*)&room[j + q][at(who, 0)];
#pragma unroll
                for (int i = 0; i < 4; i++) into[i][q] = v.v[i];
            }
        }
    }
};

template <bool FLIP_X> using Rows = Operand<TM, 16, !FLIP_X>;
template <bool FLIP_Y> using Columns = Operand<TN, 8, FLIP_Y>;

// One tile's share of the terms from `begin` to `end`.
template <bool FLIP_X, bool FLIP_Y>
__device__ __forceinline__ void multiply(const float* x, const float* y, int row0, int column0, int begin, int end,
                                         int m, int n, int k, bool summing, float (*acc)[4], float* total) {
    typedef Rows<FLIP_X> X;
    typedef Columns<FLIP_Y> Y;
    __shared__ __align__(16) typename X::Room xs[STAGES];
    __shared__ __align__(16) typename Y::Room ys[STAGES];
    const int tx = threadIdx.x % 8, ty = threadIdx.x / 8, wide_x = FLIP_X ? m : k, wide_y = FLIP_Y ? k : n;
    const bool fours_x = wide_x % 4 == 0 && ((size_t)x & 15) == 0, fours_y = wide_y % 4 == 0 && ((size_t)y & 15) == 0;
    auto bring_turn = [&](int stage, int k0) {
        if (k0 < end) {
            X::bring_turn(xs[stage], x, wide_x, row0, m - row0, k0, end - k0, fours_x);
            Y::bring_turn(ys[stage], y, wide_y, column0, n - column0, k0, end - k0, fours_y);
        }
        sent();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) bring_turn(s, begin + s * TK);
    for (int now = 0, k0 = begin; k0 < end; k0 += TK, now = now + 1 == STAGES ? 0 : now + 1) {
        arrived<STAGES - 2>();
        __syncthreads();
        bring_turn(now == 0 ? STAGES - 1 : now - 1, k0 + (STAGES - 1) * TK);  // where the turn before was
        const int live = min(TK, end - k0);
#pragma unroll 2
        for (int j = 0; j < live; j += 4) {  // the rest of a four is zeros
            __align__(16) float a[4][4], b[4][4];
            X::read(a, xs[now], ty, j);
            Y::read(b, ys[now], tx, j);
#pragma unroll
            for (int q = 0; q < 4; q++)
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int c = 0; c < 4; c++) acc[i][c] += a[i][q] * b[c][q];
            if (summing)
#pragma unroll
                for (int i = 0; i < 4; i++) total[i] += (a[i][0] + a[i][1]) + (a[i][2] + a[i][3]);
        }
    }
}

// Whether this block is the last of its tile; the counter returns to 0. One thread's atomic releases what the whole
// block wrote before the barrier, and acquires what the others did, at less cost than fences of every thread.
__device__ __forceinline__ bool last_part(unsigned* counter) {
    __shared__ unsigned seen;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(seen) : "l"(counter), "r"(gridDim.z - 1) : "memory");
    }
    __syncthreads();
    return seen == gridDim.z - 1;
}

// Leaves this block's part, and answers whether it is the last one of its tile and now holds the sum of all.
template <class X>
__device__ __forceinline__ bool add_parts(float* parts, unsigned* counters, bool summing, float (*acc)[4],
                                          float* total) {
    const int t = threadIdx.x, number = blockIdx.y * gridDim.x + blockIdx.x;
    const bool owns = summing && t % 8 == 0;
    float* here = parts + (i64)number * gridDim.z * TILE;
    float* mine = here + blockIdx.z * TILE;
#pragma unroll
    for (int i = 0; i < 16; i++) mine[i * THREADS + t] = acc[i / (4)][i % (4)];
    if (owns)
#pragma unroll
        for (int i = 0; i < 4; i++) mine[TM * TN + X::at(threadIdx.x / 8, i)] = total[i];
    if (!last_part(counters + number)) return false;
#pragma unroll
    for (int i = 0; i < 16; i++) acc[i / (4)][i % (4)] = 0.f;
#pragma unroll
    for (int i = 0; i < 4; i++) total[i] = 0.f;
    const int count = gridDim.z;
    for (int p0 = 0; p0 < count; p0 += 8) {
#pragma unroll
        for (int q = 0; q < 8; q++) {  // without branches, so that all loads are on their way at once
            const bool live = p0 + q < count;
            const float* from = here + min(p0 + q, count - 1) * TILE;
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const float v = __ldcg(from + i * THREADS + t);
                acc[i / (4)][i % (4)] += live ? v : 0.f;
            }
        }
    }
    if (owns)
        for (int p = 0; p < count; p++)
#pragma unroll
            for (int i = 0; i < 4; i++) total[i] += __ldcg(here + p * TILE + TM * TN + X::at(threadIdx.x / 8, i));
    return true;
}

// `sums` receives the sums of x over k, row by row: a bias gradient beside a weight gradient.
template <bool FLIP_X, bool FLIP_Y>
__device__ __forceinline__ void tile(const float* x, const float* y, const float* bias, const float* mask,
                                     float* __restrict__ out, float* sums, float* parts, unsigned* counters, int m,
                                     int n, int k, int depth, int relu) {
    typedef Rows<FLIP_X> X;
    typedef Columns<FLIP_Y> Y;
    const int row0 = blockIdx.y * TM, column0 = blockIdx.x * TN, begin = blockIdx.z * depth;
    const bool summing = sums && blockIdx.x == 0;
    float acc[4][4] = {}, total[4] = {}, add[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const int column = column0 + Y::at(threadIdx.x % 8, c);
        add[c] = bias && column < n ? __ldg(bias + column) : 0.f;
    }
    if (mask)  // so that it is near when it is asked for
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = row0 + X::at(threadIdx.x / 8, i), column = column0 + Y::at(threadIdx.x % 8, 0);
            if (row < m && column < n) asm volatile("prefetch.global.L1 [%0];" ::"l"(mask + row * n + column));
        }
    multiply<FLIP_X, FLIP_Y>(x, y, row0, column0, begin, min(begin + depth, k), m, n, k, summing, acc, total);
    if (gridDim.z > 1 && !add_parts<X>(parts, counters, summing, acc, total)) return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = row0 + X::at(threadIdx.x / 8, i);
        if (row >= m) continue;
        if (summing && threadIdx.x % 8 == 0) sums[row] = total[i];
        float slope[4];
#pragma unroll
        for (int c = 0; c < 4; c++) {  // all of a row before its first store, so that they come together
            const int column = column0 + Y::at(threadIdx.x % 8, c);
            slope[c] = mask && column < n ? __ldg(mask + row * n + column) : 1.f;
        }
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const int column = column0 + Y::at(threadIdx.x % 8, c);
            const float v = acc[i][c] + add[c];
            if (column < n) out[row * n + column] = (relu && v < 0.f) || slope[c] <= 0.f ? 0.f : v;
        }
    }
}

#define FORM(NAME, FLIP_X, FLIP_Y)                                                                                \
    BOUNDED_KERNEL(NAME, THREADS)(const float* x, const float* y, const float* bias, const float* mask,           \
                                  float* out, float* sums, float* parts, unsigned* counters, int m, int n, int k, \
                                  int depth, int relu) {                                                          \
        depend();                                                                                                 \
        tile<FLIP_X, FLIP_Y>(x, y, bias, mask, out, sums, parts, counters, m, n, k, depth, relu);                 \
    }
FORM(nn, false, false)
FORM(nt, false, true)
FORM(tn, true, false)
