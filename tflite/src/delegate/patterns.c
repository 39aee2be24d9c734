#include "delegate/patterns.h"

#include "delegate/plan.h"
#include "delegate/tensors.h"

/* The constant that becomes a kernel: it, or what DEQUANTIZE makes it of. */
static int find_source(tfl_context* context, int before, int kernel) {
  const tfl_tensor* tensor = duspar_tensor_at(context, kernel);
  if (duspar_plan_is_constant(tensor))
    return tensor->type == TFL_FLOAT32 ? kernel : -1;
  for (int i = before - 1; i >= 0; --i) {
    tfl_node* node;
    if (!duspar_plan_node(context, i, TFL_OPERATOR_DEQUANTIZE, 1, &node) ||
        node->outputs->data[0] != kernel) {
      continue;
    }
    const int source = node->inputs->data[0];
    return duspar_plan_is_constant(duspar_tensor_at(context, source)) ? source
                                                                      : -1;
  }
  return -1;
}

/* Whether a kernel can be read, of `inputs` columns; sets its rows. */
static bool check_kernel(const tfl_context* context,
                         const duspar_dense_pattern* p, int inputs,
                         int* outputs) {
  const tfl_tensor* kernel = duspar_tensor_at(context, p->kernel);
  const tfl_tensor* source = duspar_tensor_at(context, p->source);
  if (source == NULL || kernel == NULL || kernel->dims == NULL ||
      kernel->dims->size != 2 || source->dims->size != 2) {
    return false;
  }
  const size_t entries = duspar_plan_entries(source);
  if (entries == 0 || !duspar_constant_is_readable(source, entries)) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    if (kernel->dims->data[i] != source->dims->data[i]) return false;
  }
  *outputs = source->dims->data[0];
  return source->dims->data[1] == inputs;
}

/* LOGISTIC and MUL behind the dense layer. */
static void match_behind(tfl_context* context, const int* plan, int count,
                         int at, int outputs, duspar_dense_pattern* p) {
  tfl_node* node;
  const int sums = p->outputs[0];
  if (at + 1 >= count || p->activation != DUSPAR_LINEAR ||
      !duspar_plan_node(context, plan[at + 1], TFL_OPERATOR_LOGISTIC, 1,
                        &node) ||
      node->inputs->data[0] != sums ||
      duspar_plan_vector_size(context, node->outputs->data[0]) != outputs ||
      duspar_plan_is_read(context, plan, count, at, at + 2, sums)) {
    return;
  }
  p->activation = DUSPAR_SIGMOID;
  p->nodes[1] = plan[at + 1];
  p->outputs[1] = node->outputs->data[0];
  p->count = 2;
  if (at + 2 >= count ||
      !duspar_plan_node(context, plan[at + 2], TFL_OPERATOR_MUL, 2, &node)) {
    return;
  }
  const tfl_binary_params* params = node->builtin_data;
  const int a = node->inputs->data[0], b = node->inputs->data[1];
  const int factor = a == p->outputs[1] ? b : a;
  if (params == NULL || params->activation != TFL_ACTIVATION_NONE ||
      (a != p->outputs[1] && b != p->outputs[1]) || a == b ||
      duspar_plan_vector_size(context, factor) != outputs ||
      duspar_plan_vector_size(context, node->outputs->data[0]) != outputs ||
      duspar_tensor_at(context, factor)->dims->size !=
          duspar_tensor_at(context, p->outputs[1])->dims->size ||
      !duspar_plan_is_earlier(context, plan, count, at, factor) ||
      duspar_plan_is_read(context, plan, count, at, at + 3, p->outputs[1])) {
    return;
  }
  p->factor = factor;
  p->nodes[2] = plan[at + 2];
  p->outputs[2] = node->outputs->data[0];
  p->count = 3;
}

bool duspar_dense_match(tfl_context* context, const int* plan, int count,
                        int at, duspar_dense_pattern* p) {
  tfl_node* node;
  if (!duspar_plan_node(context, plan[at], TFL_OPERATOR_FULLY_CONNECTED, 3,
                        &node)) {
    return false;
  }
  const tfl_dense_params* params = node->builtin_data;
  if (params == NULL || params->weights_format != 0 ||
      (params->activation != TFL_ACTIVATION_NONE &&
       params->activation != TFL_ACTIVATION_RELU)) {
    return false;
  }
  *p = (duspar_dense_pattern){
      .nodes = {plan[at]},
      .outputs = {node->outputs->data[0]},
      .count = 1,
      .x = node->inputs->data[0],
      .kernel = node->inputs->data[1],
      .bias = node->inputs->data[2],
      .factor = -1,
      .activation = params->activation == TFL_ACTIVATION_RELU ? DUSPAR_RELU
                                                              : DUSPAR_LINEAR,
      .keeps_rank = params->keep_num_dims,
  };
  const int inputs = duspar_plan_vector_size(context, p->x);
  int outputs = 0;
  p->source = find_source(context, plan[at], p->kernel);
  if (inputs == 0 || !check_kernel(context, p, inputs, &outputs) ||
      duspar_plan_vector_size(context, p->outputs[0]) != outputs ||
      (p->bias >= 0 && !duspar_plan_has_floats(context, p->bias, outputs))) {
    return false;
  }
  match_behind(context, plan, count, at, outputs, p);
  return true;
}

/* What a node of the normalization reads: nodes before it, or one of these. */
enum { NOTHING = -1, X = -2, AXIS = -3, EPSILON = -4, GAMMA = -5, BETA = -6 };
static const struct norm_node {
  int code, reads[2];
} norm_nodes[DUSPAR_NORM_NODES] = {
    {TFL_OPERATOR_MEAN, {X, AXIS}},
    {TFL_OPERATOR_NEG, {0, NOTHING}},
    {TFL_OPERATOR_SQUARED_DIFFERENCE, {X, 0}},
    {TFL_OPERATOR_MEAN, {2, AXIS}},
    {TFL_OPERATOR_ADD, {3, EPSILON}},
    {TFL_OPERATOR_RSQRT, {4, NOTHING}},
    {TFL_OPERATOR_MUL, {5, GAMMA}},
    {TFL_OPERATOR_MUL, {1, 6}},
    {TFL_OPERATOR_ADD, {7, BETA}},
    {TFL_OPERATOR_MUL, {X, 6}},
    {TFL_OPERATOR_ADD, {9, 8}},
};

/* Whether a constant names the last axis alone. */
static bool is_last_axis(const tfl_context* context, int axis, int x) {
  const int32_t* value = duspar_plan_integers(context, axis, 1);
  const int rank = duspar_tensor_at(context, x)->dims->size;
  return value != NULL && (*value == -1 || *value == rank - 1);
}

/* Whether a node reads `wanted`, which an earlier node may have made; constants
 * are noted where they come first. */
static bool takes(int wanted, int tensor, duspar_norm_pattern* p, int* axis) {
  int* place = wanted == X         ? &p->x
               : wanted == AXIS    ? axis
               : wanted == EPSILON ? &p->epsilon
               : wanted == GAMMA   ? &p->gamma
                                   : &p->beta;
  if (wanted >= 0) return tensor == p->outputs[wanted];
  if (*place < 0) *place = tensor;
  return *place == tensor;
}

bool duspar_norm_match(tfl_context* context, const int* plan, int count, int at,
                       duspar_norm_pattern* p) {
  int axis = -1;
  if (count - at < DUSPAR_NORM_NODES) return false;
  *p = (duspar_norm_pattern){.x = -1, .epsilon = -1, .gamma = -1, .beta = -1};
  for (int i = 0; i < DUSPAR_NORM_NODES; ++i) {
    const struct norm_node* expected = &norm_nodes[i];
    const int inputs = expected->reads[1] == NOTHING ? 1 : 2;
    tfl_node* node;
    if (!duspar_plan_node(context, plan[at + i], expected->code, inputs,
                          &node)) {
      return false;
    }
    const bool fuses = expected->code == TFL_OPERATOR_MUL ||
                       expected->code == TFL_OPERATOR_ADD;
    const tfl_binary_params* params = node->builtin_data;
    if (fuses &&
        (params == NULL || params->activation != TFL_ACTIVATION_NONE)) {
      return false;
    }
    for (int k = 0; k < inputs; ++k) {
      if (!takes(expected->reads[k], node->inputs->data[k], p, &axis)) {
        return false;
      }
    }
    p->nodes[i] = plan[at + i];
    p->outputs[i] = node->outputs->data[0];
  }
  for (int i = 0; i < DUSPAR_NORM_NODES - 1; ++i) {
    if (duspar_plan_is_read(context, plan, count, at, at + DUSPAR_NORM_NODES,
                            p->outputs[i])) {
      return false;
    }
  }
  const int size = duspar_plan_vector_size(context, p->x);
  const int last = p->outputs[DUSPAR_NORM_NODES - 1];
  return size > 0 && is_last_axis(context, axis, p->x) &&
         duspar_plan_vector_size(context, p->outputs[0]) == 1 &&
         duspar_plan_vector_size(context, p->outputs[3]) == 1 &&
         duspar_plan_has_floats(context, p->epsilon, 1) &&
         duspar_plan_has_floats(context, p->gamma, size) &&
         duspar_plan_has_floats(context, p->beta, size) &&
         duspar_plan_vector_size(context, last) == size &&
         duspar_tensor_at(context, last)->dims->size ==
             duspar_tensor_at(context, p->x)->dims->size;
}
