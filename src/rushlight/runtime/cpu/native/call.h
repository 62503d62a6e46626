/* A call as its binding sees it: arguments and attributes are asked for, results and memory are the call's own.
 *
 * Whoever finds that the NumPy body shall do it refuses, whoever meets an exception (or no memory) fails; from then on
 * what is asked for is NULL or 0 and nothing new is made, so that a binding looks at `ends` once, before it computes. */
#ifndef RL_CALL_H
#define RL_CALL_H

enum { REFUSES = 1, FAILS = 2 };

typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *attrs;
    int which; /* what the entry says, of bindings that serve several kernels */
    int ends;
    int results, blocks, copies;
    int tuple; /* of one result as well */
    PyObject *value; /* the answer, where it is no array */
    PyArrayObject *result[MOST_GIVEN], *aside[4];
    struct {
        void *at;
        size_t bytes;
    } block[4];
} Call;

void refuse(Call *c);
void fail(Call *c);
int need(Call *c, int holds); /* refuses where it does not; whether the call goes on */

/* C-contiguous arguments, or a refusal */
PyArrayObject *typed(Call *c, int i, int type);
PyArrayObject *any_type(Call *c, int i); /* but Python's objects */
PyArrayObject *floats(Call *c, int i);
PyArrayObject *strided(Call *c, int i);                       /* float32, of whatever steps */
PyArrayObject *floats_like(Call *c, int i, PyArrayObject *x); /* of its shape */
float *some_floats(Call *c, int i, idx n);                    /* n of them */
float *maybe_floats(Call *c, int i, idx n);                   /* n of them, or NULL for None */

/* attributes, or a failure */
PyObject *attr_of(Call *c, const char *name); /* borrowed */
int flag_of(Call *c, const char *name);
double double_of(Call *c, const char *name);
idx idx_of(Call *c, const char *name);
int dims_of(Call *c, const char *name, idx *out, int n); /* a tuple of n; 0 where it ends */
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
void *new_array(Call *c, int ndim, const npy_intp *shape, int type);
float *new_floats(Call *c, int ndim, const npy_intp *shape);
float *new_number(Call *c); /* without dims */
float *new_like(Call *c, PyArrayObject *x);
void *new_of(Call *c, PyArrayObject *x, int type); /* of its shape, and that type */
void *new_made(Call *c, PyArrayObject *a);         /* takes the reference; fails for NULL */

/* for the time of the call */
void *room(Call *c, size_t bytes);
PyArrayObject *aside(Call *c, PyArrayObject *copy); /* takes the reference; fails for NULL */

#endif
