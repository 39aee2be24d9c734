/* The variant neon_dotprod: what it computes is in variant_template.h, with the
 * instructions of simd/neon.h. */
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define VARIANT duspar_variant_neon_dotprod
#define VARIANT_NAME "neon_dotprod"
#define VARIANT_USABLE duspar_cpu_has(DUSPAR_CPU_DOTPROD)
#include "base/cpu.h"
#include "simd/neon.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
