/* Training with NEON, which every 64-bit ARM has. */
#include "training/pass.h"

#if defined(__aarch64__) && defined(__GNUC__)

#include "simd/compaction.h"

#define LANES 4
#define TILE_ROWS 8
#define SPARSE_BELOW 70
#define SUM(x) vaddvq_f32((float32x4_t)(x))
#define COMPACT(x, first, place, value) \
  compact_neon((float32x4_t)(x), first, place, value)
#define IN_REGISTER(x) __asm__("" : "+w"(x))
#include "training/slice_template.h"

static bool usable(void) { return true; }

static const duspar_trainer trainer = TRAINER("neon");
const duspar_trainer* const duspar_trainer_neon = &trainer;
#else
const duspar_trainer* const duspar_trainer_neon = NULL;
#endif
