/* A pool of threads that costs nothing while idle and never waits for a thread that has not come.
 *
 * A job is open until its last part is claimed. Workers join an open job, the caller works too, closes
 * the job and waits only for those who joined: on a busy machine, where a worker is not scheduled in
 * time, the caller simply does everything itself. */
#include "threads.h"
#include "watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#define MOST 256
#define SAME_PARTS 8 /* of work in the mode that gives the same bits for any number of threads */
#define OPEN ((uint64_t)1 << 32) /* state: number of the job << 33 | open | workers inside */
#define INSIDE (OPEN - 1)
#define SPIN_NS 20000 /* how long a worker looks for the next job before it sleeps */

static struct {
    pthread_mutex_t lock; /* guards sleeping and waking */
    pthread_cond_t more, done;
    _Atomic uint64_t state;
    atomic_int sleepers, waiting;
    atomic_flag busy; /* a job is running: nested and concurrent calls stay on their own thread */
    Part part;
    void *what;
    Book *book; /* where the caller counts conversions */
    ptrdiff_t parts;
    atomic_ptrdiff_t next;
    int started;
    atomic_int wanted; /* read by calls that run while another thread sets it */
    atomic_int leave;  /* workers with a number above `wanted` go home */
    Team team;         /* another library's threads, in place of our own */
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .more = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
    .busy = ATOMIC_FLAG_INIT,
    .wanted = 1,
};

static double wake_ns = 12000; /* what it costs until a sleeping worker has started */
static atomic_int same_bits;   /* sums are split alike whatever the number of threads */

static inline void relax(void) {
#if defined(__aarch64__)
    __asm__ volatile("isb"); /* about 10 ns; `yield` is a no-op on most cores */
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(void) {
    const ptrdiff_t parts = pool.parts;
    watch_for(pool.book);
    for (;;) {
        const ptrdiff_t i = atomic_fetch_add(&pool.next, 1);
        if (i >= parts) break;
        pool.part(pool.what, i, parts);
    }
    watch_for(NULL);
}

/* Try to join the job that is open; false when there is none. */
static int join_job(void) {
    uint64_t s = atomic_load(&pool.state);
    while (s & OPEN)
        if (atomic_compare_exchange_weak(&pool.state, &s, s + 1)) {
            work();
            const uint64_t left = atomic_fetch_sub(&pool.state, 1) - 1;
            if (!(left & OPEN) && !(left & INSIDE) && atomic_load(&pool.waiting)) {
                pthread_mutex_lock(&pool.lock);
                pthread_cond_signal(&pool.done);
                pthread_mutex_unlock(&pool.lock);
            }
            return 1;
        }
    return 0;
}

static int is_new(uint64_t state, uint64_t seen) { return (state & OPEN) && state >> 33 != seen; }

static void *worker(void *number) {
    const int me = (int)(intptr_t)number;
    uint64_t seen = UINT64_MAX; /* the job this worker has helped with: once its parts are gone, no more */
    uint64_t until = now_ns() + SPIN_NS;
    while (me < atomic_load(&pool.leave)) {
        const uint64_t state = atomic_load(&pool.state);
        if (is_new(state, seen)) {
            seen = state >> 33;
            join_job();
            until = now_ns() + SPIN_NS;
        } else if (now_ns() < until) {
            for (int i = 0; i < 16; i++) relax();
        } else {
            pthread_mutex_lock(&pool.lock);
            atomic_fetch_add(&pool.sleepers, 1);
            while (!is_new(atomic_load(&pool.state), seen) && me < atomic_load(&pool.leave))
                pthread_cond_wait(&pool.more, &pool.lock);
            atomic_fetch_sub(&pool.sleepers, 1);
            pthread_mutex_unlock(&pool.lock);
            until = now_ns() + SPIN_NS;
        }
    }
    return NULL;
}

static void start(int n) {
    atomic_store(&pool.leave, n);
    while (pool.started < n) {
        pthread_t t;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        const int failed = pthread_create(&t, &attr, worker, (void *)(intptr_t)pool.started);
        pthread_attr_destroy(&attr);
        if (failed) return; /* fewer threads: the caller does their parts */
        pool.started++;
    }
}

static void wait_for_the_others(void) {
    const uint64_t until = now_ns() + SPIN_NS;
    while (atomic_load(&pool.state) & INSIDE) {
        if (now_ns() < until) {
            relax();
            continue;
        }
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.waiting, 1);
        while (atomic_load(&pool.state) & INSIDE) pthread_cond_wait(&pool.done, &pool.lock);
        atomic_store(&pool.waiting, 0);
        pthread_mutex_unlock(&pool.lock);
    }
}

static void work_in_team(void *unused) { work(); }

void threads_run(Part part, void *what, ptrdiff_t parts) {
    if (parts <= 1 || pool.wanted <= 1 || atomic_flag_test_and_set(&pool.busy)) {
        for (ptrdiff_t i = 0; i < parts; i++) part(what, i, parts);
        return;
    }
    pool.part = part;
    pool.what = what;
    pool.book = watch_book();
    pool.parts = parts;
    atomic_store(&pool.next, 0);
    if (pool.team) {
        /* Always as many: OpenMP ends and starts threads when the number changes. */
        pool.team(work_in_team, NULL, (unsigned)pool.wanted, 0);
        atomic_flag_clear(&pool.busy);
        return;
    }
    if (pool.started < pool.wanted - 1) start(pool.wanted - 1);
    atomic_fetch_add(&pool.state, OPEN); /* the open bit is clear: this sets it */
    if (atomic_load(&pool.sleepers)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.more);
        pthread_mutex_unlock(&pool.lock);
    }
    work();
    atomic_fetch_add(&pool.state, OPEN); /* carries into the number: closed */
    wait_for_the_others();
    atomic_flag_clear(&pool.busy);
}

ptrdiff_t threads_parts(double ns, ptrdiff_t most) {
    ptrdiff_t n = atomic_load(&same_bits) ? SAME_PARTS : pool.wanted;
    if (n > most) n = most;
    if (n <= 1 || ns < 2 * wake_ns) return 1;
    const double worth = wake_ns > 0 ? ns / wake_ns : (double)n;
    return (double)n < worth ? n : (ptrdiff_t)worth;
}

void threads_same_bits(int on) { atomic_store(&same_bits, on); }

void threads_wake_cost(double ns) { wake_ns = ns; }

int threads_are_same_bits(void) { return atomic_load(&same_bits); }
double threads_get_wake_cost(void) { return wake_ns; }
int threads_get(void) { return pool.wanted; }

void threads_set(int n) {
    n = n < 1 ? 1 : n > MOST ? MOST : n;
    while (atomic_flag_test_and_set(&pool.busy)) relax();
    pool.wanted = n;
    if (pool.started > n - 1) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.leave, n - 1);
        pthread_cond_broadcast(&pool.more);
        pthread_mutex_unlock(&pool.lock);
        pool.started = n - 1;
    }
    atomic_flag_clear(&pool.busy);
}

void threads_team(Team team) {
    while (atomic_flag_test_and_set(&pool.busy)) relax();
    pool.team = team;
    atomic_flag_clear(&pool.busy);
}

/* A child has this thread only: forget the workers, they start again when they are needed. The lock is
 * held across the fork, so that the child does not inherit it from a thread that no longer exists. */
static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { pthread_mutex_unlock(&pool.lock); }

static void in_child(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.more, NULL);
    pthread_cond_init(&pool.done, NULL);
    atomic_store(&pool.state, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.waiting, 0);
    atomic_store(&pool.leave, 0);
    atomic_flag_clear(&pool.busy);
    pool.started = 0;
    pool.team = NULL; /* OpenMP's threads do not come back after a fork */
}

void threads_init(void) { pthread_atfork(before_fork, after_fork, in_child); }
