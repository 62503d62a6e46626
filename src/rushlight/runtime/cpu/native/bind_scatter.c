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

/* The dims that indices stand for: neighbours, or 0. */
static int slots_of(PyObject *attrs, Py_ssize_t indices, int *first) {
    PyObject *slots = attr(attrs, "slots");
    if (!slots) return -1;
    if (!PyTuple_Check(slots)) return 0;
    int found = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots); i++) {
        const int taken = PyObject_IsTrue(PyTuple_GET_ITEM(slots, i));
        if (taken < 0) return -1;
        if (taken && !found++) *first = (int)i;
        if (!taken && found && found < indices) return 0;
    }
    return found == indices;
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

/* Values added to, or written into, out[.., indices, ..]: 1, 0 to refuse, -1 with an exception. */
static int put_at(int what, PyArrayObject *out, PyObject *values, PyObject *const *indices, Py_ssize_t count,
                  int first) {
    Places p = {.what = what, .rows = 1, .out = DATA(out)};
    if (first + count > PyArray_NDIM(out) || !values_fit(ARRAY(values), out, ARRAY(indices[0]), first, (int)count))
        return 0;
    join_dims(&p, out, first, first + (int)count - 1);
    p.picks = PyArray_SIZE(ARRAY(indices[0])), p.values = DATA(ARRAY(values));
    int64_t *at = memory_take((size_t)p.picks * 8);
    if (!at) {
        PyErr_NoMemory();
        return -1;
    }
    p.at = at;
    const int fit = flat_places(at, indices, count, PyArray_DIMS(out) + first);
    if (fit) places_run(&p);
    memory_give(at, (size_t)p.picks * 8);
    return fit;
}

/* A new array of zeros of the shape that attrs say; REFUSE, or NULL with an exception. */
static PyObject *zeros_of(PyObject *attrs) {
    PyObject *of = attr(attrs, "shape");
    if (!of) return NULL;
    if (!PyTuple_Check(of) || PyTuple_GET_SIZE(of) > DIMS) return REFUSE;
    npy_intp shape[DIMS];
    const int ndim = (int)PyTuple_GET_SIZE(of);
    if (attr_dims(attrs, "shape", (idx *)shape, ndim) < 0) return NULL;
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (out) memset(DATA(out), 0, (size_t)PyArray_NBYTES(out));
    return (PyObject *)out;
}

static PyObject *index_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    int first = 0;
    const int usual = slots_of(attrs, nargs - 1, &first);
    if (usual < 0) return NULL;
    if (!usual || !is_plain(args[0]) || !same_indices(args + 1, nargs - 1)) return REFUSE;
    PyObject *out = zeros_of(attrs);
    if (!out || out == REFUSE) return out;
    const int done = put_at(ADD, ARRAY(out), args[0], args + 1, nargs - 1, first);
    if (done > 0) return out;
    Py_DECREF(out);
    return done < 0 ? NULL : REFUSE;
}

static PyObject *index_put_into(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    int first = 0;
    const int adds = attr_flag(attrs, "accumulate"), usual = slots_of(attrs, nargs - 2, &first);
    if (adds < 0 || usual < 0) return NULL;
    if (!usual || !is_plain(args[0]) || !is_plain(args[1]) || !same_indices(args + 2, nargs - 2) ||
        !PyArray_ISWRITEABLE(ARRAY(args[0])))
        return REFUSE;
    const int done = put_at(adds ? ADD : WRITE, ARRAY(args[0]), args[1], args + 2, nargs - 2, first);
    return done < 0 ? NULL : done ? Py_NewRef(args[0]) : REFUSE;
}

/* -- along one dim: gather and the scatters --------------------------------------------------------- */

/* Whether a place is the same for every element before and behind `dim`: an index that was expanded. */
static int is_expanded(PyArrayObject *index, int dim) {
    for (int i = 0; i < PyArray_NDIM(index); i++)
        if (i != dim && PyArray_DIM(index, i) != 1 && PyArray_STRIDE(index, i) != 0) return 0;
    return PyArray_NDIM(index) > 1;
}

/* The places of `index` along `dim` as int64 one after another: a new reference, REFUSE or NULL. */
static PyObject *places_along(Places *p, PyObject *o, int dim) {
    if (!PyArray_CheckExact(o) || (PyArray_TYPE(ARRAY(o)) != NPY_INT64 && PyArray_TYPE(ARRAY(o)) != NPY_INT32))
        return REFUSE;
    PyArrayObject *index = ARRAY(o), *line = NULL;
    p->picks = PyArray_DIM(index, dim), p->rows = is_expanded(index, dim);
    idx count = PyArray_SIZE(index);
    if (p->rows) {
        npy_intp n = p->picks, step = PyArray_STRIDE(index, dim);
        PyArray_Descr *type = PyArray_DESCR(index);
        Py_INCREF(type);
        line = ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, 1, &n, &step, PyArray_DATA(index), 0, NULL));
        if (!line) return NULL;
        index = line, count = n;
    }
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED;
    PyArrayObject *plain = ARRAY(PyArray_FROM_OTF((PyObject *)index, NPY_INT64, flags));
    Py_XDECREF(line); /* its memory is the index's, which the caller keeps alive */
    if (!plain) return NULL;
    p->at = PyArray_DATA(plain);
    if (all_within(p->at, count, p->extent)) return (PyObject *)plain;
    Py_DECREF(plain);
    return REFUSE;
}

/* Whether the shapes of a and b are the same but for `dim`. */
static int same_but(PyArrayObject *a, PyArrayObject *b, int dim) {
    if (PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (i != dim && PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
    return 1;
}

/* Which dim of `x` an index of the same shape elsewhere goes along; -1 to refuse, -2 with an exception. */
static int dim_along(PyArrayObject *x, PyObject *index, PyObject *attrs) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return -2;
    const int ndim = PyArray_NDIM(x);
    if (!PyArray_CheckExact(index) || ndim < 1 || ndim > DIMS || dim < 0 || dim >= ndim) return -1;
    return same_but(x, ARRAY(index), (int)dim) && PyArray_SIZE(ARRAY(index)) ? (int)dim : -1;
}

/* One number written to all places; takes the reference of `out`. */
static PyObject *fill_places(PyArrayObject *out, PyObject *index, int dim, float value) {
    Places p = {.what = FILL, .fill = value, .out = DATA(out)};
    join_dims(&p, out, dim, dim);
    PyObject *places = places_along(&p, index, dim);
    if (!places || places == REFUSE) {
        Py_DECREF(out);
        return places;
    }
    places_run(&p);
    Py_DECREF(places);
    return (PyObject *)out;
}

/* Join values into `out`, which holds what stands there; takes the reference of `out`. */
static PyObject *scatter_into(Places *p, PyArrayObject *out, PyObject *index, PyObject *values, int dim) {
    PyObject *places = REFUSE;
    join_dims(p, out, dim, dim);
    p->behind = PyArray_DIM(ARRAY(values), dim) - PyArray_DIM(ARRAY(index), dim);
    if (p->behind >= 0 && same_but(out, ARRAY(values), dim)) places = places_along(p, index, dim);
    if (!places || places == REFUSE) {
        Py_DECREF(out);
        return places;
    }
    p->out = DATA(out), p->values = DATA(ARRAY(values));
    const int what = p->what;
    if (p->fill != 0.0f) { /* what stood there shall not take part */
        p->what = FILL;
        places_run(p);
        p->what = what;
    }
    places_run(p);
    Py_DECREF(places);
    return (PyObject *)out;
}

static PyObject *joined(PyObject *const *args, PyObject *attrs, Places *p) {
    const int number = p->what == WRITE && (PyFloat_CheckExact(args[2]) || PyLong_CheckExact(args[2]));
    if (!is_plain(args[0]) || !(number || is_plain(args[2]))) return REFUSE;
    const double value = number ? PyFloat_AsDouble(args[2]) : 0.0;
    if (value == -1.0 && PyErr_Occurred()) return NULL;
    PyArrayObject *x = ARRAY(args[0]);
    const int dim = dim_along(x, args[1], attrs);
    if (dim < 0) return dim == -2 ? NULL : REFUSE;
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    memcpy(DATA(out), DATA(x), (size_t)PyArray_NBYTES(x));
    if (number) return fill_places(out, args[1], dim, (float)value);
    return scatter_into(p, out, args[1], args[2], dim);
}

static PyObject *scatter_add(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Places p = {.what = ADD};
    return joined(args, attrs, &p);
}

static PyObject *scatter(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Places p = {.what = WRITE};
    return joined(args, attrs, &p);
}

static PyObject *scatter_reduce(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *kind = attr(attrs, "kind");
    const int self = attr_flag(attrs, "include_self");
    if (!kind || self < 0) return NULL;
    Places p = {.what = PROD, .fill = 1.0f};
    if (PyUnicode_CompareWithASCIIString(kind, "amax") == 0) p.what = TOP, p.fill = -INFINITY;
    else if (PyUnicode_CompareWithASCIIString(kind, "amin") == 0) p.what = BOTTOM, p.fill = INFINITY;
    if (self) p.fill = 0.0f;
    return joined(args, attrs, &p);
}

static PyObject *gather_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Places p = {.what = ADD};
    if (!is_plain(args[0])) return REFUSE;
    PyObject *out = zeros_of(attrs);
    if (!out || out == REFUSE) return out;
    const int dim = dim_along(ARRAY(out), args[1], attrs);
    if (dim >= 0) return scatter_into(&p, ARRAY(out), args[1], args[0], dim);
    Py_DECREF(out);
    return dim == -2 ? NULL : REFUSE;
}

static PyObject *gather(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Places p = {.what = READ};
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int dim = dim_along(x, args[1], attrs);
    if (dim < 0) return dim == -2 ? NULL : REFUSE;
    join_dims(&p, x, dim, dim);
    PyObject *places = places_along(&p, args[1], dim);
    if (!places || places == REFUSE) return places;
    PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(ARRAY(args[1])), NPY_FLOAT32);
    if (out) {
        p.x = DATA(x), p.out = DATA(out);
        places_run(&p);
    }
    Py_DECREF(places);
    return (PyObject *)out;
}

const Entry scatter_entries[] = {
    {"index_grad", index_grad, COPIES}, {"index_put_into", index_put_into, 0}, {"scatter_add", scatter_add, COPIES},
    {"scatter", scatter, COPIES}, {"scatter_reduce", scatter_reduce, COPIES}, {"gather_grad", gather_grad, COPIES}, {"gather", gather, 0},
    {NULL, NULL},
};
