/* A thread that makes calls which were written down, while Python is busy elsewhere.
 *
 * It has one list of them at a time, and goes on as far as it was told. Whoever wants the rest stops it: it ends the
 * call that it is in, with the help of who waits for it. On a busy machine, where it has not come yet, nothing is lost. */
#ifndef RL_AHEAD_H
#define RL_AHEAD_H

#include <stddef.h>

#include "repeat.h"

int ahead_begin(const void *owner, const Repeat *const *calls, ptrdiff_t upto); /* 0 where it works for somebody else */
void ahead_more(const void *owner, ptrdiff_t upto);
ptrdiff_t ahead_stop(const void *owner); /* how many calls were made; -1 where it does not work for this one */
void ahead_init(void);                   /* once, at import: fork handlers */

#endif
