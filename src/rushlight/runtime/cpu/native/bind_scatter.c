/* Adding at places that an index names, maybe many times: index_grad, index_put_into, scatter_add, gather_grad;
 * scatter, which writes; scatter_reduce, which keeps extremes or products; and gather, which reads there. Terms are taken in the order of
 * the index on any number of threads, so that results do not depend on it. */
#include "arrays.h"
#include "codes.h"

enum { ADD, TOP, BOTTOM, PROD, WRITE, FILL, READ };

/* An array of [outer][extent][width], and values of [outer][picks][width] for it. */
typedef struct {
    int what;
    const float *values, *x; /* x: what READ reads from */
    const int64_t *at;       /* rows: [picks]; else [outer][picks][width] */
    float *out, fill;        /* fill: written there first, unless it is 0 */
    idx outer, extent, width, picks;
    idx behind;              /* rows of values that no place is named for */
    int rows;                /* whether a place is that of a whole row */
    int by_extent;           /* whether a share is of the extent rather than of `outer` */
} Places;

#define TOP_OF(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b)) /* a NaN on either side is the answer */
#define BOTTOM_OF(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))

static void join_row(const Places *p, float *to, const float *v) {
    const idx n = p->width;
    switch (p->what) {
    case ADD:
        if (n >= 8) RL->add_into(to, v, n);
        else
            for (idx k = 0; k < n; k++) to[k] += v[k];
        break;
    case TOP: RL->binary(B_MAXIMUM, to, v, to, n); break;
    case BOTTOM: RL->binary(B_MINIMUM, to, v, to, n); break;
    case PROD: RL->binary(B_MUL, to, v, to, n); break;
    case WRITE: memcpy(to, v, (size_t)n * 4); break;
    case FILL:
        for (idx k = 0; k < n; k++) to[k] = p->fill;
    }
}

/* Rows from `low` to `high` of image `o`: every share walks all places and takes its own. */
static void whole_rows(const Places *p, idx o, idx low, idx high) {
    const idx w = p->width;
    if (p->what == READ) {
        float *to = p->out + o * p->picks * w;
        const float *x = p->x + o * p->extent * w;
        for (idx j = 0; j < p->picks; j++) memcpy(to + j * w, x + p->at[j] * w, (size_t)w * 4);
        return;
    }
    float *out = p->out + o * p->extent * w;
    const float *v = p->what == FILL ? out : p->values + o * (p->picks + p->behind) * w; /* FILL reads none */
    const idx step = p->what == FILL ? 0 : w;
    if (w == 1 && p->what == ADD && low == 0 && high == p->extent) {
        for (idx j = 0; j < p->picks; j++) out[p->at[j]] += v[j];
        return;
    }
    for (idx j = 0; j < p->picks; j++, v += step)
        if (p->at[j] >= low && p->at[j] < high) join_row(p, out + p->at[j] * w, v);
}

#define JOIN_AT(place, expr) \
    { \
        float *const to = out + (place); \
        const float a = *to, b = *v++; \
        (void)a, (void)b; \
        *to = (expr); \
    }
#define EACH_PLACE(expr) \
    if (w == 1) \
        for (; at < end; at++) JOIN_AT(*at, expr) \
    else \
        while (at < end) \
            for (idx k = 0; k < w; k++, at++) JOIN_AT(*at * w + k, expr) \
    break

static void one_by_one(const Places *p, idx o) {
    const idx w = p->width;
    const int64_t *at = p->at + o * p->picks * w, *const end = at + p->picks * w;
    float *out = p->out + o * (p->what == READ ? p->picks : p->extent) * w;
    const float *v = p->what == READ   ? p->x + o * p->extent * w
                     : p->what == FILL ? NULL
                                       : p->values + o * (p->picks + p->behind) * w;
    switch (p->what) {
    case ADD: EACH_PLACE(a + b);
    case TOP: EACH_PLACE(TOP_OF(a, b));
    case BOTTOM: EACH_PLACE(BOTTOM_OF(a, b));
    case PROD: EACH_PLACE(a * b);
    case WRITE: EACH_PLACE(b);
    case FILL:
        while (at < end)
            for (idx k = 0; k < w; k++) out[*at++ * w + k] = p->fill;
        break;
    case READ:
        if (w == 1)
            while (at < end) *out++ = v[*at++];
        else
            while (at < end)
                for (idx k = 0; k < w; k++) *out++ = v[*at++ * w + k];
    }
}

static void places_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Places *p = what;
    if (p->by_extent) {
        for (idx o = 0; o < p->outer; o++)
            whole_rows(p, o, share(p->extent, i, parts), share(p->extent, i + 1, parts));
        return;
    }
    for (idx o = share(p->outer, i, parts); o < share(p->outer, i + 1, parts); o++) {
        if (p->rows) whole_rows(p, o, 0, p->extent);
        else one_by_one(p, o);
    }
}

static void places_run(Places *p) {
    const double ns = (double)(p->outer * p->picks) * (1.0 + (double)p->width * (p->rows ? 0.3 : 1.5));
    p->by_extent = p->rows && p->what != READ && p->outer < 4 && p->width >= 8;
    run_parts(places_part, p, threads_parts(ns, p->by_extent ? p->extent : p->outer), ns);
}

/* Dims before, at and behind `dim` .. `last`, joined. */
static void join_dims(Places *p, PyArrayObject *a, int dim, int last) {
    p->outer = p->extent = p->width = 1;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        *(i < dim ? &p->outer : i <= last ? &p->extent : &p->width) *= PyArray_DIM(a, i);
}

/* Whether all places are from 0 to below `size`: a sign is found in one of two differences. */
static int all_within(const int64_t *at, idx n, idx size) {
    uint64_t signs = 0;
    for (idx j = 0; j < n; j++) signs |= (uint64_t)at[j] | ((uint64_t)(size - 1) - (uint64_t)at[j]);
    return !(signs >> 63);
}

/* places_within(array, size): the same for int64 or int32 arrays that lie in one piece; None for others. */
PyObject *m_places_within(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2 || !PyArray_CheckExact(args[0]) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0]))) Py_RETURN_NONE;
    const idx size = PyLong_AsSsize_t(args[1]), n = PyArray_SIZE(ARRAY(args[0]));
    if (size == -1 && PyErr_Occurred()) return NULL;
    if (is_type(args[0], NPY_INT64)) return PyBool_FromLong(all_within(PyArray_DATA(ARRAY(args[0])), n, size));
    if (!is_type(args[0], NPY_INT32)) Py_RETURN_NONE;
    const int32_t *at = PyArray_DATA(ARRAY(args[0]));
    uint64_t signs = 0;
    for (idx j = 0; j < n; j++) signs |= (uint64_t)(int64_t)at[j] | (uint64_t)((int64_t)size - 1 - at[j]);
    return PyBool_FromLong(!(signs >> 63));
}

/* -- x[i], x[:, i, j]: gradients and additions ------------------------------------------------------ */

/* The first of the dims that `indices` indices stand for, where they are neighbours; -1 where it ends. */
static int slots_of(Call *c, Py_ssize_t indices) {
    PyObject *slots = attr_of(c, "slots");
    if (!slots || !need(c, PyTuple_Check(slots))) return -1;
    int found = 0, first = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots); i++) {
        const int taken = PyObject_IsTrue(PyTuple_GET_ITEM(slots, i));
        if (taken < 0) fail(c);
        if (taken && !found++) first = (int)i;
        if (!need(c, taken || !found || found >= indices)) return -1;
    }
    return need(c, found == indices) ? first : -1;
}

/* Whether `v` has the shape of `x` with the indices' in the place of the picked dims, or that without leading ones. */
static int values_fit(PyArrayObject *v, PyArrayObject *x, PyArrayObject *index, int first, int count) {
    npy_intp want[3 * DIMS];
    int n = 0;
    for (int i = 0; i < first; i++) want[n++] = PyArray_DIM(x, i);
    for (int i = 0; i < PyArray_NDIM(index); i++) want[n++] = PyArray_DIM(index, i);
    for (int i = first + count; i < PyArray_NDIM(x); i++) want[n++] = PyArray_DIM(x, i);
    const int more = n - PyArray_NDIM(v);
    for (int i = 0; i < n; i++)
        if (i < more ? want[i] != 1 : want[i] != PyArray_DIM(v, i - more)) return 0;
    return more >= 0;
}

/* Flat places among the picked dims, negative ones counted from the end; 0 where one is out of range. */
static int flat_places(int64_t *to, PyObject *const *indices, Py_ssize_t count, const npy_intp *sizes) {
    const idx n = PyArray_SIZE(ARRAY(indices[0]));
    for (Py_ssize_t d = 0; d < count; d++) {
        const int64_t *from = PyArray_DATA(ARRAY(indices[d]));
        for (idx j = 0; j < n; j++) {
            if (from[j] < -sizes[d] || from[j] >= sizes[d]) return 0;
            const int64_t at = from[j] < 0 ? from[j] + sizes[d] : from[j];
            to[j] = d ? to[j] * sizes[d] + at : at;
        }
    }
    return 1;
}

static int same_indices(PyObject *const *indices, Py_ssize_t count) {
    for (Py_ssize_t d = 0; d < count; d++) {
        if (!is_type(indices[d], NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(indices[d]))) return 0;
        if (!PyArray_SAMESHAPE(ARRAY(indices[0]), ARRAY(indices[d]))) return 0;
    }
    return count > 0 && PyArray_NDIM(ARRAY(indices[0])) <= DIMS && PyArray_SIZE(ARRAY(indices[0])) > 0;
}

/* Values added to, or written into, out[.., indices, ..]; indices are the arguments from `from` on. */
static void put_at(Call *c, int what, PyArrayObject *out, PyArrayObject *values, int from) {
    const Py_ssize_t count = c->count - from;
    PyObject *const *indices = c->args + from;
    const int first = slots_of(c, count);
    if (c->ends || !need(c, same_indices(indices, count))) return;
    if (!need(c, first + count <= PyArray_NDIM(out) && values_fit(values, out, ARRAY(indices[0]), first, (int)count))) return;
    Places p = {.what = what, .rows = 1, .out = DATA(out), .picks = PyArray_SIZE(ARRAY(indices[0])), .values = DATA(values)};
    join_dims(&p, out, first, first + (int)count - 1);
    int64_t *at = room(c, (size_t)p.picks * 8);
    if (!at || !need(c, flat_places(at, indices, count, PyArray_DIMS(out) + first))) return;
    p.at = at;
    places_run(&p);
}

/* A result of zeros, of the shape that attributes say. */
static PyArrayObject *new_zeros(Call *c) {
    npy_intp shape[DIMS];
    PyObject *of = attr_of(c, "shape");
    if (!of || !need(c, PyTuple_Check(of) && PyTuple_GET_SIZE(of) <= DIMS)) return NULL;
    const int ndim = (int)PyTuple_GET_SIZE(of);
    if (!dims_of(c, "shape", shape, ndim) || !new_floats(c, ndim, shape)) return NULL;
    memset(DATA(c->result[0]), 0, (size_t)PyArray_NBYTES(c->result[0]));
    return c->result[0];
}

static void index_grad(Call *c) {
    PyArrayObject *g = floats(c, 0);
    if (!g || slots_of(c, c->count - 1) < 0 || !need(c, same_indices(c->args + 1, c->count - 1))) return;
    PyArrayObject *out = new_zeros(c);
    if (out) put_at(c, ADD, out, g, 1);
}

static void index_put_into(Call *c) {
    const int adds = flag_of(c, "accumulate");
    PyArrayObject *x = floats(c, 0), *values = floats(c, 1);
    if (c->ends || !need(c, PyArray_ISWRITEABLE(x))) return;
    put_at(c, adds ? ADD : WRITE, x, values, 2);
    if (!c->ends) new_made(c, ARRAY(Py_NewRef((PyObject *)x)));
}

/* -- along one dim: gather and the scatters --------------------------------------------------------- */

/* Whether a place is the same for every element before and behind `dim`: an index that was expanded. */
static int is_expanded(PyArrayObject *index, int dim) {
    for (int i = 0; i < PyArray_NDIM(index); i++)
        if (i != dim && PyArray_DIM(index, i) != 1 && PyArray_STRIDE(index, i) != 0) return 0;
    return PyArray_NDIM(index) > 1;
}

/* The places of `index` along `dim` as int64 one after another; 0 where it ends. */
static int places_along(Call *c, Places *p, PyArrayObject *index, int dim) {
    if (c->ends || !need(c, PyArray_TYPE(index) == NPY_INT64 || PyArray_TYPE(index) == NPY_INT32)) return 0;
    p->picks = PyArray_DIM(index, dim), p->rows = is_expanded(index, dim);
    idx count = PyArray_SIZE(index);
    if (p->rows) {
        npy_intp n = count = p->picks, step = PyArray_STRIDE(index, dim);
        PyArray_Descr *type = PyArray_DESCR(index);
        Py_INCREF(type);
        index = aside(c, ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, 1, &n, &step, PyArray_DATA(index), 0, NULL)));
        if (!index) return 0;
    }
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED;
    PyArrayObject *plain = aside(c, ARRAY(PyArray_FROM_OTF((PyObject *)index, NPY_INT64, flags)));
    if (!plain) return 0;
    p->at = PyArray_DATA(plain);
    return need(c, all_within(p->at, count, p->extent));
}

/* Whether the shapes of a and b are the same but for `dim`. */
static int same_but(PyArrayObject *a, PyArrayObject *b, int dim) {
    if (PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (i != dim && PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
    return 1;
}

/* Which dim of `x` an index (argument 1) of the same shape elsewhere goes along; -1 where it ends. */
static int dim_along(Call *c, PyArrayObject *x) {
    const idx dim = idx_of(c, "dim");
    if (!x || !need(c, PyArray_CheckExact(c->args[1]) && PyArray_NDIM(x) >= 1 && PyArray_NDIM(x) <= DIMS && dim >= 0 && dim < PyArray_NDIM(x))) return -1;
    return need(c, same_but(x, ARRAY(c->args[1]), (int)dim) && PyArray_SIZE(ARRAY(c->args[1]))) ? (int)dim : -1;
}

/* Join values into `out`, which holds what stands there, at the places of argument 1. */
static void scatter_into(Call *c, Places *p, PyArrayObject *out, PyArrayObject *values, int dim) {
    PyArrayObject *index = ARRAY(c->args[1]);
    join_dims(p, out, dim, dim);
    p->behind = PyArray_DIM(values, dim) - PyArray_DIM(index, dim);
    if (!places_along(c, p, index, dim)) return;
    p->out = DATA(out), p->values = DATA(values);
    const int what = p->what;
    if (p->fill != 0.0f) { /* what stood there shall not take part */
        p->what = FILL;
        places_run(p);
        p->what = what;
    }
    places_run(p);
}

static void joined(Call *c, Places p) {
    const int number = p.what == WRITE && (PyFloat_CheckExact(c->args[2]) || PyLong_CheckExact(c->args[2]));
    PyArrayObject *x = floats(c, 0), *values = number ? NULL : floats(c, 2);
    const double value = number ? PyFloat_AsDouble(c->args[2]) : 0.0;
    if (value == -1.0 && PyErr_Occurred()) fail(c);
    const int dim = dim_along(c, x);
    if (dim < 0 || !need(c, number || (same_but(x, values, dim) && PyArray_DIM(values, dim) >= PyArray_DIM(ARRAY(c->args[1]), dim)))) return;
    if (!new_like(c, x)) return;
    memcpy(DATA(c->result[0]), DATA(x), (size_t)PyArray_NBYTES(x));
    if (!number) {
        scatter_into(c, &p, c->result[0], values, dim);
        return;
    }
    p.what = FILL, p.fill = (float)value, p.out = DATA(c->result[0]); /* one number written to all places */
    join_dims(&p, x, dim, dim);
    if (places_along(c, &p, ARRAY(c->args[1]), dim)) places_run(&p);
}

static void scatter(Call *c) { joined(c, (Places){.what = c->which}); }

static void scatter_reduce(Call *c) {
    PyObject *kind = attr_of(c, "kind");
    Places p = {.what = PROD, .fill = 1.0f};
    if (!kind) return;
    if (PyUnicode_CompareWithASCIIString(kind, "amax") == 0) p.what = TOP, p.fill = -INFINITY;
    else if (PyUnicode_CompareWithASCIIString(kind, "amin") == 0) p.what = BOTTOM, p.fill = INFINITY;
    if (flag_of(c, "include_self")) p.fill = 0.0f;
    joined(c, p);
}

static void gather_grad(Call *c) {
    PyArrayObject *g = floats(c, 0), *out = g ? new_zeros(c) : NULL;
    const int dim = out ? dim_along(c, out) : -1;
    if (dim < 0 || !need(c, same_but(out, g, dim) && PyArray_DIM(g, dim) >= PyArray_DIM(ARRAY(c->args[1]), dim))) return;
    scatter_into(c, &(Places){.what = ADD}, out, g, dim);
}

static void gather(Call *c) {
    Places p = {.what = READ};
    PyArrayObject *x = floats(c, 0);
    const int dim = dim_along(c, x);
    if (dim < 0) return;
    join_dims(&p, x, dim, dim);
    if (!places_along(c, &p, ARRAY(c->args[1]), dim) || !(p.out = new_like(c, ARRAY(c->args[1])))) return;
    p.x = DATA(x);
    places_run(&p);
}

const Entry scatter_entries[] = {
    BOUND("index_grad", index_grad, .copies = COPIES), BOUND("index_put_into", index_put_into), BOUND("gather", gather),
    BOUND("scatter_add", scatter, .which = ADD, .copies = COPIES), BOUND("scatter", scatter, .which = WRITE, .copies = COPIES),
    BOUND("scatter_reduce", scatter_reduce, .copies = COPIES), BOUND("gather_grad", gather_grad, .copies = COPIES), {NULL},
};
