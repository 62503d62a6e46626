/* A batch of the host that goes to a GPU into an array that stands ready: see capture/loops/arrivals.py.
 *
 * Whatever is unusual about the tensor is left to the way that every tensor can go.
 */
#include "match.h"

#include <string.h>

static PyObject *s_ptr, *s_data;

int name_arrive(void)
{
    s_ptr = PyUnicode_InternFromString("ptr"), s_data = PyUnicode_InternFromString("data");
    return s_ptr == NULL || s_data == NULL ? -1 : 0;
}

enum { DEVICE, DTYPE, SHAPE, ARRAYS, LENGTH };

/* Whether gapless memory is laid out as a shape says. */
static int is_shaped(const Py_buffer *from, PyObject *shape)
{
    if (from->ndim != PyTuple_GET_SIZE(shape))
        return 0;
    for (int i = 0; i < from->ndim; i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != from->shape[i])
            return 0;
    return 1;
}

/* Have the driver take the values; it returns when it has them. 0 with an error set when it failed. */
static int upload(PyObject *copy, PyObject *current, PyObject *to, const Py_buffer *from)
{
    PyObject *data = PyObject_GetAttr(to, s_data), *done = NULL;
    PyObject *given[] = {data == NULL ? NULL : PyObject_GetAttr(data, s_ptr), PyLong_FromVoidPtr(from->buf),
                         PyLong_FromSsize_t(from->len), PyLong_FromLong(1), PyObject_GetAttr(current, s_ptr)};
    if (given[0] && given[1] && given[2] && given[3] && given[4])
        done = PyObject_Vectorcall(copy, given, 5, NULL);
    for (int i = 0; i < 5; i++)
        Py_XDECREF(given[i]);
    Py_XDECREF(data);
    Py_XDECREF(done);
    return done != NULL;
}

/* arrive(cursor, row, changed, copy, current, tensor, device): the tensor's copy on the device, in one of the arrays of `row`
 * (device, dtype, shape, arrays); None when the plain way has to be taken. `copy` is cudaMemcpyAsync. */
PyObject *arrive(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 7 || !PyObject_TypeCheck(args[0], &cursor_type) || !PyTuple_CheckExact(args[1]) ||
        PyTuple_GET_SIZE(args[1]) != LENGTH || !PyDict_CheckExact(args[2]))
        Py_RETURN_NONE;
    PyObject *row = args[1], *t = args[5], *to = idle(PyTuple_GET_ITEM(row, ARRAYS), NULL);
    if (to == NULL || !Py_IS_TYPE(t, tensor_type) || SLOT(t, t_edge) != Py_None || SLOT(t, t_ext) != Py_None ||
        PyTuple_GET_ITEM(row, DEVICE) != args[6])
        Py_RETURN_NONE;
    PyObject *a = SLOT(t, t_a);
    if (a == NULL || !comes_from_host((Cursor *)args[0], a, args[2], PyTuple_GET_ITEM(row, DTYPE)) || !is_hidden(to))
        Py_RETURN_NONE;
    Py_buffer from;
    if (PyObject_GetBuffer(a, &from, PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    const int fits = is_shaped(&from, PyTuple_GET_ITEM(row, SHAPE));
    Py_INCREF(to);
    const int sent = fits && upload(args[3], args[4], to, &from);
    PyBuffer_Release(&from);
    if (!sent) {
        PyErr_Clear(); /* the plain way says what is wrong */
        Py_DECREF(to);
        Py_RETURN_NONE;
    }
    return new_tensor(to);
}
