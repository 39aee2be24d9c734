#if defined(__AVX512VNNI__)
#define KERNEL duspar_kernel_avx512_vnni
#define KERNEL_NAME "avx512_vnni"
#define KERNEL_USABLE (duspar_cpu_has_avx512() && duspar_cpu_has_avx512_vnni())
#include "base/cpu.h"
#include "simd/avx512.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
