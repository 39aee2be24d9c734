/* A layer normalization of built-in operators, as one operator of ours. */
#include "base/error.h"
#include "delegate/node.h"
#include "delegate/outputs.h"
#include "delegate/patterns.h"
#include "variants/variants.h"

typedef struct operator_data {
  duspar_node base;
  duspar_norm_pattern pattern;
  const duspar_variant* variant;
  duspar_norm norm;
  duspar_view x, y;
  size_t rows;
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               const tfl_ints* nodes) {
  (void)node, (void)registration;
  operator_data* op = (operator_data*)base;
  base->kind = "Normalization";
  op->variant = duspar_variant_find(base->delegate->variant);
  if (op->variant == NULL) return DUSPAR_INVALID;
  if (nodes->size == DUSPAR_NORM_NODES &&
      duspar_norm_match(context, nodes->data, nodes->size, 0, &op->pattern)) {
    return DUSPAR_OK;
  }
  return duspar_fail(DUSPAR_INVALID, "its nodes cannot be read");
}

static void release(duspar_node* base) { (void)base; }

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  const duspar_norm_pattern* p = &op->pattern;
  const int last = p->outputs[DUSPAR_NORM_NODES - 1];
  const tfl_tensor* gamma = duspar_tensor_at(context, p->gamma);
  int size = 1;
  for (int i = 0; i < gamma->dims->size; ++i) size *= gamma->dims->data[i];
  duspar_status status = duspar_vectors_check(context, p->x, size, &op->x);
  if (status != DUSPAR_OK) return status;
  op->norm = (duspar_norm){
      .size = (size_t)size,
      .gamma = gamma->data,
      .beta = duspar_tensor_at(context, p->beta)->data,
      .epsilon = *(const float*)duspar_tensor_at(context, p->epsilon)->data,
  };
  op->rows = op->x.bytes / sizeof(float) / (size_t)size;
  op->y.tensor = -1;
  for (int i = 0; i < DUSPAR_NORM_NODES - 1; ++i) {
    if (duspar_tensor_wanted(node, p->outputs[i])) {
      return duspar_fail(DUSPAR_INVALID, "an inner tensor is an output");
    }
  }
  if (!duspar_tensor_wanted(node, last)) return DUSPAR_OK;
  status = duspar_tensor_check_output(context, "y", 1, &p->x, &last, 0);
  if (status != DUSPAR_OK) return status;
  const int rank = op->x.rank;
  status = duspar_tensor_resize(context, "y", last, rank, op->x.shape);
  if (status == DUSPAR_OK) duspar_view_set(&op->y, last, rank, op->x.shape);
  return status;
}

static duspar_status run(duspar_node* base, tfl_context* context) {
  const operator_data* op = (const operator_data*)base;
  float *x, *y;
  if (op->y.tensor < 0) return DUSPAR_OK;
  duspar_status status = duspar_view_data(&op->x, context, &x);
  if (status == DUSPAR_OK) status = duspar_view_data(&op->y, context, &y);
  if (status != DUSPAR_OK) return status;
  for (size_t row = 0; row < op->rows; ++row) {
    const size_t at = row * op->norm.size;
    op->variant->dense.normalize(&op->norm, x + at, y + at);
  }
  return DUSPAR_OK;
}

DUSPAR_NODE_REGISTRATION(duspar_norm_registration, operator_data,
                         DUSPAR_NORM_NODES)
