/* Numbers by which bindings and loops name what to compute. */
#ifndef RL_CODES_H
#define RL_CODES_H

#include "point_made.h" /* by setup.py: codes of pointwise ops, U of one operand, B of two, G slopes; with parameters A, AG; losses L */

/* Those whose loops, or codes, are written by hand follow. */
enum { U_CUBE = U_MADE, U_SIN, U_COS,
       U_TAN, U_ASIN, U_ACOS, U_ATAN, U_SINH, U_COSH, U_ATANH, U_EXP2, U_LOG2, U_LOG10 }; /* these: k_angles.h */
enum { B_RSUB = B_MADE, B_RDIV, /* R: the scalar first */
       B_FMOD, B_REMAINDER, B_FLOOR_DIV, B_HYPOT, B_COPYSIGN, B_ATAN2, B_TURNED = 16 }; /* TURNED: added where these have it first */
enum { A_LOGIT = A_MADE, A_LOGIT_WITHIN };
enum { AG_LOGIT = AG_MADE };
enum { NESTEROV = 1, MAXIMIZE = 2, FIRST = 4, DECOUPLED = 8, DECAYS = 16 };

enum { T_LERP, T_ADDCMUL, T_ADDCDIV, T_PRELU }; /* three operands */
enum { S_BILINEAR, S_NEAREST, S_CUBIC };        /* how a place between pixels is read */
enum { S_ZEROS, S_BORDER, S_REFLECTION };      /* what lies outside */
#define SAMPLE_BLOCK 128 /* places at a time: their tables stay in the first cache */
enum { SKIP_NONE, SKIP_ZEROS, SKIP_OUTSIDE };  /* terms that are left out: none, of weight 0, of a place below 0 */
enum { NO_HALF, FLOAT16, BFLOAT16 };

#endif
