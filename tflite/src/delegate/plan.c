#include "delegate/plan.h"

#include "delegate/tensors.h"

/* Larger matrices take so long that what is around them does not matter. */
enum { MAX_RANK = 3, MOST_WEIGHTS = 1 << 18 };

bool duspar_plan_node(tfl_context* context, int index, int code, int inputs,
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

bool duspar_plan_is_constant(const tfl_tensor* tensor) {
  return tensor != NULL && tensor->allocation_type == TFL_MEMORY_MAPPED &&
         tensor->data != NULL && tensor->sparsity == NULL &&
         tensor->dims != NULL;
}

size_t duspar_plan_entries(const tfl_tensor* tensor) {
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

int duspar_plan_vector_size(const tfl_context* context, int index) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  const size_t count = duspar_plan_entries(tensor);
  if (count == 0 || tensor->type != TFL_FLOAT32) return 0;
  const int rank = tensor->dims->size;
  if (rank < 1 || rank > MAX_RANK) return 0;
  const int size = tensor->dims->data[rank - 1];
  return (size_t)size == count ? size : 0;
}

bool duspar_plan_has_floats(const tfl_context* context, int index, int count) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  return duspar_plan_is_constant(tensor) && tensor->type == TFL_FLOAT32 &&
         duspar_plan_entries(tensor) == (size_t)count &&
         tensor->bytes >= (size_t)count * sizeof(float) &&
         (uintptr_t)tensor->data % sizeof(float) == 0;
}

const int32_t* duspar_plan_integers(const tfl_context* context, int index,
                                    int count) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  if (!duspar_plan_is_constant(tensor) || tensor->type != TFL_INT32 ||
      duspar_plan_entries(tensor) != (size_t)count ||
      tensor->bytes < (size_t)count * sizeof(int32_t) ||
      (uintptr_t)tensor->data % sizeof(int32_t) != 0) {
    return NULL;
  }
  return tensor->data;
}

bool duspar_plan_is_read(tfl_context* context, const int* plan, int count,
                         int from, int to, int tensor) {
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

bool duspar_plan_is_earlier(tfl_context* context, const int* plan, int count,
                            int at, int tensor) {
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

static bool contains(const int* list, int count, int wanted) {
  for (int i = 0; i < count; ++i) {
    if (list[i] == wanted) return true;
  }
  return false;
}

bool duspar_plan_shows_only(tfl_context* context, const tfl_ints* nodes,
                            const int* shown, int shown_count) {
  tfl_delegate_params* parts = NULL;
  int count = 0;
  if (context->preview_partitions == NULL ||
      context->preview_partitions(context, nodes, &parts, &count) != TFL_OK ||
      count != 1 || parts == NULL || parts->output_tensors == NULL) {
    return false;
  }
  const tfl_ints* outputs = parts->output_tensors;
  for (int i = 0; i < outputs->size; ++i) {
    if (!contains(shown, shown_count, outputs->data[i])) return false;
  }
  return true;
}
