/* Who else holds an array: counts of references are read here and nowhere else in this extension (Python: capture/owners.py). */

extern long extra; /* what Python counts beside the references that are there */

/* How many references one of our arrays has while nobody else holds it. */
static inline Py_ssize_t plain_count(PyObject *free, Py_ssize_t i)
{
    return PyLong_AsSsize_t(PyList_GET_ITEM(free, i)) - extra;
}

/* An array of a pool that nobody holds, borrowed, or NULL; without counts, one that only the list holds. */
static inline PyObject *idle(PyObject *arrays, PyObject *free)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays) && (free == NULL || i < PyList_GET_SIZE(free)); i++)
        if (Py_REFCNT(PyList_GET_ITEM(arrays, i)) == (free == NULL ? 1 : plain_count(free, i)))
            return PyList_GET_ITEM(arrays, i);
    return NULL;
}

/* How many references an array has that are neither its pool's nor the program's. */
static inline Py_ssize_t beyond(PyObject *a, PyObject *arrays, PyObject *free)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays) && i < PyList_GET_SIZE(free); i++)
        if (PyList_GET_ITEM(arrays, i) == a)
            return Py_REFCNT(a) - plain_count(free, i);
    return Py_REFCNT(a);
}

static inline int only_listed(PyObject *item)
{
    return Py_REFCNT(item) == 1;
}

/* What Python has counted for the one object of a list. */
static inline void compare_counts(PyObject *list, long counted)
{
    extra = counted - (long)Py_REFCNT(PyList_GET_ITEM(list, 0));
}
