// The weight gradient of a direct 2-d convolution with few channels, and the bias's along with it. Blocks
// take images in turn; a thread owns one input channel, OT output channels and the whole kernel, and walks
// down a strip of VP columns, keeping the R input rows of its window in registers. Constants as in
// conv_small.cu (FROM says what the gradient is), and
//   YS, YB  parts the rows of an image are cut into, within a block and over blocks
//   GP      pitch of a staged gradient row
//   VS, VG  neighbours copied at once, of images and of gradients
#define NG ((O + OT - 1) / OT)
#define NX (GP / VP)
#define COMBOS (C * NG)
#define THREADS (COMBOS * NX * YS)
#define SEGMENT ((OH + YS * YB - 1) / (YS * YB))
#define ROWS ((OH - 1) * SH + R)
#define XPLANE (ROWS * WP + 4)
#define GPLANE (OH * GP + 4)
#define XN ((VP - 1) * SW + S)
#define TAPS (R * S)
#define COUNT (O * C * TAPS)
#define XROOM ((C * XPLANE + 3) / 4 * 4)
#define ROOM (XROOM + (O * GPLANE + 3) / 4 * 4)
#define SEEN (H < ROWS - PH ? H : ROWS - PH)  // rows of x that any window touches
#define CLEAR (PH > 0 || PW > 0 || SEEN < ROWS || GP > OW || W < (OW - 1) * SW + S)

// Every thread's share of `count` places, without branches (see conv_small.cu).
#define SHARE(i, count) \
    for (int i##_k = 0, i = min((int)threadIdx.x, (count) - 1); i##_k < ((count) + THREADS - 1) / THREADS; \
         i##_k++, i = min((int)threadIdx.x + i##_k * THREADS, (count) - 1))

__device__ __forceinline__ void load_row(A* xs, const A* row) {
#pragma unroll
    for (int i = 0; i < (XN + VX - 1) / VX; i++) {
        Vec<A, VX> v = *(const Vec<A, VX>*)(row + i * VX);
#pragma unroll
        for (int j = 0; j < VX; j++)
            if (i * VX + j < XN) xs[i * VX + j] = v.v[j];
    }
}

template <int V> __device__ __forceinline__ void copy(A* to, const T* from) {
#ifdef ASYNC
    bring<4 * V>(to, from, true);
#else
    Vec<T, V> v = *(const Vec<T, V>*)from;
    Vec<A, V> wide;
#pragma unroll
    for (int j = 0; j < V; j++) wide.v[j] = up(v.v[j]);
    *(Vec<A, V>*)to = wide;
#endif
}

// Image n and its gradient become tiles: C, ROWS, WP and O, OH, GP.
__device__ __forceinline__ void stage(A* xt, const T* x, const T* g, const u8* places, int n) {
    const int across = W / VS, each = SEEN * across;
    const T* xn = x + (i64)n * (C * H * W);
#pragma unroll 8
    SHARE(i, C * each) {
        int col = i % across * VS, row = i / across % SEEN, c = i / each;
        copy<VS>(xt + c * XPLANE + (row + PH) * WP + col + PW, xn + (c * H + row) * W + col);
    }
    A* gt = xt + XROOM;
#if FROM == 2
    const int pw = OW / KW, count = O * (OH / KH) * pw;
#pragma unroll 8
    SHARE(i, count) {
        int px = i % pw, py = i / pw % (OH / KH), o = i / (pw * (OH / KH));
        A v = up(g[(i64)n * count + i]);
        int place = places[(i64)n * count + i];
        A* to = gt + o * GPLANE + py * KH * GP + px * KW;
#pragma unroll
        for (int k = 0; k < KH * KW; k++) to[k / KW * GP + k % KW] = place == k ? v : (A)0;
    }
#else
    const T* gn = g + (i64)n * (O * OH * OW);
#pragma unroll 8
    SHARE(i, O * OH * OW / VG) {
        int col = i % (OW / VG) * VG, row = i / (OW / VG) % OH, o = i / (OH * (OW / VG));
        copy<VG>(gt + o * GPLANE + row * GP + col, gn + i * VG);
    }
#endif
}

__device__ __forceinline__ void add_rows(A (&acc)[OT][R][S], A (&bias)[OT], const A* xr, const A* gr,
                                         int og, int first, int end) {
    A ring[R][XN];
    if (SH == 1) {
#pragma unroll
        for (int r = 0; r + 1 < R; r++) load_row(ring[r], xr + min(first + r, ROWS - 1) * WP);
    }
#pragma unroll 1
    for (int y0 = first; y0 < end; y0 += R) {
#pragma unroll
        for (int j = 0; j < R; j++) {
            const int y = y0 + j;
            if (y < end) {
                if (SH == 1) load_row(ring[(j + R - 1) % R], xr + (y + R - 1) * WP);
                else {
#pragma unroll
                    for (int r = 0; r < R; r++) load_row(ring[(j + r) % R], xr + (y * SH + r) * WP);
                }
#pragma unroll
                for (int o = 0; o < OT; o++) {
                    if (O % OT == 0 || og * OT + o < O) {
                        Vec<A, VP> v = *(const Vec<A, VP>*)(gr + o * GPLANE + y * GP);
#pragma unroll
                        for (int k = 0; k < VP; k++) bias[o] += v.v[k];
#pragma unroll
                        for (int r = 0; r < R; r++)
#pragma unroll
                            for (int k = 0; k < VP; k++)
#pragma unroll
                                for (int s = 0; s < S; s++)
                                    acc[o][r][s] += v.v[k] * ring[(j + r) % R][k * SW + s];
                    }
                }
            }
        }
    }
}

BOUNDED_KERNEL(conv_small_weight, THREADS, THREADS > 256 ? 1 : 2)(
    const T* __restrict__ g, const u8* __restrict__ places, const T* __restrict__ x, T* __restrict__ out,
    T* __restrict__ bias, A* parts, unsigned* counter, int images) {
    depend();
    extern __shared__ __align__(16) char room[];
    A* tiles = (A*)room;
    const int t = threadIdx.x;
    const int c = t % C, og = t / C % NG, q = t / COMBOS, sx = q % NX, seg = q / NX;
    const int first = (blockIdx.y * YS + seg) * SEGMENT, end = min(first + SEGMENT, OH);
    const int block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * YB;

    A acc[OT][R][S], sums[OT];
#pragma unroll
    for (int o = 0; o < OT; o++) {
        sums[o] = (A)0;
#pragma unroll
        for (int i = 0; i < TAPS; i++) acc[o][i / S][i % S] = (A)0;
    }
    if (CLEAR) {
        for (int i = t; i < BUFFERS * ROOM; i += THREADS) tiles[i] = (A)0;
        __syncthreads();
    }
    stage(tiles, x, g, places, blockIdx.x);
    for (int n = blockIdx.x, turn = 0; n < images; n += gridDim.x, turn ^= BUFFERS - 1) {
        sent();
        arrived<0>();
        __syncthreads();
        const int next = n + gridDim.x;
        if (BUFFERS == 2 && next < images) stage(tiles + (turn ^ 1) * ROOM, x, g, places, next);
        const A* tile = tiles + turn * ROOM;
        add_rows(acc, sums, tile + c * XPLANE + sx * VP * SW,
                 tile + XROOM + og * OT * GPLANE + sx * VP, og, first, end);
        if (BUFFERS == 1 && next < images) {
            __syncthreads();
            stage(tiles, x, g, places, next);
        }
    }
    // Threads of one place add up, strip after strip, so that the sum has one order.
    A* hold = (A*)room;  // NX * YS, COMBOS, TAPS and the bias
    T* final = blocks == 1 ? out : (T*)0;
    for (int o = 0; o < OT; o++) {
        __syncthreads();
        A* mine = hold + t * (TAPS + 1);
#pragma unroll
        for (int k = 0; k < OT; k++)  // an index known to the compiler keeps acc in registers
            if (k == o) {
#pragma unroll
                for (int i = 0; i < TAPS; i++) mine[i] = acc[k][i / S][i % S];
                mine[TAPS] = sums[k];
            }
        __syncthreads();
        for (int i = t; i < COMBOS * (TAPS + 1); i += THREADS) {
            const int tap = i % (TAPS + 1), ch = i / (TAPS + 1) % C;
            const int to = i / (TAPS + 1) / C * OT + o;
            if (to >= O || (tap == TAPS && ch > 0)) continue;
            A total = (A)0;
            for (int k = 0; k < NX * YS; k++) total += hold[k * (COMBOS * (TAPS + 1)) + i];
            const int at = tap == TAPS ? COUNT + to : (to * C + ch) * TAPS + tap;
            if (!final) parts[(i64)block * (COUNT + O) + at] = total;
            else if (at < COUNT) final[at] = dn(total);
            else if (bias) bias[to] = dn(total);
        }
    }
    if (final || !counter || !last_block(counter, blocks)) return;
    for (int i = t; i < COUNT + O; i += THREADS) {
        A total = (A)0;
        for (int k = 0; k < blocks; k++) total += __ldcg(parts + (i64)k * (COUNT + O) + i);
        if (i < COUNT) out[i] = dn(total);
        else if (bias) bias[i - COUNT] = dn(total);
    }
}

// Adds `blocks` rows of numbers, weight and bias side by side: a block has 32 columns and 8 rows of threads.
KERNEL(sum_parts)(const A* parts, T* out, T* bias, int blocks) {
    depend();
    __shared__ A hold[8][33];
    int i = blockIdx.x * 32 + threadIdx.x % 32, lane = threadIdx.x / 32;
    A total = (A)0;
    if (i < COUNT + O)
#pragma unroll 8
        for (int k = lane; k < blocks; k += 8) total += parts[(i64)k * (COUNT + O) + i];
    hold[lane][threadIdx.x % 32] = total;
    __syncthreads();
    if (lane == 0 && i < COUNT + O) {
        for (int k = 1; k < 8; k++) total += hold[k][threadIdx.x];
        if (i < COUNT) out[i] = dn(total);
        else if (bias) bias[i - COUNT] = dn(total);
    }
}
