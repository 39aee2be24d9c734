/* Gives our kernels to the interpreter of the package `tflite-micro`, which has
 * no C++ headers to call `AddCustom` with: it does what that does, to a
 * `PythonOpsResolver`, which is a `MicroMutableOpResolver<200>`. */
#include <stdbool.h>

#include "duspar.h"
#include "micro/tflm_abi.h"

typedef struct resolver {
  void* functions;
  tflm_registration registrations[200];
  unsigned count;
} resolver;

bool register_duspar(void* to) {
  static const char* const names[] = {"DuSpaR", "SpaR", "DuSpaRLogMel"};
  resolver* r = to;
  /* Another layout than expected would have another code there. */
  if (r->count < 50 || r->count > 190 ||
      r->registrations[r->count - 1].invoke == NULL) {
    return false;
  }
  for (int i = 0; i < 3; ++i) {
    r->registrations[r->count++] =
        *(const tflm_registration*)duspar_micro_registration(names[i]);
  }
  return true;
}
