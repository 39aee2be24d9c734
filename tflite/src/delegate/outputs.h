/* Outputs of a delegate's operators, which get their shapes from them. */
#ifndef DUSPAR_DELEGATE_OUTPUTS_H_
#define DUSPAR_DELEGATE_OUTPUTS_H_

#include "delegate/signature.h"
#include "delegate/tensors.h"

/* Checks that output `index` of an operator can be written, apart from its
 * shape: it is none of the inputs, nor of the outputs before it. */
duspar_status duspar_tensor_check_output(const tfl_context* context,
                                         const char* name, int input_count,
                                         const int* inputs, const int* outputs,
                                         int index);

/* Gives a float tensor a shape. */
duspar_status duspar_tensor_resize(tfl_context* context, const char* name,
                                   int index, int rank, const int* shape);

/* Whether somebody reads an output: TFLite gives no memory to the others. */
bool duspar_tensor_wanted(const tfl_node* node, int index);

/* Checks output `index`, gives it its shape, and notes it in `view`. */
duspar_status duspar_signature_resize_output(const duspar_signature* s,
                                             tfl_context* context, int index,
                                             duspar_view* view);

#endif /* DUSPAR_DELEGATE_OUTPUTS_H_ */
