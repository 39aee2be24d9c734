/* A dense layer of built-in operators, as one operator of ours. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "delegate/node.h"
#include "delegate/outputs.h"
#include "delegate/patterns.h"
#include "variants/variants.h"

typedef struct operator_data {
  duspar_node base;
  duspar_dense_pattern pattern;
  const duspar_variant* variant;
  const void* source; /* where the weights that are packed were */
  void* packed;
  size_t inputs, outputs, rows;
  duspar_view x, factor;
  duspar_view y[DUSPAR_DENSE_NODES]; /* what each node of the model makes */
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               const tfl_ints* nodes) {
  (void)node, (void)registration;
  operator_data* op = (operator_data*)base;
  duspar_dense_pattern* p = &op->pattern;
  base->kind = "Dense";
  op->variant = duspar_variant_find(base->delegate->variant);
  if (op->variant == NULL) return DUSPAR_INVALID;
  if (duspar_dense_match(context, nodes->data, nodes->size, 0, p) &&
      p->count == nodes->size) {
    return DUSPAR_OK;
  }
  return duspar_fail(DUSPAR_INVALID, "its nodes cannot be read");
}

static void release(duspar_node* base) {
  duspar_release(((operator_data*)base)->packed);
}

/* Packs weights that were read as floats. */
static duspar_status pack(operator_data* op, const tfl_context* context,
                          const float* kernel) {
  const tfl_tensor* bias = duspar_tensor_at(context, op->pattern.bias);
  const duspar_dense_parameters p = {
      .inputs = op->inputs,
      .outputs = op->outputs,
      .kernel = kernel,
      .bias = bias != NULL ? bias->data : NULL,
      .narrow = duspar_dense_fits_bfloat16(kernel, op->inputs * op->outputs),
  };
  size_t bytes;
  if (!op->variant->dense.bytes(&p, &bytes)) return duspar_fail_memory(0);
  duspar_release(op->packed);
  op->packed = duspar_allocate(bytes);
  if (op->packed == NULL) return duspar_fail_memory(bytes);
  op->variant->dense.pack(&p, op->packed);
  return DUSPAR_OK;
}

/* Reads the weights, once: they are constants of the model. */
static duspar_status make_layer(operator_data* op, const tfl_context* context) {
  const tfl_tensor* source = duspar_tensor_at(context, op->pattern.source);
  if (op->packed != NULL && op->source == source->data) return DUSPAR_OK;
  op->outputs = (size_t)source->dims->data[0];
  op->inputs = (size_t)source->dims->data[1];
  const size_t count = op->inputs * op->outputs;
  float* kernel = malloc(count * sizeof *kernel);
  if (kernel == NULL) return duspar_fail_memory(count * sizeof *kernel);
  duspar_status status =
      duspar_constant_read(source, kernel, count)
          ? pack(op, context, kernel)
          : duspar_fail(DUSPAR_INVALID, "its weights cannot be read");
  free(kernel);
  op->source = source->data;
  return status;
}

static duspar_status plan_outputs(operator_data* op, tfl_context* context,
                                  const tfl_node* node) {
  const duspar_dense_pattern* p = &op->pattern;
  const int inputs[] = {p->x, p->factor >= 0 ? p->factor : p->x};
  int shape[3] = {(int)op->rows, (int)op->outputs};
  int rank = 2;
  if (p->keeps_rank) {
    rank = op->x.rank;
    for (int i = 0; i < rank; ++i) shape[i] = op->x.shape[i];
    shape[rank - 1] = (int)op->outputs;
  }
  for (int i = 0; i < DUSPAR_DENSE_NODES; ++i) {
    op->y[i].tensor = -1;
    if (i >= p->count || !duspar_tensor_wanted(node, p->outputs[i])) continue;
    duspar_status status =
        duspar_tensor_check_output(context, "y", 2, inputs, p->outputs, i);
    if (status != DUSPAR_OK) return status;
    status = duspar_tensor_resize(context, "y", p->outputs[i], rank, shape);
    if (status != DUSPAR_OK) return status;
    duspar_view_set(&op->y[i], p->outputs[i], rank, shape);
  }
  return DUSPAR_OK;
}

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  const duspar_dense_pattern* p = &op->pattern;
  duspar_status status = make_layer(op, context);
  if (status != DUSPAR_OK) return status;
  status = duspar_vectors_check(context, p->x, (int)op->inputs, &op->x);
  if (status != DUSPAR_OK) return status;
  op->rows = op->x.bytes / sizeof(float) / op->inputs;
  op->factor.tensor = -1;
  if (p->factor >= 0) {
    status =
        duspar_vectors_check(context, p->factor, (int)op->outputs, &op->factor);
    if (status != DUSPAR_OK) return status;
    if (op->factor.bytes != op->rows * op->outputs * sizeof(float)) {
      return duspar_fail(DUSPAR_INVALID,
                         "what its outputs are multiplied with must have as "
                         "many numbers as they");
    }
  }
  return plan_outputs(op, context, node);
}

static duspar_status run(duspar_node* base, tfl_context* context) {
  const operator_data* op = (const operator_data*)base;
  float *x, *factor = NULL, *y;
  duspar_status status = duspar_view_data(&op->x, context, &x);
  if (status == DUSPAR_OK && op->factor.tensor >= 0) {
    status = duspar_view_data(&op->factor, context, &factor);
  }
  for (int i = 0; i < op->pattern.count && status == DUSPAR_OK; ++i) {
    if (op->y[i].tensor < 0) continue;
    status = duspar_view_data(&op->y[i], context, &y);
    if (status != DUSPAR_OK) return status;
    /* The first node of several has no activation yet. */
    const bool sums = i == 0 && op->pattern.count > 1;
    const duspar_activation activation =
        sums ? DUSPAR_LINEAR : op->pattern.activation;
    for (size_t row = 0; row < op->rows; ++row) {
      const float* times =
          i == 2 && factor != NULL ? factor + row * op->outputs : NULL;
      op->variant->dense.run(op->packed, x + row * op->inputs, times,
                             activation, y + row * op->outputs);
    }
  }
  return status;
}

DUSPAR_NODE_REGISTRATION(duspar_dense_registration, operator_data,
                         DUSPAR_DENSE_NODES)
