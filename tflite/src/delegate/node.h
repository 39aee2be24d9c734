/* What all operators have in common when TFLite's interpreter calls them. An
 * operator brings a struct that begins with `duspar_node`, and functions.
 */
#ifndef DUSPAR_DELEGATE_NODE_H_
#define DUSPAR_DELEGATE_NODE_H_

#include "delegate/delegate.h"
#include "delegate/tflite_abi.h"

typedef struct duspar_node duspar_node;

typedef struct duspar_node_functions {
  size_t bytes;   /* of the operator's struct */
  int most_nodes; /* of the model that one operator stands for */
  /* Reads what does not depend on tensors, of `nodes`, whose first is `node`.
   */
  duspar_status (*read)(duspar_node* op, tfl_context* context,
                        const tfl_node* node,
                        const tfl_registration* registration,
                        const tfl_ints* nodes);
  /* Checks tensors and makes ready what `run` needs. */
  duspar_status (*prepare)(duspar_node* op, tfl_context* context,
                           const tfl_node* node);
  duspar_status (*run)(duspar_node* op, tfl_context* context);
  /* Releases all but the struct itself, of which parts may be zero. */
  void (*release)(duspar_node* op);
} duspar_node_functions;

struct duspar_node {
  const duspar_node_functions* functions;
  duspar_delegate* delegate;
  const char* kind; /* for messages; `read` sets it, and the layer's name */
  const char* layer;
  bool ready;
  char problem[512]; /* why the operator cannot run, from `init` */
};

/* Makes an operator, for `init` of its registration, or returns NULL. */
void* duspar_node_init(const duspar_node_functions* functions,
                       tfl_context* context, const char* buffer);

/* The operators that there are. */
#define DUSPAR_LOG_MEL_NAME "DuSpaRLogMel"
tfl_registration duspar_sparse_registration(void);
tfl_registration duspar_log_mel_registration(void);
/* And those of patterns.h. */
tfl_registration duspar_dense_registration(void);
tfl_registration duspar_norm_registration(void);
tfl_registration duspar_window_registration(void);

/* Returns the functions that run an operator, to give to TFLite. */
tfl_registration duspar_node_registration(void* (*init)(tfl_context*,
                                                        const char*, size_t));

/* Defines `name()`, the registration of an operator whose struct is `type`, of
 * up to `most` nodes, with the functions `read_node`, `prepare`, `run` and
 * `release` of its file. A macro, as TFLite tells `init` nothing of the
 * registration that it is in. */
#define DUSPAR_NODE_REGISTRATION(name, type, most)                        \
  static const duspar_node_functions node_functions = {                   \
      .bytes = sizeof(type),                                              \
      .most_nodes = most,                                                 \
      .read = read_node,                                                  \
      .prepare = prepare,                                                 \
      .run = run,                                                         \
      .release = release,                                                 \
  };                                                                      \
  static void* init(tfl_context* context, const char* buffer, size_t n) { \
    (void)n;                                                              \
    return duspar_node_init(&node_functions, context, buffer);            \
  }                                                                       \
  tfl_registration name(void) { return duspar_node_registration(init); }

#endif /* DUSPAR_DELEGATE_NODE_H_ */
