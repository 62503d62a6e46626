/* Prepared launches found by the arrays of a call: by their dtypes, shapes and strides, and by what attributes are.
 *
 * code/keyed.py has the same in Python. `Keyed(body, prepare, here)` is called as a kernel's body. The first call of a
 * kind asks `prepare` for a launch; later ones make it at once. Whatever cannot be prepared (None), or is refused by its
 * launch for once (NotImplemented), goes to the body.
 */
#define PY_SSIZE_T_CLEAN
#include "gauge.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_WORDS 48
#define PLACES 1024 /* a power of two */
#define MOST_KINDS 512

typedef struct {
    uint64_t hash;
    int count; /* of words; 0 where the place is free */
    uint64_t words[MOST_WORDS];
    PyObject *held; /* dtypes and attributes, whose addresses are among the words */
    PyObject *call; /* NULL where the body has to do it */
} Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *body, *prepare, *here;
    Kind **places;
    int used;
} Keyed;

static PyObject *s_shape, *s_strides, *s_dtype, *s_contiguous, *s_in_place;

static int put_numbers(uint64_t *words, int *n, PyObject *numbers)
{
    Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    if (*n + count > MOST_WORDS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        words[(*n)++] = (uint64_t)PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
    return 1;
}

/* One array's part of the key: 1 when done, 0 when it does not fit, -1 on error. */
static int put_array(uint64_t *words, int *n, PyObject *a, PyObject **dtype)
{
    PyObject *shape = PyObject_GetAttr(a, s_shape), *strides = NULL;
    PyObject *contiguous = shape == NULL ? NULL : PyObject_GetAttr(a, s_contiguous);
    *dtype = contiguous == NULL ? NULL : PyObject_GetAttr(a, s_dtype);
    int found = *dtype == NULL || !PyTuple_CheckExact(shape) ? -1 : *n + 2 <= MOST_WORDS;
    if (found == 1) {
        words[(*n)++] = (uint64_t)(uintptr_t)*dtype;
        words[(*n)++] = (uint64_t)PyTuple_GET_SIZE(shape) << 1 | (contiguous == Py_True);
        found = put_numbers(words, n, shape);
    }
    if (found == 1 && contiguous != Py_True) {
        strides = PyObject_GetAttr(a, s_strides);
        found = strides == NULL ? -1 : put_numbers(words, n, strides);
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(contiguous);
    return found;
}

static uint64_t hash_of(const uint64_t *words, int n)
{
    uint64_t hash = 1469598103934665603ull;
    for (int i = 0; i < n; i++) {
        hash = (hash ^ words[i]) * 1099511628211ull;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The place of a key: of its kind, or the free one where that belongs. */
static Kind **place_of(Keyed *self, const uint64_t *words, int n, uint64_t hash)
{
    for (uint64_t at = hash;; at++) {
        Kind **place = &self->places[at & (PLACES - 1)];
        if (*place == NULL)
            return place;
        if ((*place)->hash == hash && (*place)->count == n && !memcmp((*place)->words, words, n * sizeof *words))
            return place;
    }
}

static void clear(Keyed *self)
{
    for (int i = 0; i < PLACES; i++) {
        Kind *kind = self->places[i];
        self->places[i] = NULL;
        if (kind != NULL) {
            Py_XDECREF(kind->held);
            Py_XDECREF(kind->call);
            PyMem_Free(kind);
        }
    }
    self->used = 0;
}

/* Ask for a launch, and keep it; borrowed, NULL where there is none, -1 in `status` on error. */
static PyObject *learn(Keyed *self, PyObject *const *args, size_t nargsf, PyObject *names, const uint64_t *words, int n,
                       uint64_t hash, PyObject *held, int *status)
{
    PyObject *call = PyObject_Vectorcall(self->prepare, args, nargsf, names);
    Kind *kind = call == NULL ? NULL : PyMem_Malloc(sizeof *kind);
    *status = kind == NULL ? -1 : 0;
    if (kind == NULL) {
        Py_XDECREF(call);
        if (call != NULL)
            PyErr_NoMemory();
        return NULL;
    }
    if (self->used >= MOST_KINDS)
        clear(self);
    kind->hash = hash;
    kind->count = n;
    memcpy(kind->words, words, n * sizeof *words);
    kind->held = Py_NewRef(held);
    kind->call = PyCallable_Check(call) ? call : NULL;
    if (kind->call == NULL)
        Py_DECREF(call);
    Kind **place = place_of(self, words, n, hash);
    if (*place != NULL) { /* another thread was quicker */
        Py_XDECREF((*place)->held);
        Py_XDECREF((*place)->call);
        PyMem_Free(*place);
    } else
        self->used++;
    *place = kind;
    return kind->call;
}

/* The launch for a call, new; NULL where the body has to do it, -1 in `status` on error. */
static PyObject *launch_for(Keyed *self, PyObject *const *args, size_t nargsf, PyObject *names, int *status)
{
    uint64_t words[MOST_WORDS];
    int n = 0;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), more = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    *status = 0;
    if (count + more > 8)
        return NULL;
    if (self->here != Py_None && count) { /* an in-place operation writes into its first operand */
        PyObject *target = PyObject_GetAttr(self->here, s_in_place);
        Py_XDECREF(target);
        *status = target == NULL ? -1 : 0;
        if (target == NULL || target == args[0])
            return NULL;
    }
    PyObject *held = PyTuple_New(count + more), *call = NULL;
    int usable = held == NULL ? -1 : count > 0;
    for (Py_ssize_t i = 0; usable == 1 && i < count; i++) {
        PyObject *dtype = NULL;
        usable = Py_IS_TYPE(args[i], (PyTypeObject *)array_type) ? put_array(words, &n, args[i], &dtype) : 0;
        if (dtype != NULL)
            PyTuple_SET_ITEM(held, i, dtype);
    }
    for (Py_ssize_t i = 0; usable == 1 && i < more; i++) {
        if (n + 2 > MOST_WORDS)
            usable = 0;
        else { /* names and values by their identity: constants of the code that calls */
            words[n++] = (uint64_t)(uintptr_t)PyTuple_GET_ITEM(names, i);
            words[n++] = (uint64_t)(uintptr_t)args[count + i];
            PyTuple_SET_ITEM(held, count + i, PyTuple_Pack(2, PyTuple_GET_ITEM(names, i), args[count + i]));
        }
    }
    if (usable == 1) {
        uint64_t hash = hash_of(words, n);
        Kind *kind = *place_of(self, words, n, hash);
        call = Py_XNewRef(kind != NULL ? kind->call : learn(self, args, nargsf, names, words, n, hash, held, status));
    } else if (usable < 0)
        *status = -1;
    Py_XDECREF(held);
    return call;
}

static PyObject *keyed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Keyed *self = (Keyed *)callable;
    int status;
    PyObject *call = launch_for(self, args, nargsf, names, &status);
    if (status < 0)
        return NULL;
    if (call != NULL) {
        PyObject *out = PyObject_Vectorcall(call, args, PyVectorcall_NARGS(nargsf), NULL);
        Py_DECREF(call);
        if (out != Py_NotImplemented)
            return out;
        Py_DECREF(out);
    }
    return PyObject_Vectorcall(self->body, args, nargsf, names);
}

static PyObject *keyed_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *body, *prepare, *here;
    if (!PyArg_ParseTuple(args, "OOO", &body, &prepare, &here))
        return NULL;
    Keyed *self = (Keyed *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = keyed_call;
    self->body = Py_NewRef(body);
    self->prepare = Py_NewRef(prepare);
    self->here = Py_NewRef(here);
    self->places = PyMem_Calloc(PLACES, sizeof *self->places);
    if (self->places == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void keyed_free(PyObject *object)
{
    Keyed *self = (Keyed *)object;
    if (self->places != NULL)
        clear(self);
    PyMem_Free(self->places);
    Py_XDECREF(self->body);
    Py_XDECREF(self->prepare);
    Py_XDECREF(self->here);
    Py_TYPE(object)->tp_free(object);
}

static Py_ssize_t keyed_length(PyObject *object)
{
    return ((Keyed *)object)->used;
}

static PySequenceMethods as_sequence = {.sq_length = keyed_length};

PyTypeObject KeyedType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cuda.code._launch.Keyed",
    .tp_basicsize = sizeof(Keyed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Keyed, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = keyed_make,
    .tp_as_sequence = &as_sequence,
    .tp_dealloc = keyed_free,
    .tp_doc = "Keyed(body, prepare, here): a kernel's body with its prepared launches in front of it.",
};

int name_keyed(void)
{
    s_shape = PyUnicode_InternFromString("shape");
    s_strides = PyUnicode_InternFromString("strides");
    s_dtype = PyUnicode_InternFromString("dtype");
    s_contiguous = PyUnicode_InternFromString("_c_contiguous");
    s_in_place = PyUnicode_InternFromString("in_place");
    return s_shape && s_strides && s_dtype && s_contiguous && s_in_place ? 0 : -1;
}
