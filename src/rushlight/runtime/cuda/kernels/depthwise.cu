// Convolutions of every channel with a window of its own, of one to three dims (those that are missing are 1), row-major.
// Windows are constants: KD, KH, KW sizes, SD.. steps, PD.. padding, DD.. dilation. A thread makes ROW neighbours of a row.
#ifndef ROW
#define ROW 4
#endif
#ifndef KW
#define KD 1
#define KH 3
#define KW 3
#define SD 1
#define SH 1
#define SW 1
#define PD 0
#define PH 1
#define PW 1
#define DD 1
#define DH 1
#define DW 1
#endif
#ifndef FLIP
#define FLIP 0  // taps from the last to the first: the way back
#endif
#define LINE ((ROW - 1) * SW + (KW - 1) * DW + 1)  // numbers of a row that ROW results see
#ifndef LINES
#define LINES (KD * KH)  // rows of taps that a block adds up the gradients of
#endif
struct Box { int d, h, w; };

// The numbers of a row from `first` on; 0 outside.
__device__ __forceinline__ void line_of(A* to, const T* row, int first, int width) {
#pragma unroll
    for (int j = 0; j < LINE; j++) {
        const int at = first + j;
        to[j] = at >= 0 && at < width ? up(row[at]) : (A)0;
    }
}

KERNEL(depthwise)(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias, T* __restrict__ y, i64 count,
                  int channels, Box in, Box out) {
    depend();
    const int parts = (out.w + ROW - 1) / ROW, items = out.d * out.h * parts;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 plane = i / items;
        const int item = (int)(i % items), c = (int)(plane % channels);
        const int ow = item % parts * ROW, oh = item / parts % out.h, od = item / parts / out.h;
        const T *from = x + plane * in.d * in.h * in.w, *taps = w + (i64)c * (KD * KH * KW);
        A sum[ROW];
        const A start = bias ? up(bias[c]) : (A)0;
#pragma unroll
        for (int r = 0; r < ROW; r++) sum[r] = start;
        for (int kd = 0; kd < KD; kd++) {
            const int id = od * SD - (PD) + kd * DD;
            if (id < 0 || id >= in.d) continue;
#pragma unroll
            for (int kh = 0; kh < KH; kh++) {
                const int ih = oh * SH - (PH) + kh * DH;
                if (ih < 0 || ih >= in.h) continue;
                A seen[LINE];
                line_of(seen, from + ((i64)id * in.h + ih) * in.w, ow * SW - (PW), in.w);
#pragma unroll
                for (int kw = 0; kw < KW; kw++) {
                    const int tap = (kd * KH + kh) * KW + kw;
                    const A t = up(taps[FLIP ? KD * KH * KW - 1 - tap : tap]);
#pragma unroll
                    for (int r = 0; r < ROW; r++) sum[r] += t * seen[r * SW + kw * DW];
                }
            }
        }
        T* to = y + ((plane * out.d + od) * out.h + oh) * out.w + ow;
#pragma unroll
        for (int r = 0; r < ROW; r++)
            if (ow + r < out.w) to[r] = dn(sum[r]);
    }
}

// The gradient of x where windows step: what every place gave to the windows that it lies in.
KERNEL(depthwise_back)(const T* __restrict__ g, const T* __restrict__ w, T* __restrict__ gx, i64 count, int channels, Box in,
                       Box out) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const int iw = (int)(i % in.w), ih = (int)(i / in.w % in.h);
        const i64 rest = i / in.w / in.h, plane = rest / in.d;
        const int id = (int)(rest % in.d);
        const T *from = g + plane * out.d * out.h * out.w, *taps = w + plane % channels * (KD * KH * KW);
        A sum = (A)0;
        for (int kd = 0; kd < KD; kd++) {
            const int d = id + (PD) - kd * DD;
            if (d < 0 || d % SD || d / SD >= out.d) continue;
#pragma unroll
            for (int kh = 0; kh < KH; kh++) {
                const int h = ih + (PH) - kh * DH;
                if (h < 0 || h % SH || h / SH >= out.h) continue;
#pragma unroll
                for (int kw = 0; kw < KW; kw++) {
                    const int v = iw + (PW) - kw * DW;
                    if (v < 0 || v % SW || v / SW >= out.w) continue;
                    sum += up(taps[(kd * KH + kh) * KW + kw]) * up(from[((i64)(d / SD) * out.h + h / SH) * out.w + v / SW]);
                }
            }
        }
        gx[i] = dn(sum);
    }
}

// parts: splits, channels, taps. A block has a channel, a share of its places and LINES rows of taps.
KERNEL(depthwise_weight)(const T* __restrict__ g, const T* __restrict__ x, A* __restrict__ parts, int images, int channels,
                         i64 share, Box in, Box out) {
    depend();
    __shared__ A hold[8][LINES * KW];
    const int c = blockIdx.x % channels, split = blockIdx.x / channels, first = blockIdx.y * LINES;
    const int across = (out.w + ROW - 1) / ROW, items = out.d * out.h * across;
    const i64 all = (i64)images * items, end = (split + 1) * share < all ? (split + 1) * share : all;
    A sum[LINES * KW];
#pragma unroll
    for (int k = 0; k < LINES * KW; k++) sum[k] = (A)0;
    for (i64 i = split * share + threadIdx.x; i < end; i += blockDim.x) {
        const i64 plane = i / items * channels + c;
        const int item = (int)(i % items);
        const int ow = item % across * ROW, oh = item / across % out.h, od = item / across / out.h;
        const T *from = x + plane * in.d * in.h * in.w, *to = g + ((plane * out.d + od) * out.h + oh) * out.w + ow;
        A slope[ROW];
#pragma unroll
        for (int r = 0; r < ROW; r++) slope[r] = ow + r < out.w ? up(to[r]) : (A)0;
#pragma unroll
        for (int line = 0; line < LINES; line++) {
            const int kd = (first + line) / KH, kh = (first + line) % KH;
            const int id = od * SD - (PD) + kd * DD, ih = oh * SH - (PH) + kh * DH;
            if (kd >= KD || id < 0 || id >= in.d || ih < 0 || ih >= in.h) continue;
            A seen[LINE];
            line_of(seen, from + ((i64)id * in.h + ih) * in.w, ow * SW - (PW), in.w);
#pragma unroll
            for (int kw = 0; kw < KW; kw++)
#pragma unroll
                for (int r = 0; r < ROW; r++) sum[line * KW + kw] += slope[r] * seen[r * SW + kw * DW];
        }
    }
#pragma unroll
    for (int k = 0; k < LINES * KW; k++) {
        const A all_lanes = warp_sum(sum[k]);
        if (threadIdx.x % 32 == 0) hold[threadIdx.x / 32][k] = all_lanes;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < LINES * KW; k += blockDim.x) {
        A total = (A)0;
        for (int warp = 0; warp < blockDim.x / 32; warp++) total += hold[warp][k];
        if (first * KW + k < KD * KH * KW) parts[((i64)split * channels + c) * (KD * KH * KW) + first * KW + k] = total;
    }
}

KERNEL(depthwise_finish)(const A* parts, T* gw, int n, int splits) {
    depend();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A sum = (A)0;
#pragma unroll 4
    for (int k = 0; k < splits; k++) sum += parts[(i64)k * n + i];
    gw[i] = dn(sum);
}
