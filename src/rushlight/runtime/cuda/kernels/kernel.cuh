// In front of every source. KERNEL(name)(parameters) opens a kernel, BOUNDED_KERNEL one with
// __launch_bounds__. Where one kernel is asked for (compile.py defines ASKED_<name> as "~,"), the others of its file
// become templates that nobody uses, and the compiler is soon done with them.
#ifdef ONE_KERNEL
#define SECOND_OF(a, b, ...) b
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define LINKAGE(name) SECOND(ASKED_##name extern "C", template <int UNUSED>, )
#else
#define LINKAGE(name) extern "C"
#endif
#define KERNEL(name) LINKAGE(name) __global__ void name
#define BOUNDED_KERNEL(name, ...) LINKAGE(name) __global__ void __launch_bounds__(__VA_ARGS__) name

// The first words of every kernel. In a graph it may have been started before the one in front of it is done, so that its
// blocks are in place by then (launch.py, `overlap`): here it waits for that one's results, and lets the next one come.
__device__ __forceinline__ void depend() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Copies N bytes (4, 8 or 16) to shared memory without waiting, or zeros where not `live`: ptxas likes to put a load
// next to its use, where the thread then waits. `sent` closes a group, `arrived` waits for all but some groups.
template <int N> __device__ __forceinline__ void bring(void* to, const void* from, bool live) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "n"(N), "r"(live ? N : 0) : "memory");
#else
    for (int i = 0; i < N / 4; i++) ((int*)to)[i] = live ? ((const int*)from)[i] : 0;
#endif
}
__device__ __forceinline__ void sent() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int GROUPS> __device__ __forceinline__ void arrived() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}
