/* Training in C alone: small vectors where the compiler has them. */
#include "training/pass.h"

#if defined(__GNUC__)
#define LANES 4
#else
#define LANES 1
#endif
#define TILE_ROWS 4
#define SPARSE_BELOW 70
#include "training/slice_template.h"

static bool usable(void) { return true; }

static const duspar_trainer trainer = TRAINER("portable");
const duspar_trainer* const duspar_trainer_portable = &trainer;
