// Short vectors and matrices, each by one thread: cross products, determinants. Before this file stand the prelude and S,
// the element type.
typedef Wide<S>::type T;
#define EVERY(i, count) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)

// Vectors of three, whose elements lie `inner` apart.
KERNEL(cross)(const S* __restrict__ x, const S* __restrict__ y, S* __restrict__ out, i64 count, i64 inner) {
    depend();
    EVERY(i, count) {
        const i64 at = i / inner * 2 * inner + i;
        T a[3], b[3];
#pragma unroll
        for (int k = 0; k < 3; k++) a[k] = widen(x[at + k * inner]), b[k] = widen(y[at + k * inner]);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const int p = (k + 1) % 3, q = (k + 2) % 3;
            out[at + k * inner] = narrow(To<S>(), T(a[p] * b[q] - a[q] * b[p]));
        }
    }
}

#ifdef ROWS  // of float and double alone
// (ROWS, ROWS) matrices, by elimination with the largest of a column.
KERNEL(determinant)(const S* __restrict__ x, S* __restrict__ out, i64 count) {
    depend();
    EVERY(i, count) {
        T a[ROWS][ROWS], found = 1;
#pragma unroll
        for (int k = 0; k < ROWS * ROWS; k++) a[k / ROWS][k % ROWS] = x[i * ROWS * ROWS + k];
#pragma unroll
        for (int c = 0; c < ROWS; c++) {
#pragma unroll
            for (int r = c + 1; r < ROWS; r++)
                if (fabs(a[r][c]) > fabs(a[c][c])) {
                    found = -found;
#pragma unroll
                    for (int k = c; k < ROWS; k++) {
                        const T held = a[r][k];
                        a[r][k] = a[c][k];
                        a[c][k] = held;
                    }
                }
            found *= a[c][c];
#pragma unroll
            for (int r = c + 1; r < ROWS; r++) {
                const T by = a[c][c] == 0 ? T(0) : a[r][c] / a[c][c];
#pragma unroll
                for (int k = c + 1; k < ROWS; k++) a[r][k] -= by * a[c][k];
            }
        }
        out[i] = found;
    }
}
#endif
