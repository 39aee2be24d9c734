/* What the front end's parameters must be like. */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "log_mel/log_mel.h"

static duspar_status check_filters(const duspar_log_mel_parameters* p) {
  const int32_t bins = (int32_t)(p->length / 2 + 1);
  size_t entries = 0;
  for (size_t b = 0; b < p->bands; ++b) {
    const int32_t first = p->edges[2 * b], end = p->edges[2 * b + 1];
    if (first < 0 || end < first || end > bins) {
      return duspar_fail(DUSPAR_INVALID,
                         "`edges` of filter %zu must rise from 0 to at most "
                         "%d, not %d to %d",
                         b, (int)bins, (int)first, (int)end);
    }
    entries += (size_t)(end - first);
  }
  if (entries == p->filter_size) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID,
                     "`filters` must have the %zu entries between their edges, "
                     "not %zu",
                     entries, p->filter_size);
}

duspar_status duspar_log_mel_check(const duspar_log_mel_parameters* p) {
  if (p->length < DUSPAR_MIN_FRAME || p->length > DUSPAR_MAX_FRAME ||
      (p->length & (p->length - 1)) != 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "`window` must have a power of two from %d to %d "
                       "entries, not %zu",
                       DUSPAR_MIN_FRAME, DUSPAR_MAX_FRAME, p->length);
  }
  if (p->hop < 1 || p->bands < 1 || p->bands > INT32_MAX / 2) {
    return duspar_fail(DUSPAR_INVALID,
                       "`hop` and the number of bands must be at least 1, not "
                       "%zu and %zu",
                       p->hop, p->bands);
  }
  /* The logarithm of a smaller number would be wrong. */
  if (!(p->offset >= FLT_MIN && isfinite(p->offset))) {
    return duspar_fail(DUSPAR_INVALID,
                       "`offset` must be a finite number of at least %g, not "
                       "%g",
                       (double)FLT_MIN, (double)p->offset);
  }
  return check_filters(p);
}

size_t duspar_log_mel_frames(size_t length, size_t hop, size_t samples) {
  return samples < length ? 0 : (samples - length) / hop + 1;
}
