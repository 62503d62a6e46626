// Products of some million multiply-adds in float32: 64 x 32 results a block, 4 x 4 a thread. The k terms are
// cut into gridDim.z parts so that small results fill the GPU too; the block that finishes a tile last adds
// the parts up, always in the same order.
#define TM 64
#define TN 32
#define TK 32
#define XP (TM + 4)  // pitches: rows stay 16-byte aligned, and a transposing store touches every bank once
#define YP (TN + 4)
#define THREADS 128
#define TILE (TM * TN + TM)  // numbers of one part: results, then sums

// 8 x 4 elements a warp along and across a dim whose neighbours are `along`; unit u of 4 along, rest across.
__device__ __forceinline__ int along(int u) { return u % 4 * 8 + threadIdx.x % 8; }
__device__ __forceinline__ int across(int u) { return u / 4 * 4 + threadIdx.x % 32 / 8; }

template <bool FLIP_X, bool FLIP_Y>
struct Tiles {
    float x[16], y[8];

    __device__ __forceinline__ void load(const float* px, const float* py, int row0, int column0, int k0, int end,
                                         int m, int n, int k) {
        const int t = threadIdx.x, w = t / 32;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int kk = k0 + (FLIP_X ? t / 64 + 2 * i : along(4 * i + w));
            const int r = row0 + (FLIP_X ? t % 64 : across(4 * i + w));
            x[i] = kk < end && r < m ? px[FLIP_X ? (i64)kk * m + r : (i64)r * k + kk] : 0.f;
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int kk = k0 + (FLIP_Y ? along(4 * i + w) : t / 32 + 4 * i);
            const int c = column0 + (FLIP_Y ? across(4 * i + w) : t % 32);
            y[i] = kk < end && c < n ? py[FLIP_Y ? (i64)c * k + kk : (i64)kk * n + c] : 0.f;
        }
    }

    __device__ __forceinline__ void store(float (*xs)[XP], float (*ys)[YP]) const {
        const int t = threadIdx.x, w = t / 32;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            if (FLIP_X) xs[t / 64 + 2 * i][t % 64] = x[i];
            else xs[along(4 * i + w)][across(4 * i + w)] = x[i];
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (FLIP_Y) ys[along(4 * i + w)][across(4 * i + w)] = y[i];
            else ys[t / 32 + 4 * i][t % 32] = y[i];
        }
    }
};

// `sums` receives the sums of x over k, row by row: a bias gradient beside a weight gradient.
template <bool FLIP_X, bool FLIP_Y>
__device__ __forceinline__ void tile(const float* x, const float* y, const float* bias, const float* mask,
                                     float* out, float* sums, float* parts, unsigned* counters, int m, int n,
                                     int k, int depth, int relu) {
    __shared__ __align__(16) float xs[2][TK][XP];
    __shared__ __align__(16) float ys[2][TK][YP];
    const int t = threadIdx.x, tx = t % 8, ty = t / 8;
    const int row0 = blockIdx.y * TM, column0 = blockIdx.x * TN;
    const int begin = blockIdx.z * depth, end = min(begin + depth, k);
    const bool summing = sums && blockIdx.x == 0;
    float acc[4][4] = {}, total[4] = {};
    Tiles<FLIP_X, FLIP_Y> next;
    next.load(x, y, row0, column0, begin, end, m, n, k);
    next.store(xs[0], ys[0]);
    __syncthreads();
    int now = 0;
    for (int k0 = begin; k0 < end; k0 += TK, now ^= 1) {
        const bool more = k0 + TK < end;
        if (more) next.load(x, y, row0, column0, k0 + TK, end, m, n, k);
#pragma unroll
        for (int j = 0; j < TK; j++) {
            const Vec<float, 4> a = *(const Vec<float, 4>*)&xs[now][j][4 * ty];
            const Vec<float, 4> b = *(const Vec<float, 4>*)&ys[now][j][4 * tx];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int c = 0; c < 4; c++) acc[i][c] += a.v[i] * b.v[c];
            if (summing)
#pragma unroll
                for (int i = 0; i < 4; i++) total[i] += a.v[i];
        }
        if (more) next.store(xs[now ^ 1], ys[now ^ 1]);
        __syncthreads();
    }
    if (gridDim.z > 1) {
        const int number = blockIdx.y * gridDim.x + blockIdx.x;
        float* here = parts + (i64)number * gridDim.z * TILE;
        float* mine = here + (i64)blockIdx.z * TILE;
#pragma unroll
        for (int i = 0; i < 16; i++) mine[i * THREADS + t] = acc[i / 4][i % 4];
        if (summing && tx == 0)
#pragma unroll
            for (int i = 0; i < 4; i++) mine[TM * TN + 4 * ty + i] = total[i];
        if (!last_block(counters + number, gridDim.z)) return;
#pragma unroll
        for (int i = 0; i < 16; i++) acc[i / 4][i % 4] = 0.f;
#pragma unroll
        for (int i = 0; i < 4; i++) total[i] = 0.f;
#pragma unroll 2
        for (int p = 0; p < gridDim.z; p++) {
            const float* from = here + (i64)p * TILE;
#pragma unroll
            for (int i = 0; i < 16; i++) acc[i / 4][i % 4] += __ldcg(from + i * THREADS + t);
            if (summing)
#pragma unroll
                for (int i = 0; i < 4; i++) total[i] += __ldcg(from + TM * TN + 4 * ty + i);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int r = row0 + 4 * ty + i;
        if (r >= m) break;
        if (summing && tx == 0) sums[r] = total[i];
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const int column = column0 + 4 * tx + c;
            if (column < n) {
                float v = acc[i][c] + (bias ? bias[column] : 0.f);
                if (relu && v < 0.f) v = 0.f;
                if (mask && !(mask[(i64)r * n + column] > 0.f)) v = 0.f;
                out[(i64)r * n + column] = v;
            }
        }
    }
}

#define FORM(NAME, FLIP_X, FLIP_Y)                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS)                                              \
        NAME(const float* x, const float* y, const float* bias, const float* mask, float* out, float* sums, \
             float* parts, unsigned* counters, int m, int n, int k, int depth, int relu) {             \
        tile<FLIP_X, FLIP_Y>(x, y, bias, mask, out, sums, parts, counters, m, n, k, depth, relu);      \
    }
FORM(nn, false, false)
FORM(nt, false, true)
FORM(tn, true, false)
