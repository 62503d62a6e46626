/* A prepared kernel launch as one C call: results allocated, addresses packed, cuLaunchKernel.
 *
 * launch.py has the same in Python and uses that where this extension was not built. A launch from Python costs
 * 5 to 9 us on a server's slow core: an array made through CuPy's constructor, struct.pack, CuPy's wrapper.
 */
#define PY_SSIZE_T_CLEAN
#include "gauge.h"
#include "header.h"
#include "graph.h"
#include "product.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NO_CONTEXT 201 /* CUDA_ERROR_INVALID_CONTEXT */
#define MOST_PARAMETERS 40
#define MOST_POINTERS 72
#define MOST_BYTES 4096 /* what the driver takes */
#define MOST_RESULTS 4
#define MOST_BLOCKS (1u << 22) /* variants.py has the same */
#define SPARES 2                 /* arrays that a result may be given again */
#define LARGEST_SPARE (256 << 10)
#define MOST_SPARE (64 << 20)    /* bytes, of all launches together */

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                         void **, void **);

/* CUlaunchConfig and CUlaunchAttribute of cuda.h, which need not be there to build this. */
typedef struct {
    unsigned id;
    union {
        int allowed;
        uint64_t room[8];
    } value;
} Attribute;
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    unsigned count;
} Config;
#define EARLY 6 /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
typedef int (*launch_ex_fn)(const Config *, void *, void **, void **);

static launch_fn launch_kernel;
static launch_ex_fn launch_kernel_ex;
static int overlapping; /* launches may begin before the kernel in front of them ends */
static int reusing = 1; /* results may be arrays that were handed out before */
static unsigned long long pretended; /* launches counted instead of made, for tools/host_path.py */

static PyObject *name_data, *name_ptr, *name_init, *name_mem, *name_dtype, *name_strides, *name_contiguous, *name_itemsize;
static PyObject *stream_holder; /* streams.current: its `ptr` is this thread's stream */
static PyObject *alloc;         /* cupy.cuda.alloc */
PyObject *array_type;           /* cupy.ndarray */
static PyObject *array_new;     /* _ndarray_base.__new__, without the Python layers of ndarray(...) */

static PyObject *bind_thread;   /* gives the calling thread a CUDA context */

static int pretend_launch(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h,
                          void *s, void **p, void **x)
{
    pretended++;
    return 0;
}

/* A result that was handed out before. When nobody but us holds it any more, the launch hands it out again: making an
 * array costs more than the rest of a launch. Only in the default stream, where a later kernel cannot overtake those
 * that still read the old values, and which no graph records. The counts say how many held the array's memory when
 * nobody else could: views of it hold more. */
typedef struct {
    PyObject *array, *data, *memory;
    Py_ssize_t data_count, memory_count;
    uint64_t address;
} Spare;

typedef struct Call {
    PyObject_VAR_HEAD
    vectorcallfunc vectorcall;
    void *function;
    unsigned grid[3], block[3], shared;
    int parameters, pointers, results, waits;
    int offsets[MOST_PARAMETERS]; /* where parameters begin in the image */
    int places[MOST_POINTERS];    /* where addresses and numbers go in it */
    char kinds[MOST_POINTERS];    /* 0: an address; 'r': a result's; 'x': what no kernel takes; else a number's format */
    int result_at[MOST_RESULTS];  /* positions among the pointers */
    uint64_t aligned;             /* positions whose addresses must be multiples of 16 */
    PyObject *shapes[MOST_RESULTS], *dtypes[MOST_RESULTS], *sizes[MOST_RESULTS], *strides[MOST_RESULTS];
    Py_ssize_t result_bytes[MOST_RESULTS];
    Spare spares[MOST_RESULTS][SPARES];
    int turn[MOST_RESULTS]; /* which spare makes room for the next */
    struct Call *before, *after; /* all launches, for `idle` and `forget` */
    PyObject *keep;              /* the loaded module */
    Product *product;            /* what is computed in a kernel's place, or NULL */
    unsigned each;               /* elements of a block where nothing but their number is told by sizes, else 0 */
    Py_ssize_t bytes;
    char image[]; /* the parameters, with zeros where addresses go */
} Call;

extern PyTypeObject CallType;
static Call *first_call;
static Py_ssize_t spare_bytes;
static PyObject *spare_ids; /* the ids of arrays that are spares, for `is_spare` */

static int is_idle(const Spare *s)
{
    return s->array != NULL && Py_REFCNT(s->array) == 1 && Py_REFCNT(s->data) == s->data_count &&
           Py_REFCNT(s->memory) == s->memory_count;
}

static void drop(Spare *s, Py_ssize_t bytes)
{
    if (s->array == NULL)
        return;
    PyObject *id = PyLong_FromVoidPtr(s->array);
    if (id == NULL || PySet_Discard(spare_ids, id) < 0)
        PyErr_Clear();
    Py_XDECREF(id);
    spare_bytes -= bytes;
    PyObject *array = s->array, *data = s->data, *memory = s->memory;
    s->array = s->data = s->memory = NULL;
    Py_XDECREF(memory);
    Py_XDECREF(data);
    Py_DECREF(array);
}

/* Note a new result as one that may be handed out again. */
static void keep_spare(Call *self, int i, PyObject *array, PyObject *data, uint64_t address)
{
    Spare *s = &self->spares[i][self->turn[i]];
    self->turn[i] = (self->turn[i] + 1) % SPARES;
    drop(s, self->result_bytes[i]);
    if (spare_bytes + self->result_bytes[i] > MOST_SPARE)
        return;
    PyObject *memory = PyObject_GetAttr(data, name_mem);
    PyObject *id = PyLong_FromVoidPtr(array);
    if (memory == NULL || id == NULL || PySet_Add(spare_ids, id) < 0) {
        PyErr_Clear();
        Py_XDECREF(memory);
        Py_XDECREF(id);
        return;
    }
    Py_DECREF(id);
    *s = (Spare){Py_NewRef(array), Py_NewRef(data), memory, 0, 0, address};
    s->data_count = Py_REFCNT(data) - 1; /* less the caller's */
    s->memory_count = Py_REFCNT(memory);
    spare_bytes += self->result_bytes[i];
}

/* The address behind an array, an int or None (0); -1 with an error set when it is none of them. */
int address_of(PyObject *value, uint64_t *out)
{
    if (read_address(value, out))
        return 0;
    if (value == Py_None) {
        *out = 0;
        return 0;
    }
    if (PyLong_Check(value)) {
        *out = PyLong_AsUnsignedLongLong(value);
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *data = PyObject_GetAttr(value, name_data);
    if (data == NULL)
        return -1;
    PyObject *ptr = PyObject_GetAttr(data, name_ptr);
    Py_DECREF(data);
    if (ptr == NULL)
        return -1;
    *out = PyLong_AsUnsignedLongLong(ptr);
    Py_DECREF(ptr);
    return PyErr_Occurred() ? -1 : 0;
}

/* Write a number as a parameter of one of struct's formats: 1 when done, 0 where that is not its way. */
static int put_number(char *at, char kind, PyObject *value)
{
    if (kind == 'd') {
        double number = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value)
                        : PyLong_Check(value)     ? PyLong_AsDouble(value)
                                                  : -1.0;
        if (!PyFloat_CheckExact(value) && (!PyLong_Check(value) || (number == -1.0 && PyErr_Occurred()))) {
            PyErr_Clear();
            return 0;
        }
        memcpy(at, &number, 8);
        return 1;
    }
    if (!PyLong_Check(value))
        return 0;
    int beyond = 0;
    if (kind == 'Q') {
        uint64_t bits = PyLong_AsUnsignedLongLongMask(value);
        memcpy(at, &bits, 8);
        return 1;
    }
    int64_t number = PyLong_AsLongLongAndOverflow(value, &beyond);
    if (kind == 'i') {
        int32_t small = (int32_t)number;
        beyond |= small != number;
        memcpy(at, &small, 4);
    } else
        memcpy(at, &number, 8);
    return !beyond;
}

/* An array for result i, and its address. */
static PyObject *new_result(Call *self, int i, int reuse, uint64_t *address)
{
    reuse = reuse && self->result_bytes[i] <= LARGEST_SPARE;
    for (int k = 0; reuse && k < SPARES; k++)
        if (is_idle(&self->spares[i][k])) {
            *address = self->spares[i][k].address;
            return Py_NewRef(self->spares[i][k].array);
        }
    PyObject *memory = PyObject_CallOneArg(alloc, self->sizes[i]);
    if (memory == NULL)
        return NULL;
    PyObject *ptr = PyObject_GetAttr(memory, name_ptr);
    if (ptr == NULL) {
        Py_DECREF(memory);
        return NULL;
    }
    *address = PyLong_AsUnsignedLongLong(ptr);
    Py_DECREF(ptr);
    PyObject *out = PyObject_CallOneArg(array_new, array_type);
    if (out == NULL) {
        Py_DECREF(memory);
        return NULL;
    }
    PyObject *args[] = {out, self->shapes[i], self->dtypes[i], memory, self->strides[i]};
    PyObject *done = PyObject_VectorcallMethod(name_init, args, (self->strides[i] == NULL ? 4 : 5), NULL);
    if (done == NULL) {
        Py_DECREF(memory);
        Py_DECREF(out);
        return NULL;
    }
    Py_DECREF(done);
    if (reuse)
        keep_spare(self, i, out, memory, *address);
    Py_DECREF(memory);
    return out;
}

/* Raise AcceleratorError for what the driver answered, RuntimeError for a library. */
static void failed(const Call *self, int status)
{
    if (self->product != NULL) {
        if (status > 0)
            PyErr_Format(PyExc_RuntimeError, "cublasLtMatmul failed with cuBLAS status %d", status);
        return;
    }
    PyObject *module = PyImport_ImportModule("rushlight.runtime.cuda.memory.lost");
    PyObject *error = module == NULL ? NULL : PyObject_CallMethod(module, "launch_failed", "i", status);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(module);
}

static int start(const Call *self, void *stream, void **parameters)
{
    if (self->product != NULL)
        return run_product(self->product, stream, parameters[0]);
    if (!overlapping || !self->waits)
        return launch_kernel(self->function, self->grid[0], self->grid[1], self->grid[2], self->block[0],
                             self->block[1], self->block[2], self->shared, stream, parameters, NULL);
    Attribute early = {EARLY, {.allowed = 1}};
    Config config = {{self->grid[0], self->grid[1], self->grid[2]}, {self->block[0], self->block[1], self->block[2]},
                     self->shared, stream, &early, 1};
    return launch_kernel_ex(&config, self->function, parameters, NULL);
}

static PyObject *call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Call *self = (Call *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf), next = 0;
    if (names != NULL || given != self->pointers - self->results)
        return PyErr_Format(PyExc_TypeError, "a launch of %d arrays was given %zd", self->pointers - self->results,
                            given);
    _Alignas(16) char values[MOST_BYTES];
    void *parameters[MOST_PARAMETERS];
    PyObject *results[MOST_RESULTS];
    int made = 0;
    memcpy(values, self->image, self->bytes);
    for (int i = 0; i < self->pointers; i++) {
        if (self->kinds[i] == 'r')
            continue;
        uint64_t address;
        PyObject *value = args[next++];
        if (self->kinds[i]) {
            if (self->kinds[i] != 'x' && !put_number(values + self->places[i], self->kinds[i], value))
                Py_RETURN_NOTIMPLEMENTED;
            continue;
        }
        if (address_of(value, &address) < 0)
            return NULL;
        if ((self->aligned >> i & 1) && (address & 15))
            Py_RETURN_NOTIMPLEMENTED;
        memcpy(values + self->places[i], &address, 8);
    }
    if (self->product != NULL && !fits_product(self->product, (uint64_t *)values))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *stream = PyObject_GetAttr(stream_holder, name_ptr);
    if (stream == NULL)
        return NULL;
    void *where = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(stream);
    Py_DECREF(stream);
    for (; made < self->results; made++) {
        uint64_t address;
        results[made] = new_result(self, made, where == NULL && reusing, &address);
        if (results[made] == NULL)
            goto error;
        memcpy(values + self->places[self->result_at[made]], &address, 8);
    }
    for (int i = 0; i < self->parameters; i++)
        parameters[i] = values + self->offsets[i];
    int status = start(self, where, parameters);
    if (status == NO_CONTEXT || (status && self->product != NULL)) { /* the first launch of this thread; a library has words of its own */
        PyObject *done = PyObject_CallNoArgs(bind_thread);
        if (done == NULL)
            goto error;
        Py_DECREF(done);
        status = start(self, where, parameters);
    }
    if (status) {
        failed(self, status);
        goto error;
    }
    if (made == 1)
        return results[0];
    if (made == 0)
        Py_RETURN_NONE;
    PyObject *all = PyTuple_New(made);
    if (all == NULL)
        goto error;
    for (int i = 0; i < made; i++)
        PyTuple_SET_ITEM(all, i, results[i]);
    return all;
error:
    while (made--)
        Py_DECREF(results[made]);
    return NULL;
}

static int fill(Call *self, PyObject *offsets, PyObject *places, PyObject *results, const char *kinds)
{
    self->parameters = (int)PyTuple_GET_SIZE(offsets);
    self->pointers = (int)PyTuple_GET_SIZE(places);
    self->results = (int)PyTuple_GET_SIZE(results);
    if (self->parameters > MOST_PARAMETERS || self->pointers > MOST_POINTERS || self->results > MOST_RESULTS ||
        self->bytes > MOST_BYTES) {
        self->results = 0;
        PyErr_SetString(PyExc_ValueError, "too many parameters for a prepared launch");
        return -1;
    }
    for (int i = 0; i < self->pointers && kinds[i]; i++)
        self->kinds[i] = kinds[i] == 'P' ? 0 : kinds[i];
    for (int i = 0; i < self->parameters; i++)
        self->offsets[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(offsets, i));
    for (int i = 0; i < self->pointers; i++) {
        self->places[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (self->places[i] < 0 || self->places[i] + (self->kinds[i] == 'i' ? 4 : 8) > self->bytes) {
            PyErr_SetString(PyExc_ValueError, "an address lies outside of the parameters");
            return -1;
        }
    }
    for (int i = 0; i < self->results; i++) {
        PyObject *strides;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(results, i), "iOOOO", &self->result_at[i], &self->shapes[i],
                              &self->dtypes[i], &self->sizes[i], &strides))
            return -1;
        if (self->result_at[i] < 0 || self->result_at[i] >= self->pointers) {
            self->shapes[i] = self->dtypes[i] = self->sizes[i] = NULL;
            PyErr_SetString(PyExc_ValueError, "a result has no place among the pointers");
            return -1;
        }
        self->kinds[self->result_at[i]] = 'r';
        Py_INCREF(self->shapes[i]);
        Py_INCREF(self->dtypes[i]);
        Py_INCREF(self->sizes[i]);
        self->result_bytes[i] = (PyLong_AsSsize_t(self->sizes[i]) + 511) & ~(Py_ssize_t)511; /* as the pool counts */
        self->strides[i] = strides == Py_None ? NULL : Py_NewRef(strides);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static Call *new_call(PyTypeObject *type, Py_ssize_t bytes)
{
    Call *self = (Call *)PyObject_NewVar(Call, type, bytes);
    if (self == NULL)
        return NULL;
    memset((char *)self + offsetof(Call, vectorcall), 0, offsetof(Call, image) - offsetof(Call, vectorcall));
    self->vectorcall = call;
    self->bytes = bytes;
    self->after = first_call;
    if (first_call != NULL)
        first_call->before = self;
    first_call = self;
    return self;
}

static PyObject *call_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned long long function, aligned;
    unsigned g[3], b[3], shared;
    Py_buffer image;
    PyObject *offsets, *places, *results, *keep, *product = Py_None;
    const char *kinds = "";
    int waits;
    unsigned each = 0;
    if (!PyArg_ParseTuple(args, "K(III)(III)IKy*O!O!O!Op|OsI", &function, &g[0], &g[1], &g[2], &b[0], &b[1], &b[2], &shared,
                          &aligned, &image, &PyTuple_Type, &offsets, &PyTuple_Type, &places, &PyTuple_Type, &results,
                          &keep, &waits, &product, &kinds, &each))
        return NULL;
    Call *self = new_call(type, image.len);
    if (self != NULL) {
        self->each = each;
        self->function = (void *)(uintptr_t)function;
        memcpy(self->grid, g, sizeof g);
        memcpy(self->block, b, sizeof b);
        self->shared = shared;
        self->aligned = aligned;
        self->waits = waits;
        self->keep = Py_NewRef(keep);
        memcpy(self->image, image.buf, image.len);
        if (fill(self, offsets, places, results, kinds) < 0 ||
            (product != Py_None && (self->product = make_product(product)) == NULL))
            Py_CLEAR(self);
    }
    PyBuffer_Release(&image);
    return (PyObject *)self;
}

static void call_free(PyObject *object)
{
    Call *self = (Call *)object;
    if (self->before != NULL)
        self->before->after = self->after;
    else
        first_call = self->after;
    if (self->after != NULL)
        self->after->before = self->before;
    for (int i = 0; i < MOST_RESULTS; i++) {
        for (int k = 0; k < SPARES; k++)
            drop(&self->spares[i][k], self->result_bytes[i]);
        Py_XDECREF(self->shapes[i]);
        Py_XDECREF(self->dtypes[i]);
        Py_XDECREF(self->sizes[i]);
        Py_XDECREF(self->strides[i]);
    }
    Py_XDECREF(self->keep);
    free_product(self->product);
    PyObject_Free(self);
}

/* Whether a launch can be made for other sizes by `call_for`: one result, row-major, and the number of its elements first. */
int can_resize(PyObject *object)
{
    return Py_IS_TYPE(object, &CallType) && ((Call *)object)->each != 0;
}

/* The same launch for `count` elements in `shape`; NULL on error. */
PyObject *call_for(PyObject *object, PyObject *shape, Py_ssize_t count)
{
    const Call *model = (Call *)object;
    PyObject *itemsize = PyObject_GetAttr(model->dtypes[0], name_itemsize);
    Py_ssize_t size = itemsize == NULL ? -1 : PyLong_AsSsize_t(itemsize);
    Py_XDECREF(itemsize);
    Call *self = size < 0 ? NULL : new_call(&CallType, model->bytes);
    if (self == NULL)
        return NULL;
    PyObject *bytes = PyLong_FromSsize_t(count * size);
    self->function = model->function;
    memcpy(self->grid, model->grid, sizeof model->grid);
    memcpy(self->block, model->block, sizeof model->block);
    self->shared = model->shared;
    self->parameters = model->parameters;
    self->pointers = model->pointers;
    self->waits = model->waits;
    self->aligned = model->aligned;
    self->each = model->each;
    memcpy(self->offsets, model->offsets, sizeof model->offsets);
    memcpy(self->places, model->places, sizeof model->places);
    memcpy(self->kinds, model->kinds, sizeof model->kinds);
    memcpy(self->result_at, model->result_at, sizeof model->result_at);
    memcpy(self->image, model->image, model->bytes);
    self->keep = Py_NewRef(model->keep);
    if (bytes == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    self->results = 1;
    self->shapes[0] = Py_NewRef(shape);
    self->dtypes[0] = Py_NewRef(model->dtypes[0]);
    self->sizes[0] = bytes;
    self->result_bytes[0] = (count * size + 511) & ~(Py_ssize_t)511;
    uint32_t units = (uint32_t)count;
    memcpy(self->image, &units, sizeof units);
    Py_ssize_t blocks = (count + self->each - 1) / self->each;
    self->grid[0] = blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS;
    return (PyObject *)self;
}

/* put(offset, bytes): change constants among the parameters. */
static PyObject *call_put(PyObject *object, PyObject *args)
{
    Call *self = (Call *)object;
    Py_ssize_t at;
    Py_buffer bytes;
    if (!PyArg_ParseTuple(args, "ny*", &at, &bytes))
        return NULL;
    int fits = at >= 0 && at + bytes.len <= self->bytes;
    if (fits)
        memcpy(self->image + at, bytes.buf, bytes.len);
    PyBuffer_Release(&bytes);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "these bytes lie outside of the parameters");
    Py_RETURN_NONE;
}

static PyMethodDef call_methods[] = {
    {"put", call_put, METH_VARARGS, "put(offset, bytes): change constants among the parameters."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cuda.code._launch.Call",
    .tp_basicsize = offsetof(Call, image),
    .tp_itemsize = 1,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = call_make,
    .tp_methods = call_methods,
    .tp_dealloc = call_free,
    .tp_doc = "Call(function, grid, block, shared, aligned, image, offsets, places, results, keep, waits[, product, kinds, each])",
};

/* setup(current, alloc, ndarray, new, bind_thread, pretend): whether launches can be made. */
static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *a, *b, *c, *d, *e;
    int pretend;
    if (!PyArg_ParseTuple(args, "OOOOOp", &a, &b, &c, &d, &e, &pretend))
        return NULL;
    stream_holder = Py_NewRef(a);
    alloc = Py_NewRef(b);
    array_type = Py_NewRef(c);
    array_new = Py_NewRef(d);
    bind_thread = Py_NewRef(e);
    launch_kernel = NULL;
    launch_kernel_ex = NULL;
    if (pretend)
        launch_kernel = pretend_launch;
    else {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
        if (driver != NULL)
            launch_kernel = (launch_fn)dlsym(driver, "cuLaunchKernel");
        if (driver != NULL)
            launch_kernel_ex = (launch_ex_fn)dlsym(driver, "cuLaunchKernelEx");
    }
    return PyBool_FromLong(launch_kernel != NULL);
}

/* overlap(on): whether launches now may begin before the kernel in front of them ends. */
static PyObject *overlap(PyObject *module, PyObject *on)
{
    overlapping = launch_kernel_ex != NULL && PyObject_IsTrue(on) > 0;
    return PyBool_FromLong(launch_kernel_ex != NULL);
}

/* reuse(on): whether results may be arrays that were handed out before; how it was until now. */
static PyObject *reuse(PyObject *module, PyObject *on)
{
    int before = reusing, now = PyObject_IsTrue(on);
    if (now < 0)
        return NULL;
    reusing = now;
    return PyBool_FromLong(before);
}

#define WORDS 16
typedef int (*words_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* call_words(address, w1 .. w16): call a C function of 16 addresses and sizes; ctypes takes five times as long. */
static PyObject *call_words(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    uint64_t w[WORDS + 1];
    if (n != WORDS + 1)
        return PyErr_Format(PyExc_TypeError, "call_words() takes %d numbers, not %zd", WORDS + 1, n);
    for (int i = 0; i <= WORDS; i++)
        if (address_of(args[i], &w[i]) < 0)
            return NULL;
    words_fn f = (words_fn)(uintptr_t)w[0];
    return PyLong_FromLong(f(w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14],
                             w[15], w[16]));
}

/* Stands for a library's function of 16 words, for tools/host_path.py. */
static int pretend_words(uint64_t a)
{
    pretended++;
    return 0;
}

static PyObject *pretended_words(PyObject *module, PyObject *none)
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)pretend_words);
}

static PyObject *launches(PyObject *module, PyObject *none)
{
    return PyLong_FromUnsignedLongLong(pretended);
}

/* Bytes of spares that nobody holds; with `drop_them` they go back to the pool. */
static Py_ssize_t sweep(int drop_them)
{
    Py_ssize_t bytes = 0;
    for (Call *c = first_call; c != NULL; c = c->after)
        for (int i = 0; i < c->results; i++)
            for (int k = 0; k < SPARES; k++)
                if (is_idle(&c->spares[i][k])) {
                    bytes += c->result_bytes[i];
                    if (drop_them)
                        drop(&c->spares[i][k], c->result_bytes[i]);
                }
    return bytes;
}

static PyObject *idle(PyObject *module, PyObject *none)
{
    return PyLong_FromSsize_t(sweep(0));
}

static PyObject *forget(PyObject *module, PyObject *none)
{
    return PyLong_FromSsize_t(sweep(1));
}

static PyObject *is_spare(PyObject *module, PyObject *array)
{
    PyObject *id = PyLong_FromVoidPtr(array);
    if (id == NULL)
        return NULL;
    int found = PySet_Contains(spare_ids, id);
    Py_DECREF(id);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

/* -- a step over the arrays of an earlier one --------------------------------------------------- */

/* Whether a weak reference leads to an object; -1 on error. */
static int leads_to(PyObject *reference, PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    if (PyWeakref_GetRef(reference, &found) < 0)
        return -1;
    Py_XDECREF(found); /* the caller holds `object`; another is not looked at */
    return found == object;
#else
    PyObject *found = PyWeakref_GetObject(reference);
    return found == NULL ? -1 : found == object;
#endif
}

/* Whether an array lies in a given order, True for C's or a tuple of strides, and is of a dtype; -1 on error. */
static int lies_so(PyObject *array, PyObject *order, PyObject *dtype)
{
    PyObject *own = PyObject_GetAttr(array, name_dtype);
    int same = own == NULL ? -1 : own == dtype ? 1 : PyObject_RichCompareBool(own, dtype, Py_EQ);
    Py_XDECREF(own);
    if (same <= 0)
        return same;
    PyObject *contiguous = PyObject_GetAttr(array, name_contiguous);
    if (contiguous == NULL)
        return -1;
    Py_DECREF(contiguous); /* True and False stay */
    if (contiguous == Py_True || order == Py_True)
        return contiguous == order;
    PyObject *strides = PyObject_GetAttr(array, name_strides);
    same = strides == NULL ? -1 : PyObject_RichCompareBool(strides, order, Py_EQ);
    Py_XDECREF(strides);
    return same;
}

/* are_again(arrays, first, n, references, orders, dtype): see `_Again.fits` of bodies/update.py. */
static PyObject *are_again(PyObject *module, PyObject *args)
{
    PyObject *arrays, *references, *orders, *dtype;
    Py_ssize_t first, n;
    if (!PyArg_ParseTuple(args, "OnnO!O!O", &arrays, &first, &n, &PyTuple_Type, &references, &PyTuple_Type, &orders, &dtype))
        return NULL;
    if (!PyList_CheckExact(arrays) && !PyTuple_CheckExact(arrays))
        return PyErr_Format(PyExc_TypeError, "the arrays are a list or a tuple");
    PyObject **items = PySequence_Fast_ITEMS(arrays) + first;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(arrays) - first;
    int same = n == PyTuple_GET_SIZE(orders) && count == PyTuple_GET_SIZE(references) + n && count >= 2 * n;
    for (Py_ssize_t i = 0, k = 0; same == 1 && i < count; i++)
        same = n <= i && i < 2 * n ? lies_so(items[i], PyTuple_GET_ITEM(orders, i - n), dtype)
                                   : leads_to(PyTuple_GET_ITEM(references, k++), items[i]);
    return same < 0 ? NULL : PyBool_FromLong(same);
}

static PyObject *forget_of_products(PyObject *module, PyObject *ignored)
{
    forget_workspaces();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"are_again", are_again, METH_VARARGS,
     "are_again(arrays, first, n, references, orders, dtype): whether an update's arrays are those of an earlier one."},
    {"idle", idle, METH_NOARGS, "Bytes of results kept for their launches, held by nobody else."},
    {"forget_workspaces", forget_of_products, METH_NOARGS, "Products ask again where they may work."},
    {"forget", forget, METH_NOARGS, "Give those bytes back to the pool."},
    {"is_spare", is_spare, METH_O, "Whether a launch keeps a reference to this array."},
    {"setup", setup, METH_VARARGS, "setup(current, alloc, ndarray, new, bind_thread, pretend) -> usable"},
    {"call_words", (PyCFunction)(void (*)(void))call_words, METH_FASTCALL,
     "call_words(address, w1 .. w16): call a C function of 16 addresses and sizes."},
    {"run_graph", (PyCFunction)(void (*)(void))run_graph, METH_FASTCALL,
     "run_graph(functions, handle, plan, uids, addresses, workspace): run a plan of cuDNN's -> its status."},
    {"gathered", gathered, METH_O, "gathered(arrays): dtype, addresses and sizes of arrays of one kind, or None."},
    {"learn_header", learn_header, METH_O, "learn_header(probes): find out how arrays lie in memory -> whether that is known."},
    {"overlap", overlap, METH_O, "Let launches begin before the kernel in front of them ends -> whether they can."},
    {"reuse", reuse, METH_O, "Let results be arrays that were handed out before -> how it was until now."},
    {"pretended_words", pretended_words, METH_NOARGS, "The address of a library's function that does nothing."},
    {"launches", launches, METH_NOARGS, "How many launches were only pretended."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_launch",
    .m_doc = "Prepared kernel launches as single C calls.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__launch(void)
{
    name_data = PyUnicode_InternFromString("data");
    name_ptr = PyUnicode_InternFromString("ptr");
    name_init = PyUnicode_InternFromString("_init");
    name_mem = PyUnicode_InternFromString("mem");
    name_dtype = PyUnicode_InternFromString("dtype");
    name_strides = PyUnicode_InternFromString("strides");
    name_contiguous = PyUnicode_InternFromString("_c_contiguous");
    name_itemsize = PyUnicode_InternFromString("itemsize");
    spare_ids = PySet_New(NULL);
    if (PyType_Ready(&CallType) < 0 || PyType_Ready(&GaugeType) < 0 || PyType_Ready(&KeyedType) < 0 || name_keyed() < 0 ||
        name_header() < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddObjectRef(module, "Call", (PyObject *)&CallType) < 0 ||
                           PyModule_AddObjectRef(module, "Gauge", (PyObject *)&GaugeType) < 0 ||
                           PyModule_AddObjectRef(module, "Keyed", (PyObject *)&KeyedType) < 0))
        Py_CLEAR(module);
    return module;
}
