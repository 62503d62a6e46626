/* Triangular systems and Cholesky's factor, of floats and of doubles. */

typedef double vd __attribute__((vector_size(VL * 4)));

#define T float
#define vt vf
#define TL VL
#define L(name) RL_JOIN(RL_JOIN(name, f), ISA)
#include "k_linear_of.h"
#undef T
#undef vt
#undef TL
#undef L

#define T double
#define vt vd
#define TL (VL / 2)
#define L(name) RL_JOIN(RL_JOIN(name, d), ISA)
#include "k_linear_of.h"
#undef T
#undef vt
#undef TL
#undef L
