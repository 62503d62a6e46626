/* What the files of this extension share: where Python keeps the slots of Tensor, Op, OpNode and Plan. */
#ifndef SLOTS_H
#define SLOTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

extern PyTypeObject *tensor_type, *node_type;
extern PyObject *s_shape, *s_dtype, *empty;

extern Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
extern Py_ssize_t o_rule, o_passes, o_impls, o_kernel, o_view, o_differentiable, o_plans, o_variadic;
extern Py_ssize_t n_seq, n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_where, n_saved, n_outputs, n_shapes, n_count;
extern Py_ssize_t p_keep, p_shapes, p_outputs, p_calls, p_sums;
extern Py_ssize_t w_anomaly;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline void put(PyObject *object, Py_ssize_t offset, PyObject *value) /* takes the reference */
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}

static inline int is_tensor(PyObject *value)
{
    return Py_IS_TYPE(value, tensor_type) || PyType_IsSubtype(Py_TYPE(value), tensor_type);
}

extern PyTypeObject *ndarray_type;

int kind_of(PyObject *a); /* the letter of an array's kind of dtype, 0 without an array (a lazy parameter), -1 on error */

/* call.c: how an op is called */
extern PyObject *here, *switches, *numbers, *python_call, *tensor_over, *mark_inference;
extern long GRAD, INFERENCE, CASTING, PARTS, TRACED; /* bits of a thread's state */
extern PyMethodDef op_methods[1]; /* Op.pair */
PyObject *op_call(PyObject *op, PyObject *args, PyObject *attrs); /* Op.__call__ */
int name_call(void);
long state_here(void); /* this thread's state, -1 on error */
int is_usual(long state); /* whether the C versions may work in it */
PyObject *carry_out(PyObject *op, PyObject *inputs, PyObject *attrs, long state, int same_shape);

/* cast.c: casts, and autocast */
PyObject *cast_to(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *cast_inputs(PyObject *op, PyObject *args, PyObject *casts, long state);
PyObject *know_casts(PyObject *module, PyObject *args);
PyObject *know_policies(PyObject *module, PyObject *args);
int name_cast(void);

/* views.c: what a view knows of its base */
extern PyTypeObject *extra_type;
extern Py_ssize_t e_inference;
PyObject *version_cell(PyObject *t);
int note_view(PyObject *t, PyObject *source, PyObject *op, PyObject *attrs, PyObject *made, long state);
PyObject *edge_of(PyObject *t);
PyObject *can_view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *mark_one_view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *know_views(PyObject *module, PyObject *args);
int name_views(void);

/* back.c: how a node answers */
extern PyObject *python_input, *python_output;
extern PyMethodDef node_methods[3]; /* OpNode.input, output, apply */
PyObject *node_apply(PyObject *node, PyObject *gs);
int name_back(void);

/* walk.c: how a backward pass goes from node to node */
PyObject *walk(PyObject *module, PyObject *args);
int name_walk(void);

/* columns.c: what an optimiser reads and raises */
PyObject *columns(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *bump_all(PyObject *module, PyObject *tensors);
int name_columns(void);

/* change.c: in-place ops on plain tensors */
PyObject *may_change(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *change_to(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* brackets.c: what stands in the brackets of a tensor */
PyObject *split_brackets(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *bracketed(PyObject *module, PyObject *window);
int name_brackets(void);

/* modules.c: calls of modules, and what they hold */
PyObject *know_modules(PyObject *module, PyObject *args);
int name_modules(void);

PyObject *calling(PyTypeObject *type, ternaryfunc function); /* `__call__` of a class that is this function */

typedef struct {
    PyObject *type;
    const char *name;
    Py_ssize_t *offset;
} Slot;
int find_offsets(const Slot *slots, size_t count);

typedef struct {
    PyObject **name;
    const char *text;
} Name;
int intern(const Name *names, size_t count);

#endif
