// A classifier's head, there and back in one launch: logits = x w' + bias, their cross entropy with class numbers, its
// gradient by the logits and by x, zero where `mask` is not positive. x is (m, k), w is (CLASSES, k) and k % 4 == 0.
//
// A team of TEAM threads takes ROWS rows, and a block has TEAMS of them. A thread keeps four columns of w, for all
// classes, and of its rows in registers from the first product to the last, so everything is read once and all at once:
// what this waits for is memory. mode: 0 none, 1 mean, 2 sum; `parts` holds a number a block; `counter` rests at 0.
#ifndef CLASSES
#define CLASSES 10
#endif
#ifndef TEAM
#define TEAM 32
#endif
#ifndef TEAMS
#define TEAMS 8
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef LABEL
#define LABEL i64
#endif

#define ALL 0xffffffffu
#define THREADS (TEAM * TEAMS)
#define WARPS (THREADS / 32)
#define SHARE (TEAM / 32)  // warps of a team

typedef Vec<T, 4> Four;
typedef Vec<A, 4> Quad;

constexpr int WIDE = CLASSES > 8 ? 16 : CLASSES > 4 ? 8 : CLASSES > 2 ? 4 : CLASSES > 1 ? 2 : 1;
constexpr int EACH = 32 / WIDE;             // lanes that stand for one class
constexpr int QUADS = (CLASSES + 3) / 4;

// A warp's sums of WIDE numbers a lane; a lane gets that of class lane / EACH. Every exchange halves what is left.
template <int HALF> __device__ __forceinline__ void exchange_half(A* v) {
    if constexpr (HALF > 0) {
        constexpr int D = 16 * HALF * 2 / WIDE;
        const bool upper = threadIdx.x & D;
#pragma unroll
        for (int c = 0; c < HALF; c++) {
            const A low = v[c], high = v[c + HALF];
            v[c] = (upper ? high : low) + __shfl_xor_sync(ALL, upper ? low : high, D);
        }
        exchange_half<HALF / 2>(v);
    }
}
__device__ __forceinline__ A class_sum(A* v) {
    exchange_half<WIDE / 2>(v);
#pragma unroll
    for (int d = EACH / 2; d; d /= 2) v[0] += __shfl_xor_sync(ALL, v[0], d);
    return v[0];
}

// How many targets count; the sums of the warps are put in `counted`.
__device__ __forceinline__ void count_targets(const LABEL* __restrict__ target, int m, i64 ignore, int mode, A* counted) {
    int mine = 0;
    if (mode == 1) {
#pragma unroll 8
        for (int i = threadIdx.x; i < m; i += THREADS) mine += (i64)target[i] != ignore;
    }
    const A all = warp_sum((A)mine);
    if (threadIdx.x % 32 == 0) counted[threadIdx.x / 32] = all;
}

template <int COUNT> __device__ __forceinline__ A sum_of(const A* v, int step) {
    A sum = v[0];
#pragma unroll
    for (int i = 1; i < COUNT; i++) sum += v[i * step];
    return sum;
}

// A row's target, and the gradient of its loss.
struct Aim {
    i64 label;
    A slope;
};

// From the logit of a lane's class to its gradient; the row's loss comes along.
__device__ __forceinline__ A softmax_slope(A z, Aim aim, i64 ignore, A by, A* loss) {
    const int number = threadIdx.x % 32 / EACH;
    A top = z;
#pragma unroll
    for (int d = 16; d >= EACH; d /= 2) {
        const A o = __shfl_xor_sync(ALL, top, d);
        top = (o > top || o != o) ? o : top;
    }
    const A e = number < CLASSES ? expf(z - top) : (A)0;
    A sum = e;
#pragma unroll
    for (int d = 16; d >= EACH; d /= 2) sum += __shfl_xor_sync(ALL, sum, d);
    const bool valid = aim.label != ignore, known = aim.label >= 0 && aim.label < CLASSES;
    const A hit = __shfl_sync(ALL, z, known ? (int)aim.label * EACH : 0);
    *loss = !valid ? (A)0 : known ? logf(sum) - (hit - top) : infinity() - infinity();
    const A slope = valid ? aim.slope / by : (A)0, v = e * ((A)1 / sum) * slope;
    return number == aim.label && valid ? v - slope : v;
}

// Counts this block as done; the last one is answered gridDim.x - 1, and sees what the others wrote before.
__device__ __forceinline__ unsigned arrive(unsigned* counter) {
    unsigned seen;
#if __CUDA_ARCH__ >= 800
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(seen) : "l"(counter), "r"(gridDim.x - 1) : "memory");
#else
    __threadfence();
    seen = atomicInc(counter, gridDim.x - 1);
    __threadfence();
#endif
    return seen;
}

// By one warp, after `arrive`: the last block adds up all parts, in their order.
__device__ __forceinline__ void finish_loss(unsigned seen, const A* losses, A by, T* out, const A* parts, int mode) {
    const int lane = threadIdx.x;
    A loss = (A)0;
    if (gridDim.x > 1) {
        seen = __shfl_sync(ALL, seen, 0);
        if (seen != gridDim.x - 1) return;
        __syncwarp();
        for (int i = lane; i < gridDim.x; i += 32) loss += __ldcg(parts + i);
        loss = warp_sum(loss);
    } else loss = sum_of<TEAMS>(losses, 1);
    if (lane == 0) *out = dn(mode == 1 ? loss / by : loss);
}

__device__ __forceinline__ Four four_at(const T* __restrict__ p, int i, bool live) {
    Four v;
#pragma unroll
    for (int q = 0; q < 4; q++) v.v[q] = dn((A)0);
    if (live) v = ((const Four*)p)[i];
    return v;
}

__device__ __forceinline__ Aim aim_at(const LABEL* __restrict__ target, const T* __restrict__ gy, int row, int m,
                                      i64 ignore, int mode) {
    Aim aim;
    aim.label = row < m ? (i64)target[row] : ignore;
    aim.slope = row < m ? up(gy[mode ? 0 : row]) : (A)0;
    return aim;
}

// A warp's part of the logits of one row: that of class lane / EACH.
__device__ __forceinline__ A logit_part(Four v, const Four* ws) {
    A sums[WIDE];
#pragma unroll
    for (int c = 0; c < WIDE; c++) {
        sums[c] = (A)0;
        if (c < CLASSES)
#pragma unroll
            for (int q = 0; q < 4; q++) sums[c] += up(v.v[q]) * up(ws[c < CLASSES ? c : 0].v[q]);
    }
    return class_sum(sums);
}

__device__ __forceinline__ void store(T* to, int i, const A* v) {
    Four f;
#pragma unroll
    for (int q = 0; q < 4; q++) f.v[q] = dn(v[q]);
    ((Four*)to)[i] = f;
}

// gw and gb from all rows of this block; teams take turns at the classes.
__device__ __forceinline__ void to_weight(const Quad (*slopes)[ROWS][QUADS], const Four (*rows)[TEAM], T* gw, T* gb,
                                          int m, int fours) {
    const int at = threadIdx.x % TEAM;
    for (int c = threadIdx.x / TEAM; c < CLASSES; c += TEAMS) {
        A acc[4] = {(A)0, (A)0, (A)0, (A)0}, total = (A)0;
#pragma unroll
        for (int i = 0; i < TEAMS * ROWS; i++) {
            if (i < m) {
                const A d = slopes[i / ROWS * SHARE][i % ROWS][c / 4].v[c % 4];
                const Four v = rows[i][at];
                total += d;
#pragma unroll
                for (int q = 0; q < 4; q++) acc[q] += d * up(v.v[q]);
            }
        }
        if (at < fours) store(gw, c * fours + at, acc);
        if (at == 0) gb[c] = dn(total);
    }
}

// What a team knows of its rows: four columns of each and of w, and what is aimed at.
struct Share {
    Four xs[ROWS], ws[CLASSES], masks[ROWS];
    Aim aims[ROWS];
    A z[ROWS];  // logits, of class lane / EACH
};

// gx where the mask is positive: another array, or x itself.
__device__ __forceinline__ void to_input(const Share& s, const Quad (*slopes)[QUADS], T* gx, bool masked, bool apart,
                                         int row0, int m, int fours) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        A acc[4] = {(A)0, (A)0, (A)0, (A)0};
#pragma unroll
        for (int c = 0; c < CLASSES; c++) {
            const A d = slopes[r][c / 4].v[c % 4];
#pragma unroll
            for (int q = 0; q < 4; q++) acc[q] += d * up(s.ws[c].v[q]);
        }
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const A edge = apart ? up(s.masks[r].v[q]) : up(s.xs[r].v[q]);
            if (masked && !(edge > (A)0)) acc[q] = (A)0;
        }
        if (row0 + r < m) store(gx, (row0 + r) * fours + threadIdx.x % TEAM, acc);
    }
}

// The gradients by the logits, to shared and to global memory; answers the loss of these rows.
__device__ __forceinline__ A loss_and_slopes(Share& s, Quad (*slopes)[QUADS], A add, A by, T* out, T* g, T* logits,
                                             int row0, int m, i64 ignore, int mode) {
    const int lane = threadIdx.x % 32, number = lane / EACH;
    const bool speaks = lane % EACH == 0 && number < CLASSES, last = threadIdx.x % TEAM / 32 == SHARE - 1;
    A loss = (A)0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        // Rounded as a kernel of its own would store it.
        const A z = number < CLASSES ? up(dn(s.z[r] + add)) : -infinity();
        A here;
        const T d = dn(softmax_slope(z, s.aims[r], ignore, by, &here));
        loss += here;
        if (speaks) ((A*)slopes[r])[number] = up(d);
        if (row0 + r >= m || !last) continue;
        const i64 i = (i64)(row0 + r) * CLASSES + number;
        if (speaks && g) g[i] = d;
        if (speaks && logits) logits[i] = dn(z);
        if (mode == 0 && lane == 0) out[row0 + r] = dn(here);
    }
    return loss;
}

// WHOLE: all rows are in this one block, and the gradients of w and bias are made, too.
template <bool WHOLE>
__device__ __forceinline__ void head(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                     const LABEL* __restrict__ target, const T* __restrict__ gy,
                                     const T* __restrict__ mask, T* __restrict__ out, T* __restrict__ g,
                                     T* __restrict__ gx, T* __restrict__ gw, T* __restrict__ gb, T* __restrict__ logits,
                                     A* parts, unsigned* counter, int m, int k, i64 ignore, int mode) {
    __shared__ A hold[WARPS][ROWS][WIDE], counted[WARPS], losses[TEAMS];
    __shared__ Quad slopes[WARPS][ROWS][QUADS];
    __shared__ Four rows[WHOLE ? TEAMS * ROWS : 1][TEAM];
    const int t = threadIdx.x, warp = t / 32, team = t / TEAM, at = t % TEAM, fours = k / 4, number = t % 32 / EACH;
    const int row0 = (blockIdx.x * TEAMS + team) * ROWS;
    const bool busy = row0 < m, inside = busy && at < fours, apart = mask && mask != x;
    Share s;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int i = (row0 + r) * fours + at;
        s.xs[r] = four_at(x, i, inside && row0 + r < m);
        s.masks[r] = four_at(mask, i, apart && inside && row0 + r < m);
        s.aims[r] = aim_at(target, gy, row0 + r, m, ignore, mode);
    }
#pragma unroll
    for (int c = 0; c < CLASSES; c++) s.ws[c] = four_at(w, c * fours + at, inside);
    const A add = bias && number < CLASSES ? up(bias[number]) : (A)0;
    count_targets(target, m, ignore, mode, counted);
    if (busy)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            s.z[r] = logit_part(s.xs[r], s.ws);
            if (SHARE > 1 && t % 32 % EACH == 0) hold[warp][r][number] = s.z[r];
            if (WHOLE) rows[team * ROWS + r][at] = s.xs[r];
        }
    __syncthreads();
    const A by = mode == 1 ? sum_of<WARPS>(counted, 1) : (A)1;
    A loss = (A)0;
    if (busy) {
        if (SHARE > 1)
#pragma unroll
            for (int r = 0; r < ROWS; r++) s.z[r] = sum_of<SHARE>(&hold[team * SHARE][r][number], ROWS * WIDE);
        loss = loss_and_slopes(s, slopes[warp], add, by, out, g, logits, row0, m, ignore, mode);
    }
    if (at == 0) losses[team] = loss;
    if (TEAMS > 1) __syncthreads();
    else __syncwarp();
    unsigned seen = 0;
    if (t == 0 && mode && gridDim.x > 1) {  // early: gx is made while this is on its way
        parts[blockIdx.x] = sum_of<TEAMS>(losses, 1);
        seen = arrive(counter);
    }
    if (inside) to_input(s, slopes[warp], gx, mask, apart, row0, m, fours);
    if (WHOLE) to_weight(slopes, rows, gw, gb, m, fours);
    if (mode && warp == 0) finish_loss(seen, losses, by, out, parts, mode);
}

BOUNDED_KERNEL(head_step, THREADS)(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                   const LABEL* __restrict__ target, const T* __restrict__ gy,
                                   const T* __restrict__ mask, T* __restrict__ out, T* __restrict__ g,
                                   T* __restrict__ gx, T* __restrict__ logits, A* parts, unsigned* counter, int m,
                                   int k, i64 ignore, int mode) {
    head<false>(x, w, bias, target, gy, mask, out, g, gx, 0, 0, logits, parts, counter, m, k, ignore, mode);
}

BOUNDED_KERNEL(head_whole, THREADS)(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                    const LABEL* __restrict__ target, const T* __restrict__ gy,
                                    const T* __restrict__ mask, T* __restrict__ out, T* __restrict__ gx,
                                    T* __restrict__ gw, T* __restrict__ gb, T* __restrict__ logits, int m, int k,
                                    i64 ignore, int mode) {
    head<true>(x, w, bias, target, gy, mask, out, 0, gx, gw, gb, logits, 0, 0, m, k, ignore, mode);
}
