/* What the files of this extension share: where Python keeps the slots of Tensor, Op, OpNode and Plan. */
#ifndef SLOTS_H
#define SLOTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

extern PyTypeObject *tensor_type, *node_type;
extern PyObject *s_shape, *s_dtype, *empty;

extern Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
extern Py_ssize_t o_rule, o_impls, o_kernel, o_view, o_differentiable, o_plans, o_variadic;
extern Py_ssize_t n_seq, n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_where, n_saved, n_outputs, n_shapes, n_count;
extern Py_ssize_t p_keep, p_shapes, p_outputs, p_calls, p_sums;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline int is_tensor(PyObject *value)
{
    return Py_IS_TYPE(value, tensor_type) || PyType_IsSubtype(Py_TYPE(value), tensor_type);
}

int kind_of(PyObject *a); /* the letter of an array's kind of dtype, -1 on error */

/* call.c: how an op is called */
extern PyObject *here, *switches, *numbers, *python_call, *tensor_over, *mark_view, *current_edge, *mark_inference;
extern long GRAD, INFERENCE, CASTING, PARTS, TRACED; /* bits of a thread's state */
extern PyMethodDef op_methods[2];     /* Op.__call__, Op.pair */
int name_call(void);

/* back.c: how a node answers */
extern PyObject *python_input, *python_output;
extern PyMethodDef node_methods[3]; /* OpNode.input, output, apply */
int name_back(void);

/* columns.c: what an optimiser reads and raises */
PyObject *columns(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *bump_all(PyObject *module, PyObject *tensors);
int name_columns(void);

typedef struct {
    PyObject **name;
    const char *text;
} Name;
int intern(const Name *names, size_t count);

#endif
