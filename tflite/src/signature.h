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

/* Checks that output `index` can be written, apart from its shape. */
duspar_status duspar_signature_check_output(const tfl_context* context,
                                            const duspar_tensors* tensors,
                                            int index);

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

/* What a float tensor must be like whenever the operator runs. */
typedef struct duspar_view {
  int tensor; /* -1: nobody wants it */
  int rank;
  int shape[3];
  size_t bytes;
} duspar_view;

/* Notes a tensor whose shape was checked. */
void duspar_signature_view(int tensor, int rank, const int* shape,
                           duspar_view* view);

/* Finds the data of a tensor when the operator runs. `*data` is NULL for one
 * without entries. */
duspar_status duspar_signature_data(const tfl_context* context,
                                    const duspar_view* view, float** data);

#endif /* DUSPAR_SIGNATURE_H_ */
