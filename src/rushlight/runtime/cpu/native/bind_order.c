/* What order decides: the largest of a dim and where it is, the k largest, the middle, short sorts, places in sorted rows. */
#include "arrays.h"

/* Floats as whole numbers of the same order: both zeros are one, and NaN is larger than all. */
static inline int32_t key_of(float x) {
    const float plain = x != x ? NAN : x + 0.0f;
    int32_t bits;
    memcpy(&bits, &plain, 4);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

/* x seen as [outer][n][inner], to be answered by [outer][k][inner]. */
typedef struct {
    const float *x;
    float *values; /* or NULL */
    int64_t *at;
    idx outer, n, inner, k;
    int low, ignore_nan, failed;
} Order;

/* Fills in the shape for `dim` (an int, or None for all); 1, 0 where it is left to NumPy, -1 with an exception. */
static int order_of(Order *o, PyObject *x_, PyObject *attrs) {
    PyObject *dim = attr(attrs, "dim");
    if (!dim) return -1;
    if (!is_plain(x_) || PyArray_NDIM(ARRAY(x_)) == 0 || PyArray_NDIM(ARRAY(x_)) > DIMS || PyArray_SIZE(ARRAY(x_)) == 0) return 0;
    PyArrayObject *x = ARRAY(x_);
    o->x = DATA(x), o->outer = o->inner = 1, o->n = PyArray_SIZE(x), o->k = 1;
    if (dim == Py_None) return 1;
    const long at = PyLong_AsLong(dim);
    if (at == -1 && PyErr_Occurred()) return -1;
    if (at < 0 || at >= PyArray_NDIM(x)) return 0;
    o->n = PyArray_DIM(x, at);
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < at) o->outer *= PyArray_DIM(x, d);
        if (d > at) o->inner *= PyArray_DIM(x, d);
    }
    return o->n < INT32_MAX;
}

/* Arrays for the answer: `dim` has k numbers, or is left out where k is 0. */
static int answers(Order *o, PyArrayObject *x, PyObject *attrs, idx k, PyArrayObject **values, PyArrayObject **at) {
    PyObject *dim = attr(attrs, "dim");
    npy_intp shape[DIMS];
    int ndim = 0;
    const long where = dim == Py_None ? -1 : PyLong_AsLong(dim);
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        const int gone = dim == Py_None || d == where;
        if (!gone || k) shape[ndim++] = gone ? k : PyArray_DIM(x, d);
    }
    *at = array_new(ndim, shape, NPY_INT64);
    if (*at && values) *values = array_new(ndim, shape, NPY_FLOAT32);
    if (!*at || (values && !*values)) {
        Py_CLEAR(*at);
        return -1;
    }
    o->at = PyArray_DATA(*at), o->values = values ? DATA(*values) : NULL;
    return 0;
}

/* -- the largest ---------------------------------------------------------------------------------------- */

static inline void extreme_of_row(const Order *o, const float *x, idx r) {
    idx at = 0;
    if (o->n > 32) {
        const float best = RL->extreme(o->low, x, o->n);
        if (best == best) while (x[at] != best) at++;
        else while (x[at] == x[at]) at++;
    } else
        for (idx i = 1; i < o->n && x[at] == x[at]; i++)
            if (x[i] != x[i] || (o->low ? x[i] < x[at] : x[i] > x[at])) at = i;
    if (o->values) o->values[r] = x[at];
    o->at[r] = at;
}

#define COLUMNS 128 /* neighbours that are followed together */

static void extreme_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Order *o = what;
    if (o->inner == 1) {
        for (idx r = share(o->outer, i, parts); r < share(o->outer, i + 1, parts); r++) extreme_of_row(o, o->x + r * o->n, r);
        return;
    }
    const idx blocks = (o->inner + COLUMNS - 1) / COLUMNS;
    for (idx b = share(o->outer * blocks, i, parts); b < share(o->outer * blocks, i + 1, parts); b++) {
        const idx first = b % blocks * COLUMNS, width = o->inner - first < COLUMNS ? o->inner - first : COLUMNS;
        const float *x = o->x + b / blocks * o->n * o->inner + first;
        float best[COLUMNS];
        int32_t at[COLUMNS] = {0};
        memcpy(best, x, (size_t)width * 4);
        const float sign = o->low ? -1.0f : 1.0f;
        for (int32_t k = 1; k < o->n; k++) {
            const float *row = x + k * o->inner;
            for (idx c = 0; c < width; c++) {
                const int found = (best[c] == best[c]) & ((row[c] != row[c]) | (row[c] * sign > best[c] * sign));
                best[c] = found ? row[c] : best[c];
                at[c] = found ? k : at[c];
            }
        }
        const idx to = b / blocks * o->inner + first;
        for (idx c = 0; c < width; c++) o->at[to + c] = at[c];
        if (o->values) memcpy(o->values + to, best, (size_t)width * 4);
    }
}

static PyObject *extreme_along(PyObject *const *args, PyObject *attrs, int low, int both) {
    Order o = {.low = low};
    const int fits = order_of(&o, args[0], attrs), keepdim = attr_flag(attrs, "keepdim");
    if (fits < 0 || keepdim < 0) return NULL;
    if (!fits) return REFUSE;
    PyArrayObject *values = NULL, *at;
    if (answers(&o, ARRAY(args[0]), attrs, keepdim, both ? &values : NULL, &at) < 0) return NULL;
    const double ns = 0.5 * (double)(o.outer * o.inner) * (double)o.n;
    run_parts(extreme_part, &o, threads_parts(ns, o.inner == 1 ? o.outer : o.outer * ((o.inner + COLUMNS - 1) / COLUMNS)), ns);
    return both ? Py_BuildValue("NN", values, at) : (PyObject *)at;
}

static PyObject *max_dim(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return extreme_along(a, attrs, 0, 1); }
static PyObject *min_dim(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return extreme_along(a, attrs, 1, 1); }
static PyObject *argmax(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return extreme_along(a, attrs, 0, 0); }
static PyObject *argmin(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return extreme_along(a, attrs, 1, 0); }

/* -- the k largest, and sorts of short rows ------------------------------------------------------------------- */

#define MOST_KEPT 64
#define SHORT_SORT 40

/* A list of the best so far: every number that belongs into it moves those behind it; of equal ones the first stay ahead.
 * With `k` = n that is a sort. */
static void kept_of_row(const Order *o, const float *x, idx step, idx to) {
    int32_t key[MOST_KEPT], at[MOST_KEPT];
    idx held = 0;
    const int32_t turn = o->low ? -1 : 0; /* ~key has the other order */
    for (idx i = 0; i < o->n; i++) {
        const int32_t new = key_of(x[i * step]) ^ turn;
        if (held == o->k && new <= key[held - 1]) continue;
        idx j = held < o->k ? held++ : held - 1;
        for (; j > 0 && key[j - 1] < new; j--) key[j] = key[j - 1], at[j] = at[j - 1];
        key[j] = new, at[j] = (int32_t)i;
    }
    for (idx j = 0; j < o->k; j++) o->values[to + j * step] = x[at[j] * step], o->at[to + j * step] = at[j];
}

static void kept_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Order *o = what;
    for (idx r = share(o->outer * o->inner, i, parts); r < share(o->outer * o->inner, i + 1, parts); r++) {
        const idx outer = r / o->inner, inner = r % o->inner;
        kept_of_row(o, o->x + outer * o->n * o->inner + inner, o->inner, outer * o->k * o->inner + inner);
    }
}

static PyObject *keep(PyObject *const *args, PyObject *attrs, Order *o) {
    PyArrayObject *values, *at;
    if (answers(o, ARRAY(args[0]), attrs, o->k, &values, &at) < 0) return NULL;
    const double ns = (double)(o->outer * o->inner) * (1.5 * (double)o->n + 4.0 * (double)(o->k * o->k));
    run_parts(kept_part, o, threads_parts(ns, o->outer * o->inner), ns);
    return Py_BuildValue("NN", values, at);
}

static PyObject *topk(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Order o = {0};
    idx k;
    const int fits = order_of(&o, args[0], attrs), largest = attr_flag(attrs, "largest");
    if (fits < 0 || largest < 0 || attr_idx(attrs, "k", &k) < 0) return NULL;
    if (!fits || k < 1 || k > o.n || k > MOST_KEPT) return REFUSE;
    o.k = k, o.low = !largest;
    return keep(args, attrs, &o);
}

static PyObject *sort(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Order o = {0};
    const int fits = order_of(&o, args[0], attrs), descending = attr_flag(attrs, "descending");
    if (fits < 0 || descending < 0) return NULL;
    if (!fits || o.n > SHORT_SORT) return sort_rows(args[0], attrs, descending);
    o.k = o.n, o.low = !descending;
    return keep(args, attrs, &o);
}

/* -- the middle ------------------------------------------------------------------------------------------------ */

/* The number that stands at `k` in order; those before it are then no larger. */
static int64_t standing_at(int64_t *x, idx n, idx k) {
    idx low = 0, high = n - 1;
    while (low < high) {
        const int64_t a = x[low], b = x[(low + high) / 2], c = x[high];
        const int64_t middle = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        idx i = low - 1, j = high + 1;
        for (;;) {
            do i++; while (x[i] < middle);
            do j--; while (x[j] > middle);
            if (i >= j) break;
            const int64_t t = x[i];
            x[i] = x[j], x[j] = t;
        }
        if (k <= j) high = j;
        else low = j + 1;
    }
    return x[k];
}

/* k < 0: the lower middle of what is no NaN; of rows with one its first, unless those are left out. */
static void middle_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Order *o = what;
    int64_t *keys = memory_take((size_t)o->n * 8);
    if (!keys) {
        o->failed = 1;
        return;
    }
    for (idx r = share(o->outer * o->inner, i, parts); r < share(o->outer * o->inner, i + 1, parts); r++) {
        const float *x = o->x + r / o->inner * o->n * o->inner + r % o->inner;
        idx valid = 0, k = o->k - 1;
        for (idx j = 0; j < o->n; j++) {
            const float v = x[j * o->inner];
            valid += v == v;
            keys[j] = (int64_t)key_of(v) * 4294967296 + j; /* equal ones by their places */
        }
        if (o->k < 0) k = valid < o->n && !o->ignore_nan ? valid : valid > 0 ? (valid - 1) / 2 : 0;
        const int64_t found = standing_at(keys, o->n, k);
        o->at[r] = found & 0xffffffff;
        if (o->values) o->values[r] = x[o->at[r] * o->inner];
    }
    memory_give(keys, (size_t)o->n * 8);
}

static PyObject *middle(PyObject *const *args, PyObject *attrs, idx k, int ignore_nan) {
    Order o = {.ignore_nan = ignore_nan};
    const int fits = order_of(&o, args[0], attrs), keepdim = attr_flag(attrs, "keepdim");
    if (fits < 0 || keepdim < 0) return NULL;
    if (!fits || k > o.n) return REFUSE;
    PyArrayObject *values, *at;
    if (answers(&o, ARRAY(args[0]), attrs, keepdim, &values, &at) < 0) return NULL;
    o.k = k;
    const double ns = 12.0 * (double)(o.outer * o.inner) * (double)o.n;
    run_parts(middle_part, &o, threads_parts(ns, o.outer * o.inner), ns);
    if (!o.failed) return Py_BuildValue("NN", values, at);
    Py_DECREF(values);
    Py_DECREF(at);
    return PyErr_NoMemory();
}

static PyObject *median_dim(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int ignore_nan = attr_flag(attrs, "ignore_nan");
    return ignore_nan < 0 ? NULL : middle(args, attrs, -1, ignore_nan);
}

static PyObject *kthvalue(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx k;
    return attr_idx(attrs, "k", &k) < 0 ? NULL : k < 1 ? REFUSE : middle(args, attrs, k, 0);
}

/* The middle of all numbers, as a number of its own. */
static PyObject *median(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int ignore_nan = attr_flag(attrs, "ignore_nan");
    if (ignore_nan < 0) return NULL;
    if (!is_plain(args[0]) || PyArray_SIZE(ARRAY(args[0])) == 0 || PyArray_SIZE(ARRAY(args[0])) >= INT32_MAX) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *out = array_new(0, NULL, NPY_FLOAT32);
    if (!out) return NULL;
    int64_t at;
    Order o = {.x = DATA(x), .values = DATA(out), .at = &at, .outer = 1, .inner = 1, .n = PyArray_SIZE(x), .k = -1, .ignore_nan = ignore_nan};
    run_parts(middle_part, &o, 1, 12.0 * (double)o.n);
    if (!o.failed) return (PyObject *)out;
    Py_DECREF(out);
    return PyErr_NoMemory();
}

/* -- places in sorted rows ---------------------------------------------------------------------------------------- */

typedef struct {
    int type, right, narrow;
    const void *seq, *values;
    void *out;
    idx n, each, count; /* each: values of a row of the sequence; 0: one row for all */
} Search;

/* As long as a comparison holds it goes up, so that NaN goes to the end. */
#define SEARCH(name, T) \
    static void name(const Search *s, idx from, idx to) { \
        for (idx i = from; i < to; i++) { \
            const T *seq = (const T *)s->seq + (s->each ? i / s->each * s->n : 0), v = ((const T *)s->values)[i]; \
            idx low = 0, high = s->n; \
            while (low < high) { \
                const idx middle = (low + high) / 2; \
                const int up = s->right ? !(seq[middle] > v) : !(seq[middle] >= v); \
                low = up ? middle + 1 : low; \
                high = up ? high : middle; \
            } \
            if (s->narrow) ((int32_t *)s->out)[i] = (int32_t)low; \
            else ((int64_t *)s->out)[i] = low; \
        } \
    }
SEARCH(search_float, float)
SEARCH(search_double, double)
SEARCH(search_int, int32_t)
SEARCH(search_long, int64_t)

static void search_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Search *s = what;
    const idx from = share(s->count, i, parts), to = share(s->count, i + 1, parts);
    switch (s->type) {
    case NPY_FLOAT32: search_float(s, from, to); break;
    case NPY_FLOAT64: search_double(s, from, to); break;
    case NPY_INT32: search_int(s, from, to); break;
    default: search_long(s, from, to);
    }
}

static PyObject *searchsorted(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Search s = {.right = attr_flag(attrs, "right"), .narrow = attr_flag(attrs, "narrow")};
    if (s.right < 0 || s.narrow < 0) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) return REFUSE;
    PyArrayObject *seq = ARRAY(args[0]), *values = ARRAY(args[1]);
    s.type = PyArray_TYPE(seq) == NPY_LONG ? NPY_INT64 : PyArray_TYPE(seq);
    if (s.type != NPY_FLOAT32 && s.type != NPY_FLOAT64 && s.type != NPY_INT32 && s.type != NPY_INT64) return REFUSE;
    if (!is_type(args[0], PyArray_TYPE(seq)) || !is_type(args[1], PyArray_TYPE(seq))) return REFUSE;
    if (!PyArray_IS_C_CONTIGUOUS(seq) || !PyArray_IS_C_CONTIGUOUS(values) || PyArray_SIZE(seq) == 0) return REFUSE;
    const int ndim = PyArray_NDIM(seq);
    if (ndim < 1 || PyArray_NDIM(values) > DIMS || (ndim > 1 && PyArray_NDIM(values) != ndim)) return REFUSE;
    s.n = PyArray_DIM(seq, ndim - 1), s.count = PyArray_SIZE(values);
    s.each = ndim > 1 ? PyArray_DIM(values, ndim - 1) : 0;
    for (int d = 0; d < ndim - 1; d++)
        if (PyArray_DIM(seq, d) != PyArray_DIM(values, d)) return REFUSE;
    PyArrayObject *out = array_new(PyArray_NDIM(values), PyArray_DIMS(values), s.narrow ? NPY_INT32 : NPY_INT64);
    if (!out) return NULL;
    s.seq = PyArray_DATA(seq), s.values = PyArray_DATA(values), s.out = PyArray_DATA(out);
    const double ns = 40.0 * (double)s.count;
    run_parts(search_part, &s, threads_parts(ns, s.count), ns);
    return (PyObject *)out;
}

const Entry order_entries[] = {
    {"max_dim", max_dim, COPIES, "0-"}, {"min_dim", min_dim, COPIES, "0-"}, {"argmax", argmax, COPIES, "-"},
    {"argmin", argmin, COPIES, "-"}, {"topk", topk, COPIES, "0-"}, {"sort", sort, 0, "0-"},
    {"median_dim", median_dim, COPIES, "0-"}, {"kthvalue", kthvalue, COPIES, "0-"}, {"median", median, COPIES, "0"},
    {"searchsorted", searchsorted}, {NULL, NULL},
};
