// Batches gathered on the device: which rows come next, and the rows themselves as plain bytes.
#ifndef UNIT
#define UNIT u8
#endif
struct alignas(8) bytes_8 { unsigned v[2]; };
struct alignas(16) bytes_16 { unsigned v[4]; };

// The n numbers of `order` from at * n on, and `at` raised by one: one block.
extern "C" __global__ void next_places(const i64* order, i64* at, i64* out, i64 n) {
    depend();
    const i64 first = *at * n;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) out[i] = order[first + i];
    __syncthreads();
    if (threadIdx.x == 0) *at += 1;
}

// Row places[i] of a table of `rows` rows, each `width` units; negative places count from its end.
extern "C" __global__ void take_rows(const UNIT* table, const i64* places, UNIT* out, i64 count, int width,
                                     i64 rows) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const i64 place = i / width, row = places[place];
        out[i] = table[(row < 0 ? row + rows : row) * width + (i - place * width)];
    }
}
