/* Template: all that a variant computes. A file NAME.c of this folder includes
 * a header of simd/, and then this. Takes
 *   VARIANT         the name of its `duspar_variant`
 *   VARIANT_NAME    the name that users know it by, a string
 *   VARIANT_USABLE  an expression: whether this processor can run it
 *   VARIANT_TRAINS  defined if it is to be used in training, too
 */
#include "simd/functions_template.h"
/* The functions come first. */
#include "dense/dense_template.h"
#include "log_mel/log_mel_template.h"
#include "variants/sparse_step_template.h"
/* Then what uses it. */
#include "variants/integer_step_template.h"

#if defined(VARIANT_TRAINS) && !defined(DUSPAR_NO_TRAINING)
#include "training/backward_template.h"
#define VARIANT_TRAINER &train_trainer
#else
#define VARIANT_TRAINER NULL
#endif

static bool variant_usable(void) { return VARIANT_USABLE; }

const duspar_variant VARIANT = {
    .name = VARIANT_NAME,
    .usable = variant_usable,
    .packed_bytes = cell_packed_bytes,
    .scratch_bytes = cell_scratch_bytes,
    .pack = cell_pack,
    .step =
        {
            [DUSPAR_FORMAT_FLOAT32] = cell_step_float32,
            [DUSPAR_FORMAT_BFLOAT16] = cell_step_narrow,
            [DUSPAR_FORMAT_INT8] = cell_step_narrow,
            [DUSPAR_FORMAT_INTEGER] = cell_step_integer,
        },
    .log_mel = {log_mel_bytes, log_mel_pack, log_mel_run},
    .dense = DENSE_FUNCTIONS,
    .trainer = VARIANT_TRAINER,
};
