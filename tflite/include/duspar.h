/* DuSpaR and SpaR in C: a TFLite delegate, its counters, and direct calls.
 *
 * The library needs libc, libm and threads alone. This header includes all
 * that it has, which can also be included by itself:
 *
 *   duspar/base.h      statuses, errors, the processor
 *   duspar/layer.h     layers without TFLite
 *   duspar/delegate.h  the delegate, its counters, a file's metadata
 *   duspar/litert.h    the same operators in LiteRT 2
 *   duspar/detector.h  words in a stream; how to run a streaming file
 *   duspar/input.h     sound as it comes in: resampling, chunks, a worker
 *   duspar/micro.h     kernels for TFLite Micro
 *   duspar/training.h  forward and backward passes, also for XLA
 *   duspar/weights.h   the order of an operator's weights
 *
 * The equations, with N features, M units and `@` the matrix product:
 *
 *   SpaR     a = relu(x)
 *            z = sigmoid(a @ gate_kernel + gate_bias)
 *            c = tanh(a @ candidate_kernel)
 *            f = (1 - z) f + z c              output f
 *
 *   DuSpaR   the same with a = relu(x - (g + feedback_bias)), then
 *            y = f + feedforward_bias         output y
 *            and g from relu(y) as f from a, with the kernels of `feedback`.
 *
 * An entry of `a` that is zero costs no MACs and reads no weights. NaN is not
 * zero: it spreads, as in Keras.
 *
 * Every function may be called from any thread. Functions that can fail
 * return a status or NULL, and `duspar_last_error` then says why.
 */
#ifndef DUSPAR_H_
#define DUSPAR_H_

/* Version of the package. */
#define DUSPAR_VERSION "0.2.0"

/* Version of this interface. It grows when a structure or function changes. */
#define DUSPAR_INTERFACE 6

#include "duspar/base.h"
#include "duspar/delegate.h"
#include "duspar/detector.h"
#include "duspar/input.h"
#include "duspar/layer.h"
#include "duspar/litert.h"
#include "duspar/micro.h"
#include "duspar/training.h"
#include "duspar/weights.h"

#endif /* DUSPAR_H_ */
