/* The operator DuSpaRLogMel, as TFLite's interpreter calls it. */
#ifndef DUSPAR_DELEGATE_LOG_MEL_NODE_H_
#define DUSPAR_DELEGATE_LOG_MEL_NODE_H_

#include "delegate/tflite_abi.h"

#define DUSPAR_LOG_MEL_NAME "DuSpaRLogMel"

tfl_registration duspar_log_mel_registration(void);

#endif /* DUSPAR_DELEGATE_LOG_MEL_NODE_H_ */
