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

/* Results have `keep` numbers of a row: AS_IT_IS, 1, or 0 without its dim. */
static void order_rows(Call *c, Sort s, idx keep, Part part) {
    Over o;
    s.whole = is_type(c->args[0], NPY_INT64);
    PyArrayObject *x = typed(c, 0, s.whole ? NPY_INT64 : NPY_FLOAT32);
    if (!over_dims(c, x, keep, &o) || !need(c, PyLong_Check(attr_of(c, "dim")) && o.n < INT32_MAX)) return;
    s.x = PyArray_DATA(x), s.n = o.n, s.outer = o.outer, s.inner = o.inner;
    s.values = new_array(c, o.ndim, o.shape, PyArray_TYPE(x)), s.at = new_array(c, o.ndim, o.shape, NPY_INT64);
    if (c->ends) return;
    run_shared(part, &s, s.outer * s.inner, 12.0 * (double)PyArray_SIZE(x));
    if (s.failed == TOO_FAR) refuse(c);
    else if (s.failed) fail(c);
}

void sort_rows(Call *c, int descending) { order_rows(c, (Sort){.descending = descending}, AS_IT_IS, sort_part); }
static void mode(Call *c) { order_rows(c, (Sort){0}, flag_of(c, "keepdim"), mode_part); }

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
static void unique(Call *c) {
    Sort s = {.outer = 1, .inner = 1, .whole = is_type(c->args[0], NPY_INT64)};
    PyArrayObject *x = typed(c, 0, s.whole ? NPY_INT64 : NPY_FLOAT32);
    PyObject *dim = attr_of(c, "dim");
    if (!x || !need(c, dim == Py_None && PyArray_SIZE(x) > 0 && PyArray_SIZE(x) < INT32_MAX && PyArray_NDIM(x) <= DIMS)) return;
    s.x = PyArray_DATA(x), s.n = PyArray_SIZE(x);
    uint64_t *keys = room(c, (size_t)s.n * 32);
    const int bits = keys ? keys_of(&s, 0, 0, keys) : -1;
    PyArrayObject *at = need(c, bits >= 0) ? array_new(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64) : NULL;
    if (!at) {
        if (!c->ends) fail(c);
        return;
    }
    s.at = PyArray_DATA(at);
    idx *first = (idx *)(keys + 2 * s.n);
    int64_t *each = (int64_t *)(first + s.n);
    npy_intp many = different(&s, sorted(keys, keys + s.n, s.n, bits), first, each);
    s.values = new_array(c, 1, &many, PyArray_TYPE(x));
    new_made(c, at);
    int64_t *counts = new_array(c, 1, &many, NPY_INT64);
    if (c->ends) return;
    for (idx k = 0; k < many; k++) put_value(&s, k, first[k]);
    memcpy(counts, each, (size_t)many * 8);
}

/* Where the numbers of two lists go when always the smaller of their heads is taken, equal ones together. */
static void meeting(Call *c) {
    PyArrayObject *x = typed(c, 0, NPY_INT64), *y = typed(c, 1, NPY_INT64);
    if (c->ends || !need(c, PyArray_NDIM(x) == 1 && PyArray_NDIM(y) == 1)) return;
    int64_t *const a = new_of(c, x, NPY_INT64), *const b = new_of(c, y, NPY_INT64);
    const int64_t *p = PyArray_DATA(x), *q = PyArray_DATA(y);
    idx n = PyArray_SIZE(x), m = PyArray_SIZE(y), i = 0, j = 0, count = 0;
    if (c->ends) return;
    for (; i < n && j < m; count++) {
        const int64_t one = p[i], other = q[j];
        if (one <= other) a[i++] = count;
        if (other <= one) b[j++] = count;
    }
    while (i < n) a[i++] = count++;
    while (j < m) b[j++] = count++;
}

const Entry sort_entries[] = {
    BOUND("mode", mode, .copies = COPIES, .rounds = "0-"), BOUND("unique", unique), BOUND("sparse_meeting", meeting), {NULL},
};
