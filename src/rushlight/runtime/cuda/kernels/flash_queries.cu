// The gradient of attention's queries in float32, behind flash.cu: a block has ROWS queries and walks over the keys. It
// leaves `slope` behind, each query's product of result and gradient, which flash_keys.cu wants.

// The lane's share of a row's product of result and gradient.
__device__ __forceinline__ float slope_of(const float* out, const float* gy, int values) {
    float sum = 0;
    for (int at = 4 * L; at < values; at += 16) {
        const Quad o = *(const Quad*)(out + at), g = *(const Quad*)(gy + at);
        UNROLL for (int e = 0; e < 4; e++) sum += o.v[e] * g.v[e];
    }
    return sum;
}

// How the loss depends on the scores, from the scores' products and from how it depends on weights; over `reach`.
__device__ __forceinline__ void slopes(const Scores& s, Scores& reach, const float (&total)[TILES][2], const float (&slope)[TILES][2],
                                       const Bias& bias, const Sizes& z, i64 row0, int q0, int k0, float by, const Kept& kept) {
    const bool whole = k0 + STEP <= z.n && (!z.causal || k0 + STEP <= q0 + WARP * 16 * TILES + 1);
    UNROLL for (int m = 0; m < TILES; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int i = min(q0 + row_apart(m, h), z.queries - 1), seen = z.causal ? min(i + 1, z.n) : z.n;
            UNROLL for (int j = 0; j < GROUPS; j++) {
                const int k = k0 + 16 * j + 4 * L;
                alignas(16) float added[4] = {0, 0, 0, 0};
                Quad factor;
                bias.read<4>(added, i, k);
                if (DROP) factor = kept.draw(stream_of(row0 + i, z.n) + (k0 + 16 * j) / 4 + L);
                UNROLL for (int c = 0; c < 4; c++) {
                    float& v = reach[m][2 * j + c / 2][2 * h + c % 2];
                    const float p = weight_of(score_of(s[m][2 * j + c / 2][2 * h + c % 2], by, added[c]), total[m][h]);
                    v = p * ((DROP ? v * factor.v[c] : v) - slope[m][h]);
                    v = rounded(v);
                }
            }
            if (!whole) {
                UNROLL for (int j = 0; j < 4 * GROUPS; j++)
                    if (k0 + 16 * (j / 4) + 4 * L + j % 4 >= seen) reach[m][j / 2][2 * h + j % 2] = 0;
            }
        }
}

BOUNDED_KERNEL(flash_queries, THREADS, BLOCKS)(const float* gy, const float* q, const float* k, const float* v,
                                               const float* out, const float* stats, const float* bias, const u64* key,
                                               float* gq, float* slope, Lies lg, Lies lq, Lies lk, Lies lv, Lies lo,
                                               Lies to, Sizes z, Added added, float scale, float keep) {
    depend();
    extern __shared__ __align__(16) float room[];
    const int blocks = (z.queries + ROWS - 1) / ROWS, q0 = (blocks - 1 - blockIdx.x % blocks) * ROWS;
    const int at = blockIdx.x / blocks, b = at / z.heads, head = at % z.heads, group = head / z.shared;
    gy += b * lg.batch + head * lg.head + q0 * lg.row;
    q += b * lq.batch + head * lq.head + q0 * lq.row;
    k += b * lk.batch + group * lk.head;
    v += b * lv.batch + group * lv.head;
    out += b * lo.batch + head * lo.head + q0 * lo.row;
    gq += b * to.batch + head * to.head + q0 * to.row;
    const Bias more(bias, z, added, b, head);
    const i64 row0 = (i64)at * z.queries;
    float *own = room, *given = own + ROWS * WIDTH, *keys = given + ROWS * VALUES, *values = keys + 2 * STEP * WIDTH;
    const int end = z.causal ? min(z.n, q0 + ROWS) : z.n, steps = (end + STEP - 1) / STEP;
    stage<ROWS, WIDTH>(own, q, lq.row, z.queries - q0, z.width);
    stage<ROWS, VALUES>(given, gy, lg.row, z.queries - q0, z.values);
    stage<STEP, WIDTH>(keys, k, lk.row, z.n, z.width);
    stage<STEP, VALUES>(values, v, lv.row, z.n, z.values);
    sent();
    more.prefetch<ROWS, STEP>(q0, 0);
    const Kept kept(key, keep);
    const float by = BIAS ? scale : scale * LOG2E;
    float total[TILES][2], reached[TILES][2], sums[TILES][WIDTH / 8][4];
    UNROLL for (int m = 0; m < TILES; m++) {
        UNROLL for (int h = 0; h < 2; h++) {
            const int i = row_apart(m, h);
            const bool live = q0 + i < z.queries;
            total[m][h] = live ? stats[row0 + q0 + i] * (BIAS ? 1.0f : LOG2E) : -NEVER;
            reached[m][h] = over_lanes(live ? slope_of(out + i * lo.row, gy + i * lg.row, z.values) : 0.0f);
            if (live && L == 0) slope[row0 + q0 + i] = reached[m][h];
        }
        UNROLL for (int j = 0; j < WIDTH / 8; j++)
            UNROLL for (int e = 0; e < 4; e++) sums[m][j][e] = 0;
    }
    for (int step = 0; step < steps; step++) {
        const int k0 = step * STEP, next = k0 + STEP;
        float *a = keys + (step & 1) * STEP * WIDTH, *c = values + (step & 1) * STEP * VALUES;
        if (next < end) {
            more.prefetch<ROWS, STEP>(q0, next);
            stage<STEP, WIDTH>(keys + (~step & 1) * STEP * WIDTH, k + next * lk.row, lk.row, z.n - next, z.width);
            stage<STEP, VALUES>(values + (~step & 1) * STEP * VALUES, v + next * lv.row, lv.row, z.n - next, z.values);
        }
        sent();
        arrived<1>();
        if (step == 0) {
            round_staged<ROWS, WIDTH>(own);
            round_staged<ROWS, VALUES>(given);
        }
        round_staged<STEP, WIDTH>(a);
        round_staged<STEP, VALUES>(c);
        __syncthreads();
        Scores s, reach;
        along<WIDTH, false>(s, own, a);
        along<VALUES, false>(reach, given, c);
        slopes(s, reach, total, reached, more, z, row0, q0, k0, by, kept);
        across<WIDTH>(sums, reach, a);
        __syncthreads();
    }
    UNROLL for (int m = 0; m < TILES; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int i = row_apart(m, h);
            if (q0 + i < z.queries) write_row<WIDTH>(gq + i * to.row, sums[m], h, z.width, scale);
        }
}
