/* New arrays, in memory that is used again or given; attributes of kernels. */
#include "arrays.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* -- memory --------------------------------------------------------------------------------------- */

/* NumPy keeps with every array who shall free its memory (NEP 49): ours is asked for the large ones. */
static void *handler_malloc(void *ctx, size_t size) { return memory_take(size); }
static void handler_free(void *ctx, void *block, size_t size) { memory_give(block, size); }

static void *handler_calloc(void *ctx, size_t n, size_t size) {
    void *block = memory_take(n * size);
    if (block) memset(block, 0, n * size);
    return block;
}

static void *handler_realloc(void *ctx, void *block, size_t size) {
#if defined(__GLIBC__)
    const size_t before = malloc_usable_size(block); /* NumPy does not tell the old size */
    void *larger = memory_take(size);
    if (larger) {
        memcpy(larger, block, before < size ? before : size);
        free(block);
    }
    return larger;
#else
    return NULL; /* `resize` of such an array raises MemoryError */
#endif
}

static PyDataMem_Handler handler = {
    "rushlight", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};
static PyObject *handler_capsule;

#define LARGE 65536 /* bytes; NumPy's own way is better for small ones */

int arrays_init(void) {
    handler_capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    return handler_capsule ? 0 : -1;
}

/* -- results in given memory ----------------------------------------------------------------------- */

_Thread_local Given *given;

static int looks_like(PyArrayObject *a, int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    if (PyArray_TYPE(a) != type || PyArray_NDIM(a) != ndim) return 0;
    if (!PyArray_CompareLists(PyArray_DIMS(a), shape, ndim)) return 0;
    if (!strides) return PyArray_IS_C_CONTIGUOUS(a);
    return PyArray_CompareLists(PyArray_STRIDES(a), strides, ndim);
}

static PyArrayObject *take_given(int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    for (int i = 0; given && i < given->count; i++) {
        PyArrayObject *a = given->arrays[i];
        if (given->taken >> i & 1 || !looks_like(a, ndim, shape, strides, type)) continue;
        given->taken |= 1 << i;
        return ARRAY(Py_NewRef((PyObject *)a));
    }
    return NULL;
}

/* -- new arrays ------------------------------------------------------------------------------------ */

static PyArrayObject *array_fresh(int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    npy_intp bytes = PyDataType_ELSIZE(descr);
    for (int i = 0; i < ndim; i++) bytes *= shape[i];
    if (bytes < LARGE)
        return ARRAY(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, NULL, 0, NULL));
    void *block = memory_take((size_t)bytes);
    if (!block) {
        Py_DECREF(descr);
        return ARRAY(PyErr_NoMemory());
    }
    PyArrayObject *a = ARRAY(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, block,
                                                  NPY_ARRAY_WRITEABLE, NULL));
    if (!a) {
        memory_give(block, (size_t)bytes);
        return NULL;
    }
    PyArray_ENABLEFLAGS(a, NPY_ARRAY_OWNDATA);
    ((PyArrayObject_fields *)a)->mem_handler = Py_NewRef(handler_capsule);
    return a;
}

/* While a call is written down: over memory that the call has each time it is made again. */
static PyArrayObject *array_lent(int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    npy_intp bytes = PyDataType_ELSIZE(descr);
    for (int i = 0; i < ndim; i++) bytes *= shape[i];
    void *block = memory_take((size_t)bytes);
    if (!block) {
        Py_DECREF(descr);
        return ARRAY(PyErr_NoMemory());
    }
    return ARRAY(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, block, NPY_ARRAY_WRITEABLE, NULL));
}

PyArrayObject *array_laid(int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    if (given) {
        PyArrayObject *lent = take_given(ndim, shape, strides, type);
        if (lent) return lent;
    }
    return writing ? array_lent(ndim, shape, strides, type) : array_fresh(ndim, shape, strides, type);
}

PyArrayObject *array_new(int ndim, const npy_intp *shape, int type) {
    return array_laid(ndim, shape, NULL, type);
}

PyArrayObject *array_like(PyArrayObject *a) {
    return array_new(PyArray_NDIM(a), PyArray_DIMS(a), NPY_FLOAT32);
}

PyArrayObject *array_dense(PyArrayObject *a) {
    const int plain = PyArray_IS_C_CONTIGUOUS(a);
    return array_laid(PyArray_NDIM(a), PyArray_DIMS(a), plain ? NULL : PyArray_STRIDES(a), PyArray_TYPE(a));
}

int is_filled(PyArrayObject *a) {
    if (PyArray_IS_C_CONTIGUOUS(a)) return 1;
    const int ndim = PyArray_NDIM(a);
    if (ndim > DIMS) return 0;
    npy_intp step = PyArray_ITEMSIZE(a);
    int left = 0;
    for (int d = 0; d < ndim; d++) left += PyArray_DIM(a, d) != 1;
    for (int found = 1; left && found;) { /* the dim whose step is the next one, until all are found */
        found = 0;
        for (int d = 0; d < ndim && !found; d++)
            if (PyArray_DIM(a, d) != 1 && PyArray_STRIDE(a, d) == step && PyArray_DIM(a, d) > 0) {
                step *= PyArray_DIM(a, d);
                left--;
                found = 1;
            }
    }
    return left == 0;
}

PyArrayObject *array_copy(PyArrayObject *a) {
    Given *const lent = given; /* for results, not for copies */
    given = NULL;
    PyArrayObject *copy = array_new(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a));
    given = lent;
    return copy;
}

/* -- copies ---------------------------------------------------------------------------------------- */

/* Numbers of any steps, in bytes; rows are along the last dim. */
typedef struct {
    const char *x;
    char *out;
    idx item, rows, size[DIMS], from[DIMS], to[DIMS];
    int ndim;
} Steps;

static void put_row(const Steps *s, const char *x, char *out) {
    const idx n = s->size[s->ndim - 1], from = s->from[s->ndim - 1], to = s->to[s->ndim - 1];
    if (from == s->item && to == s->item) memcpy(out, x, (size_t)(n * s->item));
    else if (s->item == 4)
        for (idx i = 0; i < n; i++) memcpy(out + i * to, x + i * from, 4);
    else if (s->item == 8)
        for (idx i = 0; i < n; i++) memcpy(out + i * to, x + i * from, 8);
    else
        for (idx i = 0; i < n; i++) memcpy(out + i * to, x + i * from, (size_t)s->item);
}

static void put_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Steps *s = what;
    for (idx r = share(s->rows, i, parts); r < share(s->rows, i + 1, parts); r++) {
        idx left = r, from = 0, to = 0;
        for (int d = s->ndim - 2; d >= 0; d--) {
            const idx at = left % s->size[d];
            left /= s->size[d], from += at * s->from[d], to += at * s->to[d];
        }
        put_row(s, s->x + from, s->out + to);
    }
}

int array_put(PyArrayObject *to, PyArrayObject *from) {
    const int ndim = PyArray_NDIM(from);
    if (!writing) return PyArray_CopyInto(to, from);
    if (ndim < 1 || ndim > DIMS || PyArray_TYPE(to) != PyArray_TYPE(from) || !PyArray_ISNOTSWAPPED(from)) {
        repeat_cannot();
        return PyArray_CopyInto(to, from);
    }
    Steps s = {PyArray_BYTES(from), PyArray_BYTES(to), PyArray_ITEMSIZE(to), 1, .ndim = ndim};
    for (int d = 0; d < ndim; d++) {
        s.size[d] = PyArray_DIM(from, d), s.from[d] = PyArray_STRIDE(from, d), s.to[d] = PyArray_STRIDE(to, d);
        if (d < ndim - 1) s.rows *= s.size[d];
    }
    const double ns = (double)PyArray_SIZE(from) + 5.0 * (double)s.rows;
    run_parts(put_part, &s, threads_parts(ns, s.rows), ns);
    return 0;
}

PyArrayObject *array_plain(PyObject *o) {
    if (PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return ARRAY(Py_NewRef(o));
    const int64_t begin = conversion_begin();
    PyArrayObject *copy = array_copy(ARRAY(o));
    if (copy && array_put(copy, ARRAY(o)) < 0) Py_CLEAR(copy);
    if (copy) conversion_end(GAPS_CLOSED, begin, (size_t)PyArray_NBYTES(copy));
    return copy;
}

PyArrayObject *array_channels_last(int ndim, const npy_intp *shape) {
    npy_intp strides[DIMS], step = 4;
    strides[1] = step;
    step *= shape[1];
    for (int i = ndim - 1; i > 1; i--) {
        strides[i] = step;
        step *= shape[i];
    }
    strides[0] = step;
    return array_laid(ndim, shape, strides, NPY_FLOAT32);
}

PyArrayObject *array_columns(int ndim, const npy_intp *shape, int type) {
    npy_intp strides[DIMS], step = type == NPY_FLOAT64 ? 8 : 4;
    strides[ndim - 2] = step;
    strides[ndim - 1] = step *= shape[ndim - 2];
    step *= shape[ndim - 1];
    for (int i = ndim - 3; i >= 0; i--) {
        strides[i] = step;
        step *= shape[i];
    }
    return array_laid(ndim, shape, strides, type);
}

int is_channels_last(PyArrayObject *a) {
    const int ndim = PyArray_NDIM(a);
    if (ndim < 4 || PyArray_IS_C_CONTIGUOUS(a)) return 0;
    const npy_intp *shape = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
    npy_intp step = PyArray_ITEMSIZE(a);
    if (shape[1] != 1 && strides[1] != step) return 0;
    step *= shape[1];
    for (int i = ndim - 1; i > 1; i--) {
        if (shape[i] != 1 && strides[i] != step) return 0;
        step *= shape[i];
    }
    return shape[0] == 1 || strides[0] == step;
}

/* -- sums of shares --------------------------------------------------------------------------------- */

typedef struct {
    const float *sums;
    idx parts, step, n;
    float *to;
} Shares;

static void shares_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Shares *s = what;
    memcpy(s->to, s->sums, (size_t)s->n * 4);
    for (idx p = 1; p < s->parts; p++) RL->add_into(s->to, s->sums + p * s->step, s->n);
}

void shares_added(const float *sums, idx parts, idx step, float *to, idx n) {
    Shares s = {sums, parts, step, n, to};
    run_once(shares_part, &s, 0.3 * (double)(parts * n));
}

/* -- attributes ----------------------------------------------------------------------------------- */

/* The string object of a name, made once: names are literals, so their address is their identity. */
static PyObject *interned(const char *name) {
    enum { SIZE = 256 };
    static struct {
        const char *name;
        PyObject *string;
    } table[SIZE];
    for (uintptr_t i = (uintptr_t)name >> 2;; i++) {
        const size_t at = (i * 2654435761u >> 7) % SIZE;
        if (table[at].name == name) return table[at].string;
        if (!table[at].name) {
            table[at].name = name;
            return table[at].string = PyUnicode_InternFromString(name);
        }
    }
}

PyObject *attr(PyObject *attrs, const char *name) {
    PyObject *found = attrs ? PyDict_GetItemWithError(attrs, interned(name)) : NULL;
    if (!found && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "missing attribute '%s'", name);
    return found;
}

int attr_dims(PyObject *attrs, const char *name, idx *out, int n) {
    PyObject *t = attr(attrs, name);
    if (!t) return -1;
    if (!PyTuple_Check(t) || PyTuple_GET_SIZE(t) != n) {
        PyErr_Format(PyExc_TypeError, "'%s' must be a tuple of %d ints", name, n);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        out[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(t, i));
        if (out[i] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

int attr_flag(PyObject *attrs, const char *name) {
    PyObject *t = attr(attrs, name);
    return t ? PyObject_IsTrue(t) : -1;
}

int attr_double(PyObject *attrs, const char *name, double *out) {
    PyObject *t = attr(attrs, name);
    if (!t) return -1;
    *out = PyFloat_AsDouble(t);
    return *out == -1.0 && PyErr_Occurred() ? -1 : 0;
}

int attr_idx(PyObject *attrs, const char *name, idx *out) {
    PyObject *t = attr(attrs, name);
    if (!t) return -1;
    *out = PyLong_AsSsize_t(t);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}
