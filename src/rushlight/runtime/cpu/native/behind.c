/* NumPy's body of a kernel, which stands behind the engine's: without its warnings, and its results as PyTorch lays them.
 *
 * runtime/cpu/quiet.py and layouts.py have both in Python; what has to be laid out otherwise is given to the latter.
 */
#include "arrays.h"

enum { AS_INPUTS = 1, REPEATED, PLAIN, IMAGES, FIRST, ALWAYS }; /* by layouts.py: KINDS; 0: nothing is to be laid out */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *body, *lie;       /* lie(result, arrays): layouts.py */
    PyObject *variable, *quiet; /* NumPy's context of errors, and what is put there; NULL where nothing warns */
    long kind;
} Behind;

static int is_array(PyObject *o) { return PyArray_CheckExact(o); }

/* Whether its strides fall from the first dim to the last, which so lie in that order. */
static int falls(PyArrayObject *a) {
    npy_intp last = NPY_MAX_INTP;
    for (int d = 0; d < PyArray_NDIM(a); d++) {
        if (PyArray_DIM(a, d) == 1) continue;
        if (PyArray_STRIDE(a, d) <= 0 || PyArray_STRIDE(a, d) >= last) return 0;
        last = PyArray_STRIDE(a, d);
    }
    return 1;
}

static int repeats(PyArrayObject *a) {
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (!PyArray_STRIDE(a, d) && PyArray_DIM(a, d) > 1) return 1;
    return 0;
}

/* Whether one result may lie otherwise than PyTorch's. */
static int doubtful(long kind, PyObject *out, PyObject *const *arrays, Py_ssize_t n) {
    if (!is_array(out)) return kind == ALWAYS && !PyArray_CheckScalar(out);
    PyArrayObject *o = ARRAY(out);
    const int plain = PyArray_IS_C_CONTIGUOUS(o), dims = PyArray_NDIM(o);
    if (kind == ALWAYS || (kind > REPEATED && !plain)) return 1;
    if (kind == PLAIN || dims < 2) return 0;
    if (kind == IMAGES) return dims == 4 || dims == 5;
    if (kind == FIRST) return !n || !is_array(arrays[0]) || PyArray_NDIM(ARRAY(arrays[0])) != dims || !falls(ARRAY(arrays[0]));
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_array(arrays[i])) continue;
        PyArrayObject *a = ARRAY(arrays[i]);
        if (kind == AS_INPUTS && plain && PyArray_NDIM(a) == dims && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(o), dims) && falls(a))
            return 0; /* it tells all dims apart, and comes before the others */
        if (kind == AS_INPUTS ? !PyArray_IS_C_CONTIGUOUS(a) : repeats(a)) return 1;
    }
    return 0;
}

static PyObject *laid(const Behind *b, PyObject *out, PyObject *const *arrays, Py_ssize_t n) {
    int doubt = 0;
    if (!out || out == REFUSE || !b->kind) return out;
    if (PyTuple_CheckExact(out))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) doubt |= doubtful(b->kind, PyTuple_GET_ITEM(out, i), arrays, n);
    else doubt = doubtful(b->kind, out, arrays, n);
    if (!doubt) return out;
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) PyTuple_SET_ITEM(all, i, Py_NewRef(arrays[i]));
    PyObject *found = all ? PyObject_CallFunctionObjArgs(b->lie, out, all, NULL) : NULL;
    Py_XDECREF(all);
    Py_DECREF(out);
    return found;
}

static PyObject *behind_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    const Behind *b = (const Behind *)self;
    PyObject *token = b->variable ? PyContextVar_Set(b->variable, b->quiet) : NULL;
    if (b->variable && !token) return NULL;
    PyObject *out = laid(b, PyObject_Vectorcall(b->body, args, flags, names), args, PyVectorcall_NARGS(flags));
    if (!token) return out;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const int failed = PyContextVar_Reset(b->variable, token) < 0;
    Py_DECREF(token);
    if (failed) Py_CLEAR(out);
    else PyErr_Restore(type, value, trace);
    return out;
}

static void behind_dealloc(PyObject *self) {
    Behind *b = (Behind *)self;
    Py_XDECREF(b->body);
    Py_XDECREF(b->lie);
    Py_XDECREF(b->variable);
    Py_XDECREF(b->quiet);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject BehindType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cpu._native.Behind",
    .tp_basicsize = sizeof(Behind),
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Behind, call),
    .tp_dealloc = behind_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

PyObject *m_behind(PyObject *module, PyObject *args) {
    PyObject *body, *lie, *variable, *quiet;
    long kind;
    if (!PyArg_ParseTuple(args, "OlOOO", &body, &kind, &lie, &variable, &quiet)) return NULL;
    Behind *b = PyObject_New(Behind, &BehindType);
    if (!b) return NULL;
    const int guarded = variable != Py_None;
    b->call = behind_call, b->kind = kind;
    b->body = Py_NewRef(body), b->lie = Py_NewRef(lie);
    b->variable = guarded ? Py_NewRef(variable) : NULL, b->quiet = guarded ? Py_NewRef(quiet) : NULL;
    return (PyObject *)b;
}
