// Layer and root-mean-square normalisation of rows of n numbers; RMS leaves the mean out.
#ifndef RMS
#define RMS 0
#endif
#ifndef NW
#define NW T
#endif
// TEAM: 0 a block per row, 1 a warp per row.
#ifndef TEAM
#define TEAM 0
#endif
// A thread has packs of VW numbers of a row, and keeps HELD of them; 0: there are more than registers, and it reads
// them again. FULL: every thread has HELD of them.
#ifndef VW
#define VW 1
#endif
#ifndef HELD
#define HELD 0
#endif
#ifndef FULL
#define FULL 0
#endif
// What comes from a neighbour in another dtype: the sum's other part and the result; or the gradient that comes in, in
// whose dtype the one that goes out may be written once more.
#ifndef NO
#define NO T
#endif
#ifndef NY
#define NY T
#endif

constexpr int KEPT = HELD ? HELD : 1;
__device__ __forceinline__ A team_sum(A v, A* hold) { return TEAM ? warp_sum(v) : block_sum(v, hold); }
#define LANE (TEAM ? (int)(threadIdx.x & 31) : (int)threadIdx.x)
#define WIDTH (TEAM ? 32 : (int)blockDim.x)
#define TEAMS (TEAM ? (int)(blockDim.x / 32) : 1)
#define MY_ROW (TEAM ? blockIdx.x * (i64)TEAMS + threadIdx.x / 32 : (i64)blockIdx.x)
// Over a thread's packs of a row: number k begins at column i.
#define PACKS                                                      \
    _Pragma("unroll")                                              \
    for (int k = 0, i = LANE * VW; HELD ? k < HELD : i < n; k++, i += WIDTH * VW) \
        if (FULL || i < n)
#define MINE (HELD ? k : 0)
#define EACH _Pragma("unroll") for (int j = 0; j < VW; j++)

template <class E> __device__ __forceinline__ void read(const E* p, A* v) {
    const Vec<E, VW> some = *(const Vec<E, VW>*)p;
    EACH v[j] = up(some.v[j]);
}
template <class E> __device__ __forceinline__ void write(E* p, const A* v) {
    Vec<E, VW> some;
    EACH some.v[j] = Down<E>::of(v[j]);
    *(Vec<E, VW>*)p = some;
}

// With `other` the rows of x + other are normalised, and kept in `total`.
KERNEL(norm_rows)(const T* __restrict__ x, const NO* __restrict__ other, const NW* __restrict__ w,
                  const NW* __restrict__ b, T* total, NY* __restrict__ y, A* __restrict__ mean,
                  A* __restrict__ rstd, i64 rows, int n, double eps) {
    depend();
    __shared__ A hold[32];
    const i64 row = MY_ROW;
    if (row >= rows) return;
    const T* p = x + row * n;
    A v[KEPT][VW], u[KEPT][VW], m = (A)0, q = (A)0;
    if (other) {
        const NO* o = other + row * n;
        if (HELD) {  // all that is read is asked for before anything is written
            PACKS read(p + i, v[MINE]);
            PACKS read(o + i, u[MINE]);
        }
        PACKS {
            if (!HELD) { read(p + i, v[0]); read(o + i, u[0]); }
            EACH v[MINE][j] = up(dn(v[MINE][j] + u[MINE][j]));
            write(total + row * n + i, v[MINE]);
        }
        p = total + row * n;  // every thread reads again what it wrote itself
    } else if (HELD) PACKS read(p + i, v[MINE]);
    if (!RMS) {
        PACKS {
            if (!HELD) read(p + i, v[0]);
            EACH m += v[MINE][j];
        }
        m = team_sum(m, hold) / (A)n;
    }
    PACKS {
        if (!HELD) read(p + i, v[0]);
        EACH q += (v[MINE][j] - m) * (v[MINE][j] - m);
    }
    q = team_sum(q, hold) / (A)n;
    const A scale = (A)(1.0 / sqrt((double)q + eps));
    if (LANE == 0) {
        if (!RMS) mean[row] = m;
        rstd[row] = scale;
    }
    PACKS {
        if (!HELD) read(p + i, v[0]);
        A by[VW], more[VW];
        if (w) read(w + i, by);
        if (b) read(b + i, more);
        EACH {
            A r = (v[MINE][j] - m) * scale;
            if (w) r *= by[j];
            if (b) r += more[j];
            v[MINE][j] = r;
        }
        write(y + row * n + i, v[MINE]);
    }
}

// The gradient of a row from its own (e, times the weight already), hat and their means; `more` is added to it.
__device__ __forceinline__ void row_gradient(A* e, const A* hat, A s, A q, A scale, const A* more) {
    EACH {
        const A v = up(dn((e[j] - s - hat[j] * q) * scale));
        e[j] = more ? up(dn(more[j] + v)) : v;
    }
}

// `more` is added to the gradient: the one that comes past the norm. Rows that are too long to be held.
KERNEL(norm_rows_grad)(const NO* __restrict__ g, const T* __restrict__ x, const NW* __restrict__ w,
                       const A* __restrict__ mean, const A* __restrict__ rstd, const T* __restrict__ more,
                       T* __restrict__ gx, NO* __restrict__ also, i64 rows, int n) {
    depend();
    __shared__ A hold[32];
    const i64 row = MY_ROW;
    if (row >= rows) return;
    const A m = RMS ? (A)0 : mean[row], scale = rstd[row];
    A e[VW], h[VW], by[VW], past[VW], s = (A)0, q = (A)0;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = LANE * VW; i < n; i += WIDTH * VW) {
            read(g + row * n + i, e);
            read(x + row * n + i, h);
            if (w) read(w + i, by);
            EACH {
                h[j] = (h[j] - m) * scale;
                if (w) e[j] *= by[j];
            }
            if (turn == 0) {
                EACH { s += e[j]; q += e[j] * h[j]; }
                continue;
            }
            if (more) read(more + row * n + i, past);
            row_gradient(e, h, s, q, scale, more ? past : 0);
            write(gx + row * n + i, e);
            if (also) write(also + row * n + i, e);
        }
        if (turn) return;
        s = RMS ? (A)0 : team_sum(s, hold) / (A)n;
        q = team_sum(q, hold) / (A)n;
    }
}

// Column sums of g and g * hat over a part of the rows. parts: splits, 2, n.
KERNEL(weight_sums)(const NO* g, const T* x, const A* mean, const A* rstd, A* parts,
                    i64 rows, int n) {
    depend();
    int i = blockIdx.x * 32 + threadIdx.x % 32, lane = threadIdx.x / 32, lanes = blockDim.x / 32;
    __shared__ A hold[2][32][33];
    A s = (A)0, q = (A)0;
    if (i < n)
        for (i64 r = blockIdx.y * (i64)lanes + lane; r < rows; r += (i64)gridDim.y * lanes) {
            A e = up(g[r * n + i]);
            s += e;
            q += e * (up(x[r * n + i]) - (RMS ? (A)0 : mean[r])) * rstd[r];
        }
    hold[0][lane][threadIdx.x % 32] = s;
    hold[1][lane][threadIdx.x % 32] = q;
    __syncthreads();
    if (lane || i >= n) return;
    for (int k = 1; k < lanes; k++) {
        s += hold[0][k][threadIdx.x];
        q += hold[1][k][threadIdx.x];
    }
    parts[(i64)(2 * blockIdx.y) * n + i] = s;
    parts[(i64)(2 * blockIdx.y + 1) * n + i] = q;
}

// Both at once, of rows that are held: everything is read once. A team takes `turns` rows; parts: blocks, 2, n.
BOUNDED_KERNEL(norm_grads, TEAM ? 128 : 256)(
    const NO* __restrict__ g, const T* __restrict__ x, const NW* __restrict__ w, const A* __restrict__ mean,
    const A* __restrict__ rstd, const T* __restrict__ more, T* __restrict__ gx, NO* __restrict__ also,
    A* __restrict__ parts, i64 rows, int n, int turns) {
    depend();
    __shared__ A hold[32];
    A of_g[KEPT][VW], of_hat[KEPT][VW];
    PACKS EACH of_g[MINE][j] = of_hat[MINE][j] = (A)0;
    for (int turn = 0; turn < turns; turn++) {
        const i64 row = MY_ROW + turn * (i64)gridDim.x * TEAMS;
        if (row >= rows) break;
        const A m = RMS ? (A)0 : mean[row], scale = rstd[row];
        A e[KEPT][VW], h[KEPT][VW], past[KEPT][VW], s = (A)0, q = (A)0;
        PACKS read(g + row * n + i, e[MINE]);
        PACKS read(x + row * n + i, h[MINE]);
        if (more) PACKS read(more + row * n + i, past[MINE]);
        PACKS {
            A by[VW];
            if (w) read(w + i, by);
            EACH {
                A &a = e[MINE][j], &hat = h[MINE][j];
                hat = (hat - m) * scale;
                of_g[MINE][j] += a;
                of_hat[MINE][j] += a * hat;
                if (w) a *= by[j];
                s += a;
                q += a * hat;
            }
        }
        s = RMS ? (A)0 : team_sum(s, hold) / (A)n;
        q = team_sum(q, hold) / (A)n;
        PACKS {
            row_gradient(e[MINE], h[MINE], s, q, scale, more ? past[MINE] : 0);
            write(gx + row * n + i, e[MINE]);
            if (also) write(also + row * n + i, e[MINE]);
        }
    }
    A* to = parts + (i64)(2 * blockIdx.x) * n;
#if !TEAM
    PACKS EACH { to[i + j] = of_g[MINE][j]; to[n + i + j] = of_hat[MINE][j]; }
#else
    __shared__ A sums[2 * 32 * KEPT * VW];
    for (int team = 0; team < TEAMS; team++) {  // one after another: the same bits at each run
        if ((int)(threadIdx.x / 32) == team)
            PACKS EACH {
                sums[i + j] = of_g[MINE][j] + (team ? sums[i + j] : (A)0);
                sums[n + i + j] = of_hat[MINE][j] + (team ? sums[n + i + j] : (A)0);
            }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 2 * n; i += blockDim.x) to[i] = sums[i];
#endif
}

// As `norm_grads`, with a team's next row on its way while one is computed. Every thread brings its own packs to shared
// memory and finds them there, so that nobody waits for others, and registers keep the weight and the sums alone.
#ifndef THREADS
#define THREADS 256
#endif
#ifndef RESIDENT
#define RESIDENT 1
#endif
// SUMS: `also` is added up over the rows, too, as it is stored: it may be the gradient of a layer with a bias.
#ifndef SUMS
#define SUMS 0
#endif
constexpr int KINDS = 2 + SUMS;  // of column sums
BOUNDED_KERNEL(norm_grads_ahead, THREADS, RESIDENT)(
    const NO* __restrict__ g, const T* __restrict__ x, const NW* __restrict__ w, const A* __restrict__ mean,
    const A* __restrict__ rstd, const T* __restrict__ more, T* __restrict__ gx, NO* __restrict__ also,
    A* __restrict__ parts, i64 rows, int n) {
    depend();
    extern __shared__ __align__(16) char room[];
    __shared__ A hold[32];
    typedef Vec<T, VW> Own;
    typedef Vec<NO, VW> Other;
    // Two stages of packs: of x, of `more` if that is there, of g.
    Own* const xs = (Own*)room + threadIdx.x;
    Own* const ms = xs + 2 * KEPT * THREADS;
    Other* const gs = (Other*)((Own*)room + (more ? 4 : 2) * KEPT * THREADS) + threadIdx.x;
    A by[KEPT][VW], of_g[KEPT][VW], of_hat[KEPT][VW], of_also[SUMS ? KEPT : 1][VW];
    PACKS {
        EACH { of_g[MINE][j] = of_hat[MINE][j] = of_also[SUMS ? MINE : 0][j] = (A)0; by[MINE][j] = (A)1; }
        if (w) read(w + i, by[MINE]);
    }
    const i64 step = (i64)gridDim.x * TEAMS;
    i64 row = MY_ROW;
    A next_m = (A)0, next_scale = (A)0;
    auto fetch = [&](i64 row, int stage) {
        if (row < rows) {
            next_m = RMS ? (A)0 : mean[row];
            next_scale = rstd[row];
            PACKS {
                const int at = (stage * KEPT + k) * THREADS;
                bring_all(xs + at, (const Own*)(x + row * n + i), true);
                bring_all(gs + at, (const Other*)(g + row * n + i), true);
                if (more) bring_all(ms + at, (const Own*)(more + row * n + i), true);
            }
        }
        sent();
    };
    fetch(row, 0);
    for (int stage = 0; row < rows; row += step, stage ^= 1) {
        const A m = next_m, scale = next_scale;
        fetch(row + step, stage ^ 1);
        arrived<1>();
        A s = (A)0, q = (A)0;
        PACKS {
            const int at = (stage * KEPT + k) * THREADS;
            A e[VW], h[VW];
            read((const NO*)(gs + at), e);
            read((const T*)(xs + at), h);
            EACH {
                const A hat = (h[j] - m) * scale;
                of_g[MINE][j] += e[j];
                of_hat[MINE][j] += e[j] * hat;
                const A a = e[j] * by[MINE][j];
                s += a;
                q += a * hat;
            }
        }
        s = RMS ? (A)0 : team_sum(s, hold) / (A)n;
        q = team_sum(q, hold) / (A)n;
        PACKS {
            const int at = (stage * KEPT + k) * THREADS;
            A e[VW], h[VW], past[VW];
            read((const NO*)(gs + at), e);
            read((const T*)(xs + at), h);
            if (more) read((const T*)(ms + at), past);
            EACH {
                const A v = up(dn((e[j] * by[MINE][j] - s - (h[j] - m) * scale * q) * scale));
                e[j] = more ? up(dn(past[j] + v)) : v;
            }
            write(gx + row * n + i, e);
            if (also) write(also + row * n + i, e);
            if (SUMS) EACH of_also[SUMS ? MINE : 0][j] += up(Down<NO>::of(e[j]));
        }
    }
    A* to = parts + (i64)(KINDS * blockIdx.x) * n;
#if !TEAM
    PACKS EACH {
        to[i + j] = of_g[MINE][j];
        to[n + i + j] = of_hat[MINE][j];
        if (SUMS) to[2 * n + i + j] = of_also[SUMS ? MINE : 0][j];
    }
#else
    arrived<0>();
    __syncthreads();
    A* const sums = (A*)room;  // of each team; added one after another: the same bits at each run
    A* const own = sums + (i64)(threadIdx.x / 32) * KINDS * n;
    PACKS EACH {
        own[i + j] = of_g[MINE][j];
        own[n + i + j] = of_hat[MINE][j];
        if (SUMS) own[2 * n + i + j] = of_also[SUMS ? MINE : 0][j];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < KINDS * n; i += THREADS) {
        A total = sums[i];
        for (int team = 1; team < TEAMS; team++) total += sums[team * KINDS * n + i];
        to[i] = total;
    }
#endif
}

// A block for 32 columns: its warps share the parts. `sums` is there where there are three kinds.
KERNEL(weight_finish)(const A* parts, NW* gw, NW* gb, NO* sums, int splits, int n) {
    depend();
    __shared__ A hold[KINDS][32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int i = blockIdx.x * 32 + lane;
    A s[KINDS];
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) s[kind] = (A)0;
    if (i < n)
#pragma unroll 4
        for (int k = warp; k < splits; k += warps)
#pragma unroll
            for (int kind = 0; kind < KINDS; kind++) s[kind] += parts[(i64)(KINDS * k + kind) * n + i];
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) hold[kind][warp][lane] = s[kind];
    __syncthreads();
    if (warp || i >= n) return;
    for (int k = 1; k < warps; k++)
#pragma unroll
        for (int kind = 0; kind < KINDS; kind++) s[kind] += hold[kind][k][lane];
    gw[i] = Down<NW>::of(s[1]);
    if (gb) gb[i] = Down<NW>::of(s[0]);
    if (SUMS) sums[i] = Down<NO>::of(s[KINDS - 1]);
}
