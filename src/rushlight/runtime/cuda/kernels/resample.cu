// An axis resampled by a table: every element is a weighted sum of a few of the input, whose places and weights stand in
// `index` and `weight`, (taps, length) each. The derivative is the same with the table turned round, so that nothing is
// added up in memory. IX counts elements; UNIT is what is only copied.
#ifndef IX
#define IX i64
#endif
#ifndef VW
#define VW 1
#endif
#ifndef UNIT
#define UNIT int
#endif
struct alignas(8) bytes_8 { unsigned v[2]; };
struct alignas(16) bytes_16 { unsigned v[4]; };

// x is (outer, size, inner), out (outer, length, inner), inner in groups of VW; `count` is out's groups. A weight of 0
// that only fills the table is left out where `fillers`: 0 times infinity would be NaN.
KERNEL(axis)(const T* __restrict__ x, const int* __restrict__ index, const A* __restrict__ weight,
             T* __restrict__ out, IX count, IX inner, int size, int length, int taps, int fillers) {
    depend();
    typedef Vec<T, VW> Group;
    const IX step = (IX)gridDim.x * blockDim.x;
    for (IX i = (IX)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const IX line = i / inner, outer = line / length;
        const int o = (int)(line - outer * length);
        const Group* from = (const Group*)x + (outer * size * inner + (i - line * inner));
        A total[VW];
#pragma unroll
        for (int v = 0; v < VW; v++) total[v] = 0;
        for (int k = 0; k < taps; k++) {
            const A w = weight[k * length + o];
            if (fillers && w == 0) continue;
            const Group g = from[index[k * length + o] * inner];
#pragma unroll
            for (int v = 0; v < VW; v++) total[v] += up(g.v[v]) * w;
        }
        Group made;
#pragma unroll
        for (int v = 0; v < VW; v++) made.v[v] = dn(total[v]);
        ((Group*)out)[i] = made;
    }
}

KERNEL(axis_copy)(const UNIT* __restrict__ x, const int* __restrict__ index, UNIT* __restrict__ out, IX count, IX inner,
                  int size, int length) {
    depend();
    const IX step = (IX)gridDim.x * blockDim.x;
    for (IX i = (IX)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const IX line = i / inner, outer = line / length;
        const int o = (int)(line - outer * length);
        out[i] = x[(outer * size + index[o]) * inner + (i - line * inner)];
    }
}

// Two axes beside each other at once: x is (outer, height, width, inner), out (outer, rows, columns, inner).
KERNEL(plane)(const T* __restrict__ x, const int* __restrict__ row_index, const A* __restrict__ row_weight,
              const int* __restrict__ index, const A* __restrict__ weight, T* __restrict__ out, IX count, IX inner,
              int height, int width, int rows, int columns, int row_taps, int taps, int row_fillers, int fillers) {
    depend();
    typedef Vec<T, VW> Group;
    const IX step = (IX)gridDim.x * blockDim.x;
    for (IX i = (IX)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const IX spot = inner == 1 ? i : i / inner, line = spot / columns, outer = line / rows;
        const int c = (int)(spot - line * columns), r = (int)(line - outer * rows);
        const Group* from = (const Group*)x + (outer * height * width * inner + (i - spot * inner));
        A total[VW];
#pragma unroll
        for (int v = 0; v < VW; v++) total[v] = 0;
        for (int j = 0; j < row_taps; j++) {
            const A across = row_weight[j * rows + r];
            if (row_fillers && across == 0) continue;
            const IX row = (IX)row_index[j * rows + r] * width;
            A part[VW];
#pragma unroll
            for (int v = 0; v < VW; v++) part[v] = 0;
            for (int k = 0; k < taps; k++) {
                const A w = weight[k * columns + c];
                if (fillers && w == 0) continue;
                const Group g = from[(row + index[k * columns + c]) * inner];
#pragma unroll
                for (int v = 0; v < VW; v++) part[v] += up(g.v[v]) * w;
            }
#pragma unroll
            for (int v = 0; v < VW; v++) total[v] += part[v] * across;
        }
        Group made;
#pragma unroll
        for (int v = 0; v < VW; v++) made.v[v] = dn(total[v]);
        ((Group*)out)[i] = made;
    }
}

KERNEL(plane_copy)(const UNIT* __restrict__ x, const int* __restrict__ row_index, const int* __restrict__ index,
                   UNIT* __restrict__ out, IX count, IX inner, int height, int width, int rows, int columns) {
    depend();
    const IX step = (IX)gridDim.x * blockDim.x;
    for (IX i = (IX)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const IX spot = inner == 1 ? i : i / inner, line = spot / columns, outer = line / rows;
        const int c = (int)(spot - line * columns), r = (int)(line - outer * rows);
        out[i] = x[((outer * height + row_index[r]) * width + index[c]) * inner + (i - spot * inner)];
    }
}
