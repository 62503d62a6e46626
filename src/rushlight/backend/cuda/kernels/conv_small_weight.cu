// The weight gradient of a direct 2-d convolution with few channels. Blocks take images in turn; a thread
// owns one input channel, OT output channels and the whole kernel, and walks down a strip of VP columns,
// keeping the R input rows of its window in registers. Constants as in conv_small.cu, and
//   YS      parts the rows of an image are cut into; GP  pitch of a staged gradient row
//   XFLAT, GFLAT  images and gradients are copied as they lie, four numbers at a time
#define NG ((O + OT - 1) / OT)
#define NX (GP / VP)
#define COMBOS (C * NG)
#define THREADS (COMBOS * NX * YS)
#define SEGMENT ((OH + YS - 1) / YS)
#define ROWS ((OH - 1) * SH + R)
#define XPLANE (ROWS * WP + 4)
#define GPLANE (OH * GP + 4)
#define XN ((VP - 1) * SW + S)
#define COUNT (O * C * R * S)
#define XROOM ((C * XPLANE + 3) / 4 * 4)

__device__ __forceinline__ void load_row(A* xs, const A* row) {
#pragma unroll
    for (int i = 0; i < (XN + VX - 1) / VX; i++) {
        Vec<A, VX> v = *(const Vec<A, VX>*)(row + i * VX);
#pragma unroll
        for (int j = 0; j < VX; j++)
            if (i * VX + j < XN) xs[i * VX + j] = v.v[j];
    }
}

// Planes of `plane` numbers that lie side by side go to places `pitch` apart.
__device__ __forceinline__ void copy_planes(A* to, const T* from, int planes, int plane, int pitch) {
    for (int i = threadIdx.x; i < planes * plane / 4; i += THREADS) {
        Vec<T, 4> v = ((const Vec<T, 4>*)from)[i];
        A* at = to + 4 * i + 4 * i / plane * (pitch - plane);
#pragma unroll
        for (int j = 0; j < 4; j++) at[j] = up(v.v[j]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_small_weight(const T* g, const T* x, T* out, A* parts, unsigned* counter, int images) {
    extern __shared__ __align__(16) char room[];
    A* xt = (A*)room;    // C, ROWS, WP and 4 to spare
    A* gt = xt + XROOM;  // O, OH, GP and 4 to spare
    const int t = threadIdx.x;
    const int c = t % C, og = t / C % NG, q = t / COMBOS, sx = q % NX, seg = q / NX;
    const int first = seg * SEGMENT, end = min(first + SEGMENT, OH);

    A acc[OT][R][S];
#pragma unroll
    for (int o = 0; o < OT; o++)
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int s = 0; s < S; s++) acc[o][r][s] = (A)0;

    for (int i = t; i < XROOM + O * GPLANE; i += THREADS) xt[i] = (A)0;
    const A* xr = xt + c * XPLANE + sx * VP * SW;
    const A* gr = gt + og * OT * GPLANE + sx * VP;
    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
#if XFLAT
        copy_planes(xt, x + (i64)n * (C * H * W), C, H * W, XPLANE);
#else
        for (int i = t; i < C * H * W; i += THREADS) {
            int col = i % W, row = i / W % H, ch = i / (H * W);
            if (row + PH < ROWS && col + PW < WP)
                xt[ch * XPLANE + (row + PH) * WP + col + PW] = up(x[(i64)n * (C * H * W) + i]);
        }
#endif
#if GFLAT
        copy_planes(gt, g + (i64)n * (O * OH * OW), O, OH * OW, GPLANE);
#else
        for (int i = t; i < O * OH * OW; i += THREADS) {
            int col = i % OW, row = i / OW % OH, o = i / (OH * OW);
            gt[o * GPLANE + row * GP + col] = up(g[(i64)n * (O * OH * OW) + i]);
        }
#endif
        __syncthreads();
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
    // Strips add up one after another, so that the sum has one order.
    A* sum = (A*)room;
    for (int k = 0; k < NX * YS; k++) {
        __syncthreads();
        if (q == k) {
#pragma unroll
            for (int o = 0; o < OT; o++)
#pragma unroll
                for (int r = 0; r < R; r++)
#pragma unroll
                    for (int s = 0; s < S; s++) {
                        int at = (((og * OT + o) * C + c) * R + r) * S + s;
                        if (og * OT + o < O) sum[at] = k ? sum[at] + acc[o][r][s] : acc[o][r][s];
                    }
        }
    }
    __syncthreads();
    if (gridDim.x == 1) {
        for (int i = t; i < COUNT; i += THREADS) out[i] = dn(sum[i]);
        return;
    }
    for (int i = t; i < COUNT; i += THREADS) parts[(i64)blockIdx.x * COUNT + i] = sum[i];
    if (!counter) return;
    if (!last_block(counter, gridDim.x)) return;
    for (int i = t; i < COUNT; i += THREADS) {
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
