/* What stands in the brackets of `x[...]`: operators/index/brackets.py in C, for what is usual.
 *
 * Anything else (lists, arrays of NumPy, masks of no dims, indices on another device, whatever does not fit) is
 * answered by None: Python reads it, or has the words for the error.
 */
#include "slots.h"

#define MOST_ITEMS 64

static PyObject *s_item, *s_itemsize;

enum { WHOLE, SELECT, SLICE, WINDOW }; /* the op that names the view's node */
enum { NEW_DIM = 1, ELLIPSIS, POSITION, NUMBER, RANGE, PICK, MASK, OTHER };

typedef struct {
    int what, dims;     /* dims of the tensor that it takes */
    PyObject *shape;    /* of a mask, new */
} Item;

static PyObject *all_of_it; /* (None, None, None) */

static int is_number(PyObject *part)
{
    return part == Py_None || PyLong_CheckExact(part);
}

/* How an index tensor is read; -1 on error. */
static int read_tensor(Item *item, PyObject *index, PyTypeObject *type)
{
    PyObject *a = SLOT(index, t_a);
    int kind = kind_of(a);
    if (kind != 'i' && kind != 'b') {
        item->what = OTHER;
        return kind < 0 ? -1 : 0;
    }
    PyObject *shape = PyObject_GetAttr(a, s_shape);
    if (shape == NULL)
        return -1;
    if (!PyTuple_Check(shape) || (!PyTuple_GET_SIZE(shape) && kind == 'b') ||
        (PyTuple_GET_SIZE(shape) && !Py_IS_TYPE(a, type))) {
        Py_DECREF(shape);
        item->what = OTHER;
        return 0;
    }
    if (kind == 'b') {
        *item = (Item){MASK, (int)PyTuple_GET_SIZE(shape), shape};
        return 0;
    }
    *item = (Item){PyTuple_GET_SIZE(shape) ? PICK : NUMBER, 1, NULL};
    Py_DECREF(shape);
    PyObject *dtype = PyObject_GetAttr(a, s_dtype), *size = dtype == NULL ? NULL : PyObject_GetAttr(dtype, s_itemsize);
    Py_XDECREF(dtype);
    if (size == NULL)
        return -1;
    if (PyLong_AsLong(size) < 4)
        item->what = OTHER;
    Py_DECREF(size);
    return 0;
}

static int read_item(Item *item, PyObject *index, PyTypeObject *type)
{
    *item = (Item){OTHER, 0, NULL};
    if (index == Py_None)
        item->what = NEW_DIM;
    else if (index == Py_Ellipsis)
        item->what = ELLIPSIS;
    else if (PyLong_CheckExact(index))
        *item = (Item){POSITION, 1, NULL};
    else if (PySlice_Check(index)) {
        PySliceObject *s = (PySliceObject *)index;
        if (is_number(s->start) && is_number(s->stop) && is_number(s->step))
            *item = (Item){RANGE, 1, NULL};
    } else if (is_tensor(index))
        return read_tensor(item, index, type);
    return 0;
}

/* What is found: `window` and `slots` are lists until the end. */
typedef struct {
    int last, plain;
    PyObject *window, *slots, *picks;
} Split;

static int add(PyObject *list, PyObject *value) /* takes the reference */
{
    int failed = value == NULL || PyList_Append(list, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static int add_dims(Split *s, Py_ssize_t n, int slots)
{
    for (; n > 0; n--)
        if (PyList_Append(s->window, all_of_it) < 0 || (slots && add(s->slots, PyLong_FromLong(0)) < 0))
            return -1;
    return 0;
}

/* One position: 1 when done, 0 where it lies outside, -1 on error. */
static int add_position(Split *s, PyObject *number, Py_ssize_t size)
{
    int beyond;
    long long i = PyLong_AsLongLongAndOverflow(number, &beyond);
    if (i == -1 && PyErr_Occurred())
        return -1;
    if (beyond || i < -size || i >= size)
        return 0;
    s->plain = 0;
    s->last = SELECT;
    return add(s->window, PyLong_FromLongLong(i < 0 ? i + size : i)) < 0 ? -1 : 1;
}

/* One range: 1 when done, 0 where it has no step forward, -1 on error. */
static int add_range(Split *s, PyObject *slice, Py_ssize_t size)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (step <= 0 || step == PY_SSIZE_T_MAX)
        return 0;
    PySlice_AdjustIndices(size, &start, &stop, step);
    stop = stop < start ? start : stop;
    s->plain = s->plain && !start && stop == size && step == 1;
    s->last = SLICE;
    return add(s->window, Py_BuildValue("nnn", start, stop, step)) < 0 || add(s->slots, PyLong_FromLong(0)) < 0 ? -1 : 1;
}

/* Whether a mask has the sizes of the dims that it stands for; -1 on error. */
static int covers(PyObject *mask, PyObject *shape, Py_ssize_t dim)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mask); i++) {
        int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(mask, i), PyTuple_GET_ITEM(shape, dim + i), Py_EQ);
        if (same != 1)
            return same;
    }
    return 1;
}

/* Add one item at `dim`: 1 when done, 0 where Python has to read it, -1 on error. */
static int add_item(Split *s, const Item *item, PyObject *index, PyObject *shape, Py_ssize_t *dim, Py_ssize_t *taken)
{
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape), rest = ndim - *taken;
    int found = 1;
    Py_ssize_t size = item->dims && *dim < ndim ? PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, *dim)) : 0;
    PyObject *number;
    switch (item->what) {
    case NEW_DIM:
        s->plain = 0;
        s->last = WINDOW;
        return PyList_Append(s->window, Py_None) < 0 || add(s->slots, PyLong_FromLong(0)) < 0 ? -1 : 1;
    case ELLIPSIS: /* a second one stands for nothing */
        *dim += rest;
        *taken = ndim;
        return add_dims(s, rest, 1) < 0 ? -1 : 1;
    case POSITION:
        found = add_position(s, index, size);
        break;
    case NUMBER:
        number = PyObject_CallMethodNoArgs(index, s_item);
        found = number == NULL ? -1 : PyLong_CheckExact(number) ? add_position(s, number, size) : 0;
        Py_XDECREF(number);
        break;
    case RANGE:
        found = add_range(s, index, size);
        break;
    case MASK:
        found = covers(item->shape, shape, *dim);
        if (found != 1)
            break;
        /* fall through */
    case PICK:
        if (add_dims(s, item->dims, 0) < 0 || add(s->slots, PyLong_FromLong(1)) < 0 || PyList_Append(s->picks, index) < 0)
            found = -1;
    }
    *dim += item->dims;
    return found;
}

/* split_brackets(x, index): (last, plain, window, slots, picks) as `split_index` has them, or None. */
PyObject *split_brackets(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !is_tensor(args[0])) {
        PyErr_SetString(PyExc_TypeError, "split_brackets(tensor, index)");
        return NULL;
    }
    PyObject *a = SLOT(args[0], t_a), *index = args[1];
    PyObject *const *given = PyTuple_CheckExact(index) ? ((PyTupleObject *)index)->ob_item : &args[1];
    Py_ssize_t n = PyTuple_CheckExact(index) ? PyTuple_GET_SIZE(index) : 1, taken = 0, dim = 0, read = 0;
    if (a == NULL || n > MOST_ITEMS)
        Py_RETURN_NONE;
    PyObject *shape = PyObject_GetAttr(a, s_shape), *found = NULL;
    if (shape == NULL)
        return NULL;
    Item items[MOST_ITEMS];
    Split s = {WHOLE, 1, PyList_New(0), PyList_New(0), PyList_New(0)};
    int usual = s.window == NULL || s.slots == NULL || s.picks == NULL ? -1 : PyTuple_CheckExact(shape);
    for (; usual == 1 && read < n; read++) { /* all are looked at before any is read from a device */
        usual = read_item(&items[read], given[read], Py_TYPE(a)) < 0 ? -1 : items[read].what != OTHER;
        taken += items[read].dims;
    }
    if (usual == 1 && taken > PyTuple_GET_SIZE(shape))
        usual = 0;
    for (Py_ssize_t i = 0; usual == 1 && i < n; i++)
        usual = add_item(&s, &items[i], given[i], shape, &dim, &taken);
    if (usual == 1) {
        PyObject *window = PyList_AsTuple(s.window), *slots = PyList_AsTuple(s.slots);
        if (window != NULL && slots != NULL)
            found = Py_BuildValue("iONNO", s.last, s.plain ? Py_True : Py_False, window, slots, s.picks);
        else {
            Py_XDECREF(window);
            Py_XDECREF(slots);
        }
    } else if (usual == 0)
        found = Py_NewRef(Py_None);
    while (read--)
        Py_XDECREF(items[read].shape);
    Py_XDECREF(s.window);
    Py_XDECREF(s.slots);
    Py_XDECREF(s.picks);
    Py_DECREF(shape);
    return found;
}

/* bracketed(window): what NumPy and CuPy want in their brackets; see operators/shape/windows.py. */
PyObject *bracketed(PyObject *module, PyObject *window)
{
    if (!PyTuple_CheckExact(window))
        return PyErr_Format(PyExc_TypeError, "a window is a tuple");
    Py_ssize_t n = PyTuple_GET_SIZE(window);
    PyObject *all = PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
        PyObject *e = PyTuple_GET_ITEM(window, i);
        if (PyTuple_CheckExact(e) && PyTuple_GET_SIZE(e) == 3)
            e = PySlice_New(PyTuple_GET_ITEM(e, 0), PyTuple_GET_ITEM(e, 1), PyTuple_GET_ITEM(e, 2));
        else
            Py_INCREF(e);
        if (e == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, e);
    }
    if (all != NULL) /* so that NumPy answers a view without dims where it would answer a number */
        PyTuple_SET_ITEM(all, n, Py_NewRef(Py_Ellipsis));
    return all;
}

int name_brackets(void)
{
    const Name names[] = {{&s_item, "item"}, {&s_itemsize, "itemsize"}};
    all_of_it = PyTuple_Pack(3, Py_None, Py_None, Py_None);
    return all_of_it == NULL ? -1 : intern(names, sizeof names / sizeof *names);
}
