#if defined(__AVX2__) && defined(__FMA__)
#define KERNEL duspar_kernel_avx2
#define KERNEL_NAME "avx2"
#define KERNEL_USABLE (duspar_cpu_has_avx2() && duspar_cpu_has_fma())
#include "cpu.h"
#include "vector_avx2.h"
/* The vectors come first. */
#include "kernel_body.h"
#endif
