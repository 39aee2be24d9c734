/* The operators DuSpaR and SpaR, as TFLite's interpreter calls them. */
#ifndef DUSPAR_DELEGATE_SPARSE_NODE_H_
#define DUSPAR_DELEGATE_SPARSE_NODE_H_

#include "delegate/tflite_abi.h"

tfl_registration duspar_sparse_registration(void);

#endif /* DUSPAR_DELEGATE_SPARSE_NODE_H_ */
