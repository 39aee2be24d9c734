#include "delegate/patterns.h"

#include "delegate/tensors.h"

/* Larger matrices take so long that what is around them does not matter. */
enum { MAX_RANK = 3, MOST_WEIGHTS = 1 << 18 };

/* Reads node `index`; returns false for one that is not `code`, or has not so
 * many tensors. */
static bool read_node(tfl_context* context, int index, int code, int inputs,
                      tfl_node** node) {
  tfl_registration* registration = NULL;
  *node = NULL;
  return context->get_node_and_registration(context, index, node,
                                            &registration) == TFL_OK &&
         *node != NULL && registration != NULL &&
         registration->builtin_code == code && (*node)->inputs != NULL &&
         (*node)->inputs->size == inputs && (*node)->outputs != NULL &&
         (*node)->outputs->size == 1;
}

static bool is_constant(const tfl_tensor* tensor) {
  return tensor != NULL && tensor->allocation_type == TFL_MEMORY_MAPPED &&
         tensor->data != NULL && tensor->sparsity == NULL &&
         tensor->dims != NULL;
}

/* The entries of a tensor whose shape does not vary, or 0. */
static size_t entries(const tfl_tensor* tensor) {
  size_t count = 1;
  if (tensor == NULL || tensor->dims == NULL) return 0;
  const tfl_ints* named = tensor->dims_signature;
  for (int i = 0; named != NULL && i < named->size; ++i) {
    if (named->data[i] < 0) return 0;
  }
  for (int i = 0; i < tensor->dims->size; ++i) {
    const int size = tensor->dims->data[i];
    if (size < 1 || (size_t)size > MOST_WEIGHTS) return 0;
    count *= (size_t)size;
    if (count > MOST_WEIGHTS) return 0;
  }
  return count;
}

/* The length of a tensor that is one vector of floats, or 0. */
static int vector_size(const tfl_context* context, int index) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  const size_t count = entries(tensor);
  if (count == 0 || tensor->type != TFL_FLOAT32) return 0;
  const int rank = tensor->dims->size;
  if (rank < 1 || rank > MAX_RANK) return 0;
  const int size = tensor->dims->data[rank - 1];
  return (size_t)size == count ? size : 0;
}

/* Whether a tensor is `count` constant floats. */
static bool has_floats(const tfl_context* context, int index, int count) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  return is_constant(tensor) && tensor->type == TFL_FLOAT32 &&
         entries(tensor) == (size_t)count &&
         tensor->bytes >= (size_t)count * sizeof(float) &&
         (uintptr_t)tensor->data % sizeof(float) == 0;
}

/* Whether a node before `plan[from]`, or from `plan[to]` on, reads a tensor. */
static bool is_read(tfl_context* context, const int* plan, int count, int from,
                    int to, int tensor) {
  for (int i = 0; i < count; ++i) {
    tfl_node* node = NULL;
    tfl_registration* registration = NULL;
    if (i >= from && i < to) continue;
    if (context->get_node_and_registration(context, plan[i], &node,
                                           &registration) != TFL_OK ||
        node == NULL || node->inputs == NULL) {
      return true;
    }
    for (int k = 0; k < node->inputs->size; ++k) {
      if (node->inputs->data[k] == tensor) return true;
    }
  }
  return false;
}

/* Whether a tensor is there before node `plan[at]` runs. */
static bool is_earlier(tfl_context* context, const int* plan, int count, int at,
                       int tensor) {
  for (int i = at; i < count; ++i) {
    tfl_node* node = NULL;
    tfl_registration* registration = NULL;
    if (context->get_node_and_registration(context, plan[i], &node,
                                           &registration) != TFL_OK ||
        node == NULL || node->outputs == NULL) {
      return false;
    }
    for (int k = 0; k < node->outputs->size; ++k) {
      if (node->outputs->data[k] == tensor) return false;
    }
  }
  return true;
}

/* The constant that becomes a kernel: it, or what DEQUANTIZE makes it of. */
static int find_source(tfl_context* context, int before, int kernel) {
  const tfl_tensor* tensor = duspar_tensor_at(context, kernel);
  if (is_constant(tensor)) return tensor->type == TFL_FLOAT32 ? kernel : -1;
  for (int i = before - 1; i >= 0; --i) {
    tfl_node* node;
    if (!read_node(context, i, TFL_OPERATOR_DEQUANTIZE, 1, &node) ||
        node->outputs->data[0] != kernel) {
      continue;
    }
    const int source = node->inputs->data[0];
    return is_constant(duspar_tensor_at(context, source)) ? source : -1;
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
      kernel->dims->size != 2 || source->dims->size != 2 ||
      entries(source) == 0) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    if (kernel->dims->data[i] != source->dims->data[i]) return false;
  }
  *outputs = source->dims->data[0];
  const bool known = source->type == TFL_FLOAT32 ||
                     source->type == TFL_FLOAT16 || source->type == TFL_INT8;
  return known && source->dims->data[1] == inputs;
}

/* LOGISTIC and MUL behind the dense layer. */
static void match_behind(tfl_context* context, const int* plan, int count,
                         int at, int outputs, duspar_dense_pattern* p) {
  tfl_node* node;
  const int sums = p->outputs[0];
  if (at + 1 >= count || p->activation != DUSPAR_LINEAR ||
      !read_node(context, plan[at + 1], TFL_OPERATOR_LOGISTIC, 1, &node) ||
      node->inputs->data[0] != sums ||
      vector_size(context, node->outputs->data[0]) != outputs ||
      is_read(context, plan, count, at, at + 2, sums)) {
    return;
  }
  p->activation = DUSPAR_SIGMOID;
  p->nodes[1] = plan[at + 1];
  p->outputs[1] = node->outputs->data[0];
  p->count = 2;
  if (at + 2 >= count ||
      !read_node(context, plan[at + 2], TFL_OPERATOR_MUL, 2, &node)) {
    return;
  }
  const tfl_binary_params* params = node->builtin_data;
  const int a = node->inputs->data[0], b = node->inputs->data[1];
  const int factor = a == p->outputs[1] ? b : a;
  if (params == NULL || params->activation != TFL_ACTIVATION_NONE ||
      (a != p->outputs[1] && b != p->outputs[1]) || a == b ||
      vector_size(context, factor) != outputs ||
      vector_size(context, node->outputs->data[0]) != outputs ||
      duspar_tensor_at(context, factor)->dims->size !=
          duspar_tensor_at(context, p->outputs[1])->dims->size ||
      !is_earlier(context, plan, count, at, factor) ||
      is_read(context, plan, count, at, at + 3, p->outputs[1])) {
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
  if (!read_node(context, plan[at], TFL_OPERATOR_FULLY_CONNECTED, 3, &node)) {
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
  const int inputs = vector_size(context, p->x);
  int outputs = 0;
  p->source = find_source(context, plan[at], p->kernel);
  if (inputs == 0 || !check_kernel(context, p, inputs, &outputs) ||
      vector_size(context, p->outputs[0]) != outputs ||
      (p->bias >= 0 && !has_floats(context, p->bias, outputs))) {
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
  const tfl_tensor* tensor = duspar_tensor_at(context, axis);
  const int rank = duspar_tensor_at(context, x)->dims->size;
  if (!is_constant(tensor) || tensor->type != TFL_INT32 ||
      entries(tensor) != 1 || tensor->bytes < sizeof(int32_t) ||
      (uintptr_t)tensor->data % sizeof(int32_t) != 0) {
    return false;
  }
  const int32_t value = *(const int32_t*)tensor->data;
  return value == -1 || value == rank - 1;
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
    if (!read_node(context, plan[at + i], expected->code, inputs, &node)) {
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
    if (is_read(context, plan, count, at, at + DUSPAR_NORM_NODES,
                p->outputs[i])) {
      return false;
    }
  }
  const int size = vector_size(context, p->x);
  const int last = p->outputs[DUSPAR_NORM_NODES - 1];
  return size > 0 && is_last_axis(context, axis, p->x) &&
         vector_size(context, p->outputs[0]) == 1 &&
         vector_size(context, p->outputs[3]) == 1 &&
         has_floats(context, p->epsilon, 1) &&
         has_floats(context, p->gamma, size) &&
         has_floats(context, p->beta, size) &&
         vector_size(context, last) == size &&
         duspar_tensor_at(context, last)->dims->size ==
             duspar_tensor_at(context, p->x)->dims->size;
}
