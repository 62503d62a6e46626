/* Reductions over neighbouring dims: the largest, the length, the logarithm of a sum of exponentials, variances. */
#include "arrays.h"
#include "codes.h"
#include <float.h>

typedef struct {
    int which;
    const float *x;
    float *out;
    idx rows, n, inner; /* inner: numbers behind the dims that are reduced */
    double freedom;
    int beyond; /* a variance that leaves float's range */
} Rows;

enum { LARGEST, SMALLEST, LENGTH, LOG_SUM, VARIANCE, DEVIATION, NO_NANS, SIZES, LARGEST_SIZE, NOT_ZERO };

/* log(sum of exp): a row whose largest number is no number of its own kind is that number. */
float log_sum(const float *x, idx n) {
    float both[2];
    RL->softmax_sums(x, n, both);
    if (isfinite(both[0])) return logf(both[1]) + both[0];
    for (idx i = 0; i < n; i++)
        if (x[i] != x[i]) return NAN;
    return both[0];
}

#define SHORT 64 /* rows for which calls of loops cost more than what they compute */

/* The sum of squares, or of sizes. */
static float short_sum(const float *x, idx n, int squares) {
    float chain[8] = {0}, sum = 0;
    idx i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) chain[j] += squares ? x[i + j] * x[i + j] : fabsf(x[i + j]);
    for (int j = 0; j < 8; j++) sum += chain[j];
    for (; i < n; i++) sum += squares ? x[i] * x[i] : fabsf(x[i]);
    return sum;
}

static float length(const float *x, idx n) {
    if (n <= SHORT) {
        const float sum = short_sum(x, n, 1);
        if (sum > 1e-30f && sum < 1e30f) return sqrtf(sum); /* squares that float holds */
    }
    double sum = 0, square = 0;
    RL->moments(x, n, &sum, &square, 0.0f);
    return (float)sqrt(square);
}

/* The mean of squared distances from the mean; nan or more than a float holds where NumPy's body has to look at it. */
static double variance(const float *x, idx n, double freedom) {
    double sum = 0, square = 0;
    RL->moments(x, n, &sum, &square, RL->sum(x, n) / (float)n);
    const double total = square - sum * (sum / (double)n);
    return (total < 0 ? 0 : total) / (freedom > 0 ? freedom : 0.0);
}

/* The result of a row or column; numbers whose squares float does not hold are left to NumPy's body. */
static float spread_of(Rows *q, double found, const float *x, idx step) {
    int beyond = !(found <= FLT_MAX);
    for (idx i = 1; !beyond && found < 1e-30 && i < q->n; i++) beyond = x[i * step] != x[0];
    if (beyond) __atomic_store_n(&q->beyond, 1, __ATOMIC_RELAXED);
    return (float)(q->which == DEVIATION ? sqrt(found) : found);
}

/* NaN counts as 0, some numbers at a time, in the first cache. */
static double sum_of_numbers(const float *x, idx n) {
    static const float instead[3] = {0.0f, INFINITY, -INFINITY};
    float some[1024];
    double all = 0;
    for (idx i = 0; i < n; i += 1024) {
        const idx m = n - i < 1024 ? n - i : 1024;
        float sum = RL->sum(x + i, m);
        if (sum != sum) { /* there is one, or infinities of both signs */
            RL->active(A_NAN_TO_NUM, instead, x + i, some, m);
            sum = RL->sum(some, m);
        }
        all += (double)sum;
    }
    return all;
}

static double sum_of_sizes(const float *x, idx n) {
    if (n <= SHORT) return (double)short_sum(x, n, 0);
    float some[1024];
    double all = 0;
    for (idx i = 0; i < n; i += 1024) {
        const idx m = n - i < 1024 ? n - i : 1024;
        RL->unary(U_ABS, x + i, some, m);
        all += (double)RL->sum(some, m);
    }
    return all;
}

/* Of absolute values; NaN where one is. */
static float largest_size(const float *x, idx n) {
    const float high = RL->extreme(0, x, n), low = RL->extreme(1, x, n);
    return high != high ? high : fabsf(high) > fabsf(low) ? fabsf(high) : fabsf(low);
}

static float not_zero(const float *x, idx n) {
    idx count = 0;
    for (idx i = 0; i < n; i++) count += x[i] != 0;
    return (float)count;
}

static void rows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Rows *q = what;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const float *x = q->x + r * q->n;
        switch (q->which) {
        case LARGEST: q->out[r] = RL->extreme(0, x, q->n); break;
        case SMALLEST: q->out[r] = RL->extreme(1, x, q->n); break;
        case LENGTH: q->out[r] = length(x, q->n); break;
        case LOG_SUM: q->out[r] = log_sum(x, q->n); break;
        case NO_NANS: q->out[r] = (float)sum_of_numbers(x, q->n); break;
        case SIZES: q->out[r] = (float)sum_of_sizes(x, q->n); break;
        case LARGEST_SIZE: q->out[r] = largest_size(x, q->n); break;
        case NOT_ZERO: q->out[r] = not_zero(x, q->n); break;
        case VARIANCE:
        case DEVIATION: q->out[r] = spread_of(q, variance(x, q->n, q->freedom), x, 1); break;
        }
    }
}

/* -- dims in front of others: neighbours are followed together ------------------------------------------------- */

#define COLUMNS 256
#define FEW 64 /* rows that are added in floats before their sums become doubles */

/* What of a row is added up, or compared. */
static const float *of_row(const Rows *q, const float *x, const float *tops, float *some, idx m) {
    static const float instead[3] = {0.0f, INFINITY, -INFINITY};
    switch (q->which) {
    case LENGTH: RL->binary(B_MUL, x, x, some, m); break;
    case SIZES:
    case LARGEST_SIZE: RL->unary(U_ABS, x, some, m); break;
    case NO_NANS: RL->active(A_NAN_TO_NUM, instead, x, some, m); break;
    case LOG_SUM:
        RL->binary(B_SUB, x, tops, some, m);
        RL->unary(U_EXP, some, some, m);
        break;
    case NOT_ZERO:
        for (idx c = 0; c < m; c++) some[c] = x[c] != 0 ? 1.0f : 0.0f;
        break;
    default: return x;
    }
    return some;
}

static void extremes_of_columns(const Rows *q, const float *x, float *best, idx m) {
    float some[COLUMNS];
    memcpy(best, of_row(q, x, NULL, some, m), (size_t)m * 4);
    for (idx k = 1; k < q->n; k++)
        RL->binary(q->which == SMALLEST ? B_MINIMUM : B_MAXIMUM, best, of_row(q, x + k * q->inner, NULL, some, m), best, m);
}

static void sums_of_columns(const Rows *q, const float *x, const float *tops, double *sums, idx m) {
    float some[COLUMNS], few[COLUMNS];
    for (idx c = 0; c < m; c++) sums[c] = 0;
    for (idx k = 0; k < q->n; k += FEW) {
        const idx end = q->n - k < FEW ? q->n : k + FEW;
        memcpy(few, of_row(q, x + k * q->inner, tops, some, m), (size_t)m * 4);
        for (idx j = k + 1; j < end; j++) RL->add_into(few, of_row(q, x + j * q->inner, tops, some, m), m);
        for (idx c = 0; c < m; c++) sums[c] += (double)few[c];
    }
}

static void columns_of(Rows *q, const float *x, float *out, idx m) {
    double sums[COLUMNS], squares[COLUMNS];
    float tops[COLUMNS], finite[COLUMNS];
    switch (q->which) {
    case LARGEST:
    case SMALLEST:
    case LARGEST_SIZE: extremes_of_columns(q, x, out, m); break;
    case VARIANCE:
    case DEVIATION:
        RL->column_moments(x, q->n, q->inner, m, sums, squares);
        for (idx c = 0; c < m; c++) {
            const double total = squares[c] - sums[c] * (sums[c] / (double)q->n);
            const double found = (total < 0 ? 0 : total) / (q->freedom > 0 ? q->freedom : 0.0);
            out[c] = spread_of(q, found, x + c, q->inner);
        }
        break;
    case LOG_SUM: /* a column whose largest number is infinite, or none, is that number */
        q = &(Rows){.which = LARGEST, .n = q->n, .inner = q->inner};
        extremes_of_columns(q, x, tops, m);
        for (idx c = 0; c < m; c++) finite[c] = isfinite(tops[c]) ? tops[c] : 0.0f;
        q->which = LOG_SUM;
        sums_of_columns(q, x, finite, sums, m);
        for (idx c = 0; c < m; c++) out[c] = isfinite(tops[c]) ? (float)(log(sums[c]) + (double)tops[c]) : tops[c];
        break;
    default:
        sums_of_columns(q, x, NULL, sums, m);
        for (idx c = 0; c < m; c++) out[c] = (float)(q->which == LENGTH ? sqrt(sums[c]) : sums[c]);
    }
}

static void columns_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Rows *q = what;
    const idx blocks = (q->inner + COLUMNS - 1) / COLUMNS;
    for (idx b = share(q->rows * blocks, i, parts); b < share(q->rows * blocks, i + 1, parts); b++) {
        const idx row = b / blocks, first = b % blocks * COLUMNS, left = q->inner - first;
        columns_of(q, q->x + row * q->n * q->inner + first, q->out + row * q->inner + first, left < COLUMNS ? left : COLUMNS);
    }
}

static void reduce_rows(Call *c) {
    static const double ns_each[] = {[LARGEST] = 0.2, [SMALLEST] = 0.2, [LENGTH] = 0.3, [LOG_SUM] = 1.5, [VARIANCE] = 0.4, [DEVIATION] = 0.4,
                                     [NO_NANS] = 0.4, [SIZES] = 0.3, [LARGEST_SIZE] = 0.4, [NOT_ZERO] = 0.5};
    Over o;
    Rows q = {.which = c->which};
    const double correction = q.which == VARIANCE || q.which == DEVIATION ? double_of(c, "correction") : 0;
    if (q.which <= SMALLEST && is_type(c->args[0], NPY_INT64)) {
        whole_extreme(c, q.which == SMALLEST);
        return;
    }
    PyArrayObject *x = floats(c, 0);
    if (!over_dims(c, x, flag_of(c, "keepdim"), &o) || !(q.out = new_floats(c, o.ndim, o.shape))) return;
    q.x = DATA(x), q.rows = o.outer, q.n = o.n, q.inner = o.inner, q.freedom = (double)q.n - correction;
    const double ns = ns_each[q.which] * (double)PyArray_SIZE(x) + 10.0 * (double)q.rows;
    if (q.inner == 1) run_shared(rows_part, &q, q.rows, ns);
    else run_shared(columns_part, &q, q.rows * ((q.inner + COLUMNS - 1) / COLUMNS), ns);
    if (q.beyond) refuse(c);
}

static void vector_norm(Call *c) {
    const double order = double_of(c, "ord");
    c->which = order == 2.0 ? LENGTH : order == 1.0 ? SIZES : order == 0.0 ? NOT_ZERO : LARGEST_SIZE;
    if (need(c, c->which != LARGEST_SIZE || order == INFINITY)) reduce_rows(c);
}

/* Whether a row of truth values has one (`any`), or has no other (`all`): a byte that differs from the rule ends the search. */
static void truth(Call *c) {
    Over o;
    PyArrayObject *x = typed(c, 0, NPY_BOOL);
    uint8_t *to;
    if (!over_dims(c, x, flag_of(c, "keepdim"), &o) || !need(c, o.inner == 1) || !(to = new_array(c, o.ndim, o.shape, NPY_BOOL))) return;
    const uint8_t *from = PyArray_DATA(x);
    for (idx r = 0; r < o.outer; r++, from += o.n) to[r] = (memchr(from, !c->which, (size_t)o.n) != NULL) ^ c->which;
}

/* The length of all arrays together, as a number of its own. */
static void total_norm(Call *c) {
    double sum = 0, square = 0;
    if (!need(c, double_of(c, "order") == 2.0 && c->count >= 1)) return;
    for (int i = 0; i < c->count; i++) floats(c, i);
    for (int i = 0; i < c->count && !c->ends; i++)
        RL->moments(DATA(ARRAY(c->args[i])), PyArray_SIZE(ARRAY(c->args[i])), &sum, &square, 0.0f);
    float *out = new_number(c);
    if (out) *out = (float)sqrt(square);
}

#define ROWS(name, code, ...) BOUND(name, reduce_rows, .which = code, __VA_ARGS__)
const Entry row_entries[] = {
    ROWS("amax", LARGEST, .rounds = "0"), ROWS("amin", SMALLEST, .rounds = "0"), ROWS("max", LARGEST, .rounds = "0"),
    ROWS("min", SMALLEST, .rounds = "0"), ROWS("nansum", NO_NANS), ROWS("logsumexp", LOG_SUM), ROWS("var", VARIANCE), ROWS("std", DEVIATION),
    BOUND("any", truth, .which = 0), BOUND("all", truth, .which = 1), BOUND("vector_norm", vector_norm),
    BOUND("foreach_total_norm", total_norm), {NULL},
};
