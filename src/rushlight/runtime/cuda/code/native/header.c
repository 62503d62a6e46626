/* Where the fields of CuPy's arrays lie is found out from arrays whose fields are known, and believed only where it is
 * the same in all of them. With another CuPy, whose fields lie elsewhere or are of another kind, attributes are asked:
 * that makes a tuple of numbers for every shape, which costs more than the rest of a small launch.
 */
#define PY_SSIZE_T_CLEAN
#include "gauge.h"
#include "header.h"
#include <string.h>

static PyObject *s_shape, *s_strides, *s_dtype, *s_data, *s_ptr, *s_itemsize;

/* Offsets in an array, and that of the address in its memory; 0 while they are not known. */
static Py_ssize_t at_shape, at_strides, at_dtype, at_data, at_ptr;
static PyTypeObject *memory_type;

typedef struct {
    const Py_ssize_t *begin, *end, *room;
} Numbers; /* a std::vector */

#define FIELD(object, offset, type) (*(type *)((char *)(object) + (offset)))

int read_address(PyObject *array, uint64_t *out)
{
    if (!at_ptr || !Py_IS_TYPE(array, (PyTypeObject *)array_type))
        return 0;
    PyObject *data = FIELD(array, at_data, PyObject *);
    if (data == NULL || !Py_IS_TYPE(data, memory_type))
        return 0;
    *out = FIELD(data, at_ptr, uint64_t);
    return 1;
}

static int read_tuple(PyObject *numbers, Py_ssize_t *room)
{
    Py_ssize_t n = PyTuple_GET_SIZE(numbers);
    for (Py_ssize_t i = 0; i < n; i++)
        room[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
    return PyErr_Occurred() ? -1 : (int)n;
}

/* By attributes. */
static int ask_header(PyObject *array, Header *h)
{
    PyObject *shape = PyObject_GetAttr(array, s_shape), *strides = PyObject_GetAttr(array, s_strides);
    int found = shape != NULL && strides != NULL && PyTuple_Check(shape) && PyTuple_Check(strides) ? 1 : -1;
    if (found == 1 && (PyTuple_GET_SIZE(shape) > MOST_DIMS || PyTuple_GET_SIZE(strides) != PyTuple_GET_SIZE(shape)))
        found = 0;
    if (found == 1) {
        h->ndim = read_tuple(shape, h->room);
        h->shape = h->room;
        h->strides = h->room + MOST_DIMS;
        h->owned = h->ndim < 0 || read_tuple(strides, h->room + MOST_DIMS) < 0 ? NULL : PyObject_GetAttr(array, s_dtype);
        h->dtype = h->owned;
        found = h->owned == NULL ? -1 : 1;
    }
    if (found < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the shape and the strides of an array are tuples");
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return found;
}

int read_header(PyObject *array, Header *h)
{
    h->owned = NULL;
    if (!at_ptr)
        return ask_header(array, h);
    const Numbers *shape = &FIELD(array, at_shape, Numbers), *strides = &FIELD(array, at_strides, Numbers);
    Py_ssize_t n = shape->end - shape->begin;
    if (n > MOST_DIMS || strides->end - strides->begin != n)
        return 0;
    h->ndim = (int)n;
    h->shape = shape->begin;
    h->strides = strides->begin;
    h->dtype = FIELD(array, at_dtype, PyObject *);
    return h->dtype != NULL;
}

void release_header(Header *h)
{
    Py_CLEAR(h->owned);
}

/* -- finding out ------------------------------------------------------------------------------- */

/* Where the same object, or the same number, lies in all of the probes; 0 where that is not one place. */
static Py_ssize_t find_word(PyObject *const *probes, const uint64_t *words, Py_ssize_t count)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t at = sizeof(PyObject); at + 8 <= Py_TYPE(probes[0])->tp_basicsize; at += 8) {
        Py_ssize_t k = 0;
        while (k < count && FIELD(probes[k], at, uint64_t) == words[k])
            k++;
        if (k == count) {
            if (found)
                return 0;
            found = at;
        }
    }
    return found;
}

static int may_be_numbers(PyObject *probe, Py_ssize_t at, Py_ssize_t n)
{
    const uint64_t *words = &FIELD(probe, at, uint64_t);
    return words[0] > 4096 && words[0] % 8 == 0 && words[1] == words[0] + 8 * (uint64_t)n && words[2] >= words[1];
}

/* Where vectors of these numbers lie in all of the probes. */
static Py_ssize_t find_numbers(PyObject *const *probes, PyObject *const *tuples, Py_ssize_t count)
{
    Py_ssize_t found = 0, room[MOST_DIMS];
    for (Py_ssize_t at = sizeof(PyObject); at + 24 <= Py_TYPE(probes[0])->tp_basicsize; at += 8) {
        Py_ssize_t k = 0;
        while (k < count && may_be_numbers(probes[k], at, PyTuple_GET_SIZE(tuples[k])))
            k++;
        if (k < count)
            continue; /* nothing is followed that is not an address in every probe */
        for (k = 0; k < count; k++) {
            int n = read_tuple(tuples[k], room);
            if (n < 0 || memcmp(FIELD(probes[k], at, Numbers).begin, room, n * sizeof *room))
                break;
        }
        if (k == count) {
            if (found)
                return 0;
            found = at;
        }
    }
    return found;
}

#define MOST_PROBES 8

/* The attributes of a probe, new references in `held`. */
static int look_at(PyObject *probe, PyObject *held[4], uint64_t *address)
{
    PyObject *const names[] = {s_dtype, s_data, s_shape, s_strides};
    for (int i = 0; i < 4; i++)
        if ((held[i] = PyObject_GetAttr(probe, names[i])) == NULL)
            return -1;
    PyObject *ptr = PyObject_GetAttr(held[1], s_ptr);
    *address = ptr == NULL ? 0 : PyLong_AsUnsignedLongLong(ptr);
    Py_XDECREF(ptr);
    return PyErr_Occurred() || !PyTuple_CheckExact(held[2]) || !PyTuple_CheckExact(held[3]) ? -1 : 0;
}

/* learn_header(probes): whether the layout is known, from arrays of different shapes, strides, dtypes and addresses.
 * None instead of probes forgets it. */
PyObject *learn_header(PyObject *module, PyObject *probes)
{
    at_shape = at_strides = at_dtype = at_data = at_ptr = 0;
    if (probes == Py_None)
        Py_RETURN_FALSE;
    Py_ssize_t count = PyTuple_CheckExact(probes) ? PyTuple_GET_SIZE(probes) : 0;
    if (count < 3 || count > MOST_PROBES)
        return PyErr_Format(PyExc_ValueError, "a layout is learnt from a tuple of 3 to 8 arrays");
    PyObject *arrays[MOST_PROBES], *held[MOST_PROBES][4], *data[MOST_PROBES], *shapes[MOST_PROBES], *strides[MOST_PROBES];
    uint64_t dtypes[MOST_PROBES], memories[MOST_PROBES], addresses[MOST_PROBES];
    memset(held, 0, sizeof held);
    int fine = sizeof(void *) == 8 && sizeof(Py_ssize_t) == 8;
    for (Py_ssize_t k = 0; fine && k < count; k++) {
        arrays[k] = PyTuple_GET_ITEM(probes, k);
        fine = look_at(arrays[k], held[k], &addresses[k]) == 0 && Py_TYPE(arrays[k]) == Py_TYPE(arrays[0]) &&
               Py_TYPE(held[k][1]) == Py_TYPE(held[0][1]);
        dtypes[k] = (uint64_t)(uintptr_t)held[k][0];
        memories[k] = (uint64_t)(uintptr_t)held[k][1];
        data[k] = held[k][1];
        shapes[k] = held[k][2];
        strides[k] = held[k][3];
    }
    if (fine) {
        at_shape = find_numbers(arrays, shapes, count);
        at_strides = find_numbers(arrays, strides, count);
        at_dtype = find_word(arrays, dtypes, count);
        at_data = find_word(arrays, memories, count);
        memory_type = Py_TYPE(data[0]);
        Py_ssize_t at = find_word(data, addresses, count);
        at_ptr = at_shape && at_strides && at_dtype && at_data && !PyErr_Occurred() ? at : 0;
    }
    PyErr_Clear();
    for (Py_ssize_t k = 0; k < count; k++)
        for (int i = 0; i < 4; i++)
            Py_XDECREF(held[k][i]);
    return PyBool_FromLong(at_ptr != 0);
}

/* -- many at once ------------------------------------------------------------------------------ */

/* Whether an array fills its memory, in whatever order of dims; -1 on error. */
static int is_gapless(const Header *h, Py_ssize_t item)
{
    Py_ssize_t step = item;
    int used[MOST_DIMS] = {0};
    for (int round = 0; round < h->ndim; round++) { /* the dims by rising strides */
        int next = -1;
        for (int i = 0; i < h->ndim; i++)
            if (!used[i] && (next < 0 || h->strides[i] < h->strides[next] ||
                             (h->strides[i] == h->strides[next] && h->shape[i] < h->shape[next])))
                next = i;
        used[next] = 1;
        if (h->shape[next] != 1 && h->strides[next] != step)
            return 0;
        step *= h->shape[next];
    }
    return 1;
}

/* gathered(arrays): (dtype, addresses, sizes), or None where they are not of one dtype or have gaps. */
PyObject *gathered(PyObject *module, PyObject *arrays)
{
    if (!PyTuple_CheckExact(arrays) && !PyList_CheckExact(arrays))
        return PyErr_Format(PyExc_TypeError, "gathered() takes a tuple or a list of arrays");
    Py_ssize_t n = PySequence_Fast_GET_SIZE(arrays), item = 0;
    PyObject *addresses = PyList_New(n), *sizes = PyList_New(n), *dtype = NULL, *result = NULL;
    int fine = addresses == NULL || sizes == NULL ? -1 : n > 0;
    for (Py_ssize_t i = 0; fine == 1 && i < n; i++) {
        PyObject *a = PySequence_Fast_GET_ITEM(arrays, i);
        Header h;
        uint64_t address;
        if (!Py_IS_TYPE(a, (PyTypeObject *)array_type))
            fine = 0;
        else if (address_of(a, &address) < 0)
            fine = -1;
        else if ((fine = read_header(a, &h)) == 1) {
            if (dtype == NULL) {
                dtype = Py_NewRef(h.dtype);
                PyObject *size = PyObject_GetAttr(dtype, s_itemsize);
                item = size == NULL ? -1 : PyLong_AsSsize_t(size);
                Py_XDECREF(size);
            }
            fine = item < 0 ? -1 : h.dtype == dtype ? 1 : PyObject_RichCompareBool(h.dtype, dtype, Py_EQ);
            Py_ssize_t count = 1;
            for (int d = 0; d < h.ndim; d++)
                count *= h.shape[d];
            if (fine == 1)
                fine = count == 0 ? 1 : is_gapless(&h, item);
            release_header(&h);
            if (fine == 1) {
                PyList_SET_ITEM(addresses, i, PyLong_FromUnsignedLongLong(address));
                PyList_SET_ITEM(sizes, i, PyLong_FromSsize_t(count));
                fine = PyList_GET_ITEM(addresses, i) && PyList_GET_ITEM(sizes, i) ? 1 : -1;
            }
        }
    }
    if (fine >= 0)
        result = fine ? PyTuple_Pack(3, dtype, addresses, sizes) : Py_NewRef(Py_None);
    Py_XDECREF(addresses);
    Py_XDECREF(sizes);
    Py_XDECREF(dtype);
    return result;
}

int name_header(void)
{
    s_shape = PyUnicode_InternFromString("shape");
    s_strides = PyUnicode_InternFromString("strides");
    s_dtype = PyUnicode_InternFromString("dtype");
    s_data = PyUnicode_InternFromString("data");
    s_ptr = PyUnicode_InternFromString("ptr");
    s_itemsize = PyUnicode_InternFromString("itemsize");
    return s_shape && s_strides && s_dtype && s_data && s_ptr && s_itemsize ? 0 : -1;
}
