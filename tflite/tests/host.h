/* A host of one operator: what an interpreter does to a delegate, no more.
 *
 * C tests and fuzzers drive the delegate through TFLite's ABI with it, where
 * no TFLite runs: under sanitizers, under an emulator, with models that no
 * file could hold. Every tensor has memory of exactly its size.
 */
#ifndef DUSPAR_TESTS_HOST_H_
#define DUSPAR_TESTS_HOST_H_

#include "delegate/tflite_abi.h"
#include "duspar.h"

enum { HOST_TENSORS = 20, HOST_MAX_BYTES = 1 << 20 };

typedef struct host {
  tfl_context context;
  tfl_tensor tensors[HOST_TENSORS];
  tfl_node node;      /* as the model has it */
  tfl_node delegated; /* as the delegate's kernel gets it */
  tfl_registration original;
  tfl_registration kernel;
  tfl_ints* plan;
  int taken;       /* how many nodes the delegate took */
  unsigned wanted; /* bit mask of the outputs that somebody reads */
  char error[600];
} host;

/* Sizes and types of a correct model. */
typedef struct host_model {
  duspar_kind kind;
  duspar_weight_type weight_type;
  int batch, steps, features, units;
  int operand_bits; /* 0, or 7 or 8 with int8 weights */
} host_model;

/* Makes a host with a correct model. Weights and inputs are zero. Tensors are
 * numbered as the operator's inputs, followed by its outputs. */
void host_init(host* h, const host_model* model);

/* The same for the log-mel front end, with filters of one bin, a window, a
 * deviation and an offset of ones, and means of zero. */
void host_init_log_mel(host* h, int batch, int samples, int length, int hop,
                       int bands);

/* Gives the graph to a delegate. */
tfl_status host_apply(host* h, struct TfLiteDelegate* delegate);
tfl_status host_prepare(host* h);
tfl_status host_invoke(host* h);

/* Frees the operator, as TFLite does before it applies delegates anew. */
void host_undo(host* h);

/* Frees the operator, then everything else. */
void host_free(host* h);

/* Replaces dimensions; with `memory` the data, too, which becomes zero. */
void host_reshape(host* h, int tensor, int rank, const int* dims, int memory);

/* Replaces the data of a tensor by `bytes` zeros. */
void host_set_bytes(host* h, int tensor, size_t bytes);

/* Replaces the operator's options by a copy of `size` bytes. */
void host_set_options(host* h, const void* bytes, size_t size);

/* Writes correct options for `model` and returns their size; `room` of 512
 * bytes is enough. */
size_t host_write_options(const host_model* model, uint8_t* to);

#endif /* DUSPAR_TESTS_HOST_H_ */
