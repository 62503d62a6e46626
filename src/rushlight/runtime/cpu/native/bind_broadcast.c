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

/* -- rows so short that a call for each would take longer than they do: laid side by side, a strip at a time ------ */

typedef struct {
    int which;
    Stepped a, b;
    float *out;
    idx n;
} Strips;

const float *stepped_floats(const Stepped *v, idx from, idx n, float *room) {
    if (v->dims == 1 && v->step[0] == 1) return v->x + from;
    RL->lay(v, from, n, room);
    return room;
}

static void strips_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Strips *s = what;
    float a[STRIP + LAID_OVER], b[STRIP + LAID_OVER];
    idx from, n;
    EACH_STRIP(from, n, s->n, i, parts) RL->binary(s->which, stepped_floats(&s->a, from, n, a), stepped_floats(&s->b, from, n, b), s->out + from, n);
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

#define SHORT_ROW 48 /* floats: a call for each shorter one takes longer than laying them side by side */

Stepped stepped_joined(const float *x, int ndim, const npy_intp *shape, const idx *step) {
    Stepped v = {.x = x};
    for (int d = 0; d < ndim; d++) {
        const int l = v.dims - 1;
        if (shape[d] == 1) continue;
        if (l >= 0 && v.step[l] == step[d] * shape[d]) v.size[l] *= shape[d], v.step[l] = step[d]; /* joins the dim before it */
        else v.size[v.dims] = shape[d], v.step[v.dims++] = step[d];
    }
    if (!v.dims) v.size[0] = v.step[0] = v.dims = 1;
    return v;
}

void broadcast(Call *c, int which, PyObject *left, PyObject *right) {
    if (!need(c, is_float(left) && is_float(right))) return;
    PyArrayObject *a = ARRAY(left), *b = ARRAY(right);
    const int ndim = PyArray_NDIM(a) > PyArray_NDIM(b) ? PyArray_NDIM(a) : PyArray_NDIM(b);
    npy_intp shape[DIMS];
    idx a_step[DIMS], b_step[DIMS];
    if (!need(c, ndim >= 1 && ndim <= DIMS && joint_shape(a, b, ndim, shape))) return;
    if (!need(c, steps_of(a, ndim, shape, a_step) && steps_of(b, ndim, shape, b_step))) return;
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
    if (!(s.out = new_floats(c, ndim, shape))) return;
    const int last = s.dims - 1;
    const idx n = PyArray_MultiplyList(shape, ndim);
    if (last >= 0 && s.size[last] >= SHORT_ROW && s.a_step[last] <= 1 && s.b_step[last] <= 1 && s.a_step[last] + s.b_step[last]) {
        s.rows = n / s.size[last];
        run_shared(stretch_part, &s, s.rows, 0.35 * (double)n + 5.0 * (double)s.rows);
        return;
    }
    Strips t = {which, stepped_joined(s.a, ndim, shape, a_step), stepped_joined(s.b, ndim, shape, b_step), s.out, n};
    run_shared(strips_part, &t, n / STRIP + 1, 0.6 * (double)n);
}

/* -- views ------------------------------------------------------------------------------------------------- */

/* The answer: a view of x; strides in bytes, NULL for those of C order. */
static void show(Call *c, PyArrayObject *x, int ndim, const npy_intp *shape, const npy_intp *step) {
    if (c->ends) return;
    PyArray_Descr *type = PyArray_DESCR(x);
    Py_INCREF(type);
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, type, ndim, shape, step, PyArray_DATA(x), PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    if (new_made(c, ARRAY(out)) && PyArray_SetBaseObject(ARRAY(out), Py_NewRef((PyObject *)x)) < 0) fail(c);
}

/* The view that shows dims of size 1 as larger ones; writing to it is refused above. */
static void expand(Call *c) {
    npy_intp shape[DIMS], step[DIMS];
    PyArrayObject *x = array_at(c, 0);
    const int ndim = ints_of(c, "shape", shape), lead = c->ends ? 0 : ndim - PyArray_NDIM(x);
    if (!need(c, lead >= 0)) return;
    for (int d = 0; d < ndim; d++) {
        const npy_intp here = d < lead ? 1 : PyArray_DIM(x, d - lead);
        need(c, shape[d] >= 0 && (here == 1 || here == shape[d]));
        step[d] = here == 1 && (d < lead || shape[d] != 1) ? 0 : PyArray_STRIDE(x, d - lead);
    }
    show(c, x, ndim, shape, step);
}

/* A plain array that has numbers. */
static PyArrayObject *numbers(Call *c) {
    PyArrayObject *x = array_at(c, 0);
    return x && need(c, PyArray_IS_C_CONTIGUOUS(x) && PyArray_SIZE(x) > 0) ? x : NULL;
}

/* In another shape of as many. */
static void view(Call *c) {
    npy_intp shape[DIMS];
    PyArrayObject *x = numbers(c);
    const int ndim = ints_of(c, "shape", shape);
    for (int d = 0; d < ndim; d++) need(c, shape[d] >= 1);
    if (!c->ends && need(c, PyArray_MultiplyList(shape, ndim) == PyArray_SIZE(x))) show(c, x, ndim, shape, NULL);
}

static void unsqueeze(Call *c) {
    npy_intp shape[DIMS];
    const idx dim = idx_of(c, "dim");
    PyArrayObject *x = numbers(c);
    if (!x || !need(c, PyArray_NDIM(x) < DIMS && dim >= 0 && dim <= PyArray_NDIM(x))) return;
    const int ndim = PyArray_NDIM(x) + 1;
    for (int d = 0; d < ndim; d++) shape[d] = d == dim ? 1 : PyArray_DIM(x, d < dim ? d : d - 1);
    show(c, x, ndim, shape, NULL);
}

/* The dims in another order, `order[d]` at place d. */
static void in_order(Call *c, PyArrayObject *x, const idx *order) {
    npy_intp shape[DIMS], step[DIMS];
    for (int d = 0; d < PyArray_NDIM(x); d++) shape[d] = PyArray_DIM(x, order[d]), step[d] = PyArray_STRIDE(x, order[d]);
    show(c, x, PyArray_NDIM(x), shape, step);
}

static void transpose(Call *c) {
    const idx one = idx_of(c, "dim0"), other = idx_of(c, "dim1");
    PyArrayObject *x = array_at(c, 0);
    if (c->ends || !need(c, PyArray_NDIM(x) <= DIMS && one >= 0 && other >= 0 && one < PyArray_NDIM(x) && other < PyArray_NDIM(x))) return;
    idx order[DIMS];
    for (int d = 0; d < PyArray_NDIM(x); d++) order[d] = d == one ? other : d == other ? one : d;
    in_order(c, x, order);
}

static void permute(Call *c) {
    PyArrayObject *x = array_at(c, 0);
    idx order[DIMS];
    int seen = 0;
    const int ndim = ints_of(c, "dims", order);
    if (c->ends || !need(c, ndim == PyArray_NDIM(x))) return;
    for (int d = 0; d < ndim; d++) {
        if (!need(c, order[d] >= 0 && order[d] < ndim && !(seen >> order[d] & 1))) return;
        seen |= 1 << order[d];
    }
    in_order(c, x, order);
}

static void t(Call *c) {
    PyArrayObject *x = array_at(c, 0);
    if (x && need(c, PyArray_NDIM(x) == 2)) in_order(c, x, (const idx[]){1, 0});
}

const Entry view_entries[] = {
    BOUND("expand", expand), BOUND("view", view), BOUND("unsqueeze", unsqueeze), BOUND("transpose", transpose), BOUND("permute", permute),
    BOUND("t", t), {NULL},
};
