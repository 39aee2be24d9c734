/* Built-in operators around the sparse ones that the delegate runs, too: in a
 * stream they work on one vector, where what XNNPACK spends on an operator
 * takes longer than its numbers. What is not exactly like one of these patterns
 * is left to TFLite.
 */
#ifndef DUSPAR_DELEGATE_PATTERNS_H_
#define DUSPAR_DELEGATE_PATTERNS_H_

#include "delegate/tflite_abi.h"
#include "dense/dense.h"

/* FULLY_CONNECTED, then perhaps LOGISTIC, then perhaps MUL. */
enum { DUSPAR_DENSE_NODES = 3 };
typedef struct duspar_dense_pattern {
  int nodes[DUSPAR_DENSE_NODES];   /* numbers of TFLite's nodes */
  int outputs[DUSPAR_DENSE_NODES]; /* the tensor that each makes */
  int count;
  int x, kernel, bias, factor; /* tensors; -1 if there is none */
  int source;                  /* of the kernel: it, or what becomes it */
  duspar_activation activation;
  bool keeps_rank;
} duspar_dense_pattern;

/* What Keras' LayerNormalization becomes. */
enum { DUSPAR_NORM_NODES = 11 };
typedef struct duspar_norm_pattern {
  int nodes[DUSPAR_NORM_NODES];
  int outputs[DUSPAR_NORM_NODES];
  int x, epsilon, gamma, beta;
} duspar_norm_pattern;

/* The mean over the last calls of a stream: what came longest ago leaves a ring
 * of sums, whose last column counts steps, and the newest comes in. */
enum { DUSPAR_WINDOW_NODES = 7 };
typedef struct duspar_window_pattern {
  int nodes[DUSPAR_WINDOW_NODES];
  int outputs[DUSPAR_WINDOW_NODES];
  int old, newest, least; /* tensors; at least so many steps are counted */
  int ring, mean;         /* the outputs that remain */
  int calls, width;
} duspar_window_pattern;

/* Reads the pattern whose first node is `plan[at]`, of `count` nodes in the
 * order in which they run. Returns whether it is one. */
bool duspar_dense_match(tfl_context* context, const int* plan, int count,
                        int at, duspar_dense_pattern* p);
bool duspar_norm_match(tfl_context* context, const int* plan, int count, int at,
                       duspar_norm_pattern* p);
bool duspar_window_match(tfl_context* context, const int* plan, int count,
                         int at, duspar_window_pattern* p);

/* Whether `tensor` is a constant of `count` numbers that can be read: of
 * float32, float16, or int8 with scales. Its `dims` are there. */
bool duspar_constant_is_readable(const tfl_tensor* tensor, size_t count);

/* These numbers as floats. Returns whether all could be read. */
bool duspar_constant_read(const tfl_tensor* tensor, float* to, size_t count);

#endif /* DUSPAR_DELEGATE_PATTERNS_H_ */
