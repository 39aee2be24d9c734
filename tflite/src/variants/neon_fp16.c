/* The variant neon_fp16: what it computes is in variant_template.h, with the
 * instructions of simd/neon.h. Weights of 8 and 16 bits are multiplied with
 * float operands in float16. */
#include "variants/variants.h"

#if defined(DUSPAR_HAS_NEON_FP16)
#include <arm_neon.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
/* From here on; Swift's package manager gives no options file by file. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fp16,dotprod"))), \
                             apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+fp16+dotprod")
#endif
#define VARIANT duspar_variant_neon_fp16
#define VARIANT_NAME "neon_fp16"
#define VARIANT_USABLE \
  (duspar_cpu_has(DUSPAR_CPU_FP16) && duspar_cpu_has(DUSPAR_CPU_DOTPROD))
#define NEON_DOTPROD
#define NEON_FP16
#include "simd/neon.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
