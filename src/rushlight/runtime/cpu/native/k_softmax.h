/* softmax and log-softmax over contiguous rows, and their gradients. */

/* The largest of a vector, NaN if there is one: halves upon halves. */
INLINE float top_of(vf v) {
#if VL == 16
    v = nan_max(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = nan_max(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
#elif VL == 8
    v = nan_max(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
#endif
    float best = v[0];
    for (int j = 1; j < 4; j++) best = best > v[j] || best != best ? best : v[j];
    return best;
}

INLINE float row_max(const float *x, idx n) {
    vf m = spread(-INFINITY);
    idx i = 0;
    for (; i + VL <= n; i += VL) m = nan_max(m, load(x + i));
    if (i < n) m = nan_max(m, load_some(x + i, n - i, -INFINITY));
    return top_of(m);
}

/* Sum of exp(x - top); the terms go to y where y is given. */
INLINE float exp_row(const float *x, float top, float *y, idx n) {
    vf sum = {0};
    const vf t = spread(top);
    idx i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) { /* two at a time: one exp's chain is long */
        const vf e = vexp(load(x + i) - t), f = vexp(load(x + i + VL) - t);
        if (y) {
            store(y + i, e);
            store(y + i + VL, f);
        }
        sum += e + f;
    }
    for (; i + VL <= n; i += VL) {
        const vf e = vexp(load(x + i) - t);
        if (y) store(y + i, e);
        sum += e;
    }
    if (i < n) {
        const vf e = vexp(load_some(x + i, n - i, -INFINITY) - t);
        if (y) store_some(y + i, e, n - i);
        return total(sum + e); /* behind the row's end: exp(-inf - top), 0 or the row's own NaN */
    }
    return total(sum);
}

/* tops and sums, where asked for: each row's maximum and the sum of exp(x - maximum). */
static void K(softmax)(const float *x, float *y, idx rows, idx n, int log, float *tops, float *sums) {
    for (idx r = 0; r < rows; r++, x += n, y += n) {
        const float top = row_max(x, n);
        const float sum = exp_row(x, top, log ? NULL : y, n);
        if (tops) tops[r] = top, sums[r] = sum;
        if (log) {
            K(binary_scalar)(B_SUB, x, top, y, n);
            K(binary_scalar)(B_SUB, y, logf(sum), y, n);
        } else {
            K(binary_scalar)(B_MUL, y, 1.0f / sum, y, n);
        }
    }
}

/* A row's maximum and the sum of exp(x - maximum): what softmax is computed from again. */
static void K(softmax_sums)(const float *x, idx n, float *both) {
    both[0] = row_max(x, n);
    both[1] = exp_row(x, both[0], NULL, n);
}

/* softmax times g from the row's two numbers; out may be x. */
static void K(softmax_again)(const float *xs, float *out, idx n, const float *both, float g) {
    const vf top = spread(both[0]), inverse = spread(1.0f / both[1]), by = spread(g);
    EACH1_LONG(vexp(x - top) * inverse * by)
}

INLINE float dot_row(const float *x, const float *y, idx n) {
    vf s = {0};
    idx i = 0;
    for (; i + VL <= n; i += VL) s += load(x + i) * load(y + i);
    if (i < n) s += load_some(x + i, n - i, 0.0f) * load_some(y + i, n - i, 0.0f);
    return total(s);
}

static void K(softmax_grad)(const float *g, const float *ys, float *to, idx rows, idx n, int log) {
    for (idx r = 0; r < rows; r++, g += n, ys += n, to += n) {
        const float *xs = g;
        float *out = to;
        if (log) {
            const vf sum = spread(K(sum)(g, n));
            EACH2(x - vexp(y) * sum)
        } else {
            const vf dot = spread(dot_row(g, ys, n));
            EACH2(y * (x - dot))
        }
    }
}

/* -- over the rows of [n][step], column by column ---------------------------------------------------- */

#define WIDE 4 /* vectors of neighbouring columns at a time: a line of the cache, or more */
#define COLUMN(a, r, v) (whole ? load((a) + (r) * step + (v) * VL) : load_some((a) + (r) * step, width, 0.0f))
#define COLUMN_PUT(a, r, v, value) \
    do { \
        if (whole) store((a) + (r) * step + (v) * VL, (value)); \
        else store_some((a) + (r) * step, (value), width); \
    } while (0)

/* `count` vectors; where not `whole`, the one there is has only `width` columns. */
INLINE void softmax_some(const float *x, float *y, idx n, idx step, int log, int count, int whole, idx width) {
    vf top[WIDE], sum[WIDE];
    for (int v = 0; v < count; v++) top[v] = spread(-INFINITY), sum[v] = spread(0.0f);
    for (idx r = 0; r < n; r++)
        for (int v = 0; v < count; v++) top[v] = nan_max(top[v], COLUMN(x, r, v));
    for (idx r = 0; r < n; r++)
        for (int v = 0; v < count; v++) {
            const vf e = vexp(COLUMN(x, r, v) - top[v]);
            if (!log) COLUMN_PUT(y, r, v, e);
            sum[v] += e;
        }
    for (int v = 0; v < count; v++) sum[v] = log ? vlog(sum[v]) : spread(1.0f) / sum[v];
    for (idx r = 0; r < n; r++)
        for (int v = 0; v < count; v++) {
            if (log) COLUMN_PUT(y, r, v, COLUMN(x, r, v) - top[v] - sum[v]);
            else COLUMN_PUT(y, r, v, COLUMN(y, r, v) * sum[v]);
        }
}

INLINE void softmax_grad_some(const float *g, const float *y, float *out, idx n, idx step, int log, int count, int whole,
                              idx width) {
    vf sum[WIDE];
    for (int v = 0; v < count; v++) sum[v] = spread(0.0f);
    for (idx r = 0; r < n; r++)
        for (int v = 0; v < count; v++) sum[v] += log ? COLUMN(g, r, v) : COLUMN(g, r, v) * COLUMN(y, r, v);
    for (idx r = 0; r < n; r++)
        for (int v = 0; v < count; v++) {
            const vf a = COLUMN(g, r, v), b = COLUMN(y, r, v);
            COLUMN_PUT(out, r, v, log ? a - vexp(b) * sum[v] : b * (a - sum[v]));
        }
}

static void K(softmax_columns)(const float *x, float *y, idx n, idx step, idx columns, int log) {
    idx i = 0;
    for (; i + WIDE * VL <= columns; i += WIDE * VL) softmax_some(x + i, y + i, n, step, log, WIDE, 1, 0);
    for (; i + VL <= columns; i += VL) softmax_some(x + i, y + i, n, step, log, 1, 1, 0);
    if (i < columns) softmax_some(x + i, y + i, n, step, log, 1, 0, columns - i);
}

static void K(softmax_columns_grad)(const float *g, const float *y, float *out, idx n, idx step, idx columns, int log) {
    idx i = 0;
    for (; i + WIDE * VL <= columns; i += WIDE * VL)
        softmax_grad_some(g + i, y + i, out + i, n, step, log, WIDE, 1, 0);
    for (; i + VL <= columns; i += VL) softmax_grad_some(g + i, y + i, out + i, n, step, log, 1, 1, 0);
    if (i < columns) softmax_grad_some(g + i, y + i, out + i, n, step, log, 1, 0, columns - i);
}
