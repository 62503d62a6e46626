// In front of every source that has KERNEL: KERNEL(name)(parameters) opens a kernel, BOUNDED_KERNEL one with
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
