// Rows of a table by number, each with the numbers of `other` added, which come round again after `period`.
#ifndef LABEL
#define LABEL i64
#endif

KERNEL(embedding_add)(const T* table, const LABEL* index, const T* other, T* out, i64 count,
                      int width, i64 rows, i64 period) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 place = i / width, row = (i64)index[place];
        // A row that does not exist gives NaN: a check on the host would wait for the GPU.
        A v = row >= 0 && row < rows ? up(table[row * width + (i - place * width)])
                                     : (A)(infinity() - infinity());
        out[i] = dn(v + up(other[i % period]));
    }
}
