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

/* Argument 0 along its dim, with results that have `keep` numbers for it (0: none, the dim is left out); 0 where it ends. */
static int order_of(Call *c, Order *o, idx keep, int with_values) {
    Over over;
    PyArrayObject *x = floats(c, 0);
    if (!over_dims(c, x, keep, &over)) return 0;
    if (!need(c, PyArray_NDIM(x) > 0 && o->k <= over.n && (over.n < INT32_MAX || attr_of(c, "dim") == Py_None))) return 0;
    o->x = DATA(x), o->outer = over.outer, o->n = over.n, o->inner = over.inner;
    o->values = with_values ? new_floats(c, over.ndim, over.shape) : NULL;
    o->at = new_array(c, over.ndim, over.shape, NPY_INT64);
    return !c->ends;
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

enum { LARGEST, SMALLEST, PLACE_OF = 2 }; /* PLACE_OF: without the numbers */

static void extreme_along(Call *c) {
    Order o = {.low = c->which & SMALLEST};
    if (!order_of(c, &o, flag_of(c, "keepdim"), !(c->which & PLACE_OF))) return;
    const idx most = o.inner == 1 ? o.outer : o.outer * ((o.inner + COLUMNS - 1) / COLUMNS);
    run_shared(extreme_part, &o, most, 0.5 * (double)(o.outer * o.inner) * (double)o.n);
}

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

static void keep(Call *c, Order *o) {
    if (!order_of(c, o, o->k, 1)) return;
    if (o->k == AS_IT_IS) o->k = o->n;
    const double ns = (double)(o->outer * o->inner) * (1.5 * (double)o->n + 4.0 * (double)(o->k * o->k));
    run_shared(kept_part, o, o->outer * o->inner, ns);
}

static void topk(Call *c) {
    const idx k = idx_of(c, "k");
    Order o = {.low = !flag_of(c, "largest"), .k = k};
    if (need(c, k >= 1 && k <= MOST_KEPT)) keep(c, &o);
}

static void sort(Call *c) {
    Over over;
    const int descending = flag_of(c, "descending");
    Order o = {.low = !descending, .k = AS_IT_IS};
    if (!is_plain(c->args[0]) || PyArray_NDIM(ARRAY(c->args[0])) == 0 || (over_dims(c, ARRAY(c->args[0]), AS_IT_IS, &over) && over.n > SHORT_SORT))
        sort_rows(c, descending);
    else keep(c, &o);
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

enum { MEDIAN, KTH };

static void middle(Call *c) {
    Order o = {.ignore_nan = c->which == MEDIAN && flag_of(c, "ignore_nan"), .k = c->which == MEDIAN ? -1 : idx_of(c, "k")};
    if (!need(c, c->which == MEDIAN || o.k >= 1) || !order_of(c, &o, flag_of(c, "keepdim"), 1)) return;
    run_shared(middle_part, &o, o.outer * o.inner, 12.0 * (double)(o.outer * o.inner) * (double)o.n);
    if (o.failed) fail(c);
}

/* The middle of all numbers, as a number of its own. */
static void median(Call *c) {
    int64_t at;
    PyArrayObject *x = floats(c, 0);
    const int ignore_nan = flag_of(c, "ignore_nan");
    if (!x || !need(c, PyArray_SIZE(x) > 0 && PyArray_SIZE(x) < INT32_MAX)) return;
    Order o = {.x = DATA(x), .values = new_number(c), .at = &at, .outer = 1, .inner = 1, .n = PyArray_SIZE(x), .k = -1, .ignore_nan = ignore_nan};
    if (!c->ends) run_parts(middle_part, &o, 1, 12.0 * (double)o.n);
    if (o.failed) fail(c);
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

static void searchsorted(Call *c) {
    Search s = {.right = flag_of(c, "right"), .narrow = flag_of(c, "narrow")};
    if (!need(c, PyArray_CheckExact(c->args[0]))) return;
    const int type = PyArray_TYPE(ARRAY(c->args[0]));
    s.type = type == NPY_LONG ? NPY_INT64 : type;
    if (!need(c, s.type == NPY_FLOAT32 || s.type == NPY_FLOAT64 || s.type == NPY_INT32 || s.type == NPY_INT64)) return;
    PyArrayObject *seq = typed(c, 0, type), *values = typed(c, 1, type);
    if (c->ends) return;
    const int ndim = PyArray_NDIM(seq);
    if (!need(c, PyArray_SIZE(seq) > 0 && ndim >= 1 && PyArray_NDIM(values) <= DIMS && (ndim == 1 || PyArray_NDIM(values) == ndim))) return;
    s.n = PyArray_DIM(seq, ndim - 1), s.count = PyArray_SIZE(values);
    s.each = ndim > 1 ? PyArray_DIM(values, ndim - 1) : 0;
    if (!need(c, ndim == 1 || PyArray_CompareLists(PyArray_DIMS(seq), PyArray_DIMS(values), ndim - 1))) return;
    s.seq = PyArray_DATA(seq), s.values = PyArray_DATA(values), s.out = new_of(c, values, s.narrow ? NPY_INT32 : NPY_INT64);
    if (!c->ends) run_shared(search_part, &s, s.count, 40.0 * (double)s.count);
}

const Entry order_entries[] = {
    BOUND("max_dim", extreme_along, .which = LARGEST, .copies = COPIES, .rounds = "0-"),
    BOUND("min_dim", extreme_along, .which = SMALLEST, .copies = COPIES, .rounds = "0-"),
    BOUND("argmax", extreme_along, .which = LARGEST + PLACE_OF, .copies = COPIES, .rounds = "-"),
    BOUND("argmin", extreme_along, .which = SMALLEST + PLACE_OF, .copies = COPIES, .rounds = "-"),
    BOUND("topk", topk, .copies = COPIES, .rounds = "0-"), BOUND("sort", sort, .rounds = "0-"),
    BOUND("median_dim", middle, .which = MEDIAN, .copies = COPIES, .rounds = "0-"),
    BOUND("kthvalue", middle, .which = KTH, .copies = COPIES, .rounds = "0-"),
    BOUND("median", median, .copies = COPIES, .rounds = "0"), BOUND("searchsorted", searchsorted), {NULL},
};
