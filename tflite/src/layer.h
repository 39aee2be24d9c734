/* A layer: checked parameters, packed weights, and the loop over time. */
#ifndef DUSPAR_LAYER_H_
#define DUSPAR_LAYER_H_

#include "kernels.h"

/* One sequence or more to run; as the arguments of `duspar_layer_run`. */
typedef struct duspar_sequence {
  size_t batch;
  size_t steps;
  const float* x;
  const float* f0;
  const float* g0;
  float* y;
  float* f;
  float* g;
} duspar_sequence;

/* Returns the bytes of scratch memory that a run of `layer` needs. */
size_t duspar_layer_scratch(const duspar_layer* layer);

/* Runs `layer`, whose arguments are known to be right. `scratch` comes from
 * `duspar_allocate`. Adds to `counts`. */
void duspar_layer_execute(const duspar_layer* layer, const duspar_sequence* s,
                          void* scratch, duspar_counts* counts);

#endif /* DUSPAR_LAYER_H_ */
