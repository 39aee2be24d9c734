#if defined(__aarch64__)
#define KERNEL duspar_kernel_neon
#define KERNEL_NAME "neon"
#define KERNEL_USABLE true
#include "simd/neon.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
