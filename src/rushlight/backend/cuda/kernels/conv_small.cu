// Direct 2-d convolution for few channels. Every size is a compile-time constant:
//   C, O, R, S     channels in and out, kernel; H, W, OH, OW the images
//   SH, SW         stride; PH, PW zeros in front; DH, DW zeros (minus 1) between input elements
//   PY, PX, OT     outputs of one thread: rows, columns, channels
//   TY, IB, CC     row groups and images of a block, input channels staged at once
//   WP             pitch of a staged row
//   WHOLE          x is dense and a block holds whole images: 2 when they are copied as they lie
// FLIP reads the weight as the transposed convolution does: channels swapped, kernel turned round.
#define XS ((PX - 1) * SW + S)
#define NX ((OW + PX - 1) / PX)
#define NG ((O + OT - 1) / OT)
#define OP ((OT + 3) / 4 * 4)
#define TILE_ROWS ((TY * PY - 1) * SH + R)
#define PLANE (TILE_ROWS * WP)

typedef Vec<A, VX> XVec;
typedef Vec<A, 4> WVec;

struct Strides { i64 n, c, h, w; };

__device__ __forceinline__ A input_at(const T* x, Strides st, int n, int c, int y0, int x0) {
    if (y0 < 0 || x0 < 0) return (A)0;
    int iy = y0 / DH, ix = x0 / DW;
    if (DH > 1 && y0 != iy * DH) return (A)0;
    if (DW > 1 && x0 != ix * DW) return (A)0;
    if (iy >= H || ix >= W) return (A)0;
    return up(x[n * st.n + c * st.c + iy * st.h + ix * st.w]);
}

__device__ __forceinline__ void load_row(A* xs, const A* row) {
#pragma unroll
    for (int i = 0; i < (XS + VX - 1) / VX; i++) {
        XVec v = *(const XVec*)(row + i * VX);
#pragma unroll
        for (int j = 0; j < VX; j++)
            if (i * VX + j < XS) xs[i * VX + j] = v.v[j];
    }
}

extern "C" __global__ void __launch_bounds__(NX* TY* IB* NG)
    conv_small(const T* x, const T* w, const T* bias, T* y, int images, Strides st) {
    extern __shared__ __align__(16) char room[];
    A* tile = (A*)room;                // IB, CC, TILE_ROWS, WP
    A* ws = tile + (IB * CC * PLANE + 3) / 4 * 4;// CC, R, S, NG, OP
    const int t = threadIdx.x;
    const int sx = t % NX, gy = t / NX % TY, im = t / (NX * TY) % IB, og = t / (NX * TY * IB);
    const int n0 = blockIdx.x * IB, row0 = blockIdx.y * TY * PY;
    const int threads = NX * TY * IB * NG;

    A acc[OT][PY][PX];
#pragma unroll
    for (int o = 0; o < OT; o++)
#pragma unroll
        for (int a = 0; a < PY; a++)
#pragma unroll
            for (int b = 0; b < PX; b++) acc[o][a][b] = (A)0;

    if (WHOLE == 1)  // what surrounds the images stays zero
        for (int i = t; i < IB * CC * PLANE; i += threads) tile[i] = (A)0;
    for (int c0 = 0; c0 < C; c0 += CC) {
        __syncthreads();
#if WHOLE == 2
        const int live = min(IB, images - n0) * (C * H * W) / 4;
        const Vec<T, 4>* from = (const Vec<T, 4>*)(x + (i64)n0 * (C * H * W));
        for (int i = t; i < live; i += threads) {
            Vec<T, 4> v = from[i];
#pragma unroll
            for (int j = 0; j < 4; j++) tile[4 * i + j] = up(v.v[j]);
        }
#elif WHOLE
        const T* from = x + ((i64)n0 * C + c0) * (H * W);
        for (int i = t; i < IB * CC * H * W; i += threads) {
            int col = i % W, row = i / W % H, c = i / (H * W) % CC, k = i / (H * W * CC);
            int ty = row * DH + PH, tx = col * DW + PW;
            if (n0 + k < images && ty < TILE_ROWS && tx < WP)
                tile[(k * CC + c) * PLANE + ty * WP + tx] = up(from[(k * C + c) * (H * W) + row * W + col]);
        }
#else
        for (int i = t; i < IB * CC * PLANE; i += threads) {
            int col = i % WP, row = i / WP % TILE_ROWS, c = i / PLANE % CC, k = i / (PLANE * CC);
            A v = (A)0;
            if (n0 + k < images && c0 + c < C)
                v = input_at(x, st, n0 + k, c0 + c, row0 * SH + row - PH, col - PW);
            tile[i] = v;
        }
#endif
        for (int i = t; i < CC * R * S * NG * OP; i += threads) {
            int o = i % OP, g = i / OP % NG, rs = i / (OP * NG) % (R * S), c = i / (OP * NG * R * S);
            A v = (A)0;
            int out = g * OT + o;
            if (o < OT && out < O && c0 + c < C)
                v = up(FLIP ? w[((c0 + c) * O + out) * (R * S) + (R * S - 1 - rs)]
                            : w[(out * C + c0 + c) * (R * S) + rs]);
            ws[i] = v;
        }
        __syncthreads();
        const A* base = tile + im * CC * PLANE + gy * PY * SH * WP + sx * PX * SW;
#pragma unroll 1
        for (int c = 0; c < CC; c++) {
            A xs[PY][XS];
            const A* plane = base + c * PLANE;
#pragma unroll
            for (int r = 0; r < R; r++) {
                if (SH == 1 && r > 0) {
#pragma unroll
                    for (int a = 0; a + 1 < PY; a++)
#pragma unroll
                        for (int i = 0; i < XS; i++) xs[a][i] = xs[a + 1][i];
                    load_row(xs[PY - 1], plane + (PY - 1 + r) * WP);
                } else {
#pragma unroll
                    for (int a = 0; a < PY; a++) load_row(xs[a], plane + (a * SH + r) * WP);
                }
#pragma unroll
                for (int s = 0; s < S; s++) {
                    const A* wp = ws + (((c * R + r) * S + s) * NG + og) * OP;
                    A wv[OP];
#pragma unroll
                    for (int i = 0; i < OP / 4; i++) {
                        WVec v = *(const WVec*)(wp + 4 * i);
#pragma unroll
                        for (int j = 0; j < 4; j++) wv[4 * i + j] = v.v[j];
                    }
#pragma unroll
                    for (int o = 0; o < OT; o++)
#pragma unroll
                        for (int a = 0; a < PY; a++)
#pragma unroll
                            for (int b = 0; b < PX; b++) acc[o][a][b] += wv[o] * xs[a][b * SW + s];
                }
            }
        }
    }
    const int n = n0 + im;
    if (n >= images) return;
#pragma unroll
    for (int o = 0; o < OT; o++) {
        int out = og * OT + o;
        if (out >= O) break;
        A add = bias ? up(bias[out]) : (A)0;
#pragma unroll
        for (int a = 0; a < PY; a++) {
            int oy = row0 + gy * PY + a;
            if (oy >= OH) break;
            T* to = y + (((i64)n * O + out) * OH + oy) * OW + sx * PX;
            if (VY > 1) {
                Vec<T, VY> v;
#pragma unroll
                for (int b = 0; b < PX; b++) {
                    v.v[b % VY] = dn(acc[o][a][b] + add);
                    if (b % VY == VY - 1) *(Vec<T, VY>*)(to + b - VY + 1) = v;
                }
            } else {
#pragma unroll
                for (int b = 0; b < PX; b++)
                    if (sx * PX + b < OW) to[b] = dn(acc[o][a][b] + add);
            }
        }
    }
}
