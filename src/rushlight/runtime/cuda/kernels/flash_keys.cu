// The gradients of attention's keys and values in float32, behind flash.cu: a block has ROWS keys and walks over the queries
// that see them, STEP at a time. With ALL it has all keys of a head, ROWS after ROWS, and makes the gradient of the queries on
// the way: what was added for earlier keys is where the same threads have written it.
#define TEAM (VALUES / 4)  // lanes that stage a row of values

// Rounds what this thread has staged of a gradient; with ALL it adds up its products with the result, row by row.
__device__ __forceinline__ void settle(float* given, const float* made, float* slope) {
#if ALL
    UNROLL for (int i = 0; i < STEP * VALUES / 4; i += THREADS) {
        const int at = i + threadIdx.x, row = at / TEAM, four = at % TEAM;
        const Quad g = four_of<VALUES>(given, row, four), o = four_of<VALUES>(made, row, four);
        float sum = 0;
        UNROLL for (int e = 0; e < 4; e++) sum += g.v[e] * o.v[e];
        UNROLL for (int d = TEAM / 2; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (four == 0) slope[row] = sum;
    }
#endif
    round_staged<STEP, VALUES>(given);
}

// Products of keys and queries become the weights that were used, and how the loss depends on weights becomes how it
// depends on scores. A lane has 2 * TILES neighbouring keys, and of every 16 queries four.
__device__ __forceinline__ void slopes_near(Scores& s, Scores& reach, const float* total, const float* slope, const Bias& bias,
                                            const Sizes& z, i64 row0, int q0, int k0, float by, const Kept& kept) {
    const int near = 2 * TILES, k = k0 + row_near(0, 0);
    const bool whole = k0 + ROWS <= z.n && (!z.causal || k0 + ROWS <= q0 + 1);
    UNROLL for (int j = 0; j < GROUPS; j++)
        UNROLL for (int c = 0; c < 4; c++) {
            const int at = 16 * j + 4 * L + c, i = min(q0 + at, z.queries - 1);
            alignas(16) float added[4] = {0, 0, 0, 0};
            Quad factor;
            bias.read<near>(added, i, k);
            if (DROP) factor = kept.draw(stream_of(row0 + i, z.n) + k / 4);
            UNROLL for (int e = 0; e < near; e++) {
                const int m = e / 2, x = 2 * (e % 2) + c % 2, tile = 2 * j + c / 2;
                float &w = s[m][tile][x], &v = reach[m][tile][x], used = 1;
                if (DROP) used = near == 4 ? factor.v[e] : k & 2 ? factor.v[2 + e] : factor.v[e];
                float p = weight_of(score_of(w, by, added[e]), total[at]);
                v = p * ((DROP ? v * used : v) - slope[at]);
                w = DROP ? p * used : p;
                v = rounded(v);
                w = rounded(w);
            }
        }
    if (whole) return;
    UNROLL for (int j = 0; j < 4 * GROUPS; j++) {
        const int i = q0 + 16 * (j / 4) + 4 * L + j % 4, seen = z.causal ? min(i + 1, z.n) : z.n;
        UNROLL for (int e = 0; e < near; e++)
            if (k + e >= seen) s[e / 2][j / 2][2 * (e % 2) + j % 2] = reach[e / 2][j / 2][2 * (e % 2) + j % 2] = 0;
    }
}

#if ALL
// The gradient of STEP queries: their slopes, which all warps have put into a tile, times the keys. A warp has 16 queries
// and, of every 32 numbers, those 16 where 4 * G + 2 * half stands.
__device__ __forceinline__ void write_queries(float* to, i64 step, const float* tile, const float* keys, int rows, int width,
                                              float scale, bool more) {
    const int parts = GROUPS * WIDTH / 16;
    for (int part = WARP; part < parts; part += WARPS) {
        const int row = part % GROUPS * 16 + G, w = part / GROUPS / 2, half = part / GROUPS & 1;
        float sums[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
#if TF32
        UNROLL for (int u = 0; u < ROWS / 16; u++) {
            const Quad x = four_of<ROWS>(tile, row, 4 * u + L), x8 = four_of<ROWS>(tile, row + 8, 4 * u + L);
            Pair y[4];
            UNROLL for (int c = 0; c < 4; c++)
                y[c] = *(const Pair*)(place<WIDTH>((float*)keys + 16 * u * WIDTH, 4 * L + c, 8 * w + G) + 2 * half);
            UNROLL for (int k = 0; k < 4; k += 2)
                UNROLL for (int e = 0; e < 2; e++)
                    multiply(sums[e], x.v[k], x8.v[k], x.v[k + 1], x8.v[k + 1], y[k].v[e], y[k + 1].v[e]);
        }
#else
        for (int u = 0; u < ROWS / 4; u++) {
            const Quad x = four_of<ROWS>(tile, row, u), x8 = four_of<ROWS>(tile, row + 8, u);
            UNROLL for (int c = 0; c < 4; c++)
                UNROLL for (int k = 0; k < 2; k++) {
                    const Pair y = *(const Pair*)(place<WIDTH>((float*)keys, 4 * u + c, 8 * w + 2 * L + k) + 2 * half);
                    UNROLL for (int e = 0; e < 2; e++) {
                        sums[e][k] += x.v[c] * y.v[e];
                        sums[e][2 + k] += x8.v[c] * y.v[e];
                    }
                }
        }
#endif
        UNROLL for (int h = 0; h < 2; h++)
            UNROLL for (int k = 0; k < 2; k++) {
                const int at = 32 * w + 8 * L + 4 * k + 2 * half;
                Pair* there = (Pair*)(to + (row + 8 * h) * step + at);
                if (row + 8 * h >= rows || at >= width) continue;
                Pair v = more ? *there : Pair{0, 0};
                UNROLL for (int e = 0; e < 2; e++) v.v[e] += sums[e][2 * h + k] * scale;
                *there = v;
            }
    }
}
#endif

BOUNDED_KERNEL(flash_keys, THREADS, BLOCKS)(const float* gy, const float* q, const float* k, const float* v, const float* out,
                                            const float* stats, const float* bias, const u64* key, const float* slope,
                                            float* gq, float* gk, float* gv, Lies lg, Lies lq, Lies lk, Lies lv, Lies lo,
                                            Lies to_q, Lies to_k, Lies to_v, Sizes z, Added added, float scale,
                                            float keep) {
    depend();
    extern __shared__ __align__(16) float room[];
    const int blocks = ALL ? 1 : (z.n + ROWS - 1) / ROWS, groups = z.heads / z.shared;
    const int b = blockIdx.x / blocks / groups, group = blockIdx.x / blocks % groups;
    float *own = room, *values = own + ROWS * WIDTH, *asked = values + ROWS * VALUES, *given = asked + 2 * STEP * WIDTH;
    float *made = given + 2 * STEP * VALUES, *tile = made + ALL * 2 * STEP * VALUES, *rest = tile + ALL * STEP * ROWS;
    float *totals = rest, *reached = rest + 2 * STEP;  // of each query of a step
    const Kept kept(key, keep);
    const float by = BIAS ? scale : scale * LOG2E;
    k += b * lk.batch + group * lk.head;
    v += b * lv.batch + group * lv.head;
    int k0 = blockIdx.x % blocks * ROWS;
    do {
        const int first = z.causal ? min(k0, z.queries) / STEP : 0, steps = (z.queries + STEP - 1) / STEP - first;
        const int turns = steps * z.shared;  // head after head
        stage<ROWS, WIDTH>(own, k + k0 * lk.row, lk.row, z.n - k0, z.width);
        stage<ROWS, VALUES>(values, v + k0 * lv.row, lv.row, z.n - k0, z.values);

        auto fetch = [&](int turn) {
            const int head = group * z.shared + turn / steps, q0 = (first + turn % steps) * STEP, odd = turn & 1, left = z.queries - q0;
            stage<STEP, WIDTH>(asked + odd * STEP * WIDTH, q + b * lq.batch + head * lq.head + q0 * lq.row, lq.row, left, z.width);
            stage<STEP, VALUES>(given + odd * STEP * VALUES, gy + b * lg.batch + head * lg.head + q0 * lg.row, lg.row, left, z.values);
            if (ALL)
                stage<STEP, VALUES>(made + odd * STEP * VALUES, out + b * lo.batch + head * lo.head + q0 * lo.row, lo.row, left, z.values);
            Bias(bias, z, added, b, head).prefetch<STEP, ROWS>(q0, k0);
            const i64 row = ((i64)b * z.heads + head) * z.queries + q0;
            for (int i = threadIdx.x; i < STEP; i += THREADS) {
                bring<4>(totals + odd * STEP + i, stats + (i < left ? row + i : 0), i < left);
                if (!ALL) bring<4>(reached + odd * STEP + i, slope + (i < left ? row + i : 0), i < left);
            }
        };
        if (turns) fetch(0);
        sent();
        float sums[TILES][WIDTH / 8][4], gained[TILES][VALUES / 8][4];
        UNROLL for (int m = 0; m < TILES; m++)
            UNROLL for (int e = 0; e < 4; e++) {
                UNROLL for (int j = 0; j < WIDTH / 8; j++) sums[m][j][e] = 0;
                UNROLL for (int j = 0; j < VALUES / 8; j++) gained[m][j][e] = 0;
            }
        for (int turn = 0; turn < turns; turn++) {
            const int head = group * z.shared + turn / steps, q0 = (first + turn % steps) * STEP, odd = turn & 1;
            const i64 row0 = ((i64)b * z.heads + head) * z.queries;
            float *a = asked + odd * STEP * WIDTH, *c = given + odd * STEP * VALUES, *total = totals + odd * STEP;
            if (turn + 1 < turns) fetch(turn + 1);
            sent();
            arrived<1>();
            if (turn == 0) {
                round_staged<ROWS, WIDTH>(own);
                round_staged<ROWS, VALUES>(values);
            }
            round_staged<STEP, WIDTH>(a);
            settle(c, made + odd * STEP * VALUES, reached + odd * STEP);
            for (int i = threadIdx.x; i < STEP; i += THREADS)
                total[i] = q0 + i < z.queries ? total[i] * (BIAS ? 1.0f : LOG2E) : -NEVER;
            __syncthreads();
            Scores s, reach;
            along<WIDTH, true>(s, own, a);
            along<VALUES, true>(reach, values, c);
            const Bias more(bias, z, added, b, head);
            slopes_near(s, reach, total, reached + odd * STEP, more, z, row0, q0, k0, by, kept);
            across<VALUES>(gained, s, c);
            across<WIDTH>(sums, reach, a);
#if ALL
            UNROLL for (int j = 0; j < GROUPS; j++)
                UNROLL for (int e = 0; e < 4; e++) {
                    const int t = 2 * j + e / 2, x = e % 2;
                    *(Quad*)place<ROWS>(tile, 16 * j + 4 * L + e, WARP * 8 + G) = {
                        reach[0][t][x], reach[0][t][2 + x], reach[TILES - 1][t][x], reach[TILES - 1][t][2 + x]};
                }
#endif
            __syncthreads();
#if ALL
            write_queries(gq + b * to_q.batch + head * to_q.head + q0 * to_q.row, to_q.row, tile, own, z.queries - q0, z.width,
                          scale, k0 > 0);
#endif
        }
        UNROLL for (int m = 0; m < TILES; m++)
            UNROLL for (int h = 0; h < 2; h++) {
                const int i = row_near(m, h), at = k0 + i;
                if (at >= z.n) continue;
                write_row<WIDTH>(gk + b * to_k.batch + group * to_k.head + at * to_k.row, sums[m], h, z.width, scale);
                write_row<VALUES>(gv + b * to_v.batch + group * to_v.head + at * to_v.row, gained[m], h, z.values, 1.0f);
            }
        if (ALL) __syncthreads();  // others may still read these keys
    } while (ALL && (k0 += ROWS) < z.n);
}
