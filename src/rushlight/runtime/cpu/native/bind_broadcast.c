/* Operands of different shapes: arithmetic row by row over what is stretched, and the stretched view itself. */
#include "arrays.h"

#include "codes.h"

typedef struct {
    int which, turned, dims; /* turned: `which` where the number comes first */
    idx size[DIMS], a_step[DIMS], b_step[DIMS]; /* outermost first; the last one is a row */
    const float *a, *b;
    float *out;
    idx rows;
} Stretch;

static void stretch_row(const Stretch *s, const float *a, const float *b, float *out) {
    const int last = s->dims - 1;
    const idx n = s->size[last];
    if (s->a_step[last] && s->b_step[last]) RL->binary(s->which, a, b, out, n);
    else if (s->a_step[last]) RL->binary_scalar(s->which, a, *b, out, n);
    else RL->binary_scalar(s->turned, b, *a, out, n);
}

static void stretch_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Stretch *s = what;
    idx r = share(s->rows, i, parts), left = r, a = 0, b = 0, at[DIMS];
    for (int d = s->dims - 2; d >= 0; d--) {
        at[d] = left % s->size[d];
        left /= s->size[d];
        a += at[d] * s->a_step[d];
        b += at[d] * s->b_step[d];
    }
    for (; r < share(s->rows, i + 1, parts); r++) {
        stretch_row(s, s->a + a, s->b + b, s->out + r * s->size[s->dims - 1]);
        for (int d = s->dims - 2; d >= 0; d--) { /* the next row, without divisions */
            a += s->a_step[d], b += s->b_step[d];
            if (++at[d] < s->size[d]) break;
            a -= at[d] * s->a_step[d], b -= at[d] * s->b_step[d];
            at[d] = 0;
        }
    }
}

/* Steps of an array along the result's dims, in floats, 0 where it is stretched. False where its dims lie in memory in
 * another order: then the result would, too. */
static int steps_of(PyArrayObject *a, int ndim, const npy_intp *shape, idx *step) {
    const int lead = ndim - PyArray_NDIM(a);
    idx before = 0;
    for (int d = 0; d < ndim; d++) {
        step[d] = 0;
        if (d < lead || PyArray_DIM(a, d - lead) == 1) continue;
        const npy_intp bytes = PyArray_STRIDE(a, d - lead);
        if (bytes % 4 || bytes < 0) return 0;
        step[d] = bytes / 4;
        if (!step[d] || shape[d] == 1) continue;
        if (before && step[d] > before) return 0;
        before = step[d];
    }
    return 1;
}

/* The shape of both together; 0 where they do not fit. */
static int joint_shape(PyArrayObject *a, PyArrayObject *b, int ndim, npy_intp *shape) {
    for (int d = 0; d < ndim; d++) {
        const int i = d - (ndim - PyArray_NDIM(a)), j = d - (ndim - PyArray_NDIM(b));
        const npy_intp m = i < 0 ? 1 : PyArray_DIM(a, i), n = j < 0 ? 1 : PyArray_DIM(b, j);
        if (m != n && m != 1 && n != 1) return 0;
        shape[d] = m == 1 ? n : m;
        if (shape[d] == 0) return 0;
    }
    return 1;
}

PyObject *broadcast(int which, PyObject *left, PyObject *right) {
    if (!is_float(left) || !is_float(right)) return REFUSE;
    PyArrayObject *a = ARRAY(left), *b = ARRAY(right);
    const int ndim = PyArray_NDIM(a) > PyArray_NDIM(b) ? PyArray_NDIM(a) : PyArray_NDIM(b);
    npy_intp shape[DIMS];
    idx a_step[DIMS], b_step[DIMS];
    if (ndim < 1 || ndim > DIMS || !joint_shape(a, b, ndim, shape)) return REFUSE;
    if (!steps_of(a, ndim, shape, a_step) || !steps_of(b, ndim, shape, b_step)) return REFUSE;
    const int turned = which == B_SUB ? B_RSUB : which == B_DIV ? B_RDIV : which > B_RDIV ? which + B_TURNED : which;
    Stretch s = {.which = which, .turned = turned, .a = DATA(a), .b = DATA(b), .rows = 1};
    for (int d = 0; d < ndim; d++) {
        const int l = s.dims - 1;
        if (shape[d] == 1) continue;
        if (l >= 0 && s.a_step[l] == a_step[d] * shape[d] && s.b_step[l] == b_step[d] * shape[d]) {
            s.size[l] *= shape[d]; /* joins the dim before it */
            s.a_step[l] = a_step[d], s.b_step[l] = b_step[d];
            continue;
        }
        s.size[s.dims] = shape[d], s.a_step[s.dims] = a_step[d], s.b_step[s.dims++] = b_step[d];
    }
    const int last = s.dims - 1;
    if (last < 0 || s.size[last] < 8 || s.a_step[last] > 1 || s.b_step[last] > 1) return REFUSE;
    if (!s.a_step[last] && !s.b_step[last]) return REFUSE;
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    s.out = DATA(out);
    for (int d = 0; d < last; d++) s.rows *= s.size[d];
    const double ns = 0.35 * (double)PyArray_SIZE(out) + 5.0 * (double)s.rows;
    run_parts(stretch_part, &s, threads_parts(ns, s.rows), ns);
    return (PyObject *)out;
}

/* A view of x; strides in bytes. */
static PyObject *shown(PyArrayObject *x, int ndim, const npy_intp *shape, const npy_intp *step) {
    PyArray_Descr *type = PyArray_DESCR(x);
    Py_INCREF(type);
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, type, ndim, shape, step, PyArray_DATA(x),
                                         PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    if (!out) return NULL;
    Py_INCREF(x);
    if (PyArray_SetBaseObject(ARRAY(out), (PyObject *)x) < 0) {
        Py_DECREF(out);
        return NULL;
    }
    return out;
}

/* The view that shows dims of size 1 as larger ones; writing to it is refused above. */
static PyObject *expand(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *wanted = attr(attrs, "shape");
    npy_intp shape[DIMS], step[DIMS];
    if (!wanted) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(wanted) || PyTuple_GET_SIZE(wanted) > DIMS) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = (int)PyTuple_GET_SIZE(wanted), lead = ndim - PyArray_NDIM(x);
    if (lead < 0) return REFUSE;
    for (int d = 0; d < ndim; d++) {
        shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, d));
        if (shape[d] == -1 && PyErr_Occurred()) return NULL;
        const npy_intp here = d < lead ? 1 : PyArray_DIM(x, d - lead);
        if (shape[d] < 0 || (here != 1 && here != shape[d])) return REFUSE;
        step[d] = here == 1 && (d < lead || shape[d] != 1) ? 0 : PyArray_STRIDE(x, d - lead);
    }
    return shown(x, ndim, shape, step);
}

/* -- other views ------------------------------------------------------------------------------------------- */

/* The strides of C order. */
static void plain_steps(PyArrayObject *x, int ndim, const npy_intp *shape, npy_intp *step) {
    npy_intp all = PyArray_ITEMSIZE(x);
    for (int d = ndim - 1; d >= 0; d--) step[d] = all, all *= shape[d];
}

/* Plain arrays, that have numbers, in another shape of as many. */
static PyObject *view(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *wanted = attr(attrs, "shape");
    npy_intp shape[DIMS], step[DIMS], all = 1;
    if (!wanted) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(wanted) || PyTuple_GET_SIZE(wanted) > DIMS) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = (int)PyTuple_GET_SIZE(wanted);
    if (!PyArray_IS_C_CONTIGUOUS(x) || PyArray_SIZE(x) == 0) return REFUSE;
    for (int d = 0; d < ndim; d++) {
        shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, d));
        if (shape[d] == -1 && PyErr_Occurred()) return NULL;
        if (shape[d] < 1) return REFUSE;
        all *= shape[d];
    }
    if (all != PyArray_SIZE(x)) return REFUSE;
    plain_steps(x, ndim, shape, step);
    return shown(x, ndim, shape, step);
}

static PyObject *unsqueeze(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx dim;
    npy_intp shape[DIMS], step[DIMS];
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!PyArray_CheckExact(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x) + 1;
    if (!PyArray_IS_C_CONTIGUOUS(x) || PyArray_SIZE(x) == 0 || ndim > DIMS || dim < 0 || dim >= ndim) return REFUSE;
    for (int d = 0; d < ndim; d++) shape[d] = d == dim ? 1 : PyArray_DIM(x, d < dim ? d : d - 1);
    plain_steps(x, ndim, shape, step);
    return shown(x, ndim, shape, step);
}

/* The dims in another order, `order[d]` at place d. */
static PyObject *in_order(PyArrayObject *x, const int *order) {
    npy_intp shape[DIMS], step[DIMS];
    for (int d = 0; d < PyArray_NDIM(x); d++) shape[d] = PyArray_DIM(x, order[d]), step[d] = PyArray_STRIDE(x, order[d]);
    return shown(x, PyArray_NDIM(x), shape, step);
}

static PyObject *transpose(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx one, other;
    if (attr_idx(attrs, "dim0", &one) < 0 || attr_idx(attrs, "dim1", &other) < 0) return NULL;
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM(ARRAY(args[0])) > DIMS) return REFUSE;
    const int ndim = PyArray_NDIM(ARRAY(args[0]));
    if (one < 0 || other < 0 || one >= ndim || other >= ndim) return REFUSE;
    int order[DIMS];
    for (int d = 0; d < ndim; d++) order[d] = d == one ? (int)other : d == other ? (int)one : d;
    return in_order(ARRAY(args[0]), order);
}

static PyObject *permute(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *dims = attr(attrs, "dims");
    if (!dims) return NULL;
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM(ARRAY(args[0])) > DIMS || !PyTuple_Check(dims)) return REFUSE;
    const int ndim = PyArray_NDIM(ARRAY(args[0]));
    int order[DIMS], seen = 0;
    if (PyTuple_GET_SIZE(dims) != ndim) return REFUSE;
    for (int d = 0; d < ndim; d++) {
        const long at = PyLong_AsLong(PyTuple_GET_ITEM(dims, d));
        if (at == -1 && PyErr_Occurred()) return NULL;
        if (at < 0 || at >= ndim || seen >> at & 1) return REFUSE;
        seen |= 1 << at, order[d] = (int)at;
    }
    return in_order(ARRAY(args[0]), order);
}

static PyObject *t(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    static const int order[2] = {1, 0};
    return PyArray_CheckExact(args[0]) && PyArray_NDIM(ARRAY(args[0])) == 2 ? in_order(ARRAY(args[0]), order) : REFUSE;
}

const Entry view_entries[] = {
    {"expand", expand}, {"view", view}, {"unsqueeze", unsqueeze}, {"transpose", transpose}, {"permute", permute}, {"t", t},
    {NULL, NULL},
};
