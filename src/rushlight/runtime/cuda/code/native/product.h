/* A product of cuBLASLt that a prepared call makes in a kernel's place. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include <Python.h>
#include <stdint.h>

typedef struct Product Product;

enum { LEFT, RIGHT, VECTOR, OUT }; /* what the addresses of a call are, in this order */

Product *make_product(PyObject *described);
void free_product(Product *p);
int fits_product(const Product *p, const uint64_t *addresses);
/* Workspaces of streams have moved: ask again. */
void forget_workspaces(void);
/* The library's status, or -1 with an error set. */
int run_product(Product *p, void *stream, const uint64_t *addresses);

#endif
