/* The delegate, as the operators see it. */
#ifndef DUSPAR_DELEGATE_DELEGATE_H_
#define DUSPAR_DELEGATE_DELEGATE_H_

#include "delegate/records.h"
#include "delegate/tflite_abi.h"

/* It lives until it was destroyed and no operator holds it any more: TFLite
 * may free operators after their delegate. */
typedef struct duspar_delegate duspar_delegate;
struct duspar_delegate {
  tfl_delegate base; /* what TFLite sees; `data` points to the whole */
  atomic_size_t holders;
  atomic_bool destroyed;
  const char* variant; /* name to ask for, or NULL */
  char handle[64];
  duspar_records records;
  duspar_delegate* next; /* of all that are not destroyed */
};

void duspar_delegate_hold(duspar_delegate* delegate);
void duspar_delegate_release(duspar_delegate* delegate);

#endif /* DUSPAR_DELEGATE_DELEGATE_H_ */
