/* Training with NEON, which every 64-bit ARM has. */
#include "training.h"

#if defined(__aarch64__) && defined(__GNUC__)
#define LANES 4
#define TILE_ROWS 8
#define SPARSE_BELOW 75
#include "training_slice.h"

static bool usable(void) { return true; }

static const duspar_trainer trainer = TRAINER("neon");
const duspar_trainer* const duspar_trainer_neon = &trainer;
#else
const duspar_trainer* const duspar_trainer_neon = NULL;
#endif
