#include "layer/operators.h"

#include <string.h>

#include "layer/operators_table.h"

enum { COUNT = sizeof duspar_ops / sizeof duspar_ops[0] };

const duspar_op* duspar_op_of(int32_t kind) {
  return kind >= 0 && kind < (int32_t)COUNT ? &duspar_ops[kind] : NULL;
}

const duspar_op* duspar_op_named(const char* name) {
  for (int i = 0; name != NULL && i < (int)COUNT; ++i) {
    if (strcmp(name, duspar_ops[i].name) == 0) return &duspar_ops[i];
  }
  return NULL;
}
