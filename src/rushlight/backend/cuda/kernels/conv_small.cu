// Direct 2-d convolution for few channels. Every size is a compile-time constant:
//   C, O, R, S     channels in and out, kernel; H, W, OH, OW the images
//   SH, SW         stride; PH, PW zeros in front; DH, DW zeros (minus 1) between input elements
//   PY, PX, OT     outputs of one thread: rows, columns, channels
//   TY, IB, GB     row groups, images and groups of OT channels of a block
//   CC, KS         input channels staged at once; lanes that share them
//   WP, PLANE, IMAGE  pitches of a staged row, channel and image
//   TRIM           blocks hold all rows and threads one: no zero rows are staged
//   FROM           0: x of any strides, 1: dense x, VS neighbours at once, 2: a pooled gradient (below)
//   BUFFERS        2: the next images are staged while these are computed
//   UNROLL         kernel rows unrolled: R for speed, 1 for code that is fetched quickly
//   POOL           maxima of KH x KW windows are written, with their places in the window as bytes,
//   RELU           and 255 where the maximum is not above zero: gradients stop there
// FLIP reads the weight as the transposed convolution does: channels swapped, kernel turned round.
// FROM 2 reads the gradient of such windows: (g, places) stands for KH x KW numbers, all 0 but one.
#define NX ((OW + PX - 1) / PX)
#define NG ((O + OT - 1) / OT)
#define OP (OT <= 2 ? OT : (OT + 3) / 4 * 4)
#define COLS ((W - 1) * DW + 1)
#define ONE (NX == 1)  // a thread has a whole row: it leaves the zeros at its ends out
#define XS (ONE ? COLS : (PX - 1) * SW + S)
#define LEFT (ONE ? 0 : PW)
#define TILE_ROWS (TRIM ? H : (TY * PY - 1) * SH + R)
#define TOP (TRIM ? 0 : PH)
#define THREADS (KS * NX * TY * IB * GB)
#define QH (OH / KH)
#define QW (OW / KW)
#define CLEAR (!ONE || (FROM == 2 && !TRIM))
#define SHIFT (SH == 1 && UNROLL > 1)  // rows move up through the registers
#define ROOM (IB * IMAGE)

struct Strides { i64 n, c, h, w; };

// N numbers from shared memory, V at a time.
template <int N, int V> __device__ __forceinline__ void take(A* to, const A* from) {
#pragma unroll
    for (int i = 0; i < (N + V - 1) / V; i++) {
        Vec<A, V> v = *(const Vec<A, V>*)(from + i * V);
#pragma unroll
        for (int j = 0; j < V; j++)
            if (i * V + j < N) to[i * V + j] = v.v[j];
    }
}

__device__ __forceinline__ A input_at(const T* x, Strides st, int n, int c, int y0, int x0) {
    if (y0 < 0 || x0 < 0) return (A)0;
    int iy = y0 / DH, ix = x0 / DW;
    if (DH > 1 && y0 != iy * DH) return (A)0;
    if (DW > 1 && x0 != ix * DW) return (A)0;
    if (iy >= H || ix >= W) return (A)0;
    return up(x[n * st.n + c * st.c + iy * st.h + ix * st.w]);
}

// CC channels of IB images, the rows from `top` on, become a tile.
#if FROM == 0
__device__ __forceinline__ void stage(A* tile, const T* x, const u8*, Strides st, int n0, int c0,
                                      int top, int images) {
    const int wide = ONE ? COLS : WP, each = wide * TILE_ROWS;
    for (int i = threadIdx.x; i < IB * CC * each; i += THREADS) {
        int col = i % wide, row = i / wide % TILE_ROWS, c = i / each % CC, k = i / (each * CC);
        A v = (A)0;
        if (n0 + k < images) v = input_at(x, st, n0 + k, c0 + c, top + row, col - LEFT);
        tile[k * IMAGE + c * PLANE + row * WP + col] = v;
    }
}
#elif FROM == 1
__device__ __forceinline__ void stage(A* tile, const T* x, const u8*, Strides, int n0, int c0,
                                      int top, int images) {
    const int across = W / VS, each = across * TILE_ROWS;
    const T* from = x + ((i64)n0 * C + c0) * (H * W);
#pragma unroll 8
    for (int i = threadIdx.x; i < IB * CC * each; i += THREADS) {
        int col = i % across * VS, row = i / across % TILE_ROWS, c = i / each % CC, k = i / (each * CC);
        int iy = top + row;
        bool inside = n0 + k < images && (TRIM || (unsigned)iy < H);
        const T* at = from + ((k * C + c) * H + iy) * W + col;
        A* to = tile + k * IMAGE + c * PLANE + row * WP + col + LEFT;
#ifdef ASYNC
        unsigned shared = (unsigned)__cvta_generic_to_shared(to);
        int bytes = inside ? 4 * VS : 0;  // what is not copied becomes zero
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     ::"r"(shared), "l"(inside ? at : x), "n"(4 * VS), "r"(bytes) : "memory");
#else
        Vec<T, VS> v;
        Vec<A, VS> wide;
        if (inside) v = *(const Vec<T, VS>*)at;
#pragma unroll
        for (int j = 0; j < VS; j++) wide.v[j] = inside ? up(v.v[j]) : (A)0;
        *(Vec<A, VS>*)to = wide;
#endif
    }
}
#else
__device__ __forceinline__ void stage(A* tile, const T* g, const u8* places, Strides, int n0, int c0,
                                      int top, int images) {
    const int ph = H / KH, pw = W / KW;
    const int tall = TRIM ? ph : min(ph, (TILE_ROWS - 1) / (KH * DH) + 2), each = pw * tall;
    const int first = TRIM || tall == ph ? 0 : max(top, 0) / (KH * DH);
#pragma unroll 4
    for (int i = threadIdx.x; i < IB * CC * each; i += THREADS) {
        int px = i % pw, py = first + i / pw % tall, c = i / each % CC, k = i / (each * CC);
        if (n0 + k >= images || py >= ph) continue;
        i64 at = (((i64)(n0 + k) * C + c0 + c) * ph + py) * pw + px;
        A v = up(g[at]);
        int place = places[at];
        A* to = tile + k * IMAGE + c * PLANE + px * (KW * DW) + LEFT;
#pragma unroll
        for (int a = 0; a < KH; a++) {
            int row = (py * KH + a) * DH - top;
            if (TRIM || (unsigned)row < TILE_ROWS) {
#pragma unroll
                for (int b = 0; b < KW; b++)
                    to[row * WP + b * DW] = place == a * KW + b ? v : (A)0;
            }
        }
    }
}
#endif

__device__ __forceinline__ void stage_weight(A* ws, const T* w) {
#pragma unroll 8
    for (int i = threadIdx.x; i < C * R * S * GB * OP; i += THREADS) {
        int o = i % OP, g = i / OP % GB, rs = i / (OP * GB) % (R * S), c = i / (OP * GB * R * S);
        int out = (blockIdx.z * GB + g) * OT + o;
        A v = (A)0;
        if (o < OT && out < O)
            v = up(FLIP ? w[(c * O + out) * (R * S) + (R * S - 1 - rs)] : w[(out * C + c) * (R * S) + rs]);
        ws[i] = v;
    }
}

constexpr int rows_at_once = UNROLL;  // a pragma does not see macros

// One input channel's part of a thread's outputs.
__device__ __forceinline__ void add_channel(A (&acc)[OT][PY][PX], const A* plane, const A* ws, int gy) {
    A xs[PY][XS];
#pragma unroll rows_at_once
    for (int r = 0; r < R; r++) {
        if (TRIM) {
            const int row = gy + r - PH;
            if (PH + H < TY + R - 1 || PH > 0)
                if ((unsigned)row >= H) continue;
            take<XS, VX>(xs[0], plane + row * WP);
        } else if (SHIFT && r > 0) {
#pragma unroll
            for (int a = 0; a + 1 < PY; a++)
#pragma unroll
                for (int i = 0; i < XS; i++) xs[a][i] = xs[a + 1][i];
            take<XS, VX>(xs[PY - 1], plane + (PY - 1 + r) * WP);
        } else {
#pragma unroll
            for (int a = 0; a < PY; a++) take<XS, VX>(xs[a], plane + (a * SH + r) * WP);
        }
#pragma unroll
        for (int s = 0; s < S; s++) {
            A wv[OP];
            take<OP, (OP > 4 ? 4 : OP)>(wv, ws + (r * S + s) * GB * OP);
#pragma unroll
            for (int b = 0; b < PX; b++) {
                const int col = b * SW + s - (ONE ? PW : 0);
                if (ONE && (col < 0 || col >= COLS || col % DW)) continue;
#pragma unroll
                for (int o = 0; o < OT; o++)
#pragma unroll
                    for (int a = 0; a < PY; a++) acc[o][a][b] += wv[o] * xs[a][col];
            }
        }
    }
}

#if POOL
__device__ __forceinline__ void finish(A (&acc)[OT][PY][PX], const T* bias, T* y, u8* places, int n,
                                       int og, int oy, int ox) {
#pragma unroll
    for (int o = 0; o < OT; o++) {
        const int out = og * OT + o;
        if (out >= O) break;
        A add = bias ? up(bias[out]) : (A)0;
#pragma unroll
        for (int a = 0; a < PY / KH; a++)
#pragma unroll
            for (int b = 0; b < PX / KW; b++) {
                if (oy / KH + a >= QH || ox / KW + b >= QW) continue;
                A best = (A)0;
                int place = 0;
#pragma unroll
                for (int k = 0; k < KH * KW; k++) {
                    // Rounded as it would be in memory: equal numbers must stay equal.
                    A v = up(dn(acc[o][a * KH + k / KW][b * KW + k % KW] + add));
                    if (k == 0 || v > best || v != v) { best = v; place = k; }
                }
                if (RELU && best <= (A)0) {
                    place = 255;
                    best = (A)0;
                }
                i64 at = (((i64)n * O + out) * QH + oy / KH + a) * QW + ox / KW + b;
                y[at] = dn(best);
                places[at] = (u8)place;
            }
    }
}
#else
__device__ __forceinline__ void finish(A (&acc)[OT][PY][PX], const T* bias, T* y, u8*, int n, int og,
                                       int oy, int ox) {
#pragma unroll
    for (int o = 0; o < OT; o++) {
        const int out = og * OT + o;
        if (out >= O) break;
        A add = bias ? up(bias[out]) : (A)0;
#pragma unroll
        for (int a = 0; a < PY; a++) {
            if (oy + a >= OH) break;
            T* to = y + (((i64)n * O + out) * OH + oy + a) * OW + ox;
#pragma unroll
            for (int b = 0; b < PX; b += VY) {
                Vec<T, VY> v;
#pragma unroll
                for (int j = 0; j < VY; j++)
                    if (b + j < PX) v.v[j] = dn(acc[o][a][b + j] + add);
                if (ox + b < OW) *(Vec<T, VY>*)(to + b) = v;
            }
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_small(const T* x, const u8* from, const T* w, const T* bias, T* y, u8* places, int images,
               Strides st) {
    extern __shared__ __align__(16) char room[];
    A* tiles = (A*)room;                          // BUFFERS, IB, CC, TILE_ROWS, WP
    A* ws = tiles + (BUFFERS * ROOM + 3) / 4 * 4;  // C, R, S, GB, OP
    const int t = threadIdx.x;
    // Rows come last: where zero rows are left out, the lanes of a warp leave out the same ones.
    const int ks = t % KS, sx = t / KS % NX, im = TRIM ? t / (KS * NX) % IB : t / (KS * NX * TY) % IB;
    const int og = TRIM ? t / (KS * NX * IB) % GB : t / (KS * NX * TY * IB);
    const int gy = TRIM ? t / (KS * NX * IB * GB) : t / (KS * NX) % TY;
    const int row0 = blockIdx.y * (TY * PY), top = row0 * SH - TOP;
    if (CLEAR) {
        for (int i = t; i < BUFFERS * ROOM; i += THREADS) tiles[i] = (A)0;
        __syncthreads();
    }
    int n0 = blockIdx.x * IB, c0 = 0;
    stage(tiles, x, from, st, n0, 0, top, images);
    stage_weight(ws, w);
    A acc[OT][PY][PX];
    for (int turn = 0;; turn ^= BUFFERS - 1) {
#ifdef ASYNC
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        __syncthreads();
        const bool same = c0 + CC < C;
        const int n1 = same ? n0 : n0 + gridDim.x * IB, c1 = same ? c0 + CC : 0;
        if (BUFFERS == 2 && n1 < images)
            stage(tiles + (turn ^ 1) * ROOM, x, from, st, n1, c1, top, images);
        if (c0 == 0) {
#pragma unroll
            for (int i = 0; i < OT * PY * PX; i++) acc[i / (PY * PX)][i / PX % PY][i % PX] = (A)0;
        }
        const A* base = tiles + turn * ROOM + im * IMAGE + sx * PX * SW;
        if (!TRIM) base += gy * PY * SH * WP;
#pragma unroll 1
        for (int c = ks; c < CC; c += KS)
            add_channel(acc, base + c * PLANE, ws + ((c0 + c) * (R * S) * GB + og) * OP, gy);
        if (!same) {
            const unsigned group = ((KS == 32 ? 0u : 1u << (KS % 32)) - 1u) << (t % 32 / KS * KS);
#pragma unroll
            for (int d = KS / 2; d; d /= 2)
#pragma unroll
                for (int i = 0; i < OT * PY * PX; i++) {
                    A& v = acc[i / (PY * PX)][i / PX % PY][i % PX];
                    v += __shfl_xor_sync(group, v, d);
                }
            if (n0 + im < images && ks == 0)
                finish(acc, bias, y, places, n0 + im, blockIdx.z * GB + og, row0 + gy * PY, sx * PX);
        }
        if (n1 >= images) return;
        if (BUFFERS == 1) {
            __syncthreads();
            stage(tiles, x, from, st, n1, c1, top, images);
        }
        n0 = n1;
        c0 = c1;
    }
}
