/* resample_axis: interpolation, padding by what is there, adaptive means: places along one dim as weighted sums of others;
 * padding by one value. */
#include <math.h>

#include "arrays.h"

#include "codes.h"

typedef struct {
    idx from, length; /* from: the place that is copied to the first one; -1: places that are sums */
} Run;

typedef struct {
    idx outer, n, m, inner; /* m places become n */
    idx taps;
    const int32_t *at;      /* [tap][n] */
    const float *weight;    /* the same, or NULL: places are copied */
    int skip;               /* a weight of 0 only fills the table */
    const float *x;
    float *out;
    idx *rows;              /* [n][tap]: where they begin */
    float *weights;         /* [n][tap] */
    Run *runs;              /* places that follow each other, n of them in all; NULL: all are sums */
    idx count, sums;        /* of runs; of places that are sums */
    int32_t *sum_at;        /* [tap][sums], of the places that are sums */
    float *sum_weight;
} Resample;

/* Whether place j is one place as it stands. */
static int is_copy(const Resample *r, idx j) {
    if (!r->weight) return 1;
    if (!r->skip || r->weight[j] != 1.0f) return 0;
    for (idx t = 1; t < r->taps; t++)
        if (r->weight[t * r->n + j] != 0.0f) return 0;
    return 1;
}

/* Places that follow each other are copied together: padding leaves the middle of a row as it is, its gradient too. */
static void find_runs(Resample *r) {
    for (idx j = 0, end; j < r->n; j = end) {
        const int copy = is_copy(r, j);
        for (end = j + 1; end < r->n && is_copy(r, end) == copy && (!copy || r->at[end] == r->at[j] + end - j); end++) {}
        r->runs[r->count++] = (Run){copy ? r->at[j] : -1, end - j};
        if (!copy) r->sums += end - j;
    }
}

#define SUMS 256 /* places of a row that are sums, at most, where others are copies */

/* The tables of the places that are sums. */
static void pick_sums(Resample *r) {
    idx j = 0, k = 0;
    for (idx i = 0; i < r->count; j += r->runs[i++].length)
        for (idx q = j; r->runs[i].from < 0 && q < j + r->runs[i].length; q++, k++)
            for (idx t = 0; t < r->taps; t++) {
                r->sum_at[t * r->sums + k] = r->at[t * r->n + q];
                r->sum_weight[t * r->sums + k] = r->weight[t * r->n + q];
            }
}

#define NEAR_FLOATS 4096 /* of rows that all runs pass over: they stay in the first cache */

/* Rows of which every place is a copy. */
static void copy_places(const Resample *r, idx first, idx rows) {
    const idx x_row = r->m * r->inner, row = r->n * r->inner;
    const float *x = r->x + first * x_row;
    float *out = r->out + first * row;
    if (r->inner == 1 && r->count * 4 > r->n) { /* hardly any neighbours */
        for (; rows > 0; rows--, x += x_row, out += row)
            for (idx j = 0; j < r->n; j++) out[j] = x[r->at[j]];
        return;
    }
    const idx together = row < NEAR_FLOATS ? NEAR_FLOATS / row : 1;
    for (; rows > 0; rows -= together, x += together * x_row, out += together * row) {
        float *to = out;
        for (const Run *run = r->runs; run < r->runs + r->count; to += run->length * r->inner, run++)
            RL->copy_rows(x + run->from * r->inner, x_row, to, row, rows < together ? rows : together, run->length * r->inner);
    }
}

/* Every place twice: what most images are enlarged by. */
static void copy_twice(const float *restrict x, float *restrict out, idx n) {
    for (idx i = 0; i < n; i++) out[2 * i] = out[2 * i + 1] = x[i];
}

static int is_twice(const Resample *r) {
    if (r->weight || r->inner != 1 || r->n != 2 * r->m) return 0;
    for (idx j = 0; j < r->n; j++)
        if (r->at[j] != j / 2) return 0;
    return 1;
}

/* Rows in which some places are copies, others sums. A copy gets the zeros that a sum of it and nothing would have. */
static void mix_some(const Resample *r, const float *x, float *out) {
    float sums[SUMS];
    const float *sum = sums;
    if (r->inner == 1) RL->mix_places(x, r->sum_at, r->sum_weight, r->taps, r->skip, sums, r->sums);
    idx j = 0;
    for (const Run *run = r->runs; run < r->runs + r->count; run++) {
        float *to = out + j * r->inner;
        if (run->from >= 0 && r->inner == 1) RL->binary_scalar(B_ADD, x + run->from, 0.0f, to, run->length);
        else if (run->from >= 0) memcpy(to, x + run->from * r->inner, (size_t)(run->length * r->inner) * 4);
        else if (r->inner == 1)
            for (idx q = 0; q < run->length; q++) to[q] = *sum++;
        else
            for (idx q = j; q < j + run->length; q++, to += r->inner)
                RL->mix_rows(x, r->rows + q * r->taps, r->weights + q * r->taps, r->taps, r->skip, to, r->inner);
        j += run->length;
    }
}

static void resample_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Resample *r = what;
    if (r->inner == 1 || r->runs) {
        const idx first = share(r->outer, i, parts), end = share(r->outer, i + 1, parts);
        if (!r->weight && is_twice(r)) copy_twice(r->x + first * r->m, r->out + first * r->n, (end - first) * r->m);
        else if (!r->weight) copy_places(r, first, end - first);
        for (idx o = first; r->weight && o < end; o++) {
            const float *x = r->x + o * r->m * r->inner;
            float *out = r->out + o * r->n * r->inner;
            if (r->runs) mix_some(r, x, out);
            else RL->mix_places(x, r->at, r->weight, r->taps, r->skip, out, r->n);
        }
        return;
    }
    idx k = share(r->outer * r->n, i, parts), o = k / r->n, j = k % r->n;
    for (; k < share(r->outer * r->n, i + 1, parts); k++) {
        const float *x = r->x + o * r->m * r->inner;
        float *out = r->out + k * r->inner;
        RL->mix_rows(x, r->rows + j * r->taps, r->weights + j * r->taps, r->taps, r->skip, out, r->inner);
        if (++j == r->n) j = 0, o++;
    }
}

static void resample_run(Call *c, Resample *r) {
    const idx all = r->n * r->taps;
    char *lists = room(c, (size_t)all * (sizeof(idx) + 12) + (size_t)r->n * sizeof(Run));
    if (!lists) return;
    r->runs = (Run *)lists, r->rows = (idx *)(r->runs + r->n);
    r->weights = (float *)(r->rows + all), r->sum_weight = r->weights + all, r->sum_at = (int32_t *)(r->sum_weight + all);
    find_runs(r);
    if (r->weight && (r->sums * 2 > r->n || r->count * 4 > r->n || r->sums > SUMS || r->outer < 8)) r->runs = NULL;
    if (r->weight && r->runs) pick_sums(r);
    for (idx j = 0; r->weight && r->inner > 1 && j < r->n; j++)
        for (idx t = 0; t < r->taps; t++) {
            r->rows[j * r->taps + t] = r->at[t * r->n + j] * r->inner;
            r->weights[j * r->taps + t] = r->weight[t * r->n + j];
        }
    run_shared(resample_part, r, r->runs || r->inner == 1 ? r->outer : r->outer * r->n, 0.5 * (double)(r->outer * r->n) * (double)(r->inner * r->taps));
}

static void resample_axis(Call *c) {
    Resample r = {0};
    npy_intp shape[DIMS];
    const idx axis = idx_of(c, "axis");
    PyObject *plan = attr_of(c, "plan"), *flip = attr_of(c, "flip");
    PyArrayObject *x = floats(c, 0);
    if (!along(c, x, axis, &r.outer, &r.m, &r.inner) || !need(c, PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return;
    /* the plan's table: (places int32, weights float32 or None, whether zeros only fill it) */
    PyObject *table = (PyObject *)aside(c, ARRAY(PyObject_CallMethod(plan, "table", "O", flip)));
    if (!table) return;
    PyObject *at = PyTuple_GET_ITEM(table, 0), *weight = PyTuple_GET_ITEM(table, 1);
    r.at = PyArray_DATA(ARRAY(at)), r.taps = PyArray_DIM(ARRAY(at), 0), r.n = PyArray_DIM(ARRAY(at), 1);
    r.weight = weight == Py_None ? NULL : DATA(ARRAY(weight));
    r.skip = PyTuple_GET_ITEM(table, 2) == Py_True;
    for (idx i = 0; i < r.taps * r.n; i++)
        if (!need(c, r.at[i] >= 0 && r.at[i] < r.m)) return;
    memcpy(shape, PyArray_DIMS(x), sizeof(npy_intp) * (size_t)PyArray_NDIM(x));
    shape[axis] = r.n, r.x = DATA(x);
    r.out = need(c, r.taps > 0 && r.n > 0) ? new_floats(c, PyArray_NDIM(x), shape) : NULL;
    resample_run(c, &r);
}

/* -- one value around an array ------------------------------------------------------------------------------ */

typedef struct {
    const float *x;
    float *out, value;
    int ndim; /* at least 2: a plane of rows; dims behind the last one that changes are part of a row */
    idx in[DIMS], size[DIMS], from[DIMS], to[DIMS], count[DIMS]; /* `count` of the `in` places, those from `from` on, go to `to` */
    idx planes;
} Pad;

static void fill(float *to, idx n, float value) {
    for (idx i = 0; i < n; i++) to[i] = value;
}

static void pad_plane(const Pad *p, const float *x, float *out) {
    const int k = p->ndim - 2, l = p->ndim - 1;
    const idx width = p->size[l], rows = p->count[k], gap = width - p->count[l];
    float *first = out + p->to[k] * width + p->to[l];
    RL->copy_rows(x + p->from[k] * p->in[l] + p->from[l], p->in[l], first, width, rows, p->count[l]);
    fill(out, first - out, p->value);
    float *behind = first + p->count[l];
    for (idx r = 1; gap && r < rows; r++, behind += width) fill(behind, gap, p->value); /* to the next row's first place */
    behind = first + (rows - 1) * width + p->count[l];
    fill(behind, out + p->size[k] * width - behind, p->value);
}

static void pad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pad *p = what;
    const int k = p->ndim - 2;
    const idx area = p->size[k] * p->size[k + 1], in_area = p->in[k] * p->in[k + 1];
    for (idx q = share(p->planes, i, parts); q < share(p->planes, i + 1, parts); q++) {
        idx left = q, from = 0, stride = 1;
        int inside = 1;
        for (int d = k - 1; d >= 0; d--) {
            const idx at = left % p->size[d] - p->to[d];
            inside = inside && at >= 0 && at < p->count[d];
            from += (at + p->from[d]) * stride;
            left /= p->size[d], stride *= p->in[d];
        }
        if (inside) pad_plane(p, p->x + from * in_area, p->out + q * area);
        else fill(p->out + q * area, area, p->value);
    }
}

/* One dim: `before` and `after` places are added, or cut where these are negative; 0 where nothing of the array is left. */
static int pad_dim(Pad *p, int d, idx n, idx before, idx after) {
    p->in[d] = n, p->size[d] = n + before + after;
    p->from[d] = before < 0 ? -before : 0, p->to[d] = before > 0 ? before : 0;
    p->count[d] = n - p->from[d] - (after < 0 ? -after : 0);
    return p->count[d] > 0;
}

static void pad_constant(Call *c) {
    double value;
    npy_intp shape[DIMS];
    PyObject *widths = attr_of(c, "widths"), *given = attr_of(c, "value");
    PyArrayObject *x = floats(c, 0);
    if (c->ends || !need(c, PyTuple_Check(widths) && plain_number(given, &value))) return;
    const int ndim = PyArray_NDIM(x), lead = ndim == 1; /* a row is a plane, too */
    Pad p = {.x = DATA(x), .value = value == 0 ? 0.0f : (float)value, .ndim = ndim + lead, .planes = 1}; /* zeros have no sign here */
    if (!need(c, ndim >= 1 && ndim < DIMS && PyArray_SIZE(x) > 0 && PyTuple_GET_SIZE(widths) == ndim && (isfinite(p.value) || !isfinite(value)))) return;
    pad_dim(&p, 0, 1, 0, 0);
    for (int d = 0; d < ndim; d++) {
        PyObject *pair = PyTuple_GET_ITEM(widths, d);
        if (!need(c, PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)) return;
        const long long before = PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 0)), after = PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 1));
        if (PyErr_Occurred()) fail(c);
        if (!need(c, pad_dim(&p, d + lead, PyArray_DIM(x, d), (idx)before, (idx)after))) return;
        shape[d] = p.size[d + lead];
    }
    if (!(p.out = new_floats(c, ndim, shape))) return;
    for (int l = p.ndim - 1; l >= 2 && p.size[l] == p.in[l] && !p.from[l] && !p.to[l]; l = --p.ndim - 1) { /* the last one stays: */
        const idx n = p.in[l];                                                                             /* part of a row */
        p.in[l - 1] *= n, p.size[l - 1] *= n, p.from[l - 1] *= n, p.to[l - 1] *= n, p.count[l - 1] *= n;
    }
    for (int d = 0; d < p.ndim - 2; d++) p.planes *= p.size[d];
    run_shared(pad_part, &p, p.planes, 0.3 * (double)PyArray_SIZE(c->result[0]) + 10.0 * (double)p.planes);
}

const Entry resample_entries[] = {BOUND("resample_axis", resample_axis, .copies = COPIES), BOUND("pad_constant", pad_constant), {NULL}};
