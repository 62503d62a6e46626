// The weight gradient of a direct 2-d convolution of few images, and the bias's along with it: a thread owns
// one element of the kernel. Constants as in conv_small_weight.cu, and
//   CB   input channels of a block, which owns one output channel; IB  images staged at once
//   ES   threads that share the gradients of one kernel element
// blockIdx.y cuts the images into groups; the last block of an output channel adds up what they found.
#define TAPS (CB * R * S)
#define NC (C / CB)
#define THREADS ((TAPS * ES + 31) / 32 * 32)
#define ROWS ((OH - 1) * SH + R)
#define PLANE (ROWS * WP)
#define QW (OW / KW)
#define Q (OH / KH * QW)
#define COUNT (O * C * R * S)
#define SEEN (H < ROWS - PH ? H : ROWS - PH)
#define TILE ((IB * CB * PLANE + 3) / 4 * 4)
#define CLEAR (SEEN < ROWS || PW > 0 || W < (OW - 1) * SW + S)

struct Entry { A g; int at; };  // a gradient and where its window begins in the tile

__device__ __forceinline__ void stage(A* tile, Entry* list, const T* g, const u8* places, const T* x, int n0,
                                      int live, int o, int c0) {
    const int across = W / VS, each = SEEN * across;
#pragma unroll 8
    for (int i = threadIdx.x; i < live * CB * each; i += THREADS) {
        int col = i % across * VS, row = i / across % SEEN, c = i / each % CB, k = i / (each * CB);
        Vec<T, VS> v = *(const Vec<T, VS>*)(x + (((i64)(n0 + k) * C + c0 + c) * H + row) * W + col);
        A* to = tile + (k * CB + c) * PLANE + (row + PH) * WP + col + PW;
#pragma unroll
        for (int j = 0; j < VS; j++) to[j] = up(v.v[j]);
    }
#pragma unroll 4
    for (int i = threadIdx.x; i < live * Q; i += THREADS) {
        int k = i / Q, p = i % Q;
        i64 from = ((i64)(n0 + k) * O + o) * Q + p;
        A v = up(g[from]);
        int place = FROM == 2 ? places[from] : 0;
        if (place == 255) { v = (A)0; place = 0; }
        int y = p / QW * KH + place / KW, at = p % QW * KW + place % KW;
        list[i] = Entry{v, k * (CB * PLANE) + y * SH * WP + at * SW};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_small_taps(const T* g, const u8* places, const T* x, T* out, T* bias, A* parts,
                    unsigned* counters, int images) {
    extern __shared__ __align__(16) char room[];
    A* tile = (A*)room;                  // IB, CB, ROWS, WP
    Entry* list = (Entry*)(tile + TILE);  // IB, Q
    A* hold = (A*)(list + IB * Q);        // ES, TAPS
    const int t = threadIdx.x, tap = t % TAPS, e = t / TAPS;
    const int o = blockIdx.x / NC, c0 = blockIdx.x % NC * CB;
    const int per = (images + gridDim.y - 1) / gridDim.y;
    const int begin = blockIdx.y * per, end = min(begin + per, images);
    if (CLEAR)
        for (int i = t; i < TILE; i += THREADS) tile[i] = (A)0;
    const A* mine = tile + tap / (R * S) * PLANE + tap / S % R * WP + tap % S;
    A total = (A)0, sum = (A)0;
    for (int n0 = begin; n0 < end; n0 += IB) {
        const int live = min(IB, end - n0), count = live * Q;
        if (CLEAR || n0 > begin) __syncthreads();
        stage(tile, list, g, places, x, n0, live, o, c0);
        __syncthreads();
        if (e < ES) {
#pragma unroll 8
            for (int i = e; i < count; i += ES) {
                Entry one = list[i];
                total += one.g * mine[one.at];
            }
        }
        if (c0 == 0)
            for (int i = t; i < count; i += THREADS) sum += list[i].g;
    }
    if (e < ES) hold[t] = total;
    sum = warp_sum(sum);
    A* sums = hold + ES * TAPS;  // of the warps
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    // A kernel element a thread, and the bias as one more.
    A* part = parts + ((i64)blockIdx.y * gridDim.x + blockIdx.x) * (TAPS + 1);
    for (int i = t; i < TAPS + (c0 == 0); i += THREADS) {
        A value = (A)0;
        if (i < TAPS)
            for (int k = 0; k < ES; k++) value += hold[k * TAPS + i];
        else
            for (int k = 0; k < THREADS / 32; k++) value += sums[k];
        if (gridDim.y > 1) part[i] = value;
        else if (i < TAPS) out[(o * C + c0) * (R * S) + i] = dn(value);
        else if (bias) bias[o] = dn(value);
    }
    if (gridDim.y == 1 || !last_block(counters + blockIdx.x, gridDim.y)) return;
    for (int i = t; i < TAPS + (c0 == 0); i += THREADS) {
        A value = (A)0;
#pragma unroll 8
        for (unsigned k = 0; k < gridDim.y; k++)
            value += __ldcg(parts + ((i64)k * gridDim.x + blockIdx.x) * (TAPS + 1) + i);
        if (i < TAPS) out[(o * C + c0) * (R * S) + i] = dn(value);
        else if (bias) bias[o] = dn(value);
    }
}
