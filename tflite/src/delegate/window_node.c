/* A mean over the last calls of a stream, as one operator of ours. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "delegate/node.h"
#include "delegate/outputs.h"
#include "delegate/patterns.h"
#include "variants/variants.h"

typedef struct operator_data {
  duspar_node base;
  duspar_window_pattern pattern;
  const duspar_variant* variant;
  duspar_view old, newest, ring, mean;
  float least;
  float* sums; /* memory of its own */
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               const tfl_ints* nodes) {
  (void)node, (void)registration;
  operator_data* op = (operator_data*)base;
  base->kind = "Window";
  op->variant = duspar_variant_find(base->delegate->variant);
  if (op->variant == NULL) return DUSPAR_INVALID;
  if (nodes->size == DUSPAR_WINDOW_NODES &&
      duspar_window_match(context, nodes->data, nodes->size, 0, &op->pattern)) {
    return DUSPAR_OK;
  }
  return duspar_fail(DUSPAR_INVALID, "its nodes cannot be read");
}

static void release(duspar_node* base) { free(((operator_data*)base)->sums); }

/* Notes an output and gives it its shape, if somebody wants it. */
static duspar_status plan_output(operator_data* op, tfl_context* context,
                                 const tfl_node* node, int index, int rank,
                                 const int* shape, duspar_view* view) {
  const duspar_window_pattern* p = &op->pattern;
  const int inputs[] = {p->old, p->newest};
  view->tensor = -1;
  if (!duspar_tensor_wanted(node, index)) return DUSPAR_OK;
  duspar_status status =
      duspar_tensor_check_output(context, "y", 2, inputs, &index, 0);
  if (status == DUSPAR_OK) {
    status = duspar_tensor_resize(context, "y", index, rank, shape);
  }
  if (status == DUSPAR_OK) duspar_view_set(view, index, rank, shape);
  return status;
}

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  const duspar_window_pattern* p = &op->pattern;
  const int ring[] = {1, p->calls, p->width}, newest[] = {1, 1, p->width};
  duspar_status status = duspar_tensor_check(duspar_tensor_at(context, p->old),
                                             "x", TFL_FLOAT32, 3, ring);
  if (status == DUSPAR_OK) {
    status = duspar_tensor_check(duspar_tensor_at(context, p->newest), "x",
                                 TFL_FLOAT32, 3, newest);
  }
  if (status != DUSPAR_OK) return status;
  duspar_view_set(&op->old, p->old, 3, ring);
  duspar_view_set(&op->newest, p->newest, 3, newest);
  op->least = *(const float*)duspar_tensor_at(context, p->least)->data;
  const size_t bytes = (size_t)p->width * sizeof(float);
  if (op->sums == NULL) op->sums = malloc(bytes);
  if (op->sums == NULL) return duspar_fail_memory(bytes);
  for (int i = 0; i < DUSPAR_WINDOW_NODES; ++i) {
    const int made = p->outputs[i];
    if (made != p->ring && made != p->mean &&
        duspar_tensor_wanted(node, made)) {
      return duspar_fail(DUSPAR_INVALID, "an inner tensor is an output");
    }
  }
  status = plan_output(op, context, node, p->ring, 3, ring, &op->ring);
  if (status != DUSPAR_OK) return status;
  return plan_output(op, context, node, p->mean, 2,
                     (const int[]){1, p->width - 1}, &op->mean);
}

static duspar_status run(duspar_node* base, tfl_context* context) {
  const operator_data* op = (const operator_data*)base;
  const size_t width = (size_t)op->pattern.width;
  const size_t kept = ((size_t)op->pattern.calls - 1) * width;
  float *old, *newest, *ring, *mean;
  duspar_status status = duspar_view_data(&op->old, context, &old);
  if (status == DUSPAR_OK) {
    status = duspar_view_data(&op->newest, context, &newest);
  }
  if (status != DUSPAR_OK) return status;
  if (op->mean.tensor >= 0) {
    status = duspar_view_data(&op->mean, context, &mean);
    if (status != DUSPAR_OK) return status;
    op->variant->dense.add_rows(op->pattern.calls - 1, width, old + width,
                                op->sums);
    for (size_t i = 0; i < width; ++i) op->sums[i] += newest[i];
    const float steps = op->sums[width - 1];
    const float count = steps < op->least ? op->least : steps;
    for (size_t i = 0; i + 1 < width; ++i) mean[i] = op->sums[i] / count;
  }
  if (op->ring.tensor >= 0) {
    status = duspar_view_data(&op->ring, context, &ring);
    if (status != DUSPAR_OK) return status;
    /* An app may give the same memory to the state before and after. */
    memmove(ring, old + width, kept * sizeof(float));
    memcpy(ring + kept, newest, width * sizeof(float));
  }
  return DUSPAR_OK;
}

DUSPAR_NODE_REGISTRATION(duspar_window_registration, operator_data,
                         DUSPAR_WINDOW_NODES)
