/* Inputs of a path, and looks at their values, without a line of Python: `Tracer.bind` and program/refuse.py are what to read first.
 *
 * Whatever is unusual (another layout, memory that the user sees by NumPy, a path that changes its inputs) is left to them.
 */
#include "match.h"

#include <string.h>

static PyObject *s_bound, *s_shape, *s_dtype, *s_strides, *s_base, *s_roots, *s_to, *s_type, *s_impls;
static PyObject *exposed, *move, *host_type;

int name_bind(void)
{
    const struct {
        PyObject **name;
        const char *text;
    } names[] = {{&s_bound, "bound"}, {&s_shape, "shape"}, {&s_dtype, "dtype"}, {&s_strides, "strides"},
                 {&s_base, "base"}, {&s_roots, "roots"}, {&s_to, "to"}, {&s_type, "type"}, {&s_impls, "impls"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    return 0;
}

/* outside(exposed, move, np.ndarray): memory that the user sees, the kernel that brings arrays to a device, and the type of
 * the host's. */
PyObject *outside(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "OOO", &exposed, &move, &host_type))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i)); /* for as long as the process lives */
    Py_RETURN_NONE;
}

/* rows: a tuple of (number, the program's array on the host or None, type, shape, dtype, strides); changed: a dict by ids of
 * the memory's owners */
int read_inputs(Inputs *t, PyObject *rows, PyObject *changed)
{
    t->inputs = PyMem_Calloc(PyTuple_GET_SIZE(rows) + 1, sizeof(Input));
    if (t->inputs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    t->changed = Py_NewRef(changed);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        Input *in = &t->inputs[t->count];
        PyObject *array;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "nOOOOO", &in->number, &array, &in->type, &in->shape, &in->dtype,
                              &in->strides))
            return -1;
        if (array != Py_None && PyObject_GetBuffer(array, &in->to, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
            PyErr_Clear(); /* Python copies it */
            continue;
        }
        Py_INCREF(in->type);
        Py_INCREF(in->shape);
        Py_INCREF(in->dtype);
        Py_INCREF(in->strides);
        t->count++;
    }
    return 0;
}

void clear_inputs(Inputs *t)
{
    for (Py_ssize_t i = 0; i < t->count; i++) {
        Input *in = &t->inputs[i];
        PyBuffer_Release(&in->to); /* nothing, where there is none */
        Py_DECREF(in->type);
        Py_DECREF(in->shape);
        Py_DECREF(in->dtype);
        Py_DECREF(in->strides);
    }
    PyMem_Free(t->inputs);
    Py_XDECREF(t->changed);
}

/* Whether an attribute is the expected object, or equal to it; sets no error. */
static int has(PyObject *a, PyObject *name, PyObject *expected)
{
    PyObject *found = PyObject_GetAttr(a, name);
    int same = found == expected;
    if (found != NULL && !same && PyTuple_CheckExact(found))
        same = PyObject_RichCompareBool(found, expected, Py_EQ);
    Py_XDECREF(found);
    PyErr_Clear();
    return same == 1;
}

/* Whether the array that owns the memory of `a` is none of a dict's, which has their ids. */
static int is_apart(PyObject *a, PyObject *owners)
{
    PyObject *root = Py_NewRef(a);
    for (;;) {
        PyObject *base = PyObject_GetAttr(root, s_base);
        if (base == NULL || (base != Py_None && Py_TYPE(base) != Py_TYPE(a))) { /* something else stands behind it */
            PyErr_Clear();
            Py_XDECREF(base);
            Py_DECREF(root);
            return 0;
        }
        if (base == Py_None) {
            Py_DECREF(base);
            break;
        }
        Py_SETREF(root, base);
    }
    PyObject *id = PyLong_FromVoidPtr(root);
    int apart = id != NULL && PyDict_Contains(owners, id) == 0;
    Py_XDECREF(id);
    Py_DECREF(root);
    PyErr_Clear();
    return apart;
}

/* Whether the user sees the memory of `a` by no array of NumPy or CuPy. */
int is_hidden(PyObject *a)
{
    PyObject *roots = exposed == NULL ? NULL : PyObject_GetAttr(exposed, s_roots);
    int hidden = roots != NULL && PyDict_Check(roots) && (PyDict_GET_SIZE(roots) == 0 || is_apart(a, roots));
    Py_XDECREF(roots);
    PyErr_Clear();
    return hidden;
}

/* Whether an array was handed out, or is an input already. */
static int is_known(Cursor *self, PyObject *a)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(self->now); i++)
        if (PyList_GET_ITEM(self->now, i) == a)
            return 1;
    return 0;
}

/* 1 when `a` is an input now, with the values that it has; 0 when Python has to be asked. */
int bind_here(Cursor *self, const Inputs *t, Py_ssize_t number, PyObject *a)
{
    const Input *in = NULL;
    for (Py_ssize_t i = 0; i < t->count && in == NULL; i++)
        if (t->inputs[i].number == number)
            in = &t->inputs[i];
    if (in == NULL || (PyObject *)Py_TYPE(a) != in->type || is_known(self, a) || !is_hidden(a))
        return 0;
    if (!has(a, s_dtype, in->dtype) || !has(a, s_shape, in->shape) || !has(a, s_strides, in->strides))
        return 0;
    if (PyDict_GET_SIZE(t->changed) && !is_apart(a, t->changed))
        return 0;
    Py_buffer from;
    PyObject *bound = PyObject_GetAttr(self->owner, s_bound), *key = PyLong_FromSsize_t(number);
    int done = 0;
    const int ready = bound != NULL && key != NULL && PyDict_Check(bound);
    if (ready && in->to.obj == NULL) {
        if (!has_moved() && number < PyList_GET_SIZE(self->now) && PyDict_SetItem(bound, key, a) == 0) {
            PyList_SetItem(self->now, number, Py_NewRef(a));
            done = 1;
        }
    } else if (ready && PyObject_GetBuffer(a, &from, PyBUF_C_CONTIGUOUS) == 0) {
        /* nothing that is collected is made from here on, so nobody else's code runs */
        if (from.len == in->to.len && !has_moved() && number < PyList_GET_SIZE(self->now) &&
            PyDict_SetItem(bound, key, a) == 0) {
            memcpy(in->to.buf, from.buf, (size_t)from.len);
            PyList_SetItem(self->now, number, Py_NewRef(a));
            done = 1;
        }
        PyBuffer_Release(&from);
    }
    PyErr_Clear();
    Py_XDECREF(bound);
    Py_XDECREF(key);
    return done;
}

/* Whether operands lie in [0, size): a tuple of (operand, size). */
static int all_within(PyObject *places, PyObject *arrays)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        PyObject *place = PyTuple_GET_ITEM(places, i);
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0));
        if (at < 0 || at >= PyTuple_GET_SIZE(arrays))
            return 0;
        PyObject *given[] = {PyTuple_GET_ITEM(arrays, at), PyTuple_GET_ITEM(place, 1)}, *inside = within(NULL, given, 2);
        Py_XDECREF(inside);
        if (inside != Py_True)
            return 0;
    }
    return 1;
}

/* 1 when indices are known to lie inside; 0 when Python has to be asked. `step` is (operand, function) or (operand, function, places). */
int looks_harmless(PyObject *step, PyObject *arrays)
{
    if (PyTuple_GET_SIZE(step) != 3)
        return 0;
    const int inside = all_within(PyTuple_GET_ITEM(step, 2), arrays);
    PyErr_Clear();
    return inside;
}

/* Whether an array is the host's, of a dtype, in memory that NumPy took and that the path neither knows nor changes. */
int comes_from_host(Cursor *self, PyObject *a, PyObject *changed, PyObject *dtype)
{
    return (PyObject *)Py_TYPE(a) == host_type && has(a, s_dtype, dtype) && !is_known(self, a) && is_apart(a, changed);
}

/* A copy of an array of the host on a GPU, made at once (see `is_transparent` of stretch.py); NULL without an error when Python has
 * to decide: the path knows the array, or may change its memory. */
PyObject *sent_up(Cursor *self, const Inputs *t, PyObject *kernel, PyObject *cls, PyObject *arrays, PyObject *attrs)
{
    if (kernel != move || PyTuple_GET_SIZE(arrays) != 1 || !PyDict_CheckExact(attrs))
        return NULL;
    PyObject *a = PyTuple_GET_ITEM(arrays, 0), *to = PyDict_GetItemWithError(attrs, s_to);
    PyObject *name = to == NULL ? NULL : PyObject_GetAttr(to, s_type);
    const int away = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "cuda") == 0;
    Py_XDECREF(name);
    if (!away || cls != host_type || (PyObject *)Py_TYPE(a) != host_type || is_known(self, a) ||
        (PyDict_GET_SIZE(t->changed) && !is_apart(a, t->changed))) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *impls = PyObject_GetAttr(kernel, s_impls);
    PyObject *body = impls == NULL || !PyDict_Check(impls) ? NULL : Py_XNewRef(PyDict_GetItemWithError(impls, cls));
    Py_XDECREF(impls);
    if (body == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *given[] = {a}, *out = PyObject_VectorcallDict(body, given, 1, attrs);
    Py_DECREF(body);
    if (out == Py_NotImplemented)
        Py_CLEAR(out);
    return out;
}

/* -- inputs whose memory the user sees through NumPy, beside the program's copies of them ---------- */

typedef struct {
    PyObject_HEAD
    Py_buffer shown, kept;
} Pair;

static void pair_free(Pair *self)
{
    PyBuffer_Release(&self->shown);
    PyBuffer_Release(&self->kept);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject pair_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.capture._native.Pair",
    .tp_basicsize = sizeof(Pair),
    .tp_dealloc = (destructor)pair_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "An array of the user's, and a copy of it that lies alike.",
};

/* pair(array, copy): None where their bytes cannot be compared as they lie. */
PyObject *pair(PyObject *module, PyObject *args)
{
    PyObject *shown, *kept;
    if (!PyArg_ParseTuple(args, "OO", &shown, &kept))
        return NULL;
    Pair *made = (Pair *)pair_type.tp_alloc(&pair_type, 0);
    if (made == NULL)
        return NULL;
    if (PyObject_GetBuffer(shown, &made->shown, PyBUF_ANY_CONTIGUOUS) < 0 ||
        PyObject_GetBuffer(kept, &made->kept, PyBUF_ANY_CONTIGUOUS) < 0 || made->shown.len != made->kept.len) {
        PyErr_Clear();
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

int as_they_were(PyObject *pairs)
{
    if (pairs == NULL || !PyList_CheckExact(pairs))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
        const Pair *p = (const Pair *)PyList_GET_ITEM(pairs, i);
        if (!Py_IS_TYPE(p, &pair_type) || memcmp(p->shown.buf, p->kept.buf, (size_t)p->shown.len) != 0)
            return 0;
    }
    return 1;
}

PyObject *unchanged(PyObject *module, PyObject *pairs) { return PyBool_FromLong(as_they_were(pairs)); }
