// The weight gradient of a direct 2-d convolution of few images, and the bias's along with it: a thread owns
// one element of the kernel. Constants as in conv_small_weight.cu, and
//   CB, RB  input channels and kernel rows of a block, which owns one output channel
//   IB   images staged at once
//   ES   threads that share the gradients of one kernel element
// blockIdx.y cuts the images into groups; the last block of an output channel adds up what they found.
#define TAPS (CB * RB * S)
#define NC (C / CB)
#define NR (R / RB)
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

// Every thread's share of `count` places, without branches (see conv_small.cu).
#define SHARE(i, count) \
    for (int i##_k = 0, i = min((int)threadIdx.x, (count) - 1); i##_k < ((count) + THREADS - 1) / THREADS; \
         i##_k++, i = min((int)threadIdx.x + i##_k * THREADS, (count) - 1))

// IB images from n0 on; those from `end` on are the last one again, and their gradients are 0.
__device__ __forceinline__ void stage(A* tile, Entry* list, const T* g, const u8* places, const T* x, int n0,
                                      int end, int o, int c0) {
    const int across = W / VS, each = SEEN * across;
#pragma unroll 8
    SHARE(i, IB * CB * each) {
        int col = i % across * VS, row = i / across % SEEN, c = i / each % CB, k = i / (each * CB);
        const T* at = x + (((i64)min(n0 + k, end - 1) * C + c0 + c) * H + row) * W + col;
        A* to = tile + (k * CB + c) * PLANE + (row + PH) * WP + col + PW;
#ifdef ASYNC
        bring<4 * VS>(to, at, true);
#else
        Vec<T, VS> v = *(const Vec<T, VS>*)at;
        Vec<A, VS> wide;
#pragma unroll
        for (int j = 0; j < VS; j++) wide.v[j] = up(v.v[j]);
        *(Vec<A, VS>*)to = wide;
#endif
    }
#pragma unroll 8
    SHARE(j, IB * Q) {
        int k = j / Q, p = j % Q;
        i64 from = ((i64)min(n0 + k, end - 1) * O + o) * Q + p;
        A v = up(g[from]);
        int place = FROM == 2 ? places[from] : 0;
        bool live = n0 + k < end && place != 255;
        place = live ? place : 0;
        int y = p / QW * KH + place / KW, at = p % QW * KW + place % KW;
        list[j] = Entry{live ? v : (A)0, k * (CB * PLANE) + y * SH * WP + at * SW};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_small_taps(const T* __restrict__ g, const u8* __restrict__ places, const T* __restrict__ x,
                      T* __restrict__ out, T* __restrict__ bias, A* parts,
                    unsigned* counters, int images) {
    depend();
    extern __shared__ __align__(16) char room[];
    A* tile = (A*)room;                  // IB, CB, ROWS, WP
    Entry* list = (Entry*)(tile + TILE);  // IB, Q
    A* hold = (A*)(list + IB * Q);        // ES, TAPS
    const int t = threadIdx.x, tap = t % TAPS, e = t / TAPS;
    const int o = blockIdx.x / (NC * NR), c0 = blockIdx.x / NR % NC * CB, r0 = blockIdx.x % NR * RB;
    const bool first = c0 + r0 == 0;  // this block finds the bias's gradient, too
    const int to = ((o * C + c0) * R + r0) * S;  // where its elements begin: CB > 1 needs RB == R
    const int per = (images + gridDim.y - 1) / gridDim.y;
    const int begin = blockIdx.y * per, end = min(begin + per, images);
    if (CLEAR)
        for (int i = t; i < TILE; i += THREADS) tile[i] = (A)0;
    const A* mine = tile + tap / (RB * S) * PLANE + (tap / S % RB + r0) * WP + tap % S;
    A total = (A)0, sum = (A)0;
    for (int n0 = begin; n0 < end; n0 += IB) {
        const int count = IB * Q;
        if (CLEAR || n0 > begin) __syncthreads();
        stage(tile, list, g, places, x, n0, end, o, c0);
        sent();
        arrived<0>();
        __syncthreads();
        if (e < ES) {
#pragma unroll 8
            for (int i = e; i < count; i += ES) {
                Entry one = list[i];
                total += one.g * mine[one.at];
            }
        }
        if (first)
            for (int i = t; i < count; i += THREADS) sum += list[i].g;
    }
    if (e < ES) hold[t] = total;
    sum = warp_sum(sum);
    A* sums = hold + ES * TAPS;  // of the warps
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    // A kernel element a thread, and the bias as one more.
    A* part = parts + ((i64)blockIdx.y * gridDim.x + blockIdx.x) * (TAPS + 1);
    for (int i = t; i < TAPS + first; i += THREADS) {
        A value = (A)0;
        if (i < TAPS)
            for (int k = 0; k < ES; k++) value += hold[k * TAPS + i];
        else
            for (int k = 0; k < THREADS / 32; k++) value += sums[k];
        if (gridDim.y > 1) part[i] = value;
        else if (i < TAPS) out[to + i] = dn(value);
        else if (bias) bias[o] = dn(value);
    }
    if (gridDim.y == 1 || !last_block(counters + blockIdx.x, gridDim.y)) return;
    for (int i = t; i < TAPS + first; i += THREADS) {
        A value = (A)0;
#pragma unroll 8
        for (unsigned k = 0; k < gridDim.y; k++)
            value += __ldcg(parts + ((i64)k * gridDim.x + blockIdx.x) * (TAPS + 1) + i);
        if (i < TAPS) out[to + i] = dn(value);
        else if (bias) bias[o] = dn(value);
    }
}
