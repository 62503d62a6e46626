// Losses by margins: how far right classes fail to beat others. A block has a sample. LABEL is the type of classes.
#ifndef LABEL
#define LABEL i64
#endif
#ifndef WEIGHTED
#define WEIGHTED 0
#endif
__device__ __forceinline__ i64 right_class(i64 label, i64 classes) {
    return label < 0 ? 0 : label >= classes ? classes - 1 : label;
}
// By how much class c is too good; 0 where that does not count.
__device__ __forceinline__ A gap(const T* row, i64 right, i64 c, A margin) {
    const A by = margin - up(row[right]) + up(row[c]);
    return c != right && by > 0 ? by : A(0);
}

KERNEL(margin)(const T* __restrict__ x, const LABEL* __restrict__ target, const A* __restrict__ weight, T* __restrict__ out,
               i64 classes, double margin, int square) {
    depend();
    __shared__ A hold[32];
    const T* row = x + blockIdx.x * classes;
    const i64 right = right_class(target[blockIdx.x], classes);
    const A by = WEIGHTED ? weight[right] : A(1);
    A sum = 0;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x) {
        const A g = gap(row, right, c, (A)margin);
        if (g != 0) sum += (square ? g * g : g) * by;
    }
    sum = block_sum(sum, hold);
    if (threadIdx.x == 0) out[blockIdx.x] = dn(sum / (A)classes);
}

KERNEL(margin_grad)(const T* __restrict__ gy, const T* __restrict__ x, const LABEL* __restrict__ target,
                    const A* __restrict__ weight, T* __restrict__ out, i64 classes, double margin, int square) {
    depend();
    __shared__ A hold[32];
    const T* row = x + blockIdx.x * classes;
    T* slopes = out + blockIdx.x * classes;
    const i64 right = right_class(target[blockIdx.x], classes);
    const A share = up(gy[blockIdx.x]) / (A)classes;
    A sum = 0;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x) {
        const A g = gap(row, right, c, (A)margin);
        A slope = 0;
        if (g != 0) slope = (square ? 2 * share * g : share) * (WEIGHTED ? weight[right] : A(1));
        if (c != right) slopes[c] = dn(slope);
        sum += slope;
    }
    sum = block_sum(sum, hold);
    if (threadIdx.x == 0) slopes[right] = dn(-sum);
}

// The listed classes of a sample, which end before the first negative one, get a 1 in `marks`; how many they are.
__device__ __forceinline__ i64 listed(const LABEL* target, u8* marks, i64 classes) {
    i64 count = 0;
    while (count < classes && target[count] >= 0) count++;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x) marks[c] = 0;
    __syncthreads();
    for (i64 l = threadIdx.x; l < count; l += blockDim.x) marks[right_class(target[l], classes)] = 1;
    __syncthreads();
    return count;
}

KERNEL(margins)(const T* __restrict__ x, const LABEL* __restrict__ target, T* __restrict__ out, u8* marks, i64 classes) {
    depend();
    __shared__ A hold[32];
    const T* row = x + blockIdx.x * classes;
    const LABEL* list = target + blockIdx.x * classes;
    u8* mark = marks + blockIdx.x * classes;
    const i64 count = listed(list, mark, classes);
    A sum = 0;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x)
        if (!mark[c])
            for (i64 l = 0; l < count; l++) {
                const A by = 1 - up(row[right_class(list[l], classes)]) + up(row[c]);
                if (by > 0) sum += by;
            }
    sum = block_sum(sum, hold);
    if (threadIdx.x == 0) out[blockIdx.x] = dn(sum / (A)classes);
}

KERNEL(margins_grad)(const T* __restrict__ gy, const T* __restrict__ x, const LABEL* __restrict__ target, T* __restrict__ out,
                     u8* marks, i64 classes) {
    depend();
    const T* row = x + blockIdx.x * classes;
    const LABEL* list = target + blockIdx.x * classes;
    u8* mark = marks + blockIdx.x * classes;
    const i64 count = listed(list, mark, classes);
    const A share = up(gy[blockIdx.x]) / (A)classes;
    for (i64 c = threadIdx.x; c < classes; c += blockDim.x) {
        i64 beaten = 0, times = 0;
        for (i64 l = 0; l < count; l++) {
            const i64 right = right_class(list[l], classes);
            if (mark[c]) times += right == c;
            else beaten += 1 - up(row[right]) + up(row[c]) > 0;
        }
        for (i64 other = 0; times && other < classes; other++)
            if (!mark[other] && 1 - up(row[c]) + up(row[other]) > 0) beaten -= times;
        out[blockIdx.x * classes + c] = dn((A)beaten * share);
    }
}
