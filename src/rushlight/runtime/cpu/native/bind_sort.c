/* Orders: sorts of int64 and of long rows, the most frequent number, different numbers. Equal ones keep their order. */
#include "arrays.h"

/* A number of a row is a whole one of 64 bits: above a key of 32 that has its order, below where it stands. */
typedef struct {
    const void *x;
    void *values;
    int64_t *at;
    idx outer, n, inner;
    int whole, descending, failed; /* whole: int64, else float32 */
} Sort;

#define SHORT_ROW 40 /* up to here numbers are put in between one by one */

/* Both zeros are one, and NaN is larger than all. */
static inline uint32_t float_key(float x) {
    const float plain = x != x ? NAN : x + 0.0f;
    uint32_t bits;
    memcpy(&bits, &plain, 4);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

/* The keys of a row; how many bits of them differ, or -1 where whole numbers lie too far apart. */
static int keys_of(const Sort *s, idx outer, idx inner, uint64_t *keys) {
    const idx n = s->n, step = s->inner, from = outer * n * step + inner;
    const uint64_t turn = s->descending ? 0xffffffff00000000u : 0;
    if (s->whole) {
        const int64_t *x = (const int64_t *)s->x + from;
        int64_t low = x[0], high = x[0];
        for (idx i = 1; i < n; i++) {
            const int64_t v = x[i * step];
            low = v < low ? v : low, high = v > high ? v : high;
        }
        const uint64_t range = (uint64_t)high - (uint64_t)low;
        if (range >> 32) return -1;
        for (idx i = 0; i < n; i++) keys[i] = (((uint64_t)x[i * step] - (uint64_t)low) << 32 | (uint64_t)i) ^ turn;
        return range ? 64 - __builtin_clzll(range) : 0;
    }
    const float *x = (const float *)s->x + from;
    for (idx i = 0; i < n; i++) keys[i] = ((uint64_t)float_key(x[i * step]) << 32 | (uint64_t)i) ^ turn;
    return 32;
}

/* Sort by `bits` bits above the lowest 32, which ascend as they come; the result lies in one of the two. */
static uint64_t *by_digits(uint64_t *keys, uint64_t *other, idx n, int bits) {
    const int each = n < 1500 ? 8 : 11;
    uint32_t begin[1 << 11];
    for (int done = 0; done < bits; done += each) {
        const int shift = 32 + done;
        const uint64_t mask = (1u << each) - 1;
        memset(begin, 0, sizeof(uint32_t) << each);
        for (idx i = 0; i < n; i++) begin[keys[i] >> shift & mask]++;
        if (begin[keys[0] >> shift & mask] == (uint32_t)n) continue; /* all have the same digit */
        uint32_t before = 0;
        for (uint64_t d = 0; d <= mask; d++) {
            const uint32_t here = begin[d];
            begin[d] = before, before += here;
        }
        for (idx i = 0; i < n; i++) other[begin[keys[i] >> shift & mask]++] = keys[i];
        uint64_t *const swap = keys;
        keys = other, other = swap;
    }
    return keys;
}

static uint64_t *sorted(uint64_t *keys, uint64_t *other, idx n, int bits) {
    if (n > SHORT_ROW) return by_digits(keys, other, n, bits);
    for (idx i = 1; i < n; i++) {
        const uint64_t new = keys[i];
        idx j = i;
        for (; j > 0 && keys[j - 1] > new; j--) keys[j] = keys[j - 1];
        keys[j] = new;
    }
    return keys;
}

static void put_value(const Sort *s, idx to, idx from) {
    if (s->whole) ((int64_t *)s->values)[to] = ((const int64_t *)s->x)[from];
    else ((float *)s->values)[to] = ((const float *)s->x)[from];
}

enum { TOO_FAR = 1, NO_MEMORY };

static void sort_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Sort *s = what;
    uint64_t *keys = memory_take((size_t)s->n * 16);
    if (!keys) s->failed = NO_MEMORY;
    for (idx r = share(s->outer * s->inner, i, parts); keys && !s->failed && r < share(s->outer * s->inner, i + 1, parts); r++) {
        const idx outer = r / s->inner, inner = r % s->inner, from = outer * s->n * s->inner + inner;
        const int bits = keys_of(s, outer, inner, keys);
        if (bits < 0) {
            s->failed = TOO_FAR;
            break;
        }
        const uint64_t *found = sorted(keys, keys + s->n, s->n, bits);
        for (idx k = 0; k < s->n; k++) {
            const idx at = (idx)(found[k] & 0xffffffffu), to = from + k * s->inner;
            s->at[to] = at;
            put_value(s, to, from + at * s->inner);
        }
    }
    if (keys) memory_give(keys, (size_t)s->n * 16);
}

/* The longest run of equal ones, the first of such runs; of it the last. NaN is equal to nothing. */
static void mode_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Sort *s = what;
    uint64_t *keys = memory_take((size_t)s->n * 16);
    if (!keys) s->failed = NO_MEMORY;
    const uint64_t nan = s->whole ? UINT64_MAX : float_key(NAN);
    for (idx r = share(s->outer * s->inner, i, parts); keys && !s->failed && r < share(s->outer * s->inner, i + 1, parts); r++) {
        const idx outer = r / s->inner, inner = r % s->inner;
        const int bits = keys_of(s, outer, inner, keys);
        if (bits < 0) {
            s->failed = TOO_FAR;
            break;
        }
        const uint64_t *found = sorted(keys, keys + s->n, s->n, bits);
        idx best = 0, length = 0, run = 0;
        for (idx k = 0; k < s->n; k++) {
            run = k && found[k] >> 32 == found[k - 1] >> 32 && found[k] >> 32 != nan ? run + 1 : 1;
            if (run > length) length = run, best = k;
        }
        s->at[r] = (int64_t)(found[best] & 0xffffffffu);
        put_value(s, r, outer * s->n * s->inner + inner + s->at[r] * s->inner);
    }
    if (keys) memory_give(keys, (size_t)s->n * 16);
}

/* Results have `dim` as it is, of one number, or not: keep 2, 1 or 0. */
static PyObject *order_rows(PyObject *o, PyObject *attrs, Sort *s, int keep, Part part) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    s->whole = is_type(o, NPY_INT64);
    if (!(s->whole || is_float(o)) || !PyArray_IS_C_CONTIGUOUS(ARRAY(o)) || PyArray_SIZE(ARRAY(o)) == 0) return REFUSE;
    PyArrayObject *x = ARRAY(o);
    if (PyArray_NDIM(x) > DIMS || dim < 0 || dim >= PyArray_NDIM(x) || PyArray_DIM(x, dim) >= INT32_MAX) return REFUSE;
    npy_intp shape[DIMS];
    int found = 0;
    s->x = PyArray_DATA(x), s->n = PyArray_DIM(x, dim), s->outer = s->inner = 1;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d != dim) *(d < dim ? &s->outer : &s->inner) *= PyArray_DIM(x, d);
        if (d != dim || keep) shape[found++] = d == dim && keep == 1 ? 1 : PyArray_DIM(x, d);
    }
    PyArrayObject *values = array_new(found, shape, PyArray_TYPE(x)), *at = values ? array_new(found, shape, NPY_INT64) : NULL;
    if (!at) {
        Py_XDECREF(values);
        return NULL;
    }
    s->values = PyArray_DATA(values), s->at = PyArray_DATA(at);
    const double ns = 12.0 * (double)PyArray_SIZE(x);
    run_parts(part, s, threads_parts(ns, s->outer * s->inner), ns);
    if (!s->failed) return Py_BuildValue("NN", values, at);
    Py_DECREF(values);
    Py_DECREF(at);
    return s->failed == TOO_FAR ? REFUSE : PyErr_NoMemory();
}

PyObject *sort_rows(PyObject *x, PyObject *attrs, int descending) {
    Sort s = {.descending = descending};
    return order_rows(x, attrs, &s, 2, sort_part);
}

static PyObject *mode(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Sort s = {0};
    const int keepdim = attr_flag(attrs, "keepdim");
    return keepdim < 0 ? NULL : order_rows(args[0], attrs, &s, keepdim, mode_part);
}

/* -- different numbers ------------------------------------------------------------------------------------- */

/* Of sorted keys: which of the different numbers each place holds (`at`), how many of each there are, and where one is.
 * Both zeros are one number, NaN is always another. */
static idx different(const Sort *s, const uint64_t *found, idx *first, int64_t *counts) {
    const uint64_t nan = s->whole ? UINT64_MAX : float_key(NAN);
    idx many = -1;
    for (idx k = 0; k < s->n; k++) {
        const uint64_t key = found[k] >> 32, place = found[k] & 0xffffffffu;
        if (!k || key != found[k - 1] >> 32 || key == nan) first[++many] = (idx)place, counts[many] = 0;
        counts[many]++;
        s->at[place] = many;
    }
    return many + 1;
}

/* (values, which of them each number is, how often each occurs) of all numbers. */
static PyObject *unique(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *dim = attr(attrs, "dim");
    if (!dim) return NULL;
    Sort s = {.outer = 1, .inner = 1, .whole = is_type(args[0], NPY_INT64)};
    if (dim != Py_None || !(s.whole || is_float(args[0]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    if (!PyArray_IS_C_CONTIGUOUS(x) || PyArray_SIZE(x) == 0 || PyArray_SIZE(x) >= INT32_MAX || PyArray_NDIM(x) > DIMS) return REFUSE;
    s.x = PyArray_DATA(x), s.n = PyArray_SIZE(x);
    const size_t bytes = (size_t)s.n * 32;
    uint64_t *keys = memory_take(bytes);
    if (!keys) return PyErr_NoMemory();
    const int bits = keys_of(&s, 0, 0, keys);
    PyArrayObject *at = bits < 0 ? NULL : array_new(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64), *values = NULL, *counts = NULL;
    if (at) {
        s.at = PyArray_DATA(at);
        idx *first = (idx *)(keys + 2 * s.n);
        int64_t *each = (int64_t *)(first + s.n);
        npy_intp many = different(&s, sorted(keys, keys + s.n, s.n, bits), first, each);
        values = array_new(1, &many, PyArray_TYPE(x)), counts = values ? array_new(1, &many, NPY_INT64) : NULL;
        if (counts) {
            s.values = PyArray_DATA(values);
            for (idx k = 0; k < many; k++) put_value(&s, k, first[k]);
            memcpy(PyArray_DATA(counts), each, (size_t)many * 8);
        }
    }
    memory_give(keys, bytes);
    if (counts) return Py_BuildValue("NNN", values, at, counts);
    Py_XDECREF(values);
    Py_XDECREF(at);
    return bits < 0 ? REFUSE : NULL;
}

/* Where the numbers of two lists go when always the smaller of their heads is taken, equal ones together. */
static PyObject *meeting(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int64_t *from[2];
    idx n[2], i[2] = {0, 0}, count = 0;
    PyArrayObject *to[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        if (!is_type(args[k], NPY_INT64) || PyArray_NDIM(ARRAY(args[k])) != 1 || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[k]))) return REFUSE;
    for (int k = 0; k < 2; k++) {
        from[k] = PyArray_DATA(ARRAY(args[k])), n[k] = PyArray_SIZE(ARRAY(args[k]));
        if (!(to[k] = array_new(1, PyArray_DIMS(ARRAY(args[k])), NPY_INT64))) {
            Py_XDECREF(to[0]);
            return NULL;
        }
    }
    int64_t *const a = PyArray_DATA(to[0]), *const b = PyArray_DATA(to[1]);
    for (; i[0] < n[0] && i[1] < n[1]; count++) {
        const int64_t p = from[0][i[0]], q = from[1][i[1]];
        if (p <= q) a[i[0]++] = count;
        if (q <= p) b[i[1]++] = count;
    }
    while (i[0] < n[0]) a[i[0]++] = count++;
    while (i[1] < n[1]) b[i[1]++] = count++;
    return Py_BuildValue("NN", to[0], to[1]);
}

const Entry sort_entries[] = {{"mode", mode, COPIES, "0-"}, {"unique", unique}, {"sparse_meeting", meeting}, {NULL, NULL}};
