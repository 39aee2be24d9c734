/* What tensors a sparse operator takes and gives, and checks that they are so.
 */
#ifndef DUSPAR_DELEGATE_SIGNATURE_H_
#define DUSPAR_DELEGATE_SIGNATURE_H_

#include "delegate/options.h"
#include "delegate/tensors.h"
#include "layer/operators.h"

enum {
  DUSPAR_MAX_INPUTS = 1 + DUSPAR_MAX_STATES + DUSPAR_MAX_WEIGHTS +
      DUSPAR_MAX_KERNELS + 1,
  DUSPAR_MAX_OUTPUTS = 1 + DUSPAR_MAX_STATES,
  DUSPAR_NAME_ROOM = 64, /* bytes of a tensor's name in messages */
};

/* One operator of a model. */
typedef struct duspar_signature {
  const duspar_op* op;
  duspar_options options;
  int input_count, output_count;
  int inputs[DUSPAR_MAX_INPUTS]; /* numbers of tensors, by position */
  int outputs[DUSPAR_MAX_OUTPUTS];
  size_t batch, steps, features, units;
} duspar_signature;

/* Notes the tensors of `node`, which must be as many as the operator has; `op`
 * and `options` are set. */
duspar_status duspar_signature_bind(duspar_signature* s, const tfl_node* node);

/* Checks type, shape, size and place of all inputs and finds the sizes. */
duspar_status duspar_signature_check_inputs(duspar_signature* s,
                                            const tfl_context* context);

/* Notes in `view` how a run finds input `index`: x, or a state. */
void duspar_signature_view_input(const duspar_signature* s, int index,
                                 duspar_view* view);

/* Tells name and shape of output `index`: y, or a state. Returns the rank. */
int duspar_signature_output(const duspar_signature* s, int index,
                            char name[DUSPAR_NAME_ROOM], int shape[3]);

/* Points `parameters` at the weights, which were checked. */
void duspar_signature_parameters(const duspar_signature* s,
                                 const tfl_context* context,
                                 duspar_parameters* parameters);

#endif /* DUSPAR_DELEGATE_SIGNATURE_H_ */
