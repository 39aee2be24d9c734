/* Feeds an exported model named `model` with good, loud and hostile samples.
 *
 *     pushes SEED ROUNDS
 *
 * Sanitizers see what goes wrong; beyond that, the same noise must give the
 * same numbers before and after, once the model is reset. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { NOISE, LOUD, SILENCE, TINY, HOSTILE, KINDS };

static const int output_sizes[] = {SIZES};
static uint64_t state;

static uint32_t number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

static float any_bits(void) {
  const uint32_t bits = number();
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float odd(void) {
  switch (number() % 10) {
    case 0:
      return NAN;
    case 1:
      return INFINITY;
    case 2:
      return -INFINITY;
    case 3:
      return FLT_MAX;
    case 4:
      return -FLT_MAX;
    case 5:
      return FLT_MIN / 8;
    case 6:
      return -0.0f;
    default:
      return any_bits();
  }
}

static int16_t sample(int kind) {
  switch (kind) {
    case SILENCE:
      return 0;
    case TINY:
      return (int16_t)((int)(number() % 3) - 1);
    case LOUD:
      return number() % 2 ? INT16_MAX : INT16_MIN;
    default:
      return (int16_t)((int)(number() % 16384) - 8192);
  }
}

/* Takes every output as it is, so that reading too far is seen. */
static uint64_t mix(uint64_t hash) {
  for (int i = 0; i < MODEL_OUTPUTS; ++i) {
    const float* values = model_output(i);
    for (int j = 0; j < output_sizes[i]; ++j) {
      uint32_t bits;
      memcpy(&bits, values + j, sizeof bits);
      hash = (hash ^ bits) * 1099511628211u;
    }
  }
#if MODEL_MAKES_AUDIO
  int16_t* audio = malloc(MODEL_SAMPLES * sizeof *audio);
  model_audio(audio);
  for (int i = 0; i < MODEL_SAMPLES; ++i) {
    hash = (hash ^ (uint16_t)audio[i]) * 1099511628211u;
  }
  free(audio);
#endif
  return hash;
}

/* Pushes as many hops of a kind, from memory that ends where they do. */
static uint64_t push(int kind, uint32_t hops) {
  uint64_t hash = 1469598103934665603u;
  const int floats = !MODEL_TAKES_AUDIO || kind == HOSTILE || number() % 2;
  const uint32_t share = 1 + number() % 64;
  for (uint32_t i = 0; i < hops; ++i) {
    uint32_t fresh = 0;
    if (floats) {
      float* values = malloc(MODEL_SAMPLES * sizeof *values);
      for (int j = 0; j < MODEL_SAMPLES; ++j) {
        const int is_odd = kind == HOSTILE && number() % share == 0;
        values[j] = is_odd ? odd() : (float)sample(kind) / 32768;
        if (kind == TINY) values[j] *= FLT_MIN;
      }
      fresh = model_push_float(values);
      free(values);
    } else {
#if MODEL_TAKES_AUDIO
      int16_t* values = malloc(MODEL_SAMPLES * sizeof *values);
      for (int j = 0; j < MODEL_SAMPLES; ++j) values[j] = sample(kind);
      fresh = model_push(values);
      free(values);
#endif
    }
    hash = (mix(hash) ^ fresh) * 1099511628211u;
#if MODEL_DETECTS
    if (fresh & MODEL_HEARD) {
      const model_event* e = model_heard();
      if (e->word < 0 || e->word >= output_sizes[0] || !(e->start <= e->end) ||
          isnan(e->confidence)) {
        printf("an event that cannot be\n");
        exit(1);
      }
    }
#endif
  }
  return hash;
}

static uint64_t known(void) {
  const uint64_t before = state;
  state = 88172645463325252u;
  model_reset();
  const uint64_t hash = push(NOISE, 40);
  state = before;
  return hash;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  state = 0x9e3779b97f4a7c15u * (1 + strtoul(argv[1], NULL, 10));
  const unsigned long rounds = strtoul(argv[2], NULL, 10);
  model_init();
  const uint64_t expected = known();
  for (unsigned long i = 0; i < rounds; ++i) {
    if (number() % 4 == 0) model_reset();
    push((int)(number() % KINDS), 1 + number() % 40);
    for (int j = 0; j < MODEL_OPERANDS; ++j) {
      uint32_t nonzeros, entries;
      model_count(j, &nonzeros, &entries);
      if (nonzeros > entries) {
        printf("operand %d: %u of %u\n", j, (unsigned)nonzeros,
               (unsigned)entries);
        return 1;
      }
    }
  }
  if (known() != expected) {
    printf("a reset does not bring everything back\n");
    return 1;
  }
  printf("%lu rounds\n", rounds);
  return 0;
}
