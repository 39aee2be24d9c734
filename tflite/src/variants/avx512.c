/* The variant avx512: what it computes is in variant_template.h, with the
 * instructions of simd/avx512.h. */
#if defined(__AVX512BW__)
#define VARIANT duspar_variant_avx512
#define VARIANT_NAME "avx512"
#define VARIANT_USABLE duspar_cpu_has(DUSPAR_CPU_AVX512)
#define VARIANT_TRAINS
#include "simd/avx512.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
