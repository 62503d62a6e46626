// Recurrent layers over whole sequences in one launch. A block keeps the weights of UNITS numbers of the state in shared
// memory for as long as the launch lasts; the blocks of a team have all of them, and walk the steps of their sequences
// together: each writes what it computed, and waits until the others have. All blocks must run at the same time.
// GATES is 4 for an LSTM, 3 for a GRU, 1 for tanh and relu. Sequences are taken ROWS at a time.
#define UNITS 8
#define ROWS 16
#define OUTPUTS (UNITS * ROWS)
#define THREADS 256
#define WARPS (THREADS / 32)
#define MOVED(n) ((n) > 8 ? 4 : 2)  // weights that a lane reads at once for tensor cores
#define WIDE (GATES > 1 ? 4 * UNITS : UNITS)  // columns of a block's weights on the way forward: four for each unit

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
__device__ __forceinline__ float at(const T* p, i64 i) { return p ? up(p[i]) : 0.0f; }

// Tell the other blocks of the team that what was written before can be read by `fetch`.
__device__ __forceinline__ void arrive(unsigned* arrived) {
    __syncthreads();
    if (threadIdx.x) return;
#if __CUDA_ARCH__ > 700
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
#else
    __threadfence();
    atomicAdd(arrived, 1u);
#endif
}

// Wait until there were `wanted` arrivals in all.
__device__ __forceinline__ void meet(unsigned* arrived, unsigned wanted) {
    if (!threadIdx.x) {
#if __CUDA_ARCH__ > 700
        unsigned found;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(arrived) : "memory");
        while (found < wanted);
#else
        while (*(volatile unsigned*)arrived < wanted) {}
        __threadfence();
#endif
    }
    __syncthreads();
}

typedef Vec<float, 4> Four;

// Where numbers lie: a[.][ROWS], w[.][N], which are read the most, and sums[WARPS][ROWS][N]. For tensor cores what a lane
// takes at once is side by side.
__device__ __forceinline__ int of_a(int k, int row) {
#if TF32
    return k / 8 * 8 * ROWS + (row % 8 * 4 + k % 4) * 4 + row / 8 + k % 8 / 4 * 2;
#else
    return k * ROWS + (row ^ (k & 2) << 2);
#endif
}
template <int N> __device__ __forceinline__ int of_w(int k, int column) {
#if TF32
    const int lane = column % 8 * 4 + k % 4, part = column / 8 * 2 + k % 8 / 4;
    return k / 8 * 8 * N + part / MOVED(N) * 32 * MOVED(N) + lane * MOVED(N) + part % MOVED(N);
#else
    return k * N + (N > 8 ? column ^ (k & 3) << 3 : column);
#endif
}
template <int N> __device__ __forceinline__ int of_sums(int row, int column) {
    return row * N + (N > 8 ? column ^ (row & 3) << 3 : column);
}

// `count` rows of ROWS numbers to `a`, past the first cache, which does not see what other blocks write. Blocks begin at
// different places, for all of a team read the same.
__device__ __forceinline__ void fetch(float* a, const float* from, int count) {
    const int all = count * (ROWS / 4), begin = blockIdx.x * (THREADS / 4) % all;
    for (int n = threadIdx.x; n < all; n += THREADS) {
        const int i = n + begin < all ? n + begin : n + begin - all;
        float* to = a + 4 * i;
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from + 4 * i)
                     : "memory");
#else
        for (int j = 0; j < 4; j++) to[j] = *(const volatile float*)(from + 4 * i + j);
#endif
    }
}
__device__ __forceinline__ void fetched() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#endif
    __syncthreads();
}

#if TF32
// A warp's part of [ROWS, N] = a.T @ w over `count` rows of both, of which it takes eight of every 64.
template <int N> struct Part {
    float sum[N / 8][4] = {};
    __device__ __forceinline__ void multiply(const float* w, const float* a, int count) {
        const int lane = threadIdx.x % 32;
#pragma unroll 4
        for (int k = threadIdx.x / 32 * 8; k < count; k += 8 * WARPS) {
            const Four x = *(const Four*)(a + k * ROWS + lane * 4);
            Vec<float, MOVED(N)> y[N / 4 / MOVED(N)];
#pragma unroll
            for (int h = 0; h < N / 4 / MOVED(N); h++) y[h] = *(const Vec<float, MOVED(N)>*)(w + k * N + (h * 32 + lane) * MOVED(N));
#pragma unroll
            for (int n = 0; n < N / 8; n++) {
                const float* both = &y[2 * n / MOVED(N)].v[2 * n % MOVED(N)];
                ::multiply(sum[n], x.v[0], x.v[1], x.v[2], x.v[3], both[0], both[1]);
            }
        }
    }
    __device__ __forceinline__ void leave(float* sums) {
        float* to = sums + threadIdx.x / 32 * ROWS * N;
        const int row = threadIdx.x % 32 / 4, q = threadIdx.x % 4 * 2;
#pragma unroll
        for (int n = 0; n < N / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) to[of_sums<N>(row + i / 2 * 8, n * 8 + q + i % 2)] = sum[n][i];
    }
};
#else
// A thread's 4 x 4 numbers of [ROWS, N] = a.T @ w over `count` rows of both, of which it takes every THREADS / N.
template <int N> struct Part {
    float sum[4][4] = {};
    __device__ __forceinline__ void multiply(const float* w, const float* a, int count) {
        const int column = threadIdx.x % (N / 4) * 4, row = threadIdx.x / (N / 4) % 4 * 4;
#pragma unroll 4
        for (int k = threadIdx.x / N; k < count; k += THREADS / N) {
            const Four x = *(const Four*)(a + of_a(k, row)), y = *(const Four*)(w + of_w<N>(k, column));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += x.v[i] * y.v[j];
        }
    }
    // What a warp has. Where N is 8, four parts of a sum lie in one warp, whose lanes add them.
    __device__ __forceinline__ void leave(float* sums) {
        const int column = threadIdx.x % (N / 4) * 4, row = threadIdx.x / (N / 4) % 4 * 4;
        float* to = sums + threadIdx.x / 32 * ROWS * N;
        if (N == 32) {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) to[of_sums<N>(row + i, column + j)] = sum[i][j];
            return;
        }
        const bool high = threadIdx.x & 16, low = threadIdx.x & 8;
        float two[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                two[i][j] = (high ? sum[i + 2][j] : sum[i][j]) + __shfl_xor_sync(0xffffffffu, high ? sum[i][j] : sum[i + 2][j], 16);
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[of_sums<N>(row + 2 * high + low, column + j)] =
                (low ? two[1][j] : two[0][j]) + __shfl_xor_sync(0xffffffffu, low ? two[0][j] : two[1][j], 8);
    }
};
#endif

// [ROWS, N] in `sums` from `deep` rows, of which `bring(first, rows)` puts `part` at a time into `a`: the first ones are on their way.
template <int N, typename Bring>
__device__ __forceinline__ void product(const float* w, const float* a, float* sums, int deep, int part, Bring bring) {
    Part<N> mine;
    for (int first = 0; first < deep; first += part) {
        const int rows = min(part, deep - first);
        if (first) {
            __syncthreads();
            bring(first, rows);
        }
        fetched();
        mine.multiply(w + first * N, a, rows);
    }
    mine.leave(sums);
    __syncthreads();
}

struct Place {
    int team, first, tiles, pad, deep;  // the team; the first unit of the block; tiles of all sequences and their rows; units
    __device__ Place(int teams, int batch, int hidden) {
        const int blocks = gridDim.x / teams;
        team = blockIdx.x / blocks;
        first = blockIdx.x % blocks * UNITS;
        tiles = (batch + ROWS - 1) / ROWS;
        pad = tiles * ROWS;
        deep = (hidden + UNITS - 1) / UNITS * UNITS;
    }
};

// The first row of a step and how many sequences are that long: `starts` says where steps begin, if not all are.
struct Step {
    i64 row;
    int n;
    __device__ Step(const int* starts, int t, int batch) {
        row = starts ? starts[t] : (i64)t * batch;
        n = starts ? starts[t + 1] - starts[t] : batch;
    }
};

// exchange: [2, tiles, units, ROWS], the state after steps of even and of odd number. `second` is what the state c was for an LSTM,
// the inner product of the new gate for a GRU.
BOUNDED_KERNEL(whole_forward, THREADS, 2)(const T* xw, const T* h0, const T* c0, const T* w_hh, const T* b_hh, T* gates, T* out,
                                          T* h_before, T* second, T* h_last, T* c_last, float* exchange, unsigned* arrived,
                                          const int* starts, int steps, int batch, int hidden, int reverse, int relu,
                                          int teams, int part) {
    depend();
    extern __shared__ __align__(16) char room[];
    const Place place(teams, batch, hidden);
    const int deep = place.deep;
    arrived += place.team * 32;
    float *w = (float*)room, *a = w + deep * WIDE, *sums = a + part * ROWS, *kept = sums + WARPS * ROWS * WIDE;
    for (int i = threadIdx.x; i < deep * WIDE; i += THREADS) {  // eight neighbours of a row at a time
        const int k = i / (8 * WIDE) * 8 + i % 8, column = i / 8 % WIDE;
        const int unit = place.first + (GATES > 1 ? column / 4 : column), gate = GATES > 1 ? column % 4 : 0;
        const bool live = k < hidden && unit < hidden && gate < GATES;
        w[of_w<WIDE>(k, column)] = live ? rounded(up(w_hh[((i64)gate * hidden + unit) * hidden + k])) : 0.0f;
    }
    const int o = threadIdx.x, u = o % UNITS, unit = place.first + u;
    const bool mine = o < OUTPUTS && unit < hidden;
    float bias[GATES] = {};  // a GRU's, which belongs to the product
    for (int g = 0; g < GATES; g++) bias[g] = mine ? at(b_hh, g * hidden + unit) : 0.0f;
    for (int step = 0; step < steps; step++) {
        const Step now(starts, reverse ? steps - 1 - step : step, batch);
        const float* from = exchange + (i64)(step & 1) * deep * place.pad;
        float* next = exchange + (i64)(~step & 1) * deep * place.pad + of_a(unit, o / UNITS);
        float* mem = kept + o;
        auto bring = [&](int tile, int first, int rows) {
            if (step) {
                fetch(a, from + ((i64)tile * deep + first) * ROWS, rows);
                return;
            }
            for (int i = threadIdx.x; i < rows * ROWS; i += THREADS) {
                const int k = first + i % rows, r = i / rows, sequence = tile * ROWS + r;
                const bool live = sequence < batch && k < hidden;
                a[of_a(i % rows, r)] = live ? rounded(up(h0[(i64)sequence * hidden + k])) : 0.0f;
            }
        };
        bring(place.team, 0, min(part, deep));
        for (int tile = place.team; tile < place.tiles; tile += teams, mem += 2 * OUTPUTS) {
            const int b = tile * ROWS + o / UNITS;
            const bool live = mine && b < now.n;
            const i64 row = now.row + b;
            float x[GATES];
            if (live)
                for (int g = 0; g < GATES; g++) x[g] = up(xw[(row * GATES + g) * hidden + unit]);
            if (!step && mine && b < batch) {
                mem[0] = up(h0[(i64)b * hidden + unit]);
                if (GATES == 4) mem[OUTPUTS] = up(c0[(i64)b * hidden + unit]);
            }
            product<WIDE>(w, a, sums, deep, part, [&](int first, int rows) { bring(tile, first, rows); });
            if (tile + teams < place.tiles) bring(tile + teams, 0, min(part, deep));
            float* to = next + (i64)tile * deep * ROWS;
            if (o < OUTPUTS && unit >= hidden && step + 1 < steps) *to = 0.0f;
            const bool there = mine && b < batch, last = tile + teams >= place.tiles;
            const float h_in = there ? mem[0] : 0.0f, c_in = there && GATES == 4 ? mem[OUTPUTS] : 0.0f;
            float h = h_in, c = c_in, done[4] = {};
            if (live) {
                float z[GATES];
                for (int g = 0; g < GATES; g++) z[g] = bias[g];
                for (int p = 0; p < WARPS; p++) {
                    const float* given = sums + p * ROWS * WIDE + of_sums<WIDE>(o / UNITS, u * (GATES > 1 ? 4 : 1));
#pragma unroll
                    for (int g = 0; g < GATES; g++) z[g] += given[g];
                }
#if GATES == 4
                done[0] = sigmoid(x[0] + z[0]);
                done[1] = sigmoid(x[1] + z[1]);
                done[2] = tanhf(x[2] + z[2]);
                done[3] = sigmoid(x[3] + z[3]);
                mem[OUTPUTS] = c = up(dn(done[1] * c_in + done[0] * done[2]));
                h = done[3] * tanhf(c);
#elif GATES == 3
                done[0] = sigmoid(x[0] + z[0]);
                done[1] = sigmoid(x[1] + z[1]);
                done[2] = tanhf(x[2] + done[0] * z[2]);
                done[3] = z[2];
                h = done[2] + done[1] * (h_in - done[2]);
#else
                const float v = x[0] + z[0];
                h = relu ? (v > 0 || v != v ? v : 0.0f) : tanhf(v);
#endif
                mem[0] = h = up(dn(h));
            }
            if (step + 1 < steps) {
                if (there) *to = rounded(h);
                if (last) arrive(arrived);
            }
            if (live) {  // what only the way back reads; the others need not wait for it
                const i64 k = row * hidden + unit;
                out[k] = dn(h);
                h_before[k] = dn(h_in);
                if (GATES > 1) second[k] = dn(GATES == 4 ? c_in : done[3]);
                for (int g = 0; GATES > 1 && g < GATES; g++) gates[(row * GATES + g) * hidden + unit] = dn(done[g]);
            }
            if (there && step + 1 == steps) {
                h_last[(i64)b * hidden + unit] = dn(h);
                if (GATES == 4) c_last[(i64)b * hidden + unit] = dn(c);
            }
        }
        if (step + 1 < steps) meet(arrived, (unsigned)(step + 1) * (gridDim.x / teams));
    }
}

// The way back: `before` is what the state c was for an LSTM and h for a GRU, `y` a GRU's inner products and the outputs
// of tanh and relu. d are the gradients of the inputs' gates, e those of a GRU's state; gh0 and gc0 of the first states.
// exchange: [2, tiles, GATES, units, ROWS], gradients of the gates.
BOUNDED_KERNEL(whole_backward, THREADS, 2)(const T* w_hh, const T* gates, const T* before, const T* y, const T* gout, const T* gh,
                                           const T* gc, T* d, T* e, T* gh0, T* gc0, float* exchange, unsigned* arrived,
                                           const int* starts, int steps, int batch, int hidden, int reverse, int relu,
                                           int teams, int part) {
    depend();
    extern __shared__ __align__(16) char room[];
    const Place place(teams, batch, hidden);
    const int deep = GATES * place.deep;
    arrived += place.team * 32;
    float *w = (float*)room, *a = w + deep * UNITS, *sums = a + part * ROWS, *kept = sums + WARPS * ROWS * UNITS;
    for (int i = threadIdx.x; i < deep * UNITS; i += THREADS) {
        const int unit = place.first + i % UNITS, gate = i / UNITS / place.deep, k = i / UNITS % place.deep;
        w[of_w<UNITS>(gate * place.deep + k, i % UNITS)] = unit < hidden && k < hidden ? rounded(up(w_hh[((i64)gate * hidden + k) * hidden + unit])) : 0.0f;
    }
    const int o = threadIdx.x, unit = place.first + o % UNITS;
    const bool mine = o < OUTPUTS && unit < hidden;
    int n_before = 0;
    for (int step = 0; step <= steps; step++) {
        const Step now(starts, step == steps ? 0 : reverse ? step : steps - 1 - step, batch);
        const float* from = exchange + (i64)(~step & 1) * deep * place.pad;
        float* next = exchange + (i64)(step & 1) * deep * place.pad + of_a(unit, o / UNITS);
        float* mem = kept + o;
        auto bring = [&](int tile, int first, int rows) {
            fetch(a, from + ((i64)tile * deep + first) * ROWS, rows);
        };
        if (step) bring(place.team, 0, min(part, deep));
        for (int tile = place.team; tile < place.tiles; tile += teams, mem += 2 * OUTPUTS) {
            const int b = tile * ROWS + o / UNITS;
            if (step) {
                product<UNITS>(w, a, sums, deep, part, [&](int first, int rows) { bring(tile, first, rows); });
                if (tile + teams < place.tiles) bring(tile + teams, 0, min(part, deep));
            }
            float* to = next + (i64)tile * deep * ROWS;
            if (o < OUTPUTS && unit >= hidden && step < steps)
                for (int q = 0; q < GATES; q++) to[q * place.deep * ROWS] = 0.0f;
            const bool there = mine && b < batch, live = there && b < now.n, last = tile + teams >= place.tiles;
            const i64 state = (i64)b * hidden + unit, row = now.row + b, k = row * hidden + unit, g = row * GATES * hidden + unit;
            float through = 0, past = 0, own[GATES], into_d = 0;  // the gradients of the state's gates, and where the inputs' one differs
            if (there) {
                through = step ? mem[0] : at(gh, state);
                past = step ? mem[OUTPUTS] : GATES == 4 ? at(gc, state) : 0.0f;
            }
            if (there && b < n_before) {
                through = GATES == 3 ? past : 0.0f;
                for (int p = 0; p < WARPS; p++) through += sums[p * OUTPUTS + o];
            }
            if (live && step < steps) {
                const float to_h = through + at(gout, k);
#if GATES == 4
                const float i = up(gates[g]), f = up(gates[g + hidden]), n = up(gates[g + 2 * hidden]), s = up(gates[g + 3 * hidden]);
                const float c = up(before[k]), t = tanhf(f * c + i * n), to_c = past + to_h * s * (1 - t * t);
                own[0] = to_c * n * i * (1 - i);
                own[1] = to_c * c * f * (1 - f);
                own[2] = to_c * i * (1 - n * n);
                own[3] = to_h * t * s * (1 - s);
                past = to_c * f;
#elif GATES == 3
                const float r = up(gates[g]), v = up(gates[g + hidden]), n = up(gates[g + 2 * hidden]);
                into_d = to_h * (1 - v) * (1 - n * n);
                own[0] = into_d * up(y[k]) * r * (1 - r);
                own[1] = to_h * (up(before[k]) - n) * v * (1 - v);
                own[2] = into_d * r;
                past = to_h * v;
#else
                const float v = up(y[k]);
                own[0] = !relu ? to_h * (1 - v * v) : v <= 0 ? 0.0f : to_h;
#endif
                for (int q = 0; q < GATES; q++) to[q * place.deep * ROWS] = rounded(up(dn(own[q])));
            }
            if (step == steps) {
                if (there) gh0[state] = dn(through);
                if (there && GATES == 4) gc0[state] = dn(past);
                continue;
            }
            if (last) arrive(arrived);
            if (live)
                for (int q = 0; q < GATES; q++) {
                    d[g + q * hidden] = dn(GATES == 3 && q == 2 ? into_d : own[q]);
                    if (GATES == 3) e[g + q * hidden] = dn(own[q]);
                }
            if (there) {
                mem[0] = through;
                mem[OUTPUTS] = past;
            }
        }
        n_before = now.n;
        if (step < steps) meet(arrived, (unsigned)(step + 1) * (gridDim.x / teams));
    }
}
