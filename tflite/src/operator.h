/* An operator of a model in an interpreter's hands. */
#ifndef DUSPAR_OPERATOR_H_
#define DUSPAR_OPERATOR_H_

#include "tflite_abi.h"

/* Returns the functions that run an operator, to give to TFLite. */
tfl_registration duspar_operator_registration(void);

#endif /* DUSPAR_OPERATOR_H_ */
