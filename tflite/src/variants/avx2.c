#if defined(__AVX2__) && defined(__FMA__)
#define KERNEL duspar_kernel_avx2
#define KERNEL_NAME "avx2"
#define KERNEL_USABLE (duspar_cpu_has_avx2() && duspar_cpu_has_fma())
#include "simd/avx2.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
