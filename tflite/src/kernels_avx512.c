#if defined(__AVX512BW__)
#define KERNEL duspar_kernel_avx512
#define KERNEL_NAME "avx512"
#define KERNEL_USABLE duspar_cpu_has_avx512()
#include "cpu.h"
#include "vector_avx512.h"
/* The vectors come first. */
#include "kernel_body.h"
#endif
