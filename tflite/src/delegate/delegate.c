/* The delegate: which nodes it takes, its life, and questions to it. */
#include "delegate/delegate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "delegate/node.h"
#include "delegate/patterns.h"
#include "delegate/plan.h"
#include "layer/operators.h"
#include "variants/variants.h"

/* All delegates that are not destroyed, so that handles are found. */
static duspar_lock living_lock = ATOMIC_FLAG_INIT;
static duspar_delegate* living;

void duspar_delegate_hold(duspar_delegate* delegate) {
  atomic_fetch_add(&delegate->holders, 1);
}

void duspar_delegate_release(duspar_delegate* delegate) {
  if (atomic_fetch_sub(&delegate->holders, 1) != 1) return;
  duspar_records_clear(&delegate->records);
  free(delegate);
}

/* Whether an operator of this name is one of ours, and how it runs. */
static bool find_operator(const char* name, tfl_registration* ours) {
  if (name != NULL && strcmp(name, DUSPAR_LOG_MEL_NAME) == 0) {
    *ours = duspar_log_mel_registration();
    return true;
  }
  *ours = duspar_sparse_registration();
  return duspar_op_named(name) != NULL;
}

/* Gives nodes to one of our operators, unless somebody wants more of what they
 * make than `shown`: then they are left to TFLite. */
static tfl_status take_pattern(tfl_context* context, tfl_delegate* base,
                               tfl_registration ours, const int* nodes,
                               int count, const int* shown, int shown_count) {
  struct {
    int size;
    int data[DUSPAR_NORM_NODES];
  } taken = {count, {0}};
  const tfl_ints* list = (const void*)&taken;
  memcpy(taken.data, nodes, (size_t)count * sizeof(int));
  if (!duspar_plan_shows_only(context, list, shown, shown_count)) return TFL_OK;
  return context->replace_nodes(context, ours, list, base);
}

/* Takes the built-in operators that are faster here. */
static tfl_status take_patterns(tfl_context* context, tfl_delegate* base,
                                const int* plan, int count) {
  for (int i = 0; i < count; ++i) {
    duspar_dense_pattern dense;
    duspar_norm_pattern norm;
    duspar_window_pattern window;
    tfl_status status = TFL_OK;
    if (duspar_dense_match(context, plan, count, i, &dense)) {
      status =
          take_pattern(context, base, duspar_dense_registration(), dense.nodes,
                       dense.count, dense.outputs, dense.count);
    } else if (duspar_norm_match(context, plan, count, i, &norm)) {
      status = take_pattern(context, base, duspar_norm_registration(),
                            norm.nodes, DUSPAR_NORM_NODES,
                            &norm.outputs[DUSPAR_NORM_NODES - 1], 1);
    } else if (duspar_window_match(context, plan, count, i, &window)) {
      const int shown[] = {window.ring, window.mean};
      status = take_pattern(context, base, duspar_window_registration(),
                            window.nodes, DUSPAR_WINDOW_NODES, shown, 2);
    }
    if (status != TFL_OK) return status;
  }
  return TFL_OK;
}

/* Takes one operator a partition: TFLite gives no memory to a tensor between
 * two nodes of the same partition. */
static tfl_status take_nodes(tfl_context* context, tfl_delegate* base,
                             const int* plan, int count) {
  bool any = false;
  for (int i = 0; i < count; ++i) {
    tfl_node* node = NULL;
    tfl_registration* registration = NULL;
    if (context->get_node_and_registration(context, plan[i], &node,
                                           &registration) != TFL_OK) {
      return TFL_ERROR;
    }
    tfl_registration ours;
    if (registration == NULL ||
        registration->builtin_code != TFL_OPERATOR_CUSTOM ||
        !find_operator(registration->custom_name, &ours)) {
      continue;
    }
    const struct {
      int size, node;
    } taken = {1, plan[i]};
    const tfl_status status = context->replace_nodes(
        context, ours, (const tfl_ints*)(const void*)&taken, base);
    if (status != TFL_OK) return status;
    any = true;
  }
  /* A model without sparse operators is left alone. */
  return any ? take_patterns(context, base, plan, count) : TFL_OK;
}

static tfl_status prepare(tfl_context* context, tfl_delegate* base) {
  duspar_delegate* delegate = base->data;
  tfl_ints* plan = NULL;
  if (atomic_load(&delegate->destroyed)) {
    duspar_fail(DUSPAR_INVALID,
                "The DuSpaR delegate was destroyed. Keep it as long as the "
                "interpreter, or make a new one.");
    context->report_error(context, "%s", duspar_last_error());
    return TFL_ERROR;
  }
  if (context->get_execution_plan(context, &plan) != TFL_OK || plan == NULL) {
    return TFL_ERROR;
  }
  if (plan->size < 1) return TFL_OK;
  /* A copy: replacing nodes changes the plan. */
  const size_t bytes = (size_t)plan->size * sizeof(int);
  const int count = plan->size;
  int* nodes = malloc(bytes);
  if (nodes == NULL) {
    duspar_fail_memory(bytes);
    context->report_error(context, "%s", duspar_last_error());
    return TFL_ERROR;
  }
  memcpy(nodes, plan->data, bytes);
  const tfl_status status = take_nodes(context, base, nodes, count);
  free(nodes);
  return status;
}

static duspar_status set_option(duspar_delegate* delegate, const char* key,
                                const char* value) {
  if (key == NULL || value == NULL) {
    return duspar_fail(DUSPAR_INVALID, "Options must be pairs of texts.");
  }
  if (strcmp(key, "kernel") == 0) {
    const duspar_variant* variant = duspar_variant_find(value);
    if (variant == NULL) return DUSPAR_INVALID;
    delegate->variant = variant->name;
    return DUSPAR_OK;
  }
  if (strcmp(key, "handle") != 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "The DuSpaR delegate has the options `handle` and "
                       "`kernel`, not '%s'.",
                       key);
  }
  const size_t length = strlen(value);
  if (length < 1 || length >= sizeof delegate->handle) {
    return duspar_fail(DUSPAR_INVALID,
                       "`handle` must be a text of 1 to %zu bytes, not %zu.",
                       sizeof delegate->handle - 1, length);
  }
  memcpy(delegate->handle, value, length + 1);
  return DUSPAR_OK;
}

/* Returns the living delegate with this handle; call it with the lock. */
static duspar_delegate* find_living(const char* handle) {
  duspar_delegate* found = living;
  while (found != NULL && strcmp(found->handle, handle) != 0) {
    found = found->next;
  }
  return found;
}

static duspar_status enlist(duspar_delegate* delegate) {
  duspar_lock_acquire(&living_lock);
  const bool taken =
      delegate->handle[0] != '\0' && find_living(delegate->handle) != NULL;
  if (!taken) {
    delegate->next = living;
    living = delegate;
  }
  duspar_lock_release(&living_lock);
  if (!taken) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID,
                     "`handle` must be one that no living delegate has: '%s' "
                     "is taken.",
                     delegate->handle);
}

static void delist(duspar_delegate* delegate) {
  duspar_lock_acquire(&living_lock);
  duspar_delegate** link = &living;
  while (*link != NULL && *link != delegate) link = &(*link)->next;
  if (*link == delegate) *link = delegate->next;
  duspar_lock_release(&living_lock);
}

static duspar_delegate* create(const char* const* keys,
                               const char* const* values, size_t count) {
  duspar_delegate* delegate = calloc(1, sizeof *delegate);
  if (delegate == NULL) {
    duspar_fail_memory(sizeof *delegate);
    return NULL;
  }
  delegate->base.data = delegate;
  delegate->base.prepare = prepare;
  /* Without this flag TFLite refuses unknown operators before it asks. */
  delegate->base.flags = TFL_ALLOW_DYNAMIC_TENSORS;
  atomic_init(&delegate->holders, 1);
  atomic_init(&delegate->destroyed, false);
  duspar_records_init(&delegate->records);
  duspar_status status = DUSPAR_OK;
  for (size_t i = 0; i < count && status == DUSPAR_OK; ++i) {
    status = set_option(delegate, keys[i], values[i]);
  }
  if (status == DUSPAR_OK) status = enlist(delegate);
  if (status == DUSPAR_OK) return delegate;
  duspar_delegate_release(delegate);
  return NULL;
}

struct TfLiteDelegate* duspar_delegate_create(const char* const* keys,
                                              const char* const* values,
                                              size_t count) {
  duspar_delegate* delegate = create(keys, values, count);
  return delegate ? (struct TfLiteDelegate*)(void*)&delegate->base : NULL;
}

static duspar_delegate* whole(const struct TfLiteDelegate* delegate) {
  return ((const tfl_delegate*)(const void*)delegate)->data;
}

void duspar_delegate_destroy(struct TfLiteDelegate* delegate) {
  if (delegate == NULL) return;
  delist(whole(delegate));
  atomic_store(&whole(delegate)->destroyed, true);
  duspar_delegate_release(whole(delegate));
}

#if !defined(DUSPAR_STATIC)
struct TfLiteDelegate* tflite_plugin_create_delegate(
    const char* const* keys, const char* const* values, size_t count,
    void (*report_error)(const char*)) {
  struct TfLiteDelegate* delegate = duspar_delegate_create(keys, values, count);
  if (delegate == NULL && report_error != NULL) {
    report_error(duspar_last_error());
  }
  return delegate;
}

void tflite_plugin_destroy_delegate(struct TfLiteDelegate* delegate) {
  duspar_delegate_destroy(delegate);
}
#endif

struct TfLiteDelegate* duspar_delegate_find(const char* handle) {
  if (handle == NULL || handle[0] == '\0') return NULL;
  duspar_lock_acquire(&living_lock);
  duspar_delegate* found = find_living(handle);
  duspar_lock_release(&living_lock);
  return found ? (struct TfLiteDelegate*)(void*)&found->base : NULL;
}

size_t duspar_delegate_operator_count(const struct TfLiteDelegate* delegate) {
  return delegate ? duspar_records_count(&whole(delegate)->records) : 0;
}

/* Returns record `index` or sets the error. */
static duspar_record* record_at(const struct TfLiteDelegate* delegate,
                                size_t index) {
  if (delegate == NULL) {
    duspar_fail(DUSPAR_INVALID, "`delegate` must not be NULL.");
    return NULL;
  }
  duspar_record* record = duspar_records_get(&whole(delegate)->records, index);
  if (record == NULL) {
    duspar_fail(DUSPAR_INVALID, "The delegate has no operator %zu.", index);
  }
  return record;
}

duspar_status duspar_delegate_operator(const struct TfLiteDelegate* delegate,
                                       size_t index,
                                       duspar_operator* description) {
  duspar_record* record = record_at(delegate, index);
  if (record == NULL) return DUSPAR_INVALID;
  duspar_record_read(record, description);
  return DUSPAR_OK;
}

duspar_status duspar_delegate_reset(struct TfLiteDelegate* delegate,
                                    size_t index) {
  duspar_record* record = record_at(delegate, index);
  if (record == NULL) return DUSPAR_INVALID;
  duspar_record_reset(record);
  return DUSPAR_OK;
}
