/* The order of an operator's weights, in training and in a .tflite file. N is
 * the number of features, M that of units.
 *
 * Written by keras_duspar/operators.py, which is the place for changes. */
#ifndef DUSPAR_WEIGHTS_H_
#define DUSPAR_WEIGHTS_H_
/* clang-format off */

enum { /* SpaR */
  DUSPAR_SPAR_GATE_KERNEL = 0, /* (N, M) */
  DUSPAR_SPAR_CANDIDATE_KERNEL = 1, /* (N, M) */
  DUSPAR_SPAR_GATE_BIAS = 2, /* (M) */
  DUSPAR_SPAR_WEIGHTS = 3
};

enum { /* DuSpaR */
  DUSPAR_DUSPAR_FEEDFORWARD_GATE_KERNEL = 0, /* (N, M) */
  DUSPAR_DUSPAR_FEEDFORWARD_CANDIDATE_KERNEL = 1, /* (N, M) */
  DUSPAR_DUSPAR_FEEDBACK_GATE_KERNEL = 2, /* (M, N) */
  DUSPAR_DUSPAR_FEEDBACK_CANDIDATE_KERNEL = 3, /* (M, N) */
  DUSPAR_DUSPAR_FEEDFORWARD_GATE_BIAS = 4, /* (M) */
  DUSPAR_DUSPAR_FEEDBACK_GATE_BIAS = 5, /* (N) */
  DUSPAR_DUSPAR_FEEDFORWARD_BIAS = 6, /* (M) */
  DUSPAR_DUSPAR_FEEDBACK_BIAS = 7, /* (N) */
  DUSPAR_DUSPAR_WEIGHTS = 8
};

#endif /* DUSPAR_WEIGHTS_H_ */
