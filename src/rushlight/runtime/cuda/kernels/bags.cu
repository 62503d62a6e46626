// Rows of a table added up in bags of varying size, and gradients handed back to the rows. LABEL is the type of row
// numbers, START that of the places where bags begin.
#ifndef LABEL
#define LABEL i64
#endif
#ifndef START
#define START i64
#endif
__device__ __forceinline__ i64 within(i64 i, i64 most) { return i < 0 ? 0 : i > most ? most : i; }

KERNEL(bag_sums)(const T* __restrict__ weight, const LABEL* __restrict__ indices, const START* __restrict__ starts,
                 T* __restrict__ out, i64 bags, i64 total, i64 width, i64 rows, int mean) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < bags * width; i += step) {
        const i64 bag = i / width, column = i - bag * width;
        const i64 begin = within(starts[bag], total), end = bag + 1 < bags ? within(starts[bag + 1], total) : total;
        A sum = 0;
        for (i64 k = begin; k < end; k++) sum += up(weight[within(indices[k], rows - 1) * width + column]);
        out[i] = dn(mean && end > begin ? sum / (A)(end - begin) : sum);
    }
}

KERNEL(bag_rows)(const T* __restrict__ g, const START* __restrict__ starts, T* __restrict__ out, i64 bags, i64 total,
                 i64 width, int mean) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total * width; i += step) {
        const i64 k = i / width;
        i64 bag = 0, behind = bags;
        while (bag + 1 < behind) {  // the last bag that begins at k or before
            const i64 middle = (bag + behind) / 2;
            if (starts[middle] <= k) bag = middle;
            else behind = middle;
        }
        A value = up(g[bag * width + i - k * width]);
        if (mean) value /= (A)((bag + 1 < bags ? starts[bag + 1] : total) - starts[bag]);
        out[i] = dn(value);
    }
}
