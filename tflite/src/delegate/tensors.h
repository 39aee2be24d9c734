/* Tensors of a model that may be anything: checks of what an operator needs. */
#ifndef DUSPAR_DELEGATE_TENSORS_H_
#define DUSPAR_DELEGATE_TENSORS_H_

#include "delegate/tflite_abi.h"
#include "duspar.h"

/* Returns tensor `index`, or NULL if there is none. */
const tfl_tensor* duspar_tensor_at(const tfl_context* context, int index);

/* Writes its shape as "2, 3" for a message. */
void duspar_tensor_print(const tfl_tensor* tensor, char* text, size_t room);

/* Checks that a tensor is there and has this type and shape. A size of -1 may
 * be any size from 0 on. */
duspar_status duspar_tensor_check(const tfl_tensor* tensor, const char* name,
                                  int type, int rank, const int* shape);

/* Checks that a tensor, whose shape is right, is a constant of the model with
 * entries of `item` bytes. */
duspar_status duspar_tensor_check_constant(const tfl_tensor* tensor,
                                           const char* name, size_t item);

/* What a float tensor must be like whenever the operator runs. */
typedef struct duspar_view {
  int tensor; /* -1: nobody wants it */
  int rank;
  int shape[3];
  size_t bytes;
} duspar_view;

/* Notes a tensor whose shape was checked. */
void duspar_view_set(duspar_view* view, int tensor, int rank, const int* shape);

/* Checks that a float tensor of up to 3 axes has `size` numbers along the last
 * one, and notes it. */
duspar_status duspar_vectors_check(const tfl_context* context, int index,
                                   int size, duspar_view* view);

/* Finds the data of a tensor when the operator runs. `*data` is NULL for one
 * without entries. */
duspar_status duspar_view_data(const duspar_view* view,
                               const tfl_context* context, float** data);

#endif /* DUSPAR_DELEGATE_TENSORS_H_ */
