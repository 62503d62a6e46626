/* resample_axis: interpolation, padding by what is there, adaptive means: places along one dim as weighted sums of others. */
#include "arrays.h"

typedef struct {
    idx outer, n, m, inner; /* m places become n */
    idx taps;
    const int32_t *at;      /* [tap][n] */
    const float *weight;    /* the same, or NULL: places are copied */
    int skip;               /* a weight of 0 only fills the table */
    const float *x;
    float *out;
    idx *rows;              /* [n][tap]: where they begin; of copied places (from, length) of each run */
    float *weights;         /* [n][tap] */
} Resample;

/* Places that follow each other are copied together: padding leaves the middle of a row as it is. */
static void copy_places(const Resample *r, const float *x, float *out) {
    const idx *run = r->rows;
    for (idx j = 0; j < r->n; j += run[1], run += 2) {
        const float *from = x + run[0] * r->inner;
        float *to = out + j * r->inner;
        if (run[1] * r->inner == 1) *to = *from;
        else memcpy(to, from, (size_t)(run[1] * r->inner) * 4);
    }
}

static void resample_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Resample *r = what;
    if (r->inner == 1 || !r->weight) {
        for (idx o = share(r->outer, i, parts); o < share(r->outer, i + 1, parts); o++) {
            const float *x = r->x + o * r->m * r->inner;
            float *out = r->out + o * r->n * r->inner;
            if (r->weight) RL->mix_places(x, r->at, r->weight, r->taps, r->skip, out, r->n);
            else copy_places(r, x, out);
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

static int resample_run(Resample *r) {
    const int runs = !r->weight;
    const idx count = runs ? 2 * r->n : r->inner > 1 ? r->n * r->taps : 0;
    const size_t bytes = (size_t)count * (sizeof(idx) + 4);
    void *lists = count ? memory_take(bytes) : NULL;
    if (count && !lists) return -1;
    r->rows = lists, r->weights = (float *)((idx *)lists + count);
    for (idx j = 0, k = 0, end; runs && j < r->n; j = end) { /* (from, length) of each run */
        for (end = j + 1; end < r->n && r->at[end] == r->at[j] + end - j; end++) {}
        r->rows[k++] = r->at[j], r->rows[k++] = end - j;
    }
    for (idx j = 0; !runs && count && j < r->n; j++)
        for (idx t = 0; t < r->taps; t++) {
            r->rows[j * r->taps + t] = r->at[t * r->n + j] * r->inner;
            r->weights[j * r->taps + t] = r->weight[t * r->n + j];
        }
    const double ns = 0.5 * (double)(r->outer * r->n) * (double)(r->inner * r->taps);
    run_parts(resample_part, r, threads_parts(ns, runs || r->inner == 1 ? r->outer : r->outer * r->n), ns);
    if (lists) memory_give(lists, bytes);
    return 0;
}

/* The plan's table: (places int32, weights float32 or None, whether zeros only fill it). */
static PyObject *table_of(PyObject *attrs, Resample *r, idx places) {
    PyObject *plan = attr(attrs, "plan"), *flip = attr(attrs, "flip");
    if (!plan || !flip) return NULL;
    PyObject *table = PyObject_CallMethod(plan, "table", "O", flip);
    if (!table) return NULL;
    PyObject *at = PyTuple_GET_ITEM(table, 0), *weight = PyTuple_GET_ITEM(table, 1);
    r->at = PyArray_DATA(ARRAY(at)), r->taps = PyArray_DIM(ARRAY(at), 0), r->n = PyArray_DIM(ARRAY(at), 1);
    r->weight = weight == Py_None ? NULL : DATA(ARRAY(weight));
    r->skip = PyTuple_GET_ITEM(table, 2) == Py_True;
    const idx all = r->taps * r->n;
    for (idx i = 0; i < all; i++)
        if (r->at[i] < 0 || r->at[i] >= places) {
            Py_DECREF(table);
            return REFUSE;
        }
    return table;
}

static PyObject *resample_axis(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Resample r = {.outer = 1, .inner = 1};
    idx axis;
    if (attr_idx(attrs, "axis", &axis) < 0) return NULL;
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim > DIMS || axis < 0 || axis >= ndim || PyArray_SIZE(x) == 0) return REFUSE;
    PyObject *table = table_of(attrs, &r, PyArray_DIM(x, axis));
    if (!table || table == REFUSE) return table;
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == axis ? r.n : PyArray_DIM(x, d);
        *(d < axis ? &r.outer : d == axis ? &r.m : &r.inner) *= d == axis ? 1 : shape[d];
    }
    r.m = PyArray_DIM(x, axis), r.x = DATA(x);
    PyArrayObject *out = r.taps > 0 && r.n > 0 ? array_new(ndim, shape, NPY_FLOAT32) : ARRAY(REFUSE);
    if (out && (PyObject *)out != REFUSE) {
        r.out = DATA(out);
        if (resample_run(&r) < 0) {
            Py_CLEAR(out);
            PyErr_NoMemory();
        }
    }
    Py_DECREF(table);
    return (PyObject *)out;
}

const Entry resample_entries[] = {{"resample_axis", resample_axis, COPIES}, {NULL, NULL}};
