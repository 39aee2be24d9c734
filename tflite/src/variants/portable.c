#if defined(__GNUC__)
#define KERNEL duspar_kernel_portable
#define KERNEL_NAME "portable"
#define KERNEL_USABLE true
#include "simd/portable.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/sparse_step_template.h"
#endif
