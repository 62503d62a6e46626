/* One pool of threads for all kernels. */
#ifndef RL_THREADS_H
#define RL_THREADS_H

#include <stddef.h>

/* Work on part `i` of `parts`. Parts are claimed one by one, in any order, by whoever is free; what a
 * part computes must not depend on who does it. */
typedef void (*Part)(void *what, ptrdiff_t i, ptrdiff_t parts);

void threads_run(Part part, void *what, ptrdiff_t parts); /* returns when all parts are done */
int threads_get(void);
int threads_are_same_bits(void);
double threads_get_wake_cost(void);
void threads_same_bits(int on); /* whether work is cut into pieces that do not depend on the threads */
void threads_set(int n);

/* Work on the threads of another library instead, so that one process has one pool: libgomp's GOMP_parallel,
 * which calls a function on so many threads and waits for all. NULL: our own threads. */
typedef void (*Team)(void (*)(void *), void *, unsigned threads, unsigned flags);
void threads_team(Team team);

void threads_init(void); /* once, at import: fork handlers */

/* How many parts for work that takes about `ns` nanoseconds on one thread: 1 when waking another
 * thread would cost more than it saves. */
ptrdiff_t threads_parts(double ns, ptrdiff_t most);
void threads_wake_cost(double ns); /* for tests: 0 shares out even the smallest work */

#endif
