/* What tensors the operators take and give, and checks that they are so. */
#ifndef DUSPAR_SIGNATURE_H_
#define DUSPAR_SIGNATURE_H_

#include "options.h"
#include "tflite_abi.h"

enum { DUSPAR_MAX_INPUTS = 16, DUSPAR_MAX_OUTPUTS = 3 };

/* The sizes that shapes are made of. */
typedef struct duspar_sizes {
  size_t batch;
  size_t steps;
  size_t features;
  size_t units;
} duspar_sizes;

/* The tensors of one operator, by position. */
typedef struct duspar_tensors {
  int input_count;
  int output_count;
  int inputs[DUSPAR_MAX_INPUTS];
  int outputs[DUSPAR_MAX_OUTPUTS];
} duspar_tensors;

/* Notes the tensors of `node`, which must be as many as the operator has. */
duspar_status duspar_signature_bind(duspar_kind kind,
                                    const duspar_options* options,
                                    const tfl_node* node,
                                    duspar_tensors* tensors);

/* Checks type, shape, size and place of all inputs and finds the sizes. */
duspar_status duspar_signature_check_inputs(duspar_kind kind,
                                            const duspar_options* options,
                                            const tfl_context* context,
                                            const duspar_tensors* tensors,
                                            duspar_sizes* sizes);

/* Returns what messages call output `index`. */
const char* duspar_signature_output_name(int index);

/* Sets the shape of output `index` and returns its rank. */
int duspar_signature_output_shape(int index, const duspar_sizes* sizes,
                                  int shape[3]);

/* Points `parameters` at the weights, which were checked. */
void duspar_signature_parameters(duspar_kind kind,
                                 const duspar_options* options,
                                 const tfl_context* context,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes,
                                 duspar_parameters* parameters);

#endif /* DUSPAR_SIGNATURE_H_ */
