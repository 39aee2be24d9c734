/* What tensors the operators take and give, and checks that they are so. */
#ifndef DUSPAR_DELEGATE_SIGNATURE_H_
#define DUSPAR_DELEGATE_SIGNATURE_H_

#include "delegate/options.h"
#include "delegate/tensors.h"
#include "delegate/tflite_abi.h"
#include "layer/operators.h"

enum {
  DUSPAR_MAX_INPUTS = 1 + DUSPAR_MAX_STATES + DUSPAR_MAX_WEIGHTS +
      DUSPAR_MAX_KERNELS + 1,
  DUSPAR_MAX_OUTPUTS = 1 + DUSPAR_MAX_STATES,
};

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
duspar_status duspar_signature_bind(const duspar_op* op,
                                    const duspar_options* options,
                                    const tfl_node* node,
                                    duspar_tensors* tensors);

/* Checks type, shape, size and place of all inputs and finds the sizes. */
duspar_status duspar_signature_check_inputs(const duspar_op* op,
                                            const duspar_options* options,
                                            const tfl_context* context,
                                            const duspar_tensors* tensors,
                                            duspar_sizes* sizes);

/* Notes in `view` how a run finds input `index`: x, or a state. */
void duspar_signature_view_input(const duspar_op* op,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes, int index,
                                 duspar_view* view);

/* Checks output `index`, gives it its shape, and notes it in `view`. */
duspar_status duspar_signature_resize_output(const duspar_op* op,
                                             tfl_context* context,
                                             const duspar_tensors* tensors,
                                             const duspar_sizes* sizes,
                                             int index, duspar_view* view);

/* Points `parameters` at the weights, which were checked. */
void duspar_signature_parameters(const duspar_op* op,
                                 const duspar_options* options,
                                 const tfl_context* context,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes,
                                 duspar_parameters* parameters);

#endif /* DUSPAR_DELEGATE_SIGNATURE_H_ */
