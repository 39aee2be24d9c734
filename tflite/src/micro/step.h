/* One time step of a cell with weights where the file has them. */
#ifndef DUSPAR_MICRO_STEP_H_
#define DUSPAR_MICRO_STEP_H_

#include <stddef.h>

#include "duspar.h"

typedef struct duspar_micro_cell {
  const duspar_cell* weights;
  int32_t inputs, outputs;
  int32_t weight_type, operand_bits;
} duspar_micro_cell;

/* Updates the state `f` with the operand `a`, of which entries up to zero are
 * skipped. `sums` has room for twice the outputs. Returns how many entries
 * were not zero. */
size_t duspar_micro_step(const duspar_micro_cell* cell, const float* a,
                         float* f, void* sums);

#endif /* DUSPAR_MICRO_STEP_H_ */
