/* `cast_to`, and what autocast does to the inputs of products: operators/memory/casting.py and amp/autocast.py in C.
 *
 * A third of the kernels of a step under autocast are casts, and each weight is looked up in autocast's cache. Ops of
 * other lists, tensors of classes with a dtype of their own and arrays never seen before go to the Python version.
 */
#include "slots.h"

#define LOW_PRECISION 0 /* of amp/lists.py */
#define FLOAT32 1

static PyObject *cast_op, *by_np, *from_np, *own_dtype;                        /* know_casts */
static PyObject *policies, *places, *float32, *float64;                        /* know_policies */
static PyTypeObject *casts_type, *leaf_type;                                   /* too */
static PyObject *s_name, *s_to, *s_source, *s_enabled, *s_cache_enabled, *s_cache;

/* Our dtype of a tensor, a new reference; NULL without an error where its class has its own idea of it. */
static PyObject *dtype_of(PyObject *t)
{
    if (SLOT(t, t_a) == NULL)
        return NULL;
    if (!Py_IS_TYPE(t, tensor_type)) {
        PyObject *descriptor = PyObject_GetAttr((PyObject *)Py_TYPE(t), s_dtype);
        Py_XDECREF(descriptor); /* its class holds it */
        if (descriptor != own_dtype)
            return NULL;
    }
    PyObject *given = PyObject_GetAttr(SLOT(t, t_a), s_dtype);
    if (given == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(by_np, given);
    if (found != NULL)
        Py_INCREF(found);
    else if (!PyErr_Occurred())
        found = PyObject_CallOneArg(from_np, given);
    Py_DECREF(given);
    return found;
}

/* The op `cast` of one tensor whose dtype is `source`. */
static PyObject *cast_from(PyObject *t, PyObject *source, PyObject *to, long state)
{
    PyObject *inputs = PyTuple_Pack(1, t), *attrs = PyDict_New(), *result = NULL;
    if (inputs != NULL && attrs != NULL && PyDict_SetItem(attrs, s_to, to) == 0 &&
        PyDict_SetItem(attrs, s_source, source) == 0) {
        if (is_usual(state))
            result = carry_out(cast_op, inputs, attrs, state, 0);
        if (result == NULL && !PyErr_Occurred())
            result = PyObject_Call(cast_op, inputs, attrs);
    }
    Py_XDECREF(inputs);
    Py_XDECREF(attrs);
    return result;
}

/* cast_to(x, d) */
PyObject *cast_to(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !is_tensor(args[0]))
        return PyErr_Format(PyExc_TypeError, "cast_to(tensor, dtype)");
    PyObject *source = dtype_of(args[0]), *result = NULL;
    if (source == NULL && !PyErr_Occurred())
        source = PyObject_GetAttr(args[0], s_dtype);
    if (source == NULL)
        return NULL;
    long state = source == args[1] ? 0 : state_here();
    if (state >= 0)
        result = source == args[1] ? Py_NewRef(args[0]) : cast_from(args[0], source, args[1], state);
    Py_DECREF(source);
    return result;
}

/* -- autocast ---------------------------------------------------------------------------------- */

/* Whether a tensor is a leaf that wants a gradient; -1 on error. */
static int is_wanted_leaf(PyObject *t)
{
    PyObject *edge = edge_of(t);
    if (edge == NULL)
        return -1;
    return edge != Py_None && PyTuple_Check(edge) && PyObject_TypeCheck(PyTuple_GET_ITEM(edge, 0), leaf_type);
}

/* What the cache holds for a tensor, borrowed; NULL where it has nothing that can be used, -1 in `status` on error. */
static PyObject *from_cache(PyObject *cache, PyObject *key, PyObject *t, PyObject *version, PyObject *d, long state,
                            int *status)
{
    PyObject *found = PyDict_GetItemWithError(cache, key);
    *status = found == NULL && PyErr_Occurred() ? -1 : 0;
    if (found == NULL || !PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 4)
        return NULL;
    if (PyTuple_GET_ITEM(found, 0) != t || PyTuple_GET_ITEM(found, 2) != d)
        return NULL;
    int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(found, 1), version, Py_EQ);
    PyObject *made = PyTuple_GET_ITEM(found, 3), *edge = same == 1 ? edge_of(made) : NULL;
    if (same < 0 || (same == 1 && edge == NULL))
        *status = -1;
    if (edge == NULL || (edge == Py_None && (state & (GRAD | INFERENCE)) == GRAD))
        return NULL;
    return made;
}

/* `_Casts.low`: a tensor in dtype d; float64 as it is, a parameter's cast once per block. NULL without an error where
 * the Python version has to do it. */
static PyObject *low(PyObject *casts, PyObject *t, PyObject *d, long state)
{
    PyObject *own = dtype_of(t), *result = NULL, *key = NULL, *cache = NULL;
    if (own == NULL)
        return NULL;
    int keep = own == float32 ? is_wanted_leaf(t) : 0, status = 0;
    if (own == d || own == float64)
        result = Py_NewRef(t);
    else if (keep > 0) {
        PyObject *enabled = PyObject_GetAttr(casts, s_cache_enabled);
        keep = enabled == NULL ? -1 : PyObject_IsTrue(enabled);
        Py_XDECREF(enabled);
    }
    if (result != NULL || keep < 0) {
        Py_DECREF(own);
        return result;
    }
    if (!keep) {
        result = cast_from(t, own, d, state);
        Py_DECREF(own);
        return result;
    }
    PyObject *cell = SLOT(t, t_ver), *version = cell == Py_None ? Py_None : PyList_GET_ITEM(cell, 0);
    key = PyLong_FromVoidPtr(t);
    cache = key == NULL ? NULL : PyObject_GetAttr(casts, s_cache);
    if (cache != NULL && PyDict_CheckExact(cache)) {
        Py_INCREF(version);
        result = Py_XNewRef(from_cache(cache, key, t, version, d, state, &status));
        if (result == NULL && status == 0) {
            result = cast_from(t, own, d, state);
            PyObject *entry = result == NULL ? NULL : PyTuple_Pack(4, t, version, d, result);
            if (entry == NULL || PyDict_SetItem(cache, key, entry) < 0)
                Py_CLEAR(result);
            Py_XDECREF(entry);
        }
        Py_DECREF(version);
    }
    Py_XDECREF(cache);
    Py_XDECREF(key);
    Py_DECREF(own);
    return result;
}

/* What is to be done with the inputs of an op of this policy, -1 for nothing or on error; and where they are, borrowed. */
static long wish_of(PyObject *policy, PyObject *args, PyObject **place)
{
    PyObject *first = NULL;
    for (Py_ssize_t i = 0; first == NULL && i < PyTuple_GET_SIZE(args); i++) {
        PyObject *t = PyTuple_GET_ITEM(args, i);
        int kind = is_tensor(t) ? kind_of(SLOT(t, t_a)) : 0;
        if (kind < 0)
            return -1;
        first = kind == 'f' || kind == 'V' ? t : NULL;
    }
    *place = first == NULL ? NULL : PyDict_GetItemWithError(places, (PyObject *)Py_TYPE(SLOT(first, t_a)));
    PyObject *number = *place == NULL ? NULL : PyDict_GetItemWithError(policy, *place);
    return number == NULL ? -1 : PyLong_AsLong(number);
}

/* Whether all floating tensors are float32 or float64, which nothing is done to where float32 is asked for; -1 on error. */
static int are_wide(PyObject *args)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *t = PyTuple_GET_ITEM(args, i);
        int kind = is_tensor(t) ? kind_of(SLOT(t, t_a)) : 0;
        if (kind != 'f' && kind != 'V') {
            if (kind < 0)
                return -1;
            continue;
        }
        PyObject *own = dtype_of(t);
        Py_XDECREF(own); /* dtypes stay */
        if (own != float32 && own != float64)
            return PyErr_Occurred() ? -1 : 0;
    }
    return 1;
}

/* The low precision that is asked for at a place, new; NULL without an error where autocast is off there. */
static PyObject *low_at(PyObject *casts, PyObject *place)
{
    PyObject *enabled = PyObject_GetAttr(casts, s_enabled), *dtypes = PyObject_GetAttr(casts, s_dtype), *d = NULL;
    if (enabled != NULL && dtypes != NULL && PyDict_Check(enabled) && PyDict_Check(dtypes) &&
        PyDict_GetItemWithError(enabled, place) == Py_True)
        d = Py_XNewRef(PyDict_GetItemWithError(dtypes, place));
    Py_XDECREF(enabled);
    Py_XDECREF(dtypes);
    return d;
}

/* The inputs of an op in the dtypes that autocast asks for: `_Casts.__call__`. */
PyObject *cast_inputs(PyObject *op, PyObject *args, PyObject *casts, long state)
{
    PyObject *d = NULL;
    if (policies != NULL && Py_IS_TYPE(casts, casts_type)) {
        PyObject *name = PyObject_GetAttr(op, s_name);
        PyObject *policy = name == NULL ? NULL : PyDict_GetItemWithError(policies, name);
        Py_XDECREF(name);
        if (policy == NULL)
            return PyErr_Occurred() ? NULL : Py_NewRef(args); /* most ops are in no list */
        PyObject *place;
        long wish = wish_of(policy, args, &place);
        if (wish == LOW_PRECISION)
            d = low_at(casts, place);
        else if (wish == FLOAT32) {
            int wide = are_wide(args);
            if (wide)
                return wide < 0 ? NULL : Py_NewRef(args);
        }
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *inputs = d == NULL || PyErr_Occurred() ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; inputs != NULL && i < n; i++) {
        PyObject *t = PyTuple_GET_ITEM(args, i);
        int kind = is_tensor(t) ? kind_of(SLOT(t, t_a)) : 0;
        PyObject *made = kind < 0 ? NULL : kind == 'f' || kind == 'V' ? low(casts, t, d, state) : Py_NewRef(t);
        if (made == NULL)
            Py_CLEAR(inputs);
        else
            PyTuple_SET_ITEM(inputs, i, made);
    }
    Py_XDECREF(d);
    if (inputs != NULL || PyErr_Occurred())
        return inputs;
    return PyObject_CallFunctionObjArgs(casts, op, args, NULL);
}

/* -- for the module ---------------------------------------------------------------------------- */

/* know_casts(op, by_np, from_np) */
PyObject *know_casts(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "OO!O", &cast_op, &PyDict_Type, &by_np, &from_np))
        return NULL;
    own_dtype = PyObject_GetAttr((PyObject *)tensor_type, s_dtype);
    if (own_dtype == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i)); /* for as long as the process lives */
    Py_RETURN_NONE;
}

/* know_policies(casts' type, leaves' type, policies, places, float32, float64) */
PyObject *know_policies(PyObject *module, PyObject *args)
{
    PyObject *casts, *leaf, *table;
    if (!PyArg_ParseTuple(args, "OOO!O!OO", &casts, &leaf, &PyDict_Type, &table, &PyDict_Type, &places, &float32, &float64))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i));
    casts_type = (PyTypeObject *)casts;
    leaf_type = (PyTypeObject *)leaf;
    policies = table;
    Py_RETURN_NONE;
}

int name_cast(void)
{
    const Name names[] = {{&s_name, "name"},       {&s_to, "to"},       {&s_source, "source"},
                          {&s_enabled, "enabled"}, {&s_cache, "cache"}, {&s_cache_enabled, "cache_enabled"}};
    return intern(names, sizeof names / sizeof *names);
}
