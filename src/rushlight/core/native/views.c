/* What a view knows of its base, and whether memory can be shown in another shape: core/views.py in C. */
#include "slots.h"

PyTypeObject *extra_type;
Py_ssize_t e_base, e_spec, e_version, e_retains, e_inference, e_made, e_frozen;
static PyObject *refresh_view, *nowhere, *s_strides, *s_no_grad, *s_in_inference;

static PyObject *zero; /* the version that every tensor begins with */

/* What only some tensors have, made where it is not yet there; borrowed. */
static PyObject *extra_of(PyObject *t)
{
    PyObject *found = SLOT(t, t_ext);
    if (found != Py_None)
        return found;
    found = PyBaseObject_Type.tp_new(extra_type, empty, NULL);
    if (found == NULL)
        return NULL;
    SLOT(found, e_base) = Py_NewRef(Py_None);
    SLOT(found, e_spec) = Py_NewRef(Py_None);
    SLOT(found, e_version) = Py_NewRef(zero);
    SLOT(found, e_retains) = Py_NewRef(Py_False);
    SLOT(found, e_inference) = Py_NewRef(Py_False);
    SLOT(found, e_made) = Py_NewRef(Py_None);
    SLOT(found, e_frozen) = Py_NewRef(Py_None);
    put(t, t_ext, found);
    return found;
}

/* The cell of a tensor's version, made where it is not yet there; borrowed. */
PyObject *version_cell(PyObject *t)
{
    PyObject *cell = SLOT(t, t_ver);
    if (cell != Py_None)
        return cell;
    cell = PyList_New(1);
    if (cell == NULL)
        return NULL;
    PyList_SET_ITEM(cell, 0, Py_NewRef(zero));
    put(t, t_ver, cell);
    return cell;
}

/* Note that `t` shares the memory of `source`: one version counter, one base. `made` is how, None as usual. */
int note_view(PyObject *t, PyObject *source, PyObject *op, PyObject *attrs, PyObject *made, long state)
{
    PyObject *cell = version_cell(source), *parent = SLOT(source, t_ext);
    if (cell == NULL)
        return -1;
    put(t, t_ver, Py_NewRef(cell));
    int first = parent == Py_None || SLOT(parent, e_base) == Py_None;
    PyObject *spec = PyTuple_Pack(3, op, attrs, first ? Py_None : SLOT(parent, e_spec));
    PyObject *own = spec == NULL ? NULL : extra_of(t);
    if (own == NULL) {
        Py_XDECREF(spec);
        return -1;
    }
    put(own, e_base, Py_NewRef(first ? source : SLOT(parent, e_base)));
    put(own, e_spec, spec);
    put(own, e_version, Py_NewRef(PyList_GET_ITEM(cell, 0)));
    if (state & INFERENCE)
        made = s_in_inference;
    else if (!(state & GRAD))
        made = s_no_grad;
    else if (made == Py_None && parent != Py_None)
        made = SLOT(parent, e_made);
    put(own, e_made, Py_NewRef(made));
    put(own, e_inference, Py_NewRef(parent == Py_None ? Py_False : SLOT(parent, e_inference)));
    return 0;
}

/* The edge to the node that made `t`, which the tensor holds; NULL on error. */
PyObject *edge_of(PyObject *t)
{
    PyObject *own = SLOT(t, t_ext);
    if (own != Py_None && SLOT(own, e_base) != Py_None) {
        PyObject *now = PyList_GET_ITEM(SLOT(t, t_ver), 0);
        int same = now == SLOT(own, e_version) || SLOT(SLOT(own, e_base), t_edge) == Py_None
                       ? 1
                       : PyObject_RichCompareBool(now, SLOT(own, e_version), Py_EQ);
        PyObject *done = same ? NULL : PyObject_CallOneArg(refresh_view, t);
        if (same < 0 || (!same && done == NULL))
            return NULL;
        Py_XDECREF(done);
        if (SLOT(t, t_edge) == Py_None && SLOT(SLOT(own, e_base), t_edge) != Py_None)
            return nowhere;
    }
    return SLOT(t, t_edge);
}

/* -- shapes ------------------------------------------------------------------------------------ */

#define MOST_DIMS 64

/* The numbers of a tuple; their count, or -1. */
static Py_ssize_t numbers_of(PyObject *tuple, Py_ssize_t *into)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > MOST_DIMS) {
        PyErr_SetString(PyExc_TypeError, "a tuple of at most 64 numbers is wanted");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        into[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (into[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return PyTuple_GET_SIZE(tuple);
}

static int has_zero(const Py_ssize_t *sizes, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (sizes[i] == 0)
            return 1;
    return 0;
}

/* Whether `wanted` shows the elements of `sizes` at `steps` without a copy: `view_strides` without the strides. */
static int shows(const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t n, const Py_ssize_t *wanted, Py_ssize_t m)
{
    Py_ssize_t run[MOST_DIMS], runs = 0, last = 0; /* neighbours that lie as one are one run; `last` is its step */
    for (Py_ssize_t i = 0; i < n; i++) {
        if (sizes[i] == 1)
            continue;
        if (runs && last == sizes[i] * steps[i])
            run[runs - 1] *= sizes[i];
        else
            run[runs++] = sizes[i];
        last = steps[i];
    }
    Py_ssize_t i = m - 1;
    while (runs--) {
        Py_ssize_t size = run[runs];
        for (; i >= 0 && size > 1; i--) {
            if (size % wanted[i])
                return 0;
            size /= wanted[i];
        }
        if (size != 1)
            return 0;
    }
    for (; i >= 0; i--)
        if (wanted[i] != 1)
            return 0;
    return 1;
}

/* can_view(array, shape): whether the array's memory can be shown in another shape of as many elements. */
PyObject *can_view(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t sizes[MOST_DIMS], steps[MOST_DIMS], wanted[MOST_DIMS];
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "can_view(array, shape)");
        return NULL;
    }
    PyObject *shape = PyObject_GetAttr(args[0], s_shape);
    PyObject *strides = shape == NULL ? NULL : PyObject_GetAttr(args[0], s_strides);
    Py_ssize_t n = strides == NULL ? -1 : numbers_of(shape, sizes);
    if (n >= 0 && numbers_of(strides, steps) < 0)
        n = -1;
    Py_ssize_t m = n < 0 ? -1 : numbers_of(args[1], wanted);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    if (m < 0)
        return NULL;
    return PyBool_FromLong(has_zero(sizes, n) || has_zero(wanted, m) || shows(sizes, steps, n, wanted, m));
}

/* -- for the module ---------------------------------------------------------------------------- */

/* mark_view(t, source, op, attrs, made), for views that are made without a call of an op. */
PyObject *mark_one_view(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 5 || !is_tensor(args[0]) || !is_tensor(args[1])) {
        PyErr_SetString(PyExc_TypeError, "mark_view(tensor, source, op, attrs, made)");
        return NULL;
    }
    long state = state_here();
    if (state < 0 || note_view(args[0], args[1], args[2], args[3], args[4], state) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* know_views(Extra, refresh_view, NOWHERE) */
PyObject *know_views(PyObject *module, PyObject *args)
{
    PyObject *extra, *refresh;
    if (!PyArg_ParseTuple(args, "OOO", &extra, &refresh, &nowhere))
        return NULL;
    const Slot slots[] = {
        {extra, "base", &e_base},       {extra, "spec", &e_spec},           {extra, "edge_version", &e_version},
        {extra, "retains", &e_retains}, {extra, "inference", &e_inference}, {extra, "made", &e_made},
        {extra, "frozen", &e_frozen},
    };
    if (find_offsets(slots, sizeof slots / sizeof *slots) < 0)
        return NULL;
    extra_type = (PyTypeObject *)Py_NewRef(extra);
    refresh_view = Py_NewRef(refresh);
    Py_INCREF(nowhere);
    Py_RETURN_NONE;
}

int name_views(void)
{
    const Name names[] = {{&s_strides, "strides"}, {&s_no_grad, "no_grad"}, {&s_in_inference, "inference"}};
    zero = PyLong_FromLong(0);
    return zero == NULL ? -1 : intern(names, sizeof names / sizeof *names);
}
