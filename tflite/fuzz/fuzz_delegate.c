/* Interpreters that do anything with models that are anything.
 *
 * The input is a program: it makes correct models in two hosts that share a
 * delegate, breaks them, and calls the delegate in any order.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { HOSTS = 2, MAX_ACTIONS = 200 };

typedef struct reader {
  const uint8_t* data;
  size_t size;
} reader;

static unsigned next(reader* r) {
  if (r->size == 0) return 0;
  --r->size;
  return *r->data++;
}

/* Small numbers mostly, and those at which arithmetic breaks. */
static int next_dimension(reader* r) {
  static const int odd[] = {0,       -1,      INT32_MAX,     INT32_MIN,
                            1 << 30, 1 << 16, INT32_MAX - 1, 65537};
  const unsigned choice = next(r);
  return choice < 128 ? (int)(choice % 9) : odd[choice % 8];
}

static void make_model(reader* r, host* h) {
  static const int operand_bits[] = {0, 7, 8};
  const unsigned kind = next(r), types = next(r);
  if (kind >= 192) {
    const int length = 32 << kind % 3, batch = 1 + (int)(next(r) % 3);
    const int samples = (int)(next(r) % 4) * length + (int)types % 9;
    host_init_log_mel(h, batch, samples, length, 1 + (int)types,
                      1 + (int)(next(r) % 40));
    return;
  }
  const host_model model = {
      .kind = (duspar_kind)(kind % 2),
      .weight_type = (duspar_weight_type)(types % 3),
      .operand_bits =
          types % 3 == DUSPAR_INT8 ? operand_bits[types / 3 % 3] : 0,
      .batch = 1 + (int)(next(r) % 3),
      .steps = (int)(next(r) % 4),
      .features = 1 + (int)(next(r) % 9),
      .units = 1 + (int)(next(r) % 9),
  };
  host_init(h, &model);
}

static int next_tensor(reader* r, const host* h) {
  return (int)(next(r) % (unsigned)h->context.tensors_size);
}

static void break_options(reader* r, host* h) {
  uint8_t copy[512];
  size_t size = (size_t)h->node.custom_initial_data_size;
  if (h->node.custom_initial_data_size < 1 || size > sizeof copy) return;
  memcpy(copy, h->node.custom_initial_data, size);
  for (unsigned n = next(r) % 4; n > 0; --n) {
    copy[next(r) % size] = (uint8_t)next(r);
  }
  if (next(r) % 4 == 0) size = next(r) % (size + 1);
  host_set_options(h, copy, size);
}

/* Changes one thing of the model, before or after the delegate has it. */
static void break_model(reader* r, host* h) {
  tfl_tensor* t = &h->tensors[next_tensor(r, h)];
  const int number = (int)(t - h->tensors);
  tfl_ints** slot = next(r) % 2 ? &h->node.inputs : &h->node.outputs;
  tfl_ints* list = *slot;
  int dims[6];
  switch (next(r) % 12) {
    case 0:
      t->type = (int)(next(r) % 20);
      break;
    case 1:
      if (t->dims && t->dims->size) {
        t->dims->data[next(r) % (unsigned)t->dims->size] = next_dimension(r);
      }
      break;
    case 2: {
      const int rank = (int)(next(r) % 6);
      for (int i = 0; i < rank; ++i) dims[i] = next_dimension(r);
      host_reshape(h, number, rank, dims, (int)(next(r) % 2));
      break;
    }
    case 3:
      host_set_bytes(h, number, next(r));
      break;
    case 4:
      t->allocation_type = (int)(next(r) % 8);
      break;
    case 5:
      t->sparsity = next(r) % 2 ? (void*)t : NULL;
      break;
    case 6:
      if (list->size) {
        const unsigned place = next(r) % (unsigned)list->size;
        const int change = next_dimension(r);
        list->data[place] = next(r) % 2 ? change : next_tensor(r, h);
      }
      break;
    case 7:
      if (list->size) { /* no memory behind the end, either */
        list->size = (int)(next(r) % (unsigned)list->size);
        *slot = realloc(list, sizeof *list + (size_t)list->size * sizeof(int));
      }
      break;
    case 8:
      break_options(r, h);
      break;
    case 9:
      free(t->dims);
      t->dims = NULL;
      break;
    case 10:
      h->original.custom_name = next(r) % 2   ? NULL
                                : next(r) % 2 ? "SpaR"
                                              : "DuSpaRLogMel";
      break;
    default:
      h->wanted = next(r);
      break;
  }
}

static void fill(reader* r, host* h) {
  tfl_tensor* t = &h->tensors[next_tensor(r, h)];
  const unsigned pattern = next(r);
  for (size_t i = 0; t->data && i < t->bytes; ++i) {
    ((uint8_t*)t->data)[i] = (uint8_t)(pattern * (i + 1) ^ (pattern >> 3));
  }
}

/* New batch and steps in all the tensors that have them. */
static void resize_inputs(reader* r, host* h) {
  const int batch = 1 + (int)(next(r) % 3), steps = (int)(next(r) % 4);
  for (int i = 0; i < 3 && i < (int)h->context.tensors_size; ++i) {
    const tfl_ints* old = h->tensors[i].dims;
    if (h->tensors[i].allocation_type == TFL_MEMORY_MAPPED || old == NULL) {
      continue;
    }
    int dims[3] = {batch, steps, 1};
    if (old->size == 3) dims[2] = old->data[2];
    if (old->size == 2) dims[1] = old->data[1];
    if (old->size != 2 && old->size != 3) continue;
    host_reshape(h, i, old->size, dims, 1);
  }
}

static void look(struct TfLiteDelegate* delegate) {
  duspar_operator d;
  const size_t count = duspar_delegate_operator_count(delegate);
  for (size_t i = 0; i < count; ++i) {
    if (duspar_delegate_operator(delegate, i, &d) != DUSPAR_OK) abort();
    for (int o = 0; o < d.operand_count; ++o) {
      if (d.operands[o].nonzeros > d.operands[o].entries) abort();
    }
  }
  if (duspar_delegate_operator(delegate, count, &d) == DUSPAR_OK) abort();
}

static void act(reader* r, host* h, struct TfLiteDelegate** delegate) {
  switch (next(r) % 9) {
    case 0:
      if (!h->taken && *delegate) host_apply(h, *delegate);
      break;
    case 8:
      host_undo(h);
      break;
    case 1:
    case 2:
      host_prepare(h);
      break;
    case 3:
      host_invoke(h);
      break;
    case 4:
      break_model(r, h);
      break;
    case 5:
      fill(r, h);
      break;
    case 6:
      resize_inputs(r, h);
      break;
    default:
      if (next(r) % 8 == 0) {
        duspar_delegate_destroy(*delegate);
        *delegate = NULL;
      } else if (*delegate) {
        look(*delegate);
        if (next(r) % 2) duspar_delegate_reset(*delegate, next(r) % 4);
      }
      break;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reader r = {data, size};
  host hosts[HOSTS];
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  for (int i = 0; i < HOSTS; ++i) {
    make_model(&r, &hosts[i]);
    for (unsigned n = next(&r) % 3; n > 0; --n) break_model(&r, &hosts[i]);
    host_apply(&hosts[i], delegate);
    host_prepare(&hosts[i]);
  }
  for (int i = 0; i < MAX_ACTIONS && r.size > 0; ++i) {
    act(&r, &hosts[next(&r) % HOSTS], &delegate);
  }
  const int delegate_first = next(&r) % 2;
  if (delegate_first) duspar_delegate_destroy(delegate);
  for (int i = 0; i < HOSTS; ++i) host_free(&hosts[i]);
  if (!delegate_first) duspar_delegate_destroy(delegate);
  return 0;
}
