/* A layer: checked parameters, packed weights, and the loop over time. */
#ifndef DUSPAR_LAYER_LAYER_H_
#define DUSPAR_LAYER_LAYER_H_

#include "variants/variants.h"

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

/* Checks what is behind a layer. */
duspar_status duspar_parameters_check(const duspar_parameters* p);

/* Adds what was counted. */
void duspar_counts_add(duspar_counts* counts, const duspar_counts* more);

/* Returns the bytes of scratch memory that each thread of a run needs. */
size_t duspar_layer_scratch(const duspar_layer* layer);

/* Returns how many of `threads` threads are worth their start. */
size_t duspar_layer_threads(const duspar_layer* layer, size_t batch,
                            size_t steps, size_t threads);

/* Runs `layer`, whose arguments are known to be right, on as many threads.
 * Each computes some of the sequences, so the numbers do not depend on how many
 * there are. `scratch` comes from `duspar_allocate` and has memory for every
 * thread. Adds to `counts`. */
void duspar_layer_execute(const duspar_layer* layer, const duspar_sequence* s,
                          void* scratch, size_t threads, duspar_counts* counts);

#endif /* DUSPAR_LAYER_LAYER_H_ */
