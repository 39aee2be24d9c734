/* The variant portable: what it computes is in variant_template.h, with the
 * instructions of simd/portable.h. */
#if defined(__GNUC__)
#define VARIANT duspar_variant_portable
#define VARIANT_NAME "portable"
#define VARIANT_USABLE true
#define VARIANT_TRAINS
#include "simd/portable.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
