/* What tensors the log-mel front end takes, and checks that they are so. */
#ifndef DUSPAR_DELEGATE_LOG_MEL_SIGNATURE_H_
#define DUSPAR_DELEGATE_LOG_MEL_SIGNATURE_H_

#include <assert.h>

#include "delegate/options.h"
#include "delegate/tflite_abi.h"
#include "log_mel/log_mel.h"

enum { DUSPAR_LOG_MEL_INPUTS = 7 };

/* Checks type, shape, size and place of the inputs, numbers of tensors, and
 * points the parameters at the constants. */
duspar_status duspar_log_mel_bind(const duspar_log_mel_options* options,
                                  const tfl_context* context, const int* inputs,
                                  duspar_log_mel_parameters* p);

#endif /* DUSPAR_DELEGATE_LOG_MEL_SIGNATURE_H_ */
