/* A call as its binding sees it: arguments and attributes are asked for, results and memory are the call's own.
 *
 * Whoever finds that the NumPy body shall do it refuses, whoever meets an exception (or no memory) fails; from then on
 * what is asked for is NULL or 0 and nothing new is made, so that a binding looks at `ends` once, before it computes. */
#ifndef RL_CALL_H
#define RL_CALL_H

enum { REFUSES = 1, FAILS = 2 };

typedef struct Entry Entry;
#define MOST_RESULTS 24

typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *attrs;
    const Entry *entry;
    int which; /* what the entry says, of bindings that serve several kernels */
    int ends;
    int results, blocks, copies;
    int tuple; /* of one result as well */
    PyObject *value; /* the answer, where it is no array */
    PyArrayObject *result[MOST_RESULTS], *aside[4];
    struct {
        void *at;
        size_t bytes; /* 0 of a table */
    } block[4];
} Call;

static inline void refuse(Call *c) { c->ends |= REFUSES; }
static inline void fail(Call *c) { c->ends |= FAILS; }

/* Refuses where it does not hold; whether the call goes on. */
static inline int need(Call *c, int holds) {
    if (!holds) refuse(c);
    return !c->ends;
}

/* C-contiguous arguments, or a refusal */
static inline PyArrayObject *typed(Call *c, int i, int type) {
    if (c->ends) return NULL;
    if (i < c->count && is_type(c->args[i], type) && PyArray_IS_C_CONTIGUOUS(ARRAY(c->args[i]))) return ARRAY(c->args[i]);
    refuse(c);
    return NULL;
}

static inline PyArrayObject *floats(Call *c, int i) { return typed(c, i, NPY_FLOAT32); }
PyArrayObject *any_type(Call *c, int i); /* but Python's objects */
PyArrayObject *strided(Call *c, int i); /* float32, of whatever steps */
/* of whatever type and steps */
static inline PyArrayObject *array_at(Call *c, int i) {
    return need(c, i < c->count && PyArray_CheckExact(c->args[i])) ? ARRAY(c->args[i]) : NULL;
}
PyArrayObject *behaved(Call *c, int i); /* of a usual type, aligned, of whatever steps */

/* of a shape */
static inline PyArrayObject *floats_like(Call *c, int i, PyArrayObject *x) {
    PyArrayObject *found = floats(c, i);
    if (!found || PyArray_SAMESHAPE(found, x)) return found;
    refuse(c);
    return NULL;
}

/* n of them */
static inline float *some_floats(Call *c, int i, idx n) {
    PyArrayObject *found = floats(c, i);
    if (!found) return NULL;
    if (PyArray_SIZE(found) != n) refuse(c);
    return DATA(found);
}

/* n of them, or NULL for None */
static inline float *maybe_floats(Call *c, int i, idx n) { return i < c->count && c->args[i] == Py_None ? NULL : some_floats(c, i, n); }

/* so many int64 */
int64_t *some_wholes(Call *c, int i, idx n);

/* attributes, or a failure */
static inline PyObject *attr_of(Call *c, const char *name) {
    PyObject *found = attr(c->attrs, name);
    if (!found) fail(c);
    return found;
}

static inline int flag_of(Call *c, const char *name) {
    const int found = attr_flag(c->attrs, name);
    if (found < 0) fail(c);
    return found > 0;
}

static inline double double_of(Call *c, const char *name) {
    double found = 0;
    if (attr_double(c->attrs, name, &found) < 0) fail(c);
    return found;
}

static inline idx idx_of(Call *c, const char *name) {
    idx found = 0;
    if (attr_idx(c->attrs, name, &found) < 0) fail(c);
    return found;
}

int dims_of(Call *c, const char *name, idx *out, int n); /* a tuple of n; 0 where it ends */
int ints_of(Call *c, const char *name, idx *out); /* a tuple of at most DIMS: how many; -1 where it ends */
/* A float or an int of Python's that is one, too; the others are NumPy's business. */
int plain_int(PyObject *o, double *out);
static inline int plain_number(PyObject *o, double *out) {
    if (PyFloat_CheckExact(o)) return *out = PyFloat_AS_DOUBLE(o), 1;
    return PyLong_CheckExact(o) && plain_int(o, out);
}
int reduction_of(Call *c); /* 0 none, 1 sum, 2 mean */

/* x as [outer][n][inner] around a dim; 0 with a refusal where it has none such */
int along(Call *c, PyArrayObject *x, idx dim, idx *outer, idx *n, idx *inner);

/* The same around the neighbouring dims that the attribute `dim` names (an int, a tuple, None for all), of an x that is not empty,
 * with the shape of a result that has `keep` numbers for each of them, or leaves them out for 0. */
#define AS_IT_IS -1
typedef struct {
    idx outer, n, inner;
    npy_intp shape[DIMS];
    int ndim;
} Over;
int over_dims(Call *c, PyArrayObject *x, idx keep, Over *o);

/* results, in the order of the answer */
static void *kept(Call *c, PyArrayObject *a) {
    if (!a) return fail(c), NULL;
    c->result[c->results++] = a;
    return PyArray_DATA(a);
}

static inline void *new_array(Call *c, int ndim, const npy_intp *shape, int type) { return c->ends ? NULL : kept(c, array_new(ndim, shape, type)); }
static inline void *new_of(Call *c, PyArrayObject *x, int type) { return c->ends ? NULL : kept(c, array_new(PyArray_NDIM(x), PyArray_DIMS(x), type)); }
static inline float *new_floats(Call *c, int ndim, const npy_intp *shape) { return new_array(c, ndim, shape, NPY_FLOAT32); }
static inline float *new_number(Call *c) { return new_array(c, 0, NULL, NPY_FLOAT32); } /* without dims */
static inline float *new_like(Call *c, PyArrayObject *x) { return new_of(c, x, NPY_FLOAT32); }
/* takes the reference; fails for NULL */
static inline float *new_made(Call *c, PyArrayObject *a) { return kept(c, a); }

/* another array than the one made before, whose reference is gone; takes the reference */
static inline void answer(Call *c, PyArrayObject *a) {
    if (a) c->result[0] = a;
    else c->results = 0, fail(c);
}

/* for the time of the call */
void *room(Call *c, size_t bytes);
void *table(Call *c, size_t bytes); /* for a list that follows from layouts alone */
PyArrayObject *aside(Call *c, PyArrayObject *copy); /* takes the reference; fails for NULL */

#endif
