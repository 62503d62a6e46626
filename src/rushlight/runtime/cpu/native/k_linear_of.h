/* Triangular systems and Cholesky's factor of numbers of type T; k_linear.h includes this once for each type, with L(name) for
 * names, `vt` for vectors of T and TL for how many a vector holds. */

#define DOWN 4 /* rows that are computed together */

typedef T L(vt_any) __attribute__((vector_size(VL * 4), aligned(sizeof(T)), may_alias));

INLINE vt L(read)(const T *p) { return *(const L(vt_any) *)p; }
INLINE void L(write)(T *p, vt v) { *(L(vt_any) *)p = v; }

/* acc[r][c] -= the sum over j of a[r][j] x[j][c]. */
INLINE void L(subtract)(vt (*acc)[2], int across, const T *const *a, idx a_col, const T *x, idx x_row, idx n) {
    for (idx j = 0; j < n; j++)
        UNROLL for (int r = 0; r < DOWN; r++) {
            const vt factor = a[r][j * a_col] - (vt){0};
            UNROLL for (int c = 0; c < across; c++) acc[r][c] -= factor * L(read)(x + j * x_row + c * TL);
        }
}

/* a x = what x held, for a lower triangle a of [n][n]; rows of x are vectors, `across` of them. Steps below 0 make an upper
 * triangle a lower one, whose last row is the first. */
INLINE void L(panel)(idx n, const T *a, idx a_row, idx a_col, int unit, T *x, idx x_row, int across) {
    for (idx i = 0; i < n; i += DOWN) {
        const int rows = n - i < DOWN ? (int)(n - i) : DOWN;
        vt acc[DOWN][2];
        const T *line[DOWN];
        UNROLL for (int r = 0; r < DOWN; r++) {
            const idx at = i + (r < rows ? r : 0);
            line[r] = a + at * a_row;
            UNROLL for (int c = 0; c < across; c++) acc[r][c] = L(read)(x + at * x_row + c * TL);
        }
        L(subtract)(acc, across, line, a_col, x, x_row, i);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < across; c++) {
                vt v = acc[r][c];
                for (int q = 0; q < r; q++) v -= line[r][(i + q) * a_col] * L(read)(x + (i + q) * x_row + c * TL);
                L(write)(x + (i + r) * x_row + c * TL, unit ? v : v / line[r][(i + r) * a_col]);
            }
    }
}

static void L(solve_panel)(idx n, const T *a, idx a_row, idx a_col, int unit, T *x, idx x_row, int across) {
    if (across == 2) L(panel)(n, a, a_row, a_col, unit, x, x_row, 2);
    else L(panel)(n, a, a_row, a_col, unit, x, x_row, 1);
}

INLINE T L(dot)(const T *a, const T *x, idx n) {
    vt s = {0}, t = {0};
    idx i = 0;
    for (; i + 2 * TL <= n; i += 2 * TL) s += L(read)(a + i) * L(read)(x + i), t += L(read)(a + i + TL) * L(read)(x + i + TL);
    s += t;
    T sum = 0;
    for (; i < n; i++) sum += a[i] * x[i];
    for (int k = 0; k < TL; k++) sum += s[k];
    return sum;
}

/* One column x, in place. `a` lies row by row, or column by column; `step`: from one to the next; no diagonal: ones. */
static void L(solve_column)(idx n, const T *a, idx step, int by_rows, int upper, int unit, T *x) {
    for (idx k = 0; k < n; k++) {
        const idx i = upper ? n - 1 - k : k;
        const T *line = a + i * step;
        if (by_rows) {
            const idx first = upper ? i + 1 : 0;
            x[i] -= L(dot)(line + first, x + first, k);
        }
        if (!unit) x[i] /= line[i];
        if (by_rows) continue;
        const T by = x[i];
        const idx first = upper ? 0 : i + 1, end = upper ? i : n;
        for (idx j = first; j < end; j++) x[j] -= by * line[j];
    }
}

/* u of [n][step], whose upper triangle becomes U with U^T U = what it was; 0 where that does not exist. Rows go on for 2 TL numbers
 * and the matrix for DOWN rows that may hold anything. */
static int L(cholesky)(idx n, T *u, idx step) {
    for (idx i = 0; i < n; i += DOWN) {
        const int rows = n - i < DOWN ? (int)(n - i) : DOWN;
        const T *const above[DOWN] = {u + i, u + i + 1, u + i + 2, u + i + 3};
        for (idx c = i; i && c < n; c += 2 * TL) {
            vt acc[DOWN][2];
            UNROLL for (int r = 0; r < DOWN; r++)
                UNROLL for (int k = 0; k < 2; k++) acc[r][k] = L(read)(u + (i + r) * step + c + k * TL);
            L(subtract)(acc, 2, above, step, u + c, step, i);
            UNROLL for (int r = 0; r < DOWN; r++)
                UNROLL for (int k = 0; k < 2; k++) L(write)(u + (i + r) * step + c + k * TL, acc[r][k]);
        }
        for (int r = 0; r < rows; r++) {
            T *row = u + (i + r) * step;
            if (!(row[i + r] > 0)) return 0;
            const T root = sizeof(T) == 4 ? (T)sqrtf((float)row[i + r]) : (T)sqrt(row[i + r]);
            row[i + r] = root;
            for (idx c = i + r + 1; c < n; c++) row[c] /= root;
            for (int q = r + 1; q < rows; q++) {
                T *below = u + (i + q) * step;
                const T by = row[i + q];
                for (idx c = i + q; c < n; c++) below[c] -= by * row[c];
            }
        }
    }
    return 1;
}

#undef DOWN
