/* What the files of this extension share. */
#ifndef QUICK_H
#define QUICK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#ifdef NUMPY_HEADERS /* where setup.py found them: an array's dtype and shape are read without a call */
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#endif

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* A class that is taken as it was written: Python's number of its changes says whether it still is. */
typedef struct {
    PyTypeObject *type;
    unsigned int tag; /* when it was last looked at; 0 for not yet */
    int kind;         /* of a Function: which of those below */
    PyObject *kernel; /* of a Function of one kernel */
    PyObject *backward, *gradients; /* its methods */
} Known;

enum { VARIABLE, LINEAR, SINGLE, ENTROPY };

typedef struct {
    PyObject **name;
    const char *text;
} Name;

/* module.c */
int intern(const Name *names, size_t count);
extern PyObject *s_data, *s_edge, *s_constant, *s_generation, *s_link, *s_inputs, *s_outputs, *s_grad, *s_base, *s_dtype, *s_shape, *s_strides;
extern PyObject *s_turned, *s_y, *s_kept, *s_backward, *s_gradients, *s_state, *s_tracer, *s_cursor, *s_now;
extern PyObject *s_params, *s_own_params, *s_dict, *s_walk, *s_uses, *s_cleargrad;
extern PyObject *empty, *zero, *call_type, *end_type, *variable_type, *layer_type, *layer_params, *cleargrad, *exposed, *roots, *gpu_types, *numbers;
extern PyObject *float32, *float64, *int64, *linear_kernel, *entropy_kernel, *entropy_attrs;
extern PyObject *py_run, *py_over, *py_array, *py_turned, *py_lent, *py_shared;
extern long GRAD, INFERENCE, CASTING, WATCHED, TRACED, FOREIGN, PACKING;
extern Py_ssize_t n_seq, n_hooks, n_pre, n_where, c_function, c_outputs, l_leaf, l_post, w_anomaly;
extern PyObject *switches;
extern PyTypeObject *host_type; /* of NumPy's arrays */
Known *known(PyTypeObject *type);       /* NULL without an error for a class that is not ours, or not as it was written */
long state_here(void);                  /* this thread's state, -1 on error */
PyObject *of_thread(PyObject *name);    /* what the thread has under a name, borrowed; NULL without an error where it has nothing */
int is_array(PyObject *a);              /* whether it is exactly an array of NumPy or CuPy, -1 on error */
int is_method(PyObject *object, PyObject *name, PyObject *function); /* whether a method is that function still */
PyObject *new_variable(PyObject *a);    /* over an array, as `over` makes it */

/* The answer where Python has to do it, or the error. */
static inline PyObject *none(void)
{
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static inline int is_variable(PyObject *v) /* of ours, as it was written */
{
    const Known *k = known(Py_TYPE(v));
    return k != NULL && k->kind == VARIABLE;
}

typedef struct {
    PyObject *dtype; /* to be compared, not to be held */
    Py_ssize_t dims, size, sizes[2]; /* -1 for the second of more than two, or of none */
} Layout;

/* bare.c */
int read_layout(PyObject *a, Layout *found); /* 0 on error */
PyObject *lies(PyObject *a);
int name_bare(void);
int is_seen(PyObject *a, PyObject **root); /* whether its memory is, or was, a user's: whose it is, a new reference; -1 on error */
int is_shared(PyObject *a, long state);    /* whether a kernel that reads it may wait, while somebody could change it; -1 on error */
PyObject *lent(PyObject *a, long state);   /* what such a kernel reads in its place; takes the reference */

/* calls.c */
PyObject *go(PyObject *kernel, PyObject *type, PyObject *arrays, PyObject *attrs); /* a kernel over arrays that may wait */
PyObject *linear(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *single(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *entropy(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *turned(PyObject *weight, PyObject *a); /* the transposed matrix of a Variable's array, a new reference */

/* graph.c */
PyObject *describe(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *accept(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* layers.c */
PyObject *params(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *cleargrads(PyObject *module, PyObject *layer);
PyObject *update(PyObject *module, PyObject *const *args, Py_ssize_t n);

#endif
