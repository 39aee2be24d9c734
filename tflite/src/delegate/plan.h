/* The nodes of a model in the order in which they run: what patterns ask of
 * them. */
#ifndef DUSPAR_DELEGATE_PLAN_H_
#define DUSPAR_DELEGATE_PLAN_H_

#include "delegate/tflite_abi.h"

/* Reads node `index`; returns false for one that is not `code`, or has not so
 * many tensors. */
bool duspar_plan_node(tfl_context* context, int index, int code, int inputs,
                      tfl_node** node);

/* Whether a tensor is a constant that is stored densely. */
bool duspar_plan_is_constant(const tfl_tensor* tensor);

/* The entries of a tensor whose shape does not vary, or 0. */
size_t duspar_plan_entries(const tfl_tensor* tensor);

/* The length of a tensor that is one vector of floats, or 0. */
int duspar_plan_vector_size(const tfl_context* context, int index);

/* Whether a tensor is `count` constant floats. */
bool duspar_plan_has_floats(const tfl_context* context, int index, int count);

/* The `count` constant integers of a tensor, or NULL. */
const int32_t* duspar_plan_integers(const tfl_context* context, int index,
                                    int count);

/* Whether a node before `plan[from]`, or from `plan[to]` on, reads a tensor. */
bool duspar_plan_is_read(tfl_context* context, const int* plan, int count,
                         int from, int to, int tensor);

/* Whether a tensor is there before node `plan[at]` runs. */
bool duspar_plan_is_earlier(tfl_context* context, const int* plan, int count,
                            int at, int tensor);

/* Whether TFLite would give `nodes` to one operator, of whose outputs nobody
 * wants more than `shown`. What is an output of the model is known to TFLite
 * alone. */
bool duspar_plan_shows_only(tfl_context* context, const tfl_ints* nodes,
                            const int* shown, int shown_count);

#endif /* DUSPAR_DELEGATE_PLAN_H_ */
