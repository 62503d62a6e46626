/* Large blocks are kept and given out again: a training step asks for the same sizes every time. */
#ifndef RL_MEMORY_H
#define RL_MEMORY_H

#include <stddef.h>

void *memory_take(size_t bytes); /* aligned to 64 bytes; NULL when there is none */
void memory_give(void *block, size_t bytes);
void *table_take(size_t bytes); /* for a list that follows from layouts alone; NULL when there is no memory */
void table_give(void *table);
size_t memory_kept(void);  /* bytes waiting to be used again */
void memory_drop(void);    /* return them to the system */
void memory_init(void);

#endif
