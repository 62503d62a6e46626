/* Running sums, products and extremes along a dim, and products of a dim: what waits for its forerunner. */
#include <math.h>

#include "arrays.h"

enum { SUM, PRODUCT, LARGEST, SMALLEST, LOGS, LINEAR };

/* x seen as [outer][n][inner]: along n. */
typedef struct {
    int which, back; /* back: from the end */
    const float *x, *factor;
    float *out;
    int64_t *at;
    idx outer, n, inner;
} Scan;

/* log(e^a + e^b), of two infinities of one sign that infinity. */
static inline float log_add(float a, float b) {
    const float low = a < b || a != a ? a : b, high = a < b || a != a ? b : a;
    if (low == high && isinf(low)) return low;
    return low != low || high != high ? low + high : high + log1pf(expf(low - high));
}

#define COLUMNS 64 /* neighbours that are followed together */

/* Columns [first, first + width) of one outer place. */
static void scan_columns(const Scan *s, idx outer, idx first, idx width) {
    const idx begin = outer * s->n * s->inner + first, step = s->back ? -s->inner : s->inner;
    idx p = begin + (s->back ? (s->n - 1) * s->inner : 0);
    double wide[COLUMNS];
    float last[COLUMNS];
    int64_t at[COLUMNS] = {0};
    for (idx c = 0; c < width; c++) wide[c] = s->which == PRODUCT, last[c] = s->which == LINEAR ? 0.0f : s->x[p + c];
    for (idx k = 0; k < s->n; k++, p += step) {
        const float *x = s->x + p;
        float *out = s->out + p;
        switch (s->which) {
        case SUM:
            for (idx c = 0; c < width; c++) out[c] = (float)(wide[c] += (double)x[c]);
            break;
        case PRODUCT:
            for (idx c = 0; c < width; c++) out[c] = (float)(wide[c] *= (double)x[c]);
            break;
        case LINEAR:
            for (idx c = 0; c < width; c++) out[c] = last[c] = s->factor[p + c] * last[c] + x[c];
            break;
        case LOGS:
            for (idx c = 0; c < width; c++) out[c] = last[c] = k ? log_add(last[c], x[c]) : x[c];
            break;
        default: /* the latest of equal ones; NaN is larger and smaller than all */
            for (idx c = 0; c < width; c++) {
                const int found = x[c] != x[c] || (s->which == LARGEST ? x[c] >= last[c] : x[c] <= last[c]);
                last[c] = found ? x[c] : last[c];
                at[c] = found ? k : at[c];
                out[c] = last[c];
                s->at[p + c] = at[c];
            }
        }
    }
}

/* The same along memory: `rows` rows side by side, since each number waits for the one before it. */
#define ROWS 4
static void scan_rows(const Scan *s, idx outer, idx rows) {
    const idx n = s->n;
    const float *x = s->x + outer * n;
    float *out = s->out + outer * n;
    double wide[ROWS];
    for (idx r = 0; r < ROWS; r++) wide[r] = s->which == PRODUCT;
    if (rows < ROWS || s->which > SMALLEST) {
        for (idx r = 0; r < rows; r++) scan_columns(s, outer + r, 0, 1);
        return;
    }
    if (s->which <= PRODUCT) {
        for (idx i = 0; i < n; i++) {
            const idx k = s->back ? n - 1 - i : i;
            for (idx r = 0; r < ROWS; r++) {
                wide[r] = s->which == SUM ? wide[r] + (double)x[r * n + k] : wide[r] * (double)x[r * n + k];
                out[r * n + k] = (float)wide[r];
            }
        }
        return;
    }
    float last[ROWS];
    int64_t at[ROWS] = {0}, *to = s->at + outer * n;
    for (idx r = 0; r < ROWS; r++) last[r] = x[r * n];
    for (idx k = 0; k < n; k++)
        for (idx r = 0; r < ROWS; r++) {
            const float v = x[r * n + k];
            const int found = v != v || (s->which == LARGEST ? v >= last[r] : v <= last[r]);
            last[r] = found ? v : last[r];
            at[r] = found ? k : at[r];
            out[r * n + k] = last[r], to[r * n + k] = at[r];
        }
}

static void scan_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Scan *s = what;
    if (s->inner == 1) {
        for (idx o = share(s->outer, i, parts), end = share(s->outer, i + 1, parts); o < end; o += ROWS)
            scan_rows(s, o, end - o < ROWS ? end - o : ROWS);
        return;
    }
    const idx blocks = (s->inner + COLUMNS - 1) / COLUMNS, all = s->outer * blocks;
    for (idx b = share(all, i, parts); b < share(all, i + 1, parts); b++) {
        const idx first = b % blocks * COLUMNS;
        scan_columns(s, b / blocks, first, s->inner - first < COLUMNS ? s->inner - first : COLUMNS);
    }
}

static void scan_run(Call *c, Scan *s, PyArrayObject *x) {
    if (!along(c, x, idx_of(c, "dim"), &s->outer, &s->n, &s->inner) || !need(c, PyArray_SIZE(x) > 0)) return;
    s->x = DATA(x), s->out = new_like(c, x);
    if (s->which == LARGEST || s->which == SMALLEST) s->at = new_of(c, x, NPY_INT64);
    if (c->ends) return;
    const double ns = (double)(s->outer * s->inner) * (double)s->n * (s->which == LOGS ? 25.0 : 1.0);
    run_shared(scan_part, s, s->inner == 1 ? (s->outer + ROWS - 1) / ROWS : s->outer * ((s->inner + COLUMNS - 1) / COLUMNS), ns);
}

static void running(Call *c) {
    Scan s = {.which = c->which};
    if (s.which == SUM && is_type(c->args[0], NPY_INT64)) {
        whole_cumsum(c);
        return;
    }
    PyArrayObject *x = floats(c, s.which == LINEAR);
    if (s.which == SUM || s.which == PRODUCT || s.which == LINEAR) s.back = flag_of(c, "reverse");
    if (s.which == LINEAR && x) s.factor = DATA_OR_NULL(floats_like(c, 0, x));
    scan_run(c, &s, x);
}

/* -- products of a dim -------------------------------------------------------------------------------- */

/* Sixteen chains, then their product: which numbers meet does not depend on threads. */
static float product(const float *x, idx n) {
    float chain[16], all = 1.0f;
    idx i = 0;
    for (idx j = 0; j < 16; j++) chain[j] = 1.0f;
    for (; i + 16 <= n; i += 16)
        for (idx j = 0; j < 16; j++) chain[j] *= x[i + j];
    for (idx j = 0; j < 16; j++) all *= chain[j];
    for (; i < n; i++) all *= x[i];
    return all;
}

static void prod_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Scan *s = what;
    for (idx o = share(s->outer, i, parts); o < share(s->outer, i + 1, parts); o++) {
        const float *x = s->x + o * s->n * s->inner;
        float *out = s->out + o * s->inner;
        if (s->inner == 1) {
            *out = product(x, s->n);
            continue;
        }
        for (idx c = 0; c < s->inner; c++) out[c] = x[c];
        for (idx k = 1; k < s->n; k++)
            for (idx c = 0; c < s->inner; c++) out[c] *= x[k * s->inner + c];
    }
}

/* dim: None, or a tuple of one dim. */
static void prod(Call *c) {
    Over o;
    PyArrayObject *x = floats(c, 0);
    PyObject *dim = attr_of(c, "dim");
    if (!over_dims(c, x, flag_of(c, "keepdim"), &o) || !need(c, dim == Py_None || (PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 1))) return;
    Scan s = {.x = DATA(x), .out = new_floats(c, o.ndim, o.shape), .outer = o.outer, .n = o.n, .inner = o.inner};
    if (!c->ends) run_shared(prod_part, &s, s.outer, 0.4 * (double)PyArray_SIZE(x));
}

const Entry scan_entries[] = {
    BOUND("cumsum", running, .which = SUM, .copies = COPIES, .rounds = "0"), BOUND("cumprod", running, .which = PRODUCT, .copies = COPIES),
    BOUND("logcumsumexp", running, .which = LOGS, .copies = COPIES), BOUND("linear_scan", running, .which = LINEAR, .copies = COPIES),
    BOUND("cummax", running, .which = LARGEST, .copies = COPIES), BOUND("cummin", running, .which = SMALLEST, .copies = COPIES),
    BOUND("prod", prod, .copies = COPIES), {NULL},
};
