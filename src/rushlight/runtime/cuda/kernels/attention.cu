// Rows of attention's scores, which a product made, behind random.cu: a warp for each query. S is how weights are stored.
// Dropout is drawn at the key {seed, counter, ..}; the way back draws the same again.

struct Row {
    const float* s;   // scores of one query, not scaled yet
    const S* bias;    // what is added to them, or null
    u64 stream;       // where its draws begin
    int n, seen;      // how many keys there are, and how many may be looked at
    float scale;
};

// Which row of the bias belongs to row `r` of the scores: (batch or 1, heads or 1, queries, n).
__device__ __forceinline__ Row row_of(i64 r, const float* s, const S* bias, int n, int queries, int heads, i64 by_batch,
                                      i64 by_head, double scale, int causal) {
    const int i = (int)(r % queries);
    const i64 head = r / queries;
    Row row;
    row.s = s + r * n;
    row.bias = bias ? bias + (head / heads * by_batch + head % heads * by_head + i) * n : nullptr;
    row.stream = (u64)r * ((n + 3) / 4);
    row.n = n;
    row.seen = causal && i + 1 < n ? i + 1 : n;
    row.scale = (float)scale;
    return row;
}

__device__ __forceinline__ float score(const Row& row, int j) {
    const float v = row.s[j] * row.scale;
    return row.bias ? v + (float)widen(row.bias[j]) : v;
}

// What four neighbouring weights are multiplied with: 0 or 1 / keep, or 1 without dropout.
__device__ __forceinline__ void draw_four(const Row& row, const u64* key, int j, float keep, float* m) {
    if (!key) {
        m[0] = m[1] = m[2] = m[3] = 1.0f;
        return;
    }
    const uint4 w = philox<7>(key[0], key[1], row.stream + j / 4);
    const float u[4] = {unit(w.x), unit(w.y), unit(w.z), unit(w.w)};
    #pragma unroll
    for (int k = 0; k < 4; k++) m[k] = u[k] < keep ? 1.0f / keep : 0.0f;
}

__device__ __forceinline__ float across_sum(float v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
__device__ __forceinline__ float across_max(float v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) {
        const float o = __shfl_xor_sync(0xffffffffu, v, d);
        v = o > v || o != o ? o : v;
    }
    return v;
}

// Scores to weights: their softmax, some of them dropped. stats is the logarithm of the sum of exponentials.
BOUNDED_KERNEL(attention_rows, 128)(const float* s, S* w, float* stats, const S* bias, const u64* key, i64 rows, int n,
                                    int queries, int heads, i64 by_batch, i64 by_head, double scale, int causal,
                                    double keep) {
    depend();
    const i64 r = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (r >= rows) return;
    const int lane = threadIdx.x & 31;
    const Row row = row_of(r, s, bias, n, queries, heads, by_batch, by_head, scale, causal);
    float top = __int_as_float(0xff800000), sum = 0;
    for (int j = lane; j < row.seen; j += 32) {
        const float v = score(row, j);
        top = v > top || v != v ? v : top;
    }
    top = across_max(top);
    for (int j = lane; j < row.seen; j += 32) sum += expf(score(row, j) - top);
    sum = across_sum(sum);
    if (lane == 0) stats[r] = top + logf(sum);
    const float part = 1.0f / sum;
    for (int j = lane * 4; j < n; j += 128) {
        float m[4];
        draw_four(row, key, j, (float)keep, m);
        for (int k = 0; k < 4 && j + k < n; k++)
            w[r * n + j + k] = narrow(To<S>(), j + k < row.seen ? expf(score(row, j + k) - top) * part * m[k] : 0.0f);
    }
}

// Back through them: `reach` is how the loss depends on the weights after dropout. Writes these weights, and how the loss
// depends on the products of queries and keys. Both may lie where s and reach do.
BOUNDED_KERNEL(attention_slopes, 128)(const float* s, const float* reach, S* w, S* slopes, const float* stats,
                                      const S* bias, const u64* key, i64 rows, int n, int queries, int heads,
                                      i64 by_batch, i64 by_head, double scale, int causal, double keep) {
    depend();
    const i64 r = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (r >= rows) return;
    const int lane = threadIdx.x & 31;
    const Row row = row_of(r, s, bias, n, queries, heads, by_batch, by_head, scale, causal);
    const float total = stats[r];
    float sum = 0;
    for (int j = lane * 4; j < row.seen; j += 128) {
        float m[4];
        draw_four(row, key, j, (float)keep, m);
        for (int k = 0; k < 4 && j + k < row.seen; k++)
            sum += expf(score(row, j + k) - total) * m[k] * reach[r * n + j + k];
    }
    sum = across_sum(sum);
    for (int j = lane * 4; j < n; j += 128) {
        float m[4];
        draw_four(row, key, j, (float)keep, m);
        for (int k = 0; k < 4 && j + k < n; k++) {
            const i64 at = r * n + j + k;
            const bool sees = j + k < row.seen;
            const float p = sees ? expf(score(row, j + k) - total) : 0.0f;
            const float slope = sees ? p * (reach[at] * m[k] - sum) * row.scale : 0.0f;
            w[at] = narrow(To<S>(), p * m[k]);
            slopes[at] = narrow(To<S>(), slope);
        }
    }
}
