/* One operator of a .tflite file, with the delegate's code behind it: a small
 * interpreter of a single node. */
#ifndef DUSPAR_LITERT2_OPERATOR_H_
#define DUSPAR_LITERT2_OPERATOR_H_

#include "delegate/flatbuffer.h"
#include "delegate/signature.h"
#include "delegate/tflite_abi.h"
#include "litert2/litert_abi.h"

enum { LRT_MAX_TENSORS = DUSPAR_MAX_INPUTS + DUSPAR_MAX_OUTPUTS };

/* A `tfl_ints` with room. */
typedef struct lrt_ints {
  int size;
  int data[LRT_MAX_TENSORS];
} lrt_ints;

typedef struct lrt_operator {
  int graph; /* number of its subgraph */
  char name[32];
  tfl_context context;
  /* The tensors of the node, and no others. */
  tfl_tensor tensors[LRT_MAX_TENSORS];
  int numbers[LRT_MAX_TENSORS]; /* in the file */
  lrt_ints dims[LRT_MAX_TENSORS];
  lrt_ints inputs, outputs;
  tfl_node node;      /* as the file has it */
  tfl_node delegated; /* as the delegate's kernel gets it */
  tfl_registration original, kernel;
  bool changed;               /* shapes, since `prepare` */
  bool zero[LRT_MAX_TENSORS]; /* states that are zeros, and never come */
  float* zeros;
  size_t zero_bytes;
  uint64_t runs;
} lrt_operator;

/* What a call sees of an input or an output. */
typedef struct lrt_value {
  lrt_tensor_type type;
  void* data;
  size_t bytes;
} lrt_value;

/* LiteRT gives tensors to a kernel only if they are aligned. This finds how
 * much memory a copy of the file needs in which they are. */
duspar_status duspar_litert_room(file_bytes file, uint64_t* room);

/* Moves the operators' constants to the end of `copy`, which is what `file`
 * refers to; takes states that FILL makes of zeros away from them, which would
 * never be aligned; and calls `take` for each operator of ours, in the file's
 * order, until it fails. Sets `file->size` to what is used of `room`. */
typedef duspar_status (*lrt_take)(void* to, const lrt_operator* op);
duspar_status duspar_litert_move(file_bytes* file, uint8_t* copy, uint64_t room,
                                 lrt_take take, void* to);

/* Gives the operator, which stays where it is, to the delegate, and packs its
 * weights. */
duspar_status duspar_litert_open(lrt_operator* op, tfl_delegate* delegate,
                                 int threads);
void duspar_litert_close(lrt_operator* op);

/* Sets the shapes of input `index`, unless it is a constant. */
void duspar_litert_reshape(lrt_operator* op, int index, const lrt_layout* to);

/* Whether input `index` is a constant of this shape, or no constant. */
bool duspar_litert_fits(const lrt_operator* op, int index,
                        const lrt_layout* layout);

/* Checks shapes if they have changed, and finds those of outputs. */
duspar_status duspar_litert_prepare(lrt_operator* op);

/* Runs on inputs and outputs, as many as the operator has. */
duspar_status duspar_litert_invoke(lrt_operator* op, const lrt_value* inputs,
                                   const lrt_value* outputs);

/* Tensor behind input or output `index`; NULL if the file leaves it out. */
tfl_tensor* duspar_litert_input(lrt_operator* op, int index);
tfl_tensor* duspar_litert_output(lrt_operator* op, int index);

#endif /* DUSPAR_LITERT2_OPERATOR_H_ */
