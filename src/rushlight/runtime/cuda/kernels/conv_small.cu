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
//   VX, VY         neighbours read from shared memory and written at once
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
#define PADDED (PW > 0 || (OW - 1) * SW + S - PW > COLS)
#define CLEAR ((FROM == 1 && !ONE && PADDED) || (FROM == 2 && !(ONE && TRIM)))  // zeros that no stage writes
#define AT_ONCE (BUFFERS == 1 && CC == C)  // one turn does it
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

// Every thread's share of `count` places. A thread beyond the last place repeats that one, so that no branch parts
// the loads of a thread: they are all under way before the first is waited for.
#define SHARE(i, count) \
    for (int i##_k = 0, i = min((int)threadIdx.x, (count) - 1); i##_k < ((count) + THREADS - 1) / THREADS; \
         i##_k++, i = min((int)threadIdx.x + i##_k * THREADS, (count) - 1))

// CC channels of IB images, the rows from `top` on, become a tile; images beyond the last repeat that one.
#if FROM == 0
__device__ __forceinline__ void stage(A* tile, const T* x, Strides st, int n0, int c0, int top,
                                      int images) {
    const int wide = ONE ? COLS : WP, each = wide * TILE_ROWS;
#pragma unroll 8
    SHARE(i, IB * CC * each) {
        int col = i % wide, row = i / wide % TILE_ROWS, c = i / each % CC, k = i / (each * CC);
        int n = min(n0 + k, images - 1);
        tile[k * IMAGE + c * PLANE + row * WP + col] = input_at(x, st, n, c0 + c, top + row, col - LEFT);
    }
}
#elif FROM == 1
__device__ __forceinline__ void stage(A* tile, const T* x, Strides, int n0, int c0, int top,
                                      int images) {
    const int across = W / VS, each = across * TILE_ROWS;
#pragma unroll 8
    SHARE(i, IB * CC * each) {
        int col = i % across * VS, row = i / across % TILE_ROWS, c = i / each % CC, k = i / (each * CC);
        int iy = top + row, n = min(n0 + k, images - 1);
        bool inside = TRIM || (unsigned)iy < H;
        const T* at = x + ((i64)n * C + c0 + c) * (H * W) + (inside ? iy : 0) * W + col;
        A* to = tile + k * IMAGE + c * PLANE + row * WP + col + LEFT;
#ifdef ASYNC
        bring<4 * VS>(to, at, inside);
#else
        Vec<T, VS> v = *(const Vec<T, VS>*)at;
        Vec<A, VS> wide;
#pragma unroll
        for (int j = 0; j < VS; j++) wide.v[j] = inside ? up(v.v[j]) : (A)0;
        *(Vec<A, VS>*)to = wide;
#endif
    }
}
#else
#define TALL (TRIM || H / KH < (TILE_ROWS - 1) / (KH * DH) + 2 ? H / KH : (TILE_ROWS - 1) / (KH * DH) + 2)
#define WINDOWS (IB * CC * TALL * (W / KW))
#define HELD ((WINDOWS + THREADS - 1) / THREADS)

// A thread's share of the pooled gradient on its way from memory to a tile.
struct Held {
    A v[HELD];
    u8 place[HELD];

    static __device__ __forceinline__ int first(int top) { return min(max(top, 0) / (KH * DH), H / KH - TALL); }

    __device__ __forceinline__ void fetch(const T* g, const u8* places, int n0, int c0, int top, int images) {
        const int pw = W / KW, each = pw * TALL;
#pragma unroll
        for (int j = 0; j < HELD; j++) {
            int i = min((int)threadIdx.x + j * THREADS, WINDOWS - 1);
            int px = i % pw, py = first(top) + i / pw % TALL, c = i / each % CC, k = i / (each * CC);
            i64 at = (((i64)min(n0 + k, images - 1) * C + c0 + c) * (H / KH) + py) * pw + px;
            v[j] = up(g[at]);
            place[j] = places[at];
        }
    }
    __device__ __forceinline__ void put(A* tile, int top) const {
        const int pw = W / KW, each = pw * TALL;
#pragma unroll
        for (int j = 0; j < HELD; j++) {
            int i = min((int)threadIdx.x + j * THREADS, WINDOWS - 1);
            int px = i % pw, py = first(top) + i / pw % TALL, c = i / each % CC, k = i / (each * CC);
            A* to = tile + k * IMAGE + c * PLANE + px * (KW * DW) + LEFT;
#pragma unroll
            for (int a = 0; a < KH; a++) {
                int row = (py * KH + a) * DH - top;
                if (TRIM || (unsigned)row < TILE_ROWS) {
#pragma unroll
                    for (int b = 0; b < KW; b++) to[row * WP + b * DW] = place[j] == a * KW + b ? v[j] : (A)0;
                }
            }
        }
    }
};
#endif

__device__ __forceinline__ void stage_weight(A* ws, const T* w) {
#pragma unroll 8
    SHARE(i, C * R * S * GB * OP) {
        int o = i % OP, g = i / OP % GB, rs = i / (OP * GB) % (R * S), c = i / (OP * GB * R * S);
        int out = (blockIdx.z * GB + g) * OT + o;
        bool live = (OP == OT || o < OT) && (O % (OT * GB) == 0 || out < O);
        if (!live) out = 0;
        const T* at = w + (FLIP ? (c * O + out) * (R * S) + (R * S - 1 - rs) : (out * C + c) * (R * S) + rs);
#ifdef ASYNC
        bring<4>(ws + i, at, live);
#else
        ws[i] = live ? up(*at) : (A)0;
#endif
    }
}

// One input channel's part of a thread's outputs.
__device__ __forceinline__ void add_channel(A (&acc)[OT][PY][PX], const A* plane, const A* ws, int gy) {
    A xs[PY][XS];
#pragma unroll
    for (int r = 0; r < R; r++) {
        if (TRIM) {
            const int row = gy + r - PH;
            if (PH + H < TY + R - 1 || PH > 0)
                if ((unsigned)row >= H) continue;
            take<XS, VX>(xs[0], plane + row * WP);
        } else if (SH == 1 && r > 0) {  // rows move up through the registers
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

// Lanes that shared the input channels add up what they found.
__device__ __forceinline__ void meet(A (&acc)[OT][PY][PX]) {
    const unsigned group = ((KS == 32 ? 0u : 1u << (KS % 32)) - 1u) << (threadIdx.x % 32 / KS * KS);
#pragma unroll
    for (int d = KS / 2; d; d /= 2)
#pragma unroll
        for (int i = 0; i < OT * PY * PX; i++) {
            A& v = acc[i / (PY * PX)][i / PX % PY][i % PX];
            v += __shfl_xor_sync(group, v, d);
        }
}

#if POOL
__device__ __forceinline__ void finish(A (&acc)[OT][PY][PX], const A (&add)[OT], T* y, u8* places, int n,
                                       int og, int oy, int ox) {
#pragma unroll
    for (int o = 0; o < OT; o++) {
        const int out = og * OT + o;
        if (out >= O) break;
#pragma unroll
        for (int a = 0; a < PY / KH; a++) {
            Vec<T, VY> kept;
            Vec<u8, VY> where;
#pragma unroll
            for (int b = 0; b < PX / KW; b++) {
                A best = (A)0;
                int place = 0;
#pragma unroll
                for (int k = 0; k < KH * KW; k++) {
                    // Rounded as it would be in memory: equal numbers must stay equal.
                    A v = up(dn(acc[o][a * KH + k / KW][b * KW + k % KW] + add[o]));
                    if (k == 0 || v > best || v != v) { best = v; place = k; }
                }
                if (RELU && best <= (A)0) {
                    place = 255;
                    best = (A)0;
                }
                kept.v[b % VY] = dn(best);
                where.v[b % VY] = (u8)place;
                if (b % VY == VY - 1 && oy / KH + a < QH && ox / KW + b < QW) {
                    i64 at = (((i64)n * O + out) * QH + oy / KH + a) * QW + ox / KW + b - (VY - 1);
                    *(Vec<T, VY>*)(y + at) = kept;
                    *(Vec<u8, VY>*)(places + at) = where;
                }
            }
        }
    }
}
#else
__device__ __forceinline__ void finish(A (&acc)[OT][PY][PX], const A (&add)[OT], T* y, u8*, int n, int og,
                                       int oy, int ox) {
#pragma unroll
    for (int o = 0; o < OT; o++) {
        const int out = og * OT + o;
        if (out >= O) break;
#pragma unroll
        for (int a = 0; a < PY; a++) {
            if (oy + a >= OH) break;
            T* to = y + (((i64)n * O + out) * OH + oy + a) * OW + ox;
#pragma unroll
            for (int b = 0; b < PX; b += VY) {
                Vec<T, VY> v;
#pragma unroll
                for (int j = 0; j < VY; j++)
                    if (b + j < PX) v.v[j] = dn(acc[o][a][b + j] + add[o]);
                if (ox + b < OW) *(Vec<T, VY>*)(to + b) = v;
            }
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    conv_small(const T* __restrict__ x, const u8* __restrict__ from, const T* __restrict__ w,
               const T* __restrict__ bias, T* __restrict__ y, u8* __restrict__ places, int images, Strides st) {
    depend();
    extern __shared__ __align__(16) char room[];
    A* tiles = (A*)room;                          // BUFFERS, IB, CC, TILE_ROWS, WP
    A* ws = tiles + (BUFFERS * ROOM + 3) / 4 * 4;  // C, R, S, GB, OP
    const int t = threadIdx.x;
    // Rows come last: where zero rows are left out, the lanes of a warp leave out the same ones.
    const int ks = t % KS, sx = t / KS % NX, im = TRIM ? t / (KS * NX) % IB : t / (KS * NX * TY) % IB;
    const int og = TRIM ? t / (KS * NX * IB) % GB : t / (KS * NX * TY * IB);
    const int gy = TRIM ? t / (KS * NX * IB * GB) : t / (KS * NX) % TY;
    const int row0 = blockIdx.y * (TY * PY), top = row0 * SH - TOP, group = blockIdx.z * GB + og;
    int n0 = blockIdx.x * IB, c0 = 0;
    stage_weight(ws, w);
#if FROM == 2
    Held held;
    held.fetch(x, from, n0, 0, top, images);
#endif
    A add[OT];
#pragma unroll
    for (int o = 0; o < OT; o++) add[o] = bias && group * OT + o < O ? up(bias[group * OT + o]) : (A)0;
    if (CLEAR) {
        for (int i = t; i < BUFFERS * ROOM; i += THREADS) tiles[i] = (A)0;
        __syncthreads();
    }
#if FROM == 2
    held.put(tiles, top);
#else
    stage(tiles, x, st, n0, 0, top, images);
#endif
    A acc[OT][PY][PX];
    for (int turn = 0;; turn ^= BUFFERS - 1) {
        sent();
        arrived<0>();
        __syncthreads();
        const bool same = c0 + CC < C;
        const int n1 = AT_ONCE ? images : same ? n0 : n0 + gridDim.x * IB, c1 = same ? c0 + CC : 0;
        A* other = tiles + (turn ^ (BUFFERS - 1)) * ROOM;
        if (n1 < images) {  // on their way while these are computed
#if FROM == 2
            held.fetch(x, from, n1, c1, top, images);
#else
            if (BUFFERS == 2) stage(other, x, st, n1, c1, top, images);
#endif
        }
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
            meet(acc);
            if (n0 + im < images && ks == 0) finish(acc, add, y, places, n0 + im, group, row0 + gy * PY, sx * PX);
        }
        if (n1 >= images) return;
        if (BUFFERS == 1) __syncthreads();
#if FROM == 2
        held.put(other, top);
#else
        if (BUFFERS == 1) stage(other, x, st, n1, c1, top, images);
#endif
        n0 = n1;
        c0 = c1;
    }
}
