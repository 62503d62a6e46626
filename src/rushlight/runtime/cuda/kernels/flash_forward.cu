// Attention in float32, behind flash.cu: a block has ROWS queries and walks over the keys, STEP at a time. Weights are made
// relative to the largest score so far; what was summed before is scaled when a larger one comes (Milakov and Gimelshein 2018).

struct Walk {  // of the lane's rows, while keys pass
    float top[TILES][2], sum[TILES][2];
};

// Scores to weights that may be dropped, rounded; `out` is scaled where the largest score has grown.
template <int W>
__device__ __forceinline__ void weigh(Scores& s, Walk& walk, float (&out)[TILES][W / 8][4], const Bias& bias, const Sizes& z,
                                      i64 row0, int q0, int k0, float by, const Kept& kept) {
    const bool whole = k0 + STEP <= z.n && (!z.causal || k0 + STEP <= q0 + WARP * 16 * TILES + 1);
    UNROLL for (int m = 0; m < TILES; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int i = min(q0 + row_apart(m, h), z.queries - 1), seen = z.causal ? min(i + 1, z.n) : z.n;
            float top = walk.top[m][h];
            UNROLL for (int j = 0; j < GROUPS; j++) {
                alignas(16) float added[4] = {0, 0, 0, 0};
                bias.read<4>(added, i, k0 + 16 * j + 4 * L);
                UNROLL for (int c = 0; c < 4; c++) {
                    float& v = s[m][2 * j + c / 2][2 * h + c % 2];
                    v = score_of(v, by, added[c]);
                }
            }
            if (!whole) {
                UNROLL for (int j = 0; j < 4 * GROUPS; j++)
                    if (k0 + 16 * (j / 4) + 4 * L + j % 4 >= seen) s[m][j / 2][2 * h + j % 2] = NEVER;
            }
            UNROLL for (int j = 0; j < 4 * GROUPS; j++) top = fmaxf(top, s[m][j / 2][2 * h + j % 2]);
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float base = top == NEVER ? 0.0f : top, less = weight_of(walk.top[m][h], base);
            float sum = walk.sum[m][h] * less;
            walk.top[m][h] = top;
            UNROLL for (int j = 0; j < GROUPS; j++) {
                Quad factor;
                if (DROP) factor = kept.draw(stream_of(row0 + i, z.n) + (k0 + 16 * j) / 4 + L);
                UNROLL for (int c = 0; c < 4; c++) {
                    float& v = s[m][2 * j + c / 2][2 * h + c % 2];
                    v = weight_of(v, base);
                    sum += v;
                    v = rounded(DROP ? v * factor.v[c] : v);
                }
            }
            walk.sum[m][h] = sum;
            UNROLL for (int j = 0; j < W / 8; j++) {
                out[m][j][2 * h] *= less;
                out[m][j][2 * h + 1] *= less;
            }
        }
}

BOUNDED_KERNEL(flash_forward, THREADS, BLOCKS)(const float* q, const float* k, const float* v, float* out, float* stats,
                                               const float* bias, const u64* key, Lies lq, Lies lk, Lies lv, Lies lo,
                                               Sizes z, Added added, float scale, float keep) {
    depend();
    extern __shared__ __align__(16) float room[];
    const int blocks = (z.queries + ROWS - 1) / ROWS, q0 = (blocks - 1 - blockIdx.x % blocks) * ROWS;  // long ones first
    const int at = blockIdx.x / blocks, b = at / z.heads, head = at % z.heads, group = head / z.shared;
    q += b * lq.batch + head * lq.head + q0 * lq.row;
    k += b * lk.batch + group * lk.head;
    v += b * lv.batch + group * lv.head;
    out += b * lo.batch + head * lo.head + q0 * lo.row;
    const Bias more(bias, z, added, b, head);
    const i64 row0 = (i64)at * z.queries;
    float *own = room, *keys = own + ROWS * WIDTH, *values = keys + 2 * STEP * WIDTH;
    const int end = z.causal ? min(z.n, q0 + ROWS) : z.n, steps = (end + STEP - 1) / STEP;
    stage<ROWS, WIDTH>(own, q, lq.row, z.queries - q0, z.width);
    stage<STEP, WIDTH>(keys, k, lk.row, z.n, z.width);
    stage<STEP, VALUES>(values, v, lv.row, z.n, z.values);
    sent();
    more.prefetch<ROWS, STEP>(q0, 0);
    const Kept kept(key, keep);
    const float by = BIAS ? scale : scale * LOG2E;
    Walk walk;
    float sums[TILES][VALUES / 8][4];
    UNROLL for (int m = 0; m < TILES; m++) {
        UNROLL for (int h = 0; h < 2; h++) walk.top[m][h] = NEVER, walk.sum[m][h] = 0;
        UNROLL for (int j = 0; j < VALUES / 8; j++)
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
        if (step == 0) round_staged<ROWS, WIDTH>(own);
        round_staged<STEP, WIDTH>(a);
        round_staged<STEP, VALUES>(c);
        __syncthreads();
        Scores s;
        along<WIDTH, false>(s, own, a);
        weigh<VALUES>(s, walk, sums, more, z, row0, q0, k0, by, kept);
        across<VALUES>(sums, s, c);
        __syncthreads();
    }
    UNROLL for (int m = 0; m < TILES; m++)
        UNROLL for (int h = 0; h < 2; h++) {
            const int i = row_apart(m, h);
            const float sum = over_lanes(walk.sum[m][h]);
            if (q0 + i >= z.queries) continue;
            write_row<VALUES>(out + i * lo.row, sums[m], h, z.values, 1.0f / sum);
            if (L == 0) stats[row0 + q0 + i] = (BIAS ? walk.top[m][h] : walk.top[m][h] * LN2) + logf(sum);
        }
}
