/* The variant neon: what it computes is in variant_template.h, with the
 * instructions of simd/neon.h. */
#if defined(__aarch64__)
#define VARIANT duspar_variant_neon
#define VARIANT_NAME "neon"
#define VARIANT_USABLE true
#define VARIANT_TRAINS
#include "simd/neon.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
