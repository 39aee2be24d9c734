/* Template: words of one vector of scores after the other, as
 * keras_duspar/streaming/detector.py finds them, in the same order. The file is
 * here and in keras_duspar/micro/runtime, where microcontrollers take it. Takes
 *   REAL         the type of probabilities
 *   REAL_EXP(x)  e to the power of x, which is not above zero
 */
#include <stdint.h>
#include <string.h>

enum { DECISIONS_NOTHING = -1 };

typedef struct decisions {
  int32_t classes;
  int32_t steps;          /* over which probabilities are averaged */
  int64_t quiet;          /* steps without a word after a word */
  const REAL* thresholds; /* NaN or above 1 for a class that is no word */
  REAL* ring;             /* the last probabilities, one row per step */
  int64_t step, again;
  int32_t held; /* the word that goes on */
} decisions;

static void decisions_reset(decisions* d) {
  d->step = d->again = 0;
  d->held = DECISIONS_NOTHING;
  memset(d->ring, 0, (size_t)d->steps * (size_t)d->classes * sizeof *d->ring);
}

/* Probabilities; zeros unless all scores are finite. */
static void decisions_softmax(const float* scores, int32_t count,
                              REAL* shares) {
  REAL largest = scores[0], sum = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (!(scores[i] - scores[i] == 0)) {
      memset(shares, 0, (size_t)count * sizeof *shares);
      return;
    }
    if (scores[i] > largest) largest = scores[i];
  }
  for (int32_t i = 0; i < count; ++i) {
    shares[i] = REAL_EXP(scores[i] - largest);
    sum += shares[i];
  }
  for (int32_t i = 0; i < count; ++i) shares[i] /= sum;
}

/* Takes the scores of the next step. Returns the word that is heard, and how
 * probable it is, or DECISIONS_NOTHING. */
static int32_t decisions_step(decisions* d, const float* scores,
                              REAL* confidence) {
  decisions_softmax(scores, d->classes,
                    d->ring + d->step % d->steps * d->classes);
  ++d->step;
  int32_t best = 0;
  *confidence = -1;
  for (int32_t i = 0; i < d->classes; ++i) {
    const REAL* shares = d->ring + i;
    REAL sum = 0;
    for (int32_t s = 0; s < d->steps; ++s, shares += d->classes) {
      sum += *shares;
    }
    if (sum / (REAL)d->steps > *confidence) {
      *confidence = sum / (REAL)d->steps;
      best = i;
    }
  }
  if (!(*confidence >= d->thresholds[best])) { /* also NaN */
    d->held = DECISIONS_NOTHING;
    return DECISIONS_NOTHING;
  }
  if (best == d->held || d->step < d->again) return DECISIONS_NOTHING;
  d->held = best;
  d->again = d->step + d->quiet;
  return best;
}
