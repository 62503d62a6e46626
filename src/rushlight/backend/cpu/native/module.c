/* The Python module: kernels as callables with a NumPy body behind them, threads, memory. */
#define RL_IMPORTS_NUMPY
#include "arrays.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* -- choosing the instruction set ---------------------------------------------------------------- */

const Loops *RL = &loops_base;

static void choose_loops(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) RL = &loops_avx512;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) RL = &loops_avx2;
#endif
}

const Loops *loops_for_width(idx width) {
    if (width >= RL->lanes) return RL;
#if defined(__x86_64__)
    if (width >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &loops_avx2;
#endif
    return width >= loops_base.lanes ? &loops_base : NULL;
}

/* -- a kernel -------------------------------------------------------------------------------------- */

#define MOST_COPIED 16

/* A result of the images' kind, turned to channels-last; takes the reference. */
static PyObject *turned_result(PyObject *o) {
    if (!o || !is_plain(o) || PyArray_NDIM(ARRAY(o)) < 4) return o;
    return (PyObject *)array_turned(ARRAY(o));
}

static PyObject *turned_results(PyObject *out) {
    if (!out || out == REFUSE || !PyTuple_CheckExact(out)) return out == REFUSE ? out : turned_result(out);
    const Py_ssize_t n = PyTuple_GET_SIZE(out);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++) {
        PyObject *item = turned_result(Py_NewRef(PyTuple_GET_ITEM(out, i)));
        if (item) PyTuple_SET_ITEM(found, i, item);
        else Py_CLEAR(found);
    }
    Py_DECREF(out);
    return found;
}

/* Call the body again with copies of the arrays that have gaps (an expanded gradient, a transposed
 * input): computing in C on a copy is quicker than NumPy's passes over the original. */
static PyObject *with_copies(const Entry *e, PyObject *const *args, Py_ssize_t n, PyObject *attrs) {
    PyObject *given_or_copied[MOST_COPIED], *out = REFUSE;
    int copied = 0, last = 0;
    if (n > MOST_COPIED) return REFUSE;
    for (Py_ssize_t i = 0; i < n; i++) last = last || (is_float(args[i]) && is_channels_last(ARRAY(args[i])));
    if (last && e->copies != TURNS) return REFUSE; /* the result shall have that layout too */
    for (Py_ssize_t i = 0; i < n; i++) {
        given_or_copied[i] = args[i];
        if (!is_float(args[i]) || PyArray_IS_C_CONTIGUOUS(ARRAY(args[i]))) continue;
        const int turn = is_channels_last(ARRAY(args[i]));
        PyObject *copy = (PyObject *)(turn ? array_first(ARRAY(args[i])) : array_plain(args[i]));
        if (!copy) {
            for (Py_ssize_t j = 0; j < i; j++)
                if (given_or_copied[j] != args[j]) Py_DECREF(given_or_copied[j]);
            return NULL;
        }
        given_or_copied[i] = copy;
        copied = 1;
    }
    if (copied) out = e->body(given_or_copied, n, attrs);
    for (Py_ssize_t i = 0; i < n; i++)
        if (given_or_copied[i] != args[i]) Py_DECREF(given_or_copied[i]);
    return last ? turned_results(out) : out;
}

static PyObject *call_body(const Entry *e, PyObject *args, PyObject *attrs) {
    PyObject *const *items = &PyTuple_GET_ITEM(args, 0);
    PyObject *out = e->body(items, PyTuple_GET_SIZE(args), attrs);
    return out == REFUSE && e->copies ? with_copies(e, items, PyTuple_GET_SIZE(args), attrs) : out;
}

typedef struct {
    PyObject_HEAD
    const Entry *entry;
    PyObject *otherwise; /* called when the body refuses */
} Native;

static PyObject *native_call(PyObject *self, PyObject *args, PyObject *attrs) {
    Native *k = (Native *)self;
    PyObject *out = call_body(k->entry, args, attrs);
    return out == REFUSE ? PyObject_Call(k->otherwise, args, attrs) : out;
}

static void native_dealloc(PyObject *self) {
    Py_XDECREF(((Native *)self)->otherwise);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *native_repr(PyObject *self) {
    return PyUnicode_FromFormat("<native kernel %s>", ((Native *)self)->entry->name);
}

static PyTypeObject NativeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.backend.cpu._native.Native",
    .tp_basicsize = sizeof(Native),
    .tp_call = native_call,
    .tp_dealloc = native_dealloc,
    .tp_repr = native_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static const Entry *const families[] = {
    conv_entries, weight_entries, matmul_entries,    pool_entries,   point_entries,  softmax_entries, norm_entries,
    move_entries, update_entries, recurrent_entries, gather_entries, reduce_entries, fused_entries,
};
#define FAMILIES (sizeof families / sizeof *families)

static const Entry *entry_of(const char *name) {
    for (size_t f = 0; f < FAMILIES; f++)
        for (const Entry *e = families[f]; e->name; e++)
            if (strcmp(e->name, name) == 0) return e;
    return NULL;
}

static PyObject *m_kernel(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *otherwise;
    if (!PyArg_ParseTuple(args, "sO", &name, &otherwise)) return NULL;
    const Entry *e = entry_of(name);
    if (!e) Py_RETURN_NONE;
    Native *k = PyObject_New(Native, &NativeType);
    if (!k) return NULL;
    k->entry = e;
    k->otherwise = Py_NewRef(otherwise);
    return (PyObject *)k;
}

static PyObject *m_names(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (size_t f = 0; list && f < FAMILIES; f++)
        for (const Entry *e = families[f]; e->name; e++) {
            PyObject *s = PyUnicode_FromString(e->name);
            if (!s || PyList_Append(list, s) < 0) Py_CLEAR(list);
            Py_XDECREF(s);
            if (!list) break;
        }
    return list;
}

/* -- arrays --------------------------------------------------------------------------------------- */

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

/* -- results in given memory ----------------------------------------------------------------------- */

/* A call into given memory lends its arrays to whoever asks for a new one that looks like them. */
#define MOST_GIVEN 4
typedef struct {
    PyArrayObject *arrays[MOST_GIVEN];
    int count, taken; /* a bit per array */
} Given;

static _Thread_local Given *given;

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

typedef struct {
    PyObject_HEAD
    const Entry *entry;
    PyObject *otherwise;
    PyObject *outs; /* a tuple of arrays */
} Into;

/* Make sure that the results lie in the given arrays: a body may have refused, or used them otherwise. */
static int settle(PyObject *outs, PyObject *found) {
    const Py_ssize_t n = PyTuple_GET_SIZE(outs);
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) != n) {
        if (n != 1) {
            PyErr_SetString(PyExc_ValueError, "a kernel gave another number of results than it has memory for");
            return -1;
        }
        PyObject *out = PyTuple_GET_ITEM(outs, 0);
        return found == out ? 0 : PyArray_CopyObject(ARRAY(out), found);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *out = PyTuple_GET_ITEM(outs, i), *item = PyTuple_GET_ITEM(found, i);
        if (item != out && PyArray_CopyObject(ARRAY(out), item) < 0) return -1;
    }
    return 0;
}

static PyObject *into_call(PyObject *self, PyObject *args, PyObject *attrs) {
    Into *k = (Into *)self;
    Given mine = {.count = (int)PyTuple_GET_SIZE(k->outs)}, *before = given;
    for (int i = 0; i < mine.count; i++) mine.arrays[i] = ARRAY(PyTuple_GET_ITEM(k->outs, i));
    given = &mine;
    PyObject *found = call_body(k->entry, args, attrs);
    given = before;
    if (found == REFUSE) found = PyObject_Call(k->otherwise, args, attrs);
    if (!found) return NULL;
    const int failed = settle(k->outs, found);
    Py_DECREF(found);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static void into_dealloc(PyObject *self) {
    Py_XDECREF(((Into *)self)->otherwise);
    Py_XDECREF(((Into *)self)->outs);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject IntoType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.backend.cpu._native.Into",
    .tp_basicsize = sizeof(Into),
    .tp_call = into_call,
    .tp_dealloc = into_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static PyObject *m_into(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *otherwise, *outs;
    if (!PyArg_ParseTuple(args, "sOO!", &name, &otherwise, &PyTuple_Type, &outs)) return NULL;
    const Entry *e = entry_of(name);
    if (!e || PyTuple_GET_SIZE(outs) > MOST_GIVEN) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outs); i++)
        if (!PyArray_CheckExact(PyTuple_GET_ITEM(outs, i))) {
            PyErr_SetString(PyExc_TypeError, "results go into NumPy arrays");
            return NULL;
        }
    Into *k = PyObject_New(Into, &IntoType);
    if (!k) return NULL;
    k->entry = e;
    k->otherwise = Py_NewRef(otherwise);
    k->outs = Py_NewRef(outs);
    return (PyObject *)k;
}

/* -- new arrays ------------------------------------------------------------------------------------ */

static PyArrayObject *array_made(int ndim, const npy_intp *shape, const npy_intp *strides, int type) {
    if (given) {
        PyArrayObject *lent = take_given(ndim, shape, strides, type);
        if (lent) return lent;
    }
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

PyArrayObject *array_new(int ndim, const npy_intp *shape, int type) {
    return array_made(ndim, shape, NULL, type);
}

PyArrayObject *array_like(PyArrayObject *a) {
    return array_new(PyArray_NDIM(a), PyArray_DIMS(a), NPY_FLOAT32);
}

PyArrayObject *array_copy(PyArrayObject *a) {
    Given *const lent = given; /* for results, not for copies */
    given = NULL;
    PyArrayObject *copy = array_new(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a));
    given = lent;
    return copy;
}

PyArrayObject *array_plain(PyObject *o) {
    if (PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return ARRAY(Py_NewRef(o));
    const int64_t begin = conversion_begin();
    PyArrayObject *copy = array_copy(ARRAY(o));
    if (copy && PyArray_CopyInto(copy, ARRAY(o)) < 0) Py_CLEAR(copy);
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
    return array_made(ndim, shape, strides, NPY_FLOAT32);
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

/* -- the module ----------------------------------------------------------------------------------- */

static PyObject *m_set_threads(PyObject *module, PyObject *n) {
    const long value = PyLong_AsLong(n);
    if (value == -1 && PyErr_Occurred()) return NULL;
    Py_BEGIN_ALLOW_THREADS
    threads_set((int)value);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *m_set_team(PyObject *module, PyObject *address) {
    void *team = PyLong_AsVoidPtr(address);
    if (!team && PyErr_Occurred()) return NULL;
    threads_team((Team)(uintptr_t)team);
    Py_RETURN_NONE;
}

static PyObject *m_get_threads(PyObject *module, PyObject *unused) { return PyLong_FromLong(threads_get()); }
static PyObject *m_isa(PyObject *module, PyObject *unused) { return PyUnicode_FromString(RL->name); }
static PyObject *m_kept(PyObject *module, PyObject *unused) { return PyLong_FromSize_t(memory_kept()); }

static PyObject *m_drop(PyObject *module, PyObject *unused) {
    memory_drop();
    Py_RETURN_NONE;
}

static PyObject *m_wake_cost(PyObject *module, PyObject *ns) {
    const double value = PyFloat_AsDouble(ns);
    if (value == -1.0 && PyErr_Occurred()) return NULL;
    threads_wake_cost(value);
    Py_RETURN_NONE;
}

static PyObject *m_watch(PyObject *module, PyObject *on) {
    const int value = PyObject_IsTrue(on);
    if (value < 0) return NULL;
    watching = value;
    Py_RETURN_NONE;
}

static PyObject *m_conversions(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < CONVERSIONS; i++) {
        const Conversion c = watch_take(i);
        if (!c.count) continue;
        PyObject *row = Py_BuildValue("sLdL", c.name, (long long)c.count, (double)c.ns * 1e-9, (long long)c.bytes);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"kernel", m_kernel, METH_VARARGS, "kernel(name, otherwise): the native kernel, or None."},
    {"into", m_into, METH_VARARGS,
     "into(name, otherwise, arrays): the native kernel with its results in given memory, or None."},
    {"names", m_names, METH_NOARGS, "The names of all native kernels."},
    {"set_threads", m_set_threads, METH_O, "Set how many threads the kernels use."},
    {"set_team", m_set_team, METH_O,
     "Work on the threads behind this GOMP_parallel (an address) instead of our own; 0 for our own."},
    {"get_threads", m_get_threads, METH_NOARGS, "How many threads the kernels use."},
    {"set_wake_cost", m_wake_cost, METH_O, "Nanoseconds to start a thread; 0 shares out any work (tests)."},
    {"instruction_set", m_isa, METH_NOARGS, "The vector instructions in use."},
    {"watch", m_watch, METH_O, "Whether to count conversions of layout."},
    {"conversions", m_conversions, METH_NOARGS,
     "(what, count, seconds, bytes) of the conversions since the last call."},
    {"kept_bytes", m_kept, METH_NOARGS, "Bytes of freed arrays kept for the next ones."},
    {"drop_kept", m_drop, METH_NOARGS, "Return the kept memory to the system."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native CPU engine.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    if (PyType_Ready(&NativeType) < 0 || PyType_Ready(&IntoType) < 0) return NULL;
    handler_capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    if (!handler_capsule) return NULL;
    choose_loops();
    threads_init();
    memory_init();
    return PyModule_Create(&definition);
}
