/* Whole numbers: sums, extremes, quotients of int64, numbers of bags; how many are not zero, and whether two arrays hold the same. */
#include <math.h>

#include "arrays.h"
#include "codes.h"

/* -- sums ------------------------------------------------------------------------------------------------ */

/* x seen as [outer][n][inner]: along n. Sums wrap around, as PyTorch's do. */
typedef struct {
    const uint64_t *x;
    uint64_t *out;
    idx outer, n, inner;
    int back, bytes;
    uint64_t mask;
} Whole;

static void sum_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        const uint64_t *x = w->x + o * w->n * w->inner;
        uint64_t *out = w->out + o * w->inner;
        if (w->inner == 1) {
            uint64_t chain[16] = {0}, sum = 0; /* side by side: each waits for the one before it */
            idx k = 0;
            for (; k + 16 <= w->n; k += 16)
                for (int j = 0; j < 16; j++) chain[j] += x[k + j];
            for (int j = 0; j < 16; j++) sum += chain[j];
            for (; k < w->n; k++) sum += x[k];
            *out = sum;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++)
            for (idx c = 0; c < w->inner; c++) out[c] += x[k * w->inner + c];
    }
}

/* Reduce x over neighbouring dims. */
static void reduce(Call *c, PyArrayObject *x, int keepdim, Whole w, Part part, double ns_each) {
    Over o;
    if (!over_dims(c, x, keepdim, &o) || !(w.out = new_array(c, o.ndim, o.shape, NPY_INT64))) return;
    w.x = PyArray_DATA(x), w.outer = o.outer, w.n = o.n, w.inner = o.inner;
    run_shared(part, &w, w.outer, ns_each * (double)PyArray_SIZE(x));
}

static void count_part(void *what, ptrdiff_t i, ptrdiff_t parts);

void whole_sum(Call *c) {
    const int keepdim = flag_of(c, "keepdim");
    if (is_type(c->args[0], NPY_BOOL)) reduce(c, typed(c, 0, NPY_BOOL), keepdim, (Whole){.bytes = 1, .mask = 0xff}, count_part, 0.1);
    else reduce(c, typed(c, 0, NPY_INT64), keepdim, (Whole){0}, sum_part, 0.3);
}

/* -- the largest and the smallest ---------------------------------------------------------------------- */

static void extreme_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        const int64_t *x = (const int64_t *)w->x + o * w->n * w->inner;
        int64_t *out = (int64_t *)w->out + o * w->inner;
        if (w->inner == 1) {
            int64_t best[4] = {x[0], x[0], x[0], x[0]};
            idx k = 0;
            if (w->back) {
                for (; k + 4 <= w->n; k += 4)
                    for (int j = 0; j < 4; j++) best[j] = x[k + j] < best[j] ? x[k + j] : best[j];
                for (; k < w->n; k++) best[0] = x[k] < best[0] ? x[k] : best[0];
                for (int j = 1; j < 4; j++) best[0] = best[j] < best[0] ? best[j] : best[0];
            } else {
                for (; k + 4 <= w->n; k += 4)
                    for (int j = 0; j < 4; j++) best[j] = x[k + j] > best[j] ? x[k + j] : best[j];
                for (; k < w->n; k++) best[0] = x[k] > best[0] ? x[k] : best[0];
                for (int j = 1; j < 4; j++) best[0] = best[j] > best[0] ? best[j] : best[0];
            }
            *out = best[0];
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++) {
            x += w->inner;
            if (w->back)
                for (idx c = 0; c < w->inner; c++) out[c] = x[c] < out[c] ? x[c] : out[c];
            else
                for (idx c = 0; c < w->inner; c++) out[c] = x[c] > out[c] ? x[c] : out[c];
        }
    }
}

void whole_extreme(Call *c, int low) {
    reduce(c, typed(c, 0, NPY_INT64), flag_of(c, "keepdim"), (Whole){.back = low}, extreme_part, 0.5);
}

/* -- how many are not zero ------------------------------------------------------------------------------ */

#define COUNT(name, T) \
    static void name(const Whole *w, idx o) { \
        const T *x = (const T *)w->x + o * w->n * w->inner, mask = (T)w->mask; \
        uint64_t *out = w->out + o * w->inner; \
        for (idx c = 0; c < w->inner; c++) out[c] = 0; \
        if (w->inner > 1) { \
            for (idx k = 0; k < w->n; k++, x += w->inner) \
                for (idx c = 0; c < w->inner; c++) out[c] += (x[c] & mask) != 0; \
            return; \
        } \
        for (idx k = 0; k < w->n; k += 1 << 20) { \
            const idx end = w->n - k < 1 << 20 ? w->n : k + (1 << 20); \
            uint32_t some = 0; \
            for (idx j = k; j < end; j++) some += (x[j] & mask) != 0; \
            *out += some; \
        } \
    }
COUNT(count_8, uint8_t)
COUNT(count_16, uint16_t)
COUNT(count_32, uint32_t)
COUNT(count_64, uint64_t)

static void count_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        switch (w->bytes) {
        case 1: count_8(w, o); break;
        case 2: count_16(w, o); break;
        case 4: count_32(w, o); break;
        default: count_64(w, o);
        }
    }
}

/* By bits: of floats all but the sign. */
static void count_nonzero(Call *c) {
    if (!need(c, PyArray_CheckExact(c->args[0]))) return;
    const int type = PyArray_TYPE(ARRAY(c->args[0])), real = type == NPY_FLOAT32 || type == NPY_FLOAT64 || type == NPY_FLOAT16;
    if (!need(c, real || PyTypeNum_ISINTEGER(type) || type == NPY_BOOL)) return;
    PyArrayObject *x = typed(c, 0, type);
    const int bits = 8 * (int)PyArray_ITEMSIZE(ARRAY(c->args[0]));
    reduce(c, x, 0, (Whole){.bytes = bits / 8, .mask = UINT64_MAX >> (64 - bits + real)}, count_part, 0.4);
}

/* -- quotients and remainders --------------------------------------------------------------------------- */

typedef struct {
    int which;
    const int64_t *x, *y;
    idx x_step, y_step, n;
    int64_t *out;
} Quotient;

static void quotient_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Quotient *q = what;
    const idx from = share(q->n, i, parts), n = share(q->n, i + 1, parts) - from;
    RL->whole_divide(q->which, q->x + from * q->x_step, q->x_step, q->y + from * q->y_step, q->y_step, q->out + from, n);
}

/* A plain array, or one number (of Python's, or an array without dims), which goes to `number`; 0 where it is neither. */
static int whole_operand(PyObject *o, const int64_t **data, idx *step, int64_t *number) {
    if (PyLong_CheckExact(o)) {
        int over;
        *number = PyLong_AsLongLongAndOverflow(o, &over);
        *data = number, *step = 0;
        return !over;
    }
    if (!is_type(o, NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return 0;
    *data = PyArray_DATA(ARRAY(o)), *step = PyArray_NDIM(ARRAY(o)) > 0;
    return 1;
}

void whole_divide(Call *c, int which) {
    int64_t first, second;
    Quotient q = {.which = which};
    PyObject *a = c->args[0], *b = c->args[1];
    if (!need(c, whole_operand(a, &q.x, &q.x_step, &first) && whole_operand(b, &q.y, &q.y_step, &second) && q.x_step + q.y_step)) return;
    PyArrayObject *like = ARRAY(q.x_step ? a : b);
    if (!need(c, !q.x_step || !q.y_step || PyArray_SAMESHAPE(like, ARRAY(b)))) return;
    q.out = new_of(c, like, NPY_INT64), q.n = PyArray_SIZE(like);
    if (q.out) run_shared(quotient_part, &q, q.n / 256 + 1, 2.0 * (double)q.n);
}

/* Four rows side by side. */
static void running_rows(const Whole *w, idx o) {
    const idx n = w->n, step = w->back ? -1 : 1;
    const uint64_t *x = w->x + o * n;
    uint64_t *out = w->out + o * n, sum[4] = {0};
    for (idx i = 0, k = w->back ? n - 1 : 0; i < n; i++, k += step)
        for (idx r = 0; r < 4; r++) out[r * n + k] = sum[r] += x[r * n + k];
}

static void running_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    const idx last = share(w->outer, i + 1, parts);
    idx o = share(w->outer, i, parts);
    for (; w->inner == 1 && o + 4 <= last; o += 4) running_rows(w, o);
    for (; o < last; o++) {
        const idx step = w->back ? -w->inner : w->inner;
        const uint64_t *x = w->x + o * w->n * w->inner + (w->back ? (w->n - 1) * w->inner : 0);
        uint64_t *out = w->out + (x - w->x), sum = 0;
        if (w->inner == 1) {
            for (idx k = 0; k < w->n; k++, x += step, out += step) *out = sum += *x;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++) {
            x += step, out += step;
            for (idx c = 0; c < w->inner; c++) out[c] = out[c - step] + x[c];
        }
    }
}

void whole_cumsum(Call *c) {
    PyArrayObject *x = typed(c, 0, NPY_INT64);
    Whole w = {.back = flag_of(c, "reverse")};
    if (!along(c, x, idx_of(c, "dim"), &w.outer, &w.n, &w.inner) || !need(c, PyArray_SIZE(x) > 0)) return;
    w.x = PyArray_DATA(x), w.out = new_of(c, x, NPY_INT64);
    if (!c->ends) run_shared(running_part, &w, w.outer, 0.6 * (double)PyArray_SIZE(x));
}

/* -- bags ------------------------------------------------------------------------------------------------ */

/* Which bag each of `total` places lies in, by where bags begin. */
static void bag_numbers(Call *c) {
    const npy_intp total = idx_of(c, "total");
    PyArrayObject *x = typed(c, 0, NPY_INT64);
    if (!x || !need(c, PyArray_NDIM(x) == 1 && PyArray_SIZE(x) > 0)) return;
    const int64_t *starts = PyArray_DATA(x);
    const idx count = PyArray_SIZE(x);
    int rises = starts[0] == 0 && starts[count - 1] <= total;
    for (idx i = 1; rises && i < count; i++) rises = starts[i] >= starts[i - 1];
    int64_t *to = need(c, rises) ? new_array(c, 1, &total, NPY_INT64) : NULL;
    for (idx b = 0; to && b < count; b++)
        for (idx i = starts[b], end = b + 1 < count ? starts[b + 1] : total; i < end; i++) to[i] = b;
}

/* -- the same everywhere ---------------------------------------------------------------------------------- */

#define STRETCH 1024 /* numbers that are compared before the answer is looked at */

static int equal_floats(const float *x, const float *y, idx n) {
    for (idx i = 0; i < n; i += STRETCH) {
        const idx end = i + STRETCH < n ? i + STRETCH : n;
        int differ = 0;
        for (idx k = i; k < end; k++) differ |= x[k] != y[k];
        if (differ) return 0;
    }
    return 1;
}

static void equal_everywhere(Call *c) {
    if (!need(c, PyArray_CheckExact(c->args[0]))) return;
    const int type = PyArray_TYPE(ARRAY(c->args[0])), bits = PyTypeNum_ISINTEGER(type) || type == NPY_BOOL;
    if (!need(c, bits || type == NPY_FLOAT32)) return;
    PyArrayObject *x = typed(c, 0, type), *y = typed(c, 1, type);
    if (c->ends || !need(c, PyArray_SIZE(x) == PyArray_SIZE(y))) return;
    const int same = bits ? memcmp(PyArray_DATA(x), PyArray_DATA(y), (size_t)PyArray_NBYTES(x)) == 0
                          : equal_floats(DATA(x), DATA(y), PyArray_SIZE(x));
    c->value = PyBool_FromLong(same);
}

const Entry whole_entries[] = {
    BOUND("count_nonzero", count_nonzero), BOUND("bag_numbers", bag_numbers), BOUND("equal_everywhere", equal_everywhere), {NULL},
};
