/* The operator DuSpaRLogMel, as TFLite's interpreter calls it. */
#ifndef DUSPAR_LOG_MEL_OPERATOR_H_
#define DUSPAR_LOG_MEL_OPERATOR_H_

#include "tflite_abi.h"

#define DUSPAR_LOG_MEL_NAME "DuSpaRLogMel"

tfl_registration duspar_log_mel_registration(void);

#endif /* DUSPAR_LOG_MEL_OPERATOR_H_ */
