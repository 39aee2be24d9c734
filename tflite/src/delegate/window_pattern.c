/* A mean over the last calls of a stream, among the nodes of a model. */
#include "delegate/patterns.h"
#include "delegate/plan.h"
#include "delegate/tensors.h"

enum { RANK = 3 };

/* Whether a tensor is a float tensor of these fixed sizes. */
static bool has_sizes(const tfl_context* context, int index, int rank,
                      const int* sizes) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  if (duspar_plan_entries(tensor) == 0 || tensor->type != TFL_FLOAT32 ||
      tensor->dims->size != rank) {
    return false;
  }
  for (int i = 0; i < rank; ++i) {
    if (tensor->dims->data[i] != sizes[i]) return false;
  }
  return true;
}

/* The bounds of an axis of `size` as STRIDED_SLICE takes them. */
static int bound(int value, int size) {
  if (value < 0) value += size;
  return value < 0 ? 0 : value > size ? size : value;
}

/* Whether `node` takes from `from` to `to` of one axis of `x`, and all of the
 * others. */
static bool slices(const tfl_context* context, const tfl_node* node, int x,
                   int axis, int from, int to) {
  const tfl_slice_params* p = node->builtin_data;
  const tfl_tensor* tensor = duspar_tensor_at(context, x);
  const int rank = tensor->dims->size;
  if (p == NULL || node->inputs->data[0] != x || p->ellipsis_mask != 0 ||
      p->new_axis_mask != 0 || p->shrink_axis_mask != 0) {
    return false;
  }
  const int* tensors = node->inputs->data;
  const int32_t* begin = duspar_plan_integers(context, tensors[1], rank);
  const int32_t* end = duspar_plan_integers(context, tensors[2], rank);
  const int32_t* stride = duspar_plan_integers(context, tensors[3], rank);
  if (begin == NULL || end == NULL || stride == NULL) return false;
  for (int i = 0; i < rank; ++i) {
    const int size = tensor->dims->data[i];
    const int first = p->begin_mask >> i & 1 ? 0 : bound(begin[i], size);
    const int last = p->end_mask >> i & 1 ? size : bound(end[i], size);
    if (stride[i] != 1 || first != (i == axis ? from : 0) ||
        last != (i == axis ? to : size)) {
      return false;
    }
  }
  return true;
}

/* Reads the nodes that make the ring. */
static bool match_ring(tfl_context* context, const int* plan, int at,
                       duspar_window_pattern* p) {
  tfl_node *slice, *join;
  if (!duspar_plan_node(context, plan[at], TFL_OPERATOR_STRIDED_SLICE, 4,
                        &slice) ||
      !duspar_plan_node(context, plan[at + 1], TFL_OPERATOR_CONCATENATION, 2,
                        &join)) {
    return false;
  }
  p->old = slice->inputs->data[0];
  p->newest = join->inputs->data[1];
  p->ring = join->outputs->data[0];
  const tfl_tensor* old = duspar_tensor_at(context, p->old);
  if (duspar_plan_entries(old) == 0 || old->dims->size != RANK) return false;
  p->calls = old->dims->data[1];
  p->width = old->dims->data[2];
  const int sizes[RANK] = {1, p->calls, p->width}, one[RANK] = {1, 1, p->width};
  const tfl_join_params* params = join->builtin_data;
  return p->calls > 1 && p->width > 1 && params != NULL &&
         (params->axis == 1 || params->axis == 1 - RANK) &&
         params->activation == TFL_ACTIVATION_NONE &&
         join->inputs->data[0] == slice->outputs->data[0] &&
         has_sizes(context, p->old, RANK, sizes) &&
         has_sizes(context, p->ring, RANK, sizes) &&
         has_sizes(context, p->newest, RANK, one) &&
         slices(context, slice, p->old, 1, 1, p->calls);
}

/* Reads the nodes that make the mean, of the sums of the ring. */
static bool match_mean(tfl_context* context, const int* plan, int at,
                       duspar_window_pattern* p) {
  static const struct {
    int code, inputs;
  } expected[] = {
      {TFL_OPERATOR_SUM, 2},           {TFL_OPERATOR_STRIDED_SLICE, 4},
      {TFL_OPERATOR_STRIDED_SLICE, 4}, {TFL_OPERATOR_MAXIMUM, 2},
      {TFL_OPERATOR_DIV, 2},
  };
  tfl_node* nodes[5];
  int made[5];
  for (int i = 0; i < 5; ++i) {
    if (!duspar_plan_node(context, plan[at + i], expected[i].code,
                          expected[i].inputs, &nodes[i])) {
      return false;
    }
    made[i] = nodes[i]->outputs->data[0];
  }
  const tfl_reduce_params* sum = nodes[0]->builtin_data;
  const tfl_binary_params* div = nodes[4]->builtin_data;
  const int32_t* axis =
      duspar_plan_integers(context, nodes[0]->inputs->data[1], 1);
  p->least = nodes[3]->inputs->data[1];
  p->mean = made[4];
  return sum != NULL && !sum->keep_dims && axis != NULL &&
         (*axis == 1 || *axis == 1 - RANK) &&
         nodes[0]->inputs->data[0] == p->ring &&
         duspar_plan_vector_size(context, made[0]) == p->width &&
         duspar_tensor_at(context, made[0])->dims->size == 2 &&
         slices(context, nodes[1], made[0], 1, 0, p->width - 1) &&
         slices(context, nodes[2], made[0], 1, p->width - 1, p->width) &&
         nodes[3]->inputs->data[0] == made[2] &&
         duspar_plan_has_floats(context, p->least, 1) && div != NULL &&
         div->activation == TFL_ACTIVATION_NONE &&
         nodes[4]->inputs->data[0] == made[1] &&
         nodes[4]->inputs->data[1] == made[3] &&
         has_sizes(context, p->mean, 2, (const int[]){1, p->width - 1});
}

bool duspar_window_match(tfl_context* context, const int* plan, int count,
                         int at, duspar_window_pattern* p) {
  if (count - at < DUSPAR_WINDOW_NODES || !match_ring(context, plan, at, p) ||
      !match_mean(context, plan, at + 2, p) ||
      !duspar_plan_is_earlier(context, plan, count, at, p->newest)) {
    return false;
  }
  for (int i = 0; i < DUSPAR_WINDOW_NODES; ++i) {
    tfl_node* node = NULL;
    tfl_registration* registration = NULL;
    if (context->get_node_and_registration(context, plan[at + i], &node,
                                           &registration) != TFL_OK) {
      return false;
    }
    p->nodes[i] = plan[at + i];
    p->outputs[i] = node->outputs->data[0];
    if (p->outputs[i] != p->ring && p->outputs[i] != p->mean &&
        duspar_plan_is_read(context, plan, count, at, at + DUSPAR_WINDOW_NODES,
                            p->outputs[i])) {
      return false;
    }
  }
  return true;
}
