#if defined(__AVX512BW__)
#define KERNEL duspar_kernel_avx512
#define KERNEL_NAME "avx512"
#define KERNEL_USABLE duspar_cpu_has_avx512()
#include "simd/avx512.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
