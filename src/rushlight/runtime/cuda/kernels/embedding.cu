// Rows of a table by number, and the sums of gradients over the places a row was used.
#ifndef LABEL
#define LABEL i64
#endif

KERNEL(embedding)(const T* table, const LABEL* index, T* out, i64 count, int width,
                  i64 rows) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 place = i / width, row = (i64)index[place];
        // A row that does not exist gives NaN: a check on the host would wait for the GPU.
        out[i] = row >= 0 && row < rows ? table[row * width + (i - place * width)]
                                        : dn(infinity() - infinity());
    }
}

// The gradient of a table: for every row the sum over the places that used it, in the order of the places, so that
// the bits are the same every time. Places are counted by row, listed by row in any order, and put in order by
// whoever adds them up: one block for rows of few places, several warps for each 32 columns of the others.
#define FEW 64         // places that one block puts in order by comparing each with each
#define WINDOW 65536   // places whose order is found at once, by a bit for each
#define WARPS 16
#define AHEAD 4        // rows that are read before the first is added

__device__ __forceinline__ bool counts_for(i64 row, i64 rows, i64 padding) {
    return row >= 0 && row < rows && row != padding;
}

KERNEL(embedding_counts)(const LABEL* index, int* counts, i64 places, i64 rows, i64 padding) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < places; i += (i64)gridDim.x * blockDim.x) {
        i64 row = (i64)index[i];
        if (counts_for(row, rows, padding)) atomicAdd(counts + row, 1);
    }
}

// One block: where the list of every row begins, and which rows have many places (their number comes first).
KERNEL(embedding_starts)(const int* counts, int* starts, int* many, i64 rows) {
    depend();
    __shared__ int sums[1024];
    i64 each = (rows + blockDim.x - 1) / blockDim.x, from = threadIdx.x * each;
    i64 end = from + each < rows ? from + each : rows;
    int total = 0;
    for (i64 r = from; r < end; r++) total += counts[r];
    sums[threadIdx.x] = total;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        int before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    int start = sums[threadIdx.x] - total;
    for (i64 r = from; r < end; r++) {
        starts[r] = start;
        start += counts[r];
        if (counts[r] > FEW) many[1 + atomicAdd(many, 1)] = (int)r;
    }
}

// `ends` holds the starts before, and the ends afterwards.
KERNEL(embedding_lists)(const LABEL* index, int* ends, int* list, i64 places, i64 rows, i64 padding) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < places; i += (i64)gridDim.x * blockDim.x) {
        i64 row = (i64)index[i];
        if (counts_for(row, rows, padding)) list[atomicAdd(ends + row, 1)] = (int)i;
    }
}

KERNEL(embedding_few)(const T* g, const int* counts, const int* ends, const int* list, T* out, int width,
                      i64 rows, int by_count) {
    depend();
    __shared__ int sorted[FEW];
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        int n = counts[row];
        if (n > FEW) continue;
        if (n) {
            const int* own = list + (ends[row] - n);
            __syncthreads();
            for (int t = threadIdx.x; t < n; t += blockDim.x) {
                int place = own[t], rank = 0;
                for (int u = 0; u < n; u++) rank += own[u] < place;
                sorted[rank] = place;
            }
            __syncthreads();
        }
        for (int c = threadIdx.x; c < width; c += blockDim.x) {
            A total = (A)0;
            for (int k = 0; k < n; k++) total += up(g[(i64)sorted[k] * width + c]);
            out[row * width + c] = dn(by_count && n ? total / (A)n : total);
        }
    }
}

KERNEL(embedding_many)(const T* g, const int* counts, const int* ends, const int* list, const int* many, T* out,
                       i64 places, int width, int by_count) {
    depend();
    __shared__ unsigned bits[WINDOW / 32];
    __shared__ A parts[WARPS][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, c = blockIdx.y * 32 + lane;
    for (int h = blockIdx.x; h < many[0]; h += gridDim.x) {
        int row = many[1 + h], n = counts[row];
        const int* own = list + (ends[row] - n);
        A total = (A)0;
        for (i64 from = 0; from < places; from += WINDOW) {
            int words = (int)((places - from < WINDOW ? places - from : WINDOW) + 31) / 32;
            __syncthreads();
            for (int w = threadIdx.x; w < words; w += blockDim.x) bits[w] = 0;
            __syncthreads();
            for (int k = threadIdx.x; k < n; k += blockDim.x) {
                i64 at = own[k] - from;
                if (at >= 0 && at < WINDOW) atomicOr(bits + at / 32, 1u << (at % 32));
            }
            __syncthreads();
            if (c >= width) continue;
            int each = (words + WARPS - 1) / WARPS, last = (warp + 1) * each < words ? (warp + 1) * each : words;
            const T* place[AHEAD];
            int held = 0;
            for (int w = warp * each; w < last; w++)
                for (unsigned left = bits[w]; left; left &= left - 1) {
                    place[held++] = g + (from + w * 32 + __ffs((int)left) - 1) * width + c;
                    if (held < AHEAD) continue;
                    A read[AHEAD];
                    for (int k = 0; k < AHEAD; k++) read[k] = up(*place[k]);
                    for (int k = 0; k < AHEAD; k++) total += read[k];
                    held = 0;
                }
            for (int k = 0; k < held; k++) total += up(*place[k]);
        }
        parts[warp][lane] = total;
        __syncthreads();
        if (warp == 0 && c < width) {
            for (int w = 1; w < WARPS; w++) total += parts[w][lane];
            out[(i64)row * width + c] = dn(by_count ? total / (A)n : total);
        }
        __syncthreads();
    }
}
