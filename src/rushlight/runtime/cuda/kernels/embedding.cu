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

KERNEL(embedding_add)(const T* g, const LABEL* index, A* out, i64 count, int width,
                      i64 rows, i64 padding) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 place = i / width, row = (i64)index[place];
        if (row >= 0 && row < rows && row != padding)
            atomicAdd(out + row * width + (i - place * width), up(g[i]));
    }
}

// `order` sorts the places by row, `sorted` are the rows in that order: the first place of every row
// adds the others up, in order.
KERNEL(embedding_sorted)(const T* g, const i64* order, const LABEL* sorted, T* out,
                         i64 places, int width, i64 rows, i64 padding, int by_count) {
    depend();
    i64 first = blockIdx.x;
    i64 row = (i64)sorted[first];
    if (first > 0 && (i64)sorted[first - 1] == row) return;
    if (row < 0 || row >= rows || row == padding) return;
    i64 end = first + 1;
    while (end < places && (i64)sorted[end] == row) end++;
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        A total = (A)0;
        for (i64 k = first; k < end; k++) total += up(g[order[k] * width + c]);
        out[row * width + c] = dn(by_count ? total / (A)(end - first) : total);
    }
}
