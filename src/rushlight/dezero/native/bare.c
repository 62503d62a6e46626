/* Arrays that a user may have: what dezero/_bare.py asks of them at each kernel. */
#include "quick.h"

enum { ROOM = 16 }; /* arguments of a copy */

static PyObject *s_buffers, *s_take, *s_began, *s_ear, *s_in_rows, *s_in_columns, *s_ndim, *s_size, *s_lies, *s_behind, *s_go, *s_array,
    *s_stretch, *s_log, *s_latest, *s_count;

int name_bare(void)
{
    const Name names[] = {{&s_buffers, "dezero_buffers"}, {&s_take, "take"}, {&s_began, "began"}, {&s_ear, "ear"},
                          {&s_in_rows, "_c_contiguous"}, {&s_in_columns, "_f_contiguous"}, {&s_ndim, "ndim"}, {&s_size, "size"}, {&s_lies, "lies"},
                          {&s_behind, "behind"}, {&s_go, "go"}, {&s_array, "array"}, {&s_stretch, "stretch"}, {&s_log, "log"},
                          {&s_latest, "latest"}, {&s_count, "count"}};
    return intern(names, sizeof names / sizeof *names);
}

/* Who owns the memory of an array; a new reference. */
static PyObject *root_of(PyObject *a)
{
    PyTypeObject *type = Py_TYPE(a);
    PyObject *root = Py_NewRef(a), *base = PyObject_GetAttr(a, s_base);
    while (base != NULL && base != Py_None) {
        if (Py_IS_TYPE(base, type))
            Py_SETREF(root, Py_NewRef(base));
        PyObject *next = PyObject_GetAttr(base, s_base); /* NumPy puts an object of its own behind as_strided */
        if (next == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            next = Py_NewRef(Py_None);
        }
        Py_SETREF(base, next);
    }
    if (base == NULL)
        Py_CLEAR(root);
    Py_XDECREF(base);
    return root;
}

int is_seen(PyObject *a, PyObject **root)
{
    int found = 0;
    if (PyDict_GET_SIZE(roots)) {
        PyObject *owner = root_of(a), *key = owner == NULL ? NULL : PyLong_FromVoidPtr(owner);
        found = key == NULL ? -1 : PyDict_Contains(roots, key);
        Py_XDECREF(key);
        if (found == 1 && root != NULL)
            *root = owner;
        else
            Py_XDECREF(owner);
    }
    return found;
}

/* Whether the stretch that is matched has an array among its own, where Python says what follows; -1 on error. */
static int is_waiting(PyObject *tracer, PyObject *root)
{
    PyObject *cursor = PyObject_GetAttr(tracer, s_cursor), *now = cursor == NULL ? NULL : PyObject_GetAttr(cursor, s_now);
    int found = now == NULL ? -1 : !PyList_CheckExact(now);
    for (Py_ssize_t i = 0; found == 0 && i < PyList_GET_SIZE(now); i++)
        found = PyList_GET_ITEM(now, i) == root;
    Py_XDECREF(now);
    Py_XDECREF(cursor);
    return found;
}

int is_shared(PyObject *a, long state)
{
    PyObject *root = NULL;
    int found = state & (TRACED | WATCHED) ? is_seen(a, &root) : 0;
    if (found != 1)
        return found;
    PyObject *tracer = state & TRACED ? of_thread(s_tracer) : NULL;
    int waits = tracer == NULL ? 1 : is_waiting(tracer, root);
    if (waits == 1 && !PyErr_Occurred()) {
        PyObject *answer = PyObject_CallOneArg(py_shared, a);
        found = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
    }
    Py_XDECREF(root);
    return waits < 0 || PyErr_Occurred() ? -1 : found;
}

/* -- how arrays lie ---------------------------------------------------------------------------- */

/* A number that an array has; -1 on error. */
static Py_ssize_t number_of(PyObject *a, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(a, name);
    Py_ssize_t found = value == NULL ? -1 : PyLong_AsSsize_t(value);
    Py_XDECREF(value);
    return found;
}

int read_layout(PyObject *a, Layout *found)
{
    found->size = 1;
    found->sizes[0] = found->sizes[1] = 1;
#ifdef NUMPY_HEADERS
    if (Py_IS_TYPE(a, host_type)) {
        PyArrayObject *x = (PyArrayObject *)a;
        found->dtype = (PyObject *)PyArray_DESCR(x);
        found->dims = PyArray_NDIM(x);
        for (int i = 0; i < found->dims; i++) {
            found->size *= PyArray_DIMS(x)[i];
            if (i < 2)
                found->sizes[i] = PyArray_DIMS(x)[i];
        }
        return 1;
    }
#endif
    PyObject *dtype = PyObject_GetAttr(a, s_dtype);
    Py_XDECREF(dtype); /* it is the array's */
    found->dtype = dtype;
    found->dims = dtype == NULL ? -1 : number_of(a, s_ndim);
    found->size = found->dims < 0 ? -1 : number_of(a, s_size); /* CuPy takes longer to tell the shape */
    if (found->size < 0)
        return 0;
    if (found->dims > 0)
        found->sizes[0] = PyObject_Size(a);
    if (found->dims > 1)
        found->sizes[1] = found->dims == 2 && found->sizes[0] > 0 ? found->size / found->sizes[0] : -1;
    return !PyErr_Occurred();
}

/* Whether an array has no gaps, row by row or, if `columns`, column by column. */
static int is_dense_by(PyObject *a, int columns)
{
#ifdef NUMPY_HEADERS
    if (Py_IS_TYPE(a, host_type))
        return (PyArray_FLAGS((PyArrayObject *)a) & (columns ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS)) != 0;
#else
    if (Py_IS_TYPE(a, host_type)) {
        PyErr_SetString(PyExc_NotImplementedError, "NumPy's headers were not there");
        return 0; /* Python has to look */
    }
#endif
    PyObject *answer = PyObject_GetAttr(a, columns ? s_in_columns : s_in_rows);
    int found = answer == NULL ? 0 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return found > 0;
}

/* `lies` of _bare.py: how an array lies that will be copied. */
PyObject *lies(PyObject *a)
{
    Layout layout;
    if (!read_layout(a, &layout))
        return NULL;
    PyObject *type = (PyObject *)Py_TYPE(a);
    if (layout.dims <= 2 && layout.size > 0 && is_dense_by(a, 0)) {
        PyObject *dims = PyLong_FromSsize_t(layout.dims), *size = PyLong_FromSsize_t(layout.size), *rows = PyLong_FromSsize_t(layout.sizes[0]);
        PyObject *told = dims == NULL || size == NULL || rows == NULL ? NULL : PyTuple_Pack(5, type, layout.dtype, dims, size, rows);
        Py_XDECREF(dims);
        Py_XDECREF(size);
        Py_XDECREF(rows);
        return told;
    }
    if (PyErr_Occurred())
        return NULL;
    PyObject *shape = PyObject_GetAttr(a, s_shape), *strides = shape == NULL ? NULL : PyObject_GetAttr(a, s_strides);
    PyObject *found = strides == NULL ? NULL : PyTuple_Pack(4, type, layout.dtype, shape, strides);
    Py_XDECREF(strides);
    Py_XDECREF(shape);
    return found;
}

/* -- copies ------------------------------------------------------------------------------------ */

/* Copy an array to where a _Buffer says: its array, a new reference. NULL without an error where it lies otherwise. */
static PyObject *copied(PyObject *buffer, PyObject *a)
{
    PyObject *before = PyObject_GetAttr(buffer, s_lies), *now = before == NULL ? NULL : lies(a), *behind = NULL, *go = NULL, *array = NULL;
    int alike = now == NULL ? -1 : PyObject_RichCompareBool(now, before, Py_EQ);
    if (alike == 1 && (behind = PyObject_GetAttr(buffer, s_behind)) != NULL && (go = PyObject_GetAttr(buffer, s_go)) != NULL &&
        PyTuple_CheckExact(behind) && PyTuple_GET_SIZE(behind) < ROOM) {
        PyObject *given[ROOM] = {a};
        Py_ssize_t n = PyTuple_GET_SIZE(behind);
        for (Py_ssize_t i = 0; i < n; i++)
            given[1 + i] = PyTuple_GET_ITEM(behind, i);
        PyObject *done = PyObject_Vectorcall(go, given, (size_t)(n + 1), NULL);
        array = done == NULL ? NULL : PyObject_GetAttr(buffer, s_array);
        Py_XDECREF(done);
    }
    Py_XDECREF(go);
    Py_XDECREF(behind);
    Py_XDECREF(now);
    Py_XDECREF(before);
    return array;
}

/* `_Buffers.take` of _bare.py for a copy that was taken before and of which nobody keeps a log; NULL without an error for others. */
static PyObject *taken(PyObject *buffers, PyObject *a, PyObject *stretch)
{
    PyObject *last = PyObject_GetAttr(buffers, s_stretch), *log = PyObject_GetAttr(buffers, s_log), *latest = PyObject_GetAttr(buffers, s_latest);
    PyObject *number = PyObject_GetAttr(buffers, s_count), *next = NULL, *found = NULL;
    if (last != NULL && log == Py_None && latest != NULL && PyDict_CheckExact(latest) && number != NULL)
        next = PyLong_FromLong(last == stretch ? PyLong_AsLong(number) + 1 : 1);
    PyObject *buffer = next == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(latest, next));
    if (buffer != NULL && (found = copied(buffer, a)) != NULL &&
        (PyObject_SetAttr(buffers, s_count, next) < 0 || (last != stretch && PyObject_SetAttr(buffers, s_stretch, stretch) < 0)))
        Py_CLEAR(found);
    Py_XDECREF(buffer);
    Py_XDECREF(next);
    Py_XDECREF(number);
    Py_XDECREF(latest);
    Py_XDECREF(log);
    Py_XDECREF(last);
    return found;
}

PyObject *lent(PyObject *a, long state)
{
    int shared = is_shared(a, state);
    if (shared == 0)
        return a;
    PyObject *found = NULL, *buffers = NULL, *stretch = NULL, *tracer = shared < 0 ? NULL : Py_XNewRef(of_thread(s_tracer));
    if (tracer != NULL && (is_dense_by(a, 0) || is_dense_by(a, 1)) && !PyErr_Occurred() && (buffers = PyObject_GetAttr(tracer, s_buffers)) != NULL &&
        (stretch = PyObject_GetAttr(tracer, s_ear)) == Py_None)
        Py_SETREF(stretch, PyObject_GetAttr(tracer, s_began));
    if (stretch != NULL) {
        found = taken(buffers, a, stretch);
        if (found == NULL && !PyErr_Occurred())
            found = PyObject_CallMethodObjArgs(buffers, s_take, a, stretch, NULL);
    } else if (shared == 1) { /* gaps, or the first copy of all */
        PyErr_Clear();
        found = PyObject_CallOneArg(py_lent, a);
    }
    Py_XDECREF(stretch);
    Py_XDECREF(buffers);
    Py_XDECREF(tracer);
    Py_DECREF(a);
    return found;
}
