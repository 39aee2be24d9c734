#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define KERNEL duspar_kernel_neon_dotprod
#define KERNEL_NAME "neon_dotprod"
#define KERNEL_USABLE duspar_cpu_has_dotprod()
#include "base/cpu.h"
#include "simd/neon.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
