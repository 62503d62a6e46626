// A classifier's head, there and back in one launch: logits = x w' + bias, their cross entropy with class numbers, its
// gradient by the logits and by x, zero where `mask` <= 0. x is (m, k), w is (CLASSES, k) and k % 4 == 0.
//
// A team of TEAM threads takes ROWS rows, and a block has TEAMS of them. A thread keeps four columns of w, for all
// classes, and of its rows in registers from the first product to the last, so everything is read once and all at once:
// what this waits for is memory. mode: 0 none, 1 mean, 2 sum.
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
    constexpr int EVERY = 8;  // that a thread reads at once
    int mine = 0;
    if (mode == 1)
#pragma unroll 1
        for (int first = threadIdx.x; first < m; first += EVERY * THREADS) {
            i64 found[EVERY];
#pragma unroll
            for (int e = 0; e < EVERY; e++) found[e] = first + e * THREADS < m ? (i64)target[first + e * THREADS] : ignore;
#pragma unroll
            for (int e = 0; e < EVERY; e++) mine += found[e] != ignore;
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

// From the logit of a lane's class to its gradient, `by` being that of the row's loss, which comes along.
__device__ __forceinline__ A softmax_slope(A z, i64 label, i64 ignore, A by, A* loss) {
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
    const bool valid = label != ignore, known = label >= 0 && label < CLASSES;
    const A hit = __shfl_sync(ALL, z, known ? (int)label * EACH : 0);
    *loss = !valid ? (A)0 : known ? logf(sum) - (hit - top) : infinity() - infinity();
    const A slope = valid ? by : (A)0, v = e * ((A)1 / sum) * slope;
    return number == label && valid ? v - slope : v;
}

// A block's loss with a mark behind it in one word: whoever sees the mark has the loss, and no fence or atomic is waited
// for. Words rest at 0.
typedef unsigned long long Word;

__device__ __forceinline__ void leave_loss(A loss, volatile Word* words) {
    words[blockIdx.x] = (Word)1 << 32 | __float_as_uint((float)loss);
}

// By one warp of the last block: the losses of the blocks before it, in a fixed order. Those started earlier and wait for
// nobody, so they are on their way.
__device__ __forceinline__ A gather_losses(volatile Word* words) {
    constexpr int EVERY = 8;  // words of a lane that are read at once
    const int count = gridDim.x - 1;
    A loss = (A)0;
    for (int first = threadIdx.x; first < count; first += 32 * EVERY) {
        Word found[EVERY];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int e = 0; e < EVERY; e++) found[e] = first + 32 * e < count ? words[first + 32 * e] : (Word)1 << 32;
#pragma unroll
            for (int e = 0; e < EVERY; e++) all = all && found[e] >> 32;
        } while (!all);
#pragma unroll
        for (int e = 0; e < EVERY; e++) {
            loss += (A)__uint_as_float((unsigned)found[e]);
            if (first + 32 * e < count) words[first + 32 * e] = 0;
        }
    }
    return warp_sum(loss);
}

__device__ __forceinline__ Four four_at(const T* __restrict__ p, int i, bool live) {
    Four v;
#pragma unroll
    for (int q = 0; q < 4; q++) v.v[q] = dn((A)0);
    if (live) v = ((const Four*)p)[i];
    return v;
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

// What a thread knows of its team's rows: four columns of each and of w, and what they aim at.
struct Share {
    Four xs[ROWS], ws[CLASSES], masks[ROWS];
    i64 labels[ROWS];
    A slopes[ROWS];  // of each row's loss
    A z[ROWS];       // logits, of class lane / EACH
};

// gx where the mask is not <= 0: another array, or x itself.
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
            if (masked && edge <= (A)0) acc[q] = (A)0;
        }
        if (row0 + r < m) store(gx, (row0 + r) * fours + threadIdx.x % TEAM, acc);
    }
}

// The gradients by the logits, to shared and to global memory; answers the loss of these rows.
__device__ __forceinline__ A loss_and_slopes(Share& s, Quad (*slopes)[QUADS], A add, T* out, T* g, T* logits, int row0,
                                             int m, i64 ignore, int mode) {
    const int lane = threadIdx.x % 32, number = lane / EACH;
    const bool speaks = lane % EACH == 0 && number < CLASSES, last = threadIdx.x % TEAM / 32 == SHARE - 1;
    A loss = (A)0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        // Rounded as a kernel of its own would store it.
        const A z = number < CLASSES ? up(dn(s.z[r] + add)) : -infinity();
        A here;
        const T d = dn(softmax_slope(z, s.labels[r], ignore, s.slopes[r], &here));
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
                                     Word* words, int m, int k, i64 ignore, int mode) {
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
        s.labels[r] = row0 + r < m ? (i64)target[row0 + r] : ignore;
        s.slopes[r] = mode == 0 && row0 + r < m ? up(gy[row0 + r]) : (A)0;
    }
#pragma unroll
    for (int c = 0; c < CLASSES; c++) s.ws[c] = four_at(w, c * fours + at, inside);
    const A add = bias && number < CLASSES ? up(bias[number]) : (A)0, slope = mode ? up(gy[0]) : (A)0;
    count_targets(target, m, ignore, mode, counted);
    if (busy)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            s.z[r] = logit_part(s.xs[r], s.ws);
            if (SHARE > 1 && t % 32 % EACH == 0) hold[warp][r][number] = s.z[r];
            if (WHOLE) rows[team * ROWS + r][at] = s.xs[r];
        }
    __syncthreads();
    const A by = mode == 1 ? sum_of<WARPS>(counted, 1) : (A)1, each = slope / by;
    A loss = (A)0;
    if (busy) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (SHARE > 1) s.z[r] = sum_of<SHARE>(&hold[team * SHARE][r][number], ROWS * WIDE);
            if (mode) s.slopes[r] = each;
        }
        loss = loss_and_slopes(s, slopes[warp], add, out, g, logits, row0, m, ignore, mode);
    }
    if (at == 0) losses[team] = loss;
    if (TEAMS > 1) __syncthreads();
    else __syncwarp();
    const bool ends = blockIdx.x == gridDim.x - 1;
    if (mode && t == 0 && !ends) leave_loss(sum_of<TEAMS>(losses, 1), words);
    if (inside) to_input(s, slopes[warp], gx, mask, apart, row0, m, fours);
    if (WHOLE) to_weight(slopes, rows, gw, gb, m, fours);
    if (mode && warp == 0 && ends) {
        loss = gather_losses(words) + sum_of<TEAMS>(losses, 1);
        if (t == 0) *out = dn(mode == 1 ? loss / by : loss);
    }
}

BOUNDED_KERNEL(head_step, THREADS, 1)(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                      const LABEL* __restrict__ target, const T* __restrict__ gy,
                                      const T* __restrict__ mask, T* __restrict__ out, T* __restrict__ g,
                                      T* __restrict__ gx, T* __restrict__ logits, Word* words, int m, int k,
                                      i64 ignore, int mode) {
    depend();
    head<false>(x, w, bias, target, gy, mask, out, g, gx, 0, 0, logits, words, m, k, ignore, mode);
}

BOUNDED_KERNEL(head_whole, THREADS, 1)(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
                                       const LABEL* __restrict__ target, const T* __restrict__ gy,
                                       const T* __restrict__ mask, T* __restrict__ out, T* __restrict__ gx,
                                       T* __restrict__ gw, T* __restrict__ gb, T* __restrict__ logits, int m, int k,
                                       i64 ignore, int mode) {
    depend();
    head<true>(x, w, bias, target, gy, mask, out, 0, gx, gw, gb, logits, 0, m, k, ignore, mode);
}
