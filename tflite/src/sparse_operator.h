/* The operators DuSpaR and SpaR, as TFLite's interpreter calls them. */
#ifndef DUSPAR_SPARSE_OPERATOR_H_
#define DUSPAR_SPARSE_OPERATOR_H_

#include "tflite_abi.h"

tfl_registration duspar_sparse_registration(void);

#endif /* DUSPAR_SPARSE_OPERATOR_H_ */
