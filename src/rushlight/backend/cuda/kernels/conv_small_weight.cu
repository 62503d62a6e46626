// The weight gradient of a direct 2-d convolution with few channels: blocks take images in turn, every
// thread owns one (input channel, kernel row) and OT output channels. Constants as in conv_small.cu, and
//   Q   groups of threads that share the rows of a block's images
//   IB  images staged at once; GP pitch of a staged gradient row; VP pixels taken together
#define NG ((O + OT - 1) / OT)
#define COMBOS (C * R * NG)
#define ROWS ((OH - 1) * SH + R)
#define XPLANE (ROWS * WP)
#define GPLANE (OH * GP)
#define XN ((VP - 1) * SW + S)
#define COUNT (O * C * R * S)

struct Strides { i64 n, c, h, w; };

extern "C" __global__ void __launch_bounds__(COMBOS* Q)
    conv_small_weight(const T* g, const T* x, T* out, A* parts, unsigned* counter, int images,
                      Strides st) {
    extern __shared__ __align__(16) char room[];
    A* xt = (A*)room;              // IB, C, ROWS, WP
    A* gt = xt + (IB * C * XPLANE + 3) / 4 * 4;  // IB, O, OH, GP
    const int t = threadIdx.x, threads = COMBOS * Q;
    const int r = t % R, c = t / R % C, og = t / (R * C) % NG, q = t / COMBOS;

    A acc[OT][S];
#pragma unroll
    for (int o = 0; o < OT; o++)
#pragma unroll
        for (int s = 0; s < S; s++) acc[o][s] = (A)0;

    for (int n0 = blockIdx.x * IB; n0 < images; n0 += gridDim.x * IB) {
        __syncthreads();
        for (int i = t; i < IB * C * XPLANE; i += threads) {
            int col = i % WP, row = i / WP % ROWS, ch = i / XPLANE % C, k = i / (XPLANE * C);
            int iy = row - PH, ix = col - PW;
            A v = (A)0;
            if (n0 + k < images && iy >= 0 && iy < H && ix >= 0 && ix < W)
                v = up(x[(n0 + k) * st.n + ch * st.c + iy * st.h + ix * st.w]);
            xt[i] = v;
        }
        for (int i = t; i < IB * O * GPLANE; i += threads) {
            int col = i % GP, rest = i / GP;  // rest: image, channel and row run on
            A v = (A)0;
            if (col < OW && n0 + rest / (O * OH) < images)
                v = up(g[((i64)n0 * O * OH + rest) * OW + col]);
            gt[i] = v;
        }
        __syncthreads();
        for (int row = q; row < OH * IB; row += Q) {
            int k = row / OH, y = row % OH;
            const A* gr = gt + (k * O + og * OT) * GPLANE + y * GP;
            const A* xr = xt + (k * C + c) * XPLANE + (y * SH + r) * WP;
#pragma unroll 1
            for (int px = 0; px < GP; px += VP) {
                A xs[XN];
#pragma unroll
                for (int i = 0; i < XN; i++) xs[i] = xr[px * SW + i];
#pragma unroll
                for (int o = 0; o < OT; o++) {
                    if (O % OT == 0 || og * OT + o < O) {
                        Vec<A, VP> v = *(const Vec<A, VP>*)(gr + o * GPLANE + px);
#pragma unroll
                        for (int j = 0; j < VP; j++)
#pragma unroll
                            for (int s = 0; s < S; s++) acc[o][s] += v.v[j] * xs[j * SW + s];
                    }
                }
            }
        }
    }
    // Groups add up one after another, so that the sum has one order.
    A* sum = (A*)room;
    for (int k = 0; k < Q; k++) {
        __syncthreads();
        if (q == k) {
#pragma unroll
            for (int o = 0; o < OT; o++)
#pragma unroll
                for (int s = 0; s < S; s++) {
                    int at = (((og * OT + o) * C + c) * R + r) * S + s;
                    if (og * OT + o < O) sum[at] = k ? sum[at] + acc[o][s] : acc[o][s];
                }
        }
    }
    __syncthreads();
    if (gridDim.x == 1) {
        for (int i = t; i < COUNT; i += threads) out[i] = dn(sum[i]);
        return;
    }
    for (int i = t; i < COUNT; i += threads) parts[(i64)blockIdx.x * COUNT + i] = sum[i];
    if (!counter) return;
    if (!last_block(counter, gridDim.x)) return;
    for (int i = t; i < COUNT; i += threads) {
        A total = (A)0;
        for (unsigned k = 0; k < gridDim.x; k++) total += __ldcg(parts + (i64)k * COUNT + i);
        out[i] = dn(total);
    }
}

// Adds `blocks` rows of `count` numbers: a block has 32 columns and 8 rows of threads.
extern "C" __global__ void sum_parts(const A* parts, T* out, int blocks, int count) {
    __shared__ A hold[8][33];
    int i = blockIdx.x * 32 + threadIdx.x % 32, lane = threadIdx.x / 32;
    A total = (A)0;
    if (i < count)
        for (int k = lane; k < blocks; k += 8) total += parts[(i64)k * count + i];
    hold[lane][threadIdx.x % 32] = total;
    __syncthreads();
    if (lane == 0 && i < count) {
        for (int k = 1; k < 8; k++) total += hold[k][threadIdx.x];
        out[i] = dn(total);
    }
}
