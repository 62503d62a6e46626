// Small matrices in shared memory, each by GROUP threads: elimination with the largest pivot of a column, as LAPACK's
// getrf does it, and what follows from it (TASK 0: solutions, 1: inverses, 2: determinants, 3: their signs and
// logarithms, 4: both factors); Cholesky factors (5); solutions with one triangle (6); an orthogonal factor and a
// triangle by reflections (7), which alone takes matrices that are not square.
#ifndef GROUP
#define GROUP 32
#endif
#ifndef TASK
#define TASK 0
#endif
#define LANES (GROUP < 32 ? GROUP : 32)
#define MEET() do { if (GROUP > 32) __syncthreads(); else __syncwarp(); } while (0)
#define OVER(i, from, to) for (int i = (from) + me; i < (to); i += GROUP)

struct Lay { i64 matrix, row, column; };  // how far apart they lie, in elements

__device__ __forceinline__ void bring_in(T* a, const T* from, Lay lay, i64 k, int rows, int columns, int width, int me) {
    const T* x = from + k * lay.matrix;
    OVER(e, 0, rows * columns) {
        const bool turned = lay.row < lay.column;  // neighbours in memory are read together
        const int r = turned ? e % rows : e / columns, c = turned ? e / rows : e % columns;
        a[r * width + c] = x[r * lay.row + c * lay.column];
    }
}

// Results lie column by column.
__device__ __forceinline__ void take_out(T* to, const T* a, int rows, int columns, int width, int me) {
    OVER(e, 0, rows * columns) to[e] = a[e % rows * width + e / rows];
}

#if TASK <= 4
// The row with the largest element of column k, from row k on.
__device__ __forceinline__ int pivot_row(const T* a, int n, int width, int k, int me, int* chosen) {
    T best = -1;
    int at = k;
    if (me < LANES) {
        for (int i = k + me; i < n; i += LANES) {
            const T v = fabs(a[i * width + k]);
            if (v > best) best = v, at = i;
        }
#pragma unroll
        for (int by = LANES / 2; by; by >>= 1) {
            const T other = __shfl_xor_sync(~0u, best, by);
            const int where = __shfl_xor_sync(~0u, at, by);
            if (other > best || (other == best && where < at)) best = other, at = where;
        }
    }
    if (GROUP > 32) {
        if (me == 0) *chosen = at;
        __syncthreads();
        at = *chosen;
    }
    return at;
}

// Both factors in place of a matrix, the same steps made with what stands to its right; -1 for an odd number of swaps.
__device__ __forceinline__ int eliminate(T* a, int n, int width, int* swaps, int me, int* chosen) {
    int sign = 1;
    for (int k = 0; k < n; k++) {
        const int p = pivot_row(a, n, width, k, me, chosen);
        if (p != k) sign = -sign;
        if (me == 0) swaps[k] = p;
        OVER(c, 0, p == k ? 0 : width) {
            const T held = a[p * width + c];
            a[p * width + c] = a[k * width + c];
            a[k * width + c] = held;
        }
        MEET();
        const T pivot = a[k * width + k];
        OVER(i, k + 1, n) a[i * width + k] = pivot == 0 ? a[i * width + k] : a[i * width + k] / pivot;
        MEET();
        const int right = width - k - 1;
        OVER(e, 0, (n - k - 1) * right) {
            const int i = k + 1 + e / right, j = k + 1 + e % right;
            a[i * width + j] -= a[i * width + k] * a[k * width + j];
        }
        MEET();
    }
    return sign;
}
#endif

#if TASK == 7
// How many threads share a column, lanes beside each other.
#define SHARE (GROUP < 32 ? 1 : 4)

// The length of column j below row j, as large or small as its numbers may be.
__device__ __forceinline__ T length_below(const T* a, int rows, int width, int j, int me, T* told) {
    T most = 0, total = 0;
    if (me < LANES) {
        for (int i = j + 1 + me; i < rows; i += LANES) most = fmax(most, fabs(a[i * width + j]));
#pragma unroll
        for (int by = LANES / 2; by; by >>= 1) most = fmax(most, __shfl_xor_sync(~0u, most, by));
        if (!(most > 0) || most - most != 0) most = 1;
        for (int i = j + 1 + me; i < rows; i += LANES) {
            const T v = a[i * width + j] / most;
            total += v * v;
        }
#pragma unroll
        for (int by = LANES / 2; by; by >>= 1) total += __shfl_xor_sync(~0u, total, by);
        total = most * sqrt(total);
    }
    if (GROUP > 32) {
        if (me == 0) *told = total;
        __syncthreads();
        total = *told;
    }
    return total;
}

// What stands in columns `from` to `to` of `x`, reflected by column j of `a`, whose own number is 1.
__device__ __forceinline__ void reflect(T* x, int across, int from, int to, const T* a, int rows, int width, int j, T tau, int me) {
    const int part = me % SHARE;
    for (int first = from; first < to; first += GROUP / SHARE) {  // as often in every thread
        const int c = first + me / SHARE, end = c < to ? rows : 0;
        T along = part || !end ? T(0) : x[j * across + c];
        for (int i = j + 1 + part; i < end; i += SHARE) along += a[i * width + j] * x[i * across + c];
#pragma unroll
        for (int by = SHARE / 2; by; by >>= 1) along += __shfl_xor_sync(~0u, along, by);
        along *= tau;
        if (part == 0 && end) x[j * across + c] -= along;
        for (int i = j + 1 + part; i < end; i += SHARE) x[i * across + c] -= along * a[i * width + j];
    }
}

// Matrices of n rows and m columns; the first factor has `square` columns.
BOUNDED_KERNEL(matrices, GROUP < 128 ? 128 : GROUP)(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ out,
        T* __restrict__ second, int* __restrict__ swaps_out, i64* __restrict__ order, unsigned* bad, i64 count, int n, int m,
        Lay lx, Lay ly, int square, int ones) {
    depend();
    extern __shared__ __align__(16) char room[];
    __shared__ T told[1];
    const int me = threadIdx.x % GROUP, here = threadIdx.x / GROUP, groups = blockDim.x / GROUP;
    const i64 at = (i64)blockIdx.x * groups + here, k = at < count ? at : count - 1;
    const bool live = at < count;
    const int steps = n < m ? n : m;
    T* a = (T*)room + (i64)here * (n * m + n * square + steps);
    T *q = a + n * m, *taus = q + n * square;
    bring_in(a, x, lx, k, n, m, m, me);
    MEET();
    for (int j = 0; j < steps; j++) {
        const T first = a[j * m + j], below = length_below(a, n, m, j, me, told);
        MEET();  // all have read it
        if (below == 0) {
            if (me == 0) taus[j] = 0;
        } else {
            const T whole = -copysign(hypot(first, below), first), over = 1 / (first - whole);
            OVER(i, j + 1, n) a[i * m + j] *= over;
            if (me == 0) {
                a[j * m + j] = whole;
                taus[j] = (whole - first) / whole;
            }
        }
        MEET();
        reflect(a, m, j + 1, m, a, n, m, j, taus[j], me);
        MEET();
    }
    OVER(e, 0, n * square) q[e] = e / square == e % square;
    MEET();
    for (int j = steps - 1; j >= 0; j--) {
        reflect(q, square, j, square, a, n, m, j, taus[j], me);
        MEET();
    }
    if (!live) return;
    take_out(out + k * n * square, q, n, square, square, me);
    OVER(e, 0, square * m) {
        const int r = e % square, c = e / square;
        second[k * square * m + e] = r <= c ? a[r * m + c] : T(0);
    }
}
#else
// The triangle of a matrix against what stands to its right: from the last row up, or from the first down.
__device__ __forceinline__ void substitute(T* a, int n, int m, int width, bool up, bool ones, int me) {
    for (int s = 0; s < n; s++) {
        const int k = up ? n - 1 - s : s;
        if (!ones) {
            OVER(j, n, n + m) a[k * width + j] /= a[k * width + k];
            MEET();
        }
        const int first = up ? 0 : k + 1, rows = up ? k : n - 1 - k;
        OVER(e, 0, rows * m) {
            const int i = first + e / m, j = n + e % m;
            a[i * width + j] -= a[i * width + k] * a[k * width + j];
        }
        MEET();
    }
}

// `bad` counts matrices that have no answer.
BOUNDED_KERNEL(matrices, GROUP < 128 ? 128 : GROUP)(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ out,
        T* __restrict__ second, int* __restrict__ swaps_out, i64* __restrict__ order, unsigned* bad, i64 count, int n, int m,
        Lay lx, Lay ly, int upper, int ones) {
    depend();
    extern __shared__ __align__(16) char room[];
    __shared__ int chosen[1];
    const int me = threadIdx.x % GROUP, here = threadIdx.x / GROUP, groups = blockDim.x / GROUP;
    const i64 at = (i64)blockIdx.x * groups + here, k = at < count ? at : count - 1;
    const bool live = at < count;  // the others do the last one's work once more, and keep it to themselves
    const int width = TASK == 0 || TASK == 1 || TASK == 6 ? n + m : n;
    T* a = (T*)room + (i64)here * n * width;
    int* swaps = (int*)((T*)room + (i64)groups * n * width) + here * n;
    bring_in(a, x, lx, k, n, n, width, me);
    if (TASK == 0 || TASK == 6) bring_in(a + n, y, ly, k, n, m, width, me);
    if (TASK == 1)
        OVER(e, 0, n * n) a[e / n * width + n + e % n] = e / n == e % n;
    MEET();
#if TASK <= 4
    const int sign = eliminate(a, n, width, swaps, me, chosen);
#endif
#if TASK <= 1
    if (me == 0 && live) {
        bool zero = false;
        for (int i = 0; i < n; i++) zero |= a[i * width + i] == 0;
        if (zero) atomicAdd(bad, 1u);
    }
    substitute(a, n, m, width, true, false, me);
    if (live) take_out(out + k * n * m, a + n, n, m, width, me);
#elif TASK == 2 || TASK == 3
    if (me == 0 && live) {
        T found = TASK == 2 ? (T)sign : (T)0, way = sign;
        for (int i = 0; i < n; i++) {
            const T d = a[i * width + i];
            if (TASK == 2) found *= d;
            else found += log(fabs(d)), way = d == 0 ? T(0) : d < 0 ? -way : d > 0 ? way : d;
        }
        out[k] = TASK == 2 ? found : way;
        if (TASK == 3) second[k] = found;
    }
#elif TASK == 4
    if (live) {
        take_out(out + k * n * n, a, n, n, width, me);
        OVER(i, 0, n) swaps_out[k * n + i] = swaps[i] + 1;
        if (me == 0) {
            i64* rows = order + k * n;
            for (int i = 0; i < n; i++) rows[i] = i;
            for (int i = 0; i < n; i++) {
                const i64 held = rows[swaps[i]];
                rows[swaps[i]] = rows[i];
                rows[i] = held;
            }
        }
    }
#elif TASK == 5
    bool wrong = false;
    for (int c = 0; c < n; c++) {
        const T pivot = a[c * width + c], root = sqrt(pivot);
        wrong |= !(pivot > 0);
        MEET();
        OVER(i, c, n) a[i * width + c] = i == c ? root : a[i * width + c] / root;
        OVER(j, c + 1, n) a[c * width + j] = 0;
        MEET();
        const int right = n - c - 1;
        OVER(e, 0, right * right) {
            const int i = c + 1 + e / right, j = c + 1 + e % right;
            if (j <= i) a[i * width + j] -= a[i * width + c] * a[j * width + c];
        }
        MEET();
    }
    if (me == 0 && live && wrong) atomicAdd(bad, 1u);
    if (live) take_out(out + k * n * n, a, n, n, width, me);
#else
    substitute(a, n, m, width, upper, ones, me);
    if (live) take_out(out + k * n * m, a + n, n, m, width, me);
#endif
}
#endif
