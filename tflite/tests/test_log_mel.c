/* The log-mel front end of every kernel that the processor can run, against
 * sums in double precision, over many lengths and filters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"
#include "variants/variants.h"

enum { MAX_BANDS = 130 };

typedef struct model {
  duspar_log_mel_parameters p;
  float *window, *filters, *vectors;
  int32_t edges[2 * MAX_BANDS];
} model;

static void* allocate(size_t count, size_t size) {
  void* memory = calloc(count + 1, size);
  if (memory == NULL) abort();
  return memory;
}

/* Filters anywhere and of any width, also of none. */
static void make_model(model* m, size_t length, size_t hop, size_t bands) {
  const int bins = (int)length / 2 + 1;
  size_t size = 0;
  for (size_t b = 0; b < bands; ++b) {
    const int first = (int)((uniform() + 1) / 2 * bins);
    const int width = (int)((uniform() + 1) / 2 * (b % 5 == 0 ? bins : 8));
    m->edges[2 * b] = first;
    m->edges[2 * b + 1] = first + width < bins ? first + width : bins;
    size += (size_t)(m->edges[2 * b + 1] - first);
  }
  m->window = allocate(length, sizeof(float));
  m->filters = allocate(size, sizeof(float));
  m->vectors = allocate(2 * bands, sizeof(float));
  for (size_t i = 0; i < length; ++i) m->window[i] = (float)uniform();
  for (size_t i = 0; i < size; ++i) m->filters[i] = (float)(uniform() + 1);
  for (size_t b = 0; b < bands; ++b) {
    m->vectors[b] = (float)uniform();
    m->vectors[bands + b] = (float)(uniform() + 1.5);
  }
  m->p = (duspar_log_mel_parameters){
      .length = length,
      .hop = hop,
      .bands = bands,
      .filter_size = size,
      .window = m->window,
      .filters = m->filters,
      .edges = m->edges,
      .mean = m->vectors,
      .deviation = m->vectors + bands,
      .offset = 0.05f,
  };
}

static void free_model(model* m) {
  free(m->window);
  free(m->filters);
  free(m->vectors);
}

static double expected(const model* m, const float* frame, size_t band,
                       const float* filter) {
  const size_t length = m->p.length;
  double sum = m->p.offset;
  for (int32_t bin = m->edges[2 * band]; bin < m->edges[2 * band + 1]; ++bin) {
    double real = 0, imag = 0;
    for (size_t i = 0; i < length; ++i) {
      const double angle = 6.283185307179586 *
                           (double)((size_t)bin * i % length) / (double)length;
      real += frame[i] * (double)m->window[i] * cos(angle);
      imag += frame[i] * (double)m->window[i] * sin(angle);
    }
    sum += (real * real + imag * imag) * filter[bin - m->edges[2 * band]];
  }
  return (log(sum) - m->p.mean[band]) / m->p.deviation[band];
}

static void check_features(const char* kernel, const model* m, size_t batch,
                           size_t samples) {
  const size_t bands = m->p.bands;
  const size_t frames = duspar_log_mel_frames(m->p.length, m->p.hop, samples);
  float* audio = allocate(batch * samples, sizeof(float));
  float* features = allocate(batch * frames * bands, sizeof(float));
  for (size_t i = 0; i < batch * samples; ++i) audio[i] = (float)uniform();
  duspar_log_mel* front_end = duspar_log_mel_create(&m->p, kernel);
  CHECK(front_end != NULL, "%s: %s", kernel, duspar_last_error());
  if (front_end == NULL) exit(1);
  duspar_log_mel_execute(front_end, batch, samples, audio, features, 1);
  /* A few of the frames: the sums take long. */
  for (size_t n = 0; n < batch * frames; n += 1 + m->p.length / 128) {
    const float* frame = audio + n / frames * samples + n % frames * m->p.hop;
    const float* filter = m->filters;
    for (size_t b = 0; b < bands; ++b) {
      const double wanted = expected(m, frame, b, filter);
      const double got = features[n * bands + b];
      /* The offset is above the errors of small bins. */
      CHECK(fabs(got - wanted) <= 2e-5 / m->p.deviation[b],
            "%s: length %zu, frame %zu, band %zu of %zu: %.9g, not %.9g",
            kernel, m->p.length, n, b, bands, got, wanted);
      filter += m->edges[2 * b + 1] - m->edges[2 * b];
    }
  }
  duspar_log_mel_destroy(front_end);
  free(audio);
  free(features);
}

/* Silence is the offset, and NaN and infinity do not get lost. */
static void check_odd_audio(const char* kernel) {
  model m;
  float frame[64] = {0}, features[7];
  make_model(&m, 64, 64, 7);
  for (int b = 0; b < 7; ++b) { /* all bins */
    m.edges[2 * b] = 0;
    m.edges[2 * b + 1] = 33;
  }
  free(m.filters);
  m.filters = allocate(7 * 33, sizeof(float));
  for (int i = 0; i < 7 * 33; ++i) m.filters[i] = 1;
  m.p.filters = m.filters;
  m.p.filter_size = 7 * 33;
  duspar_log_mel* front_end = duspar_log_mel_create(&m.p, kernel);
  if (front_end == NULL) exit(1);
  const float odd[] = {0, NAN, INFINITY, 3e38f, 1e-30f};
  for (int i = 0; i < 5; ++i) {
    frame[3] = odd[i];
    duspar_log_mel_execute(front_end, 1, 64, frame, features, 1);
    for (int b = 0; b < 7; ++b) {
      const double silent = (log(0.05) - m.p.mean[b]) / m.p.deviation[b];
      const float got = features[b];
      CHECK(odd[i] < 1          ? fabs(got - silent) < 1e-5
            : odd[i] < INFINITY ? got == INFINITY
                                : isnan(got),
            "%s: %g gives %g", kernel, odd[i], got);
    }
  }
  duspar_log_mel_destroy(front_end);
  free_model(&m);
}

static void check_threads(void) {
  enum { SAMPLES = 16000, FRAMES = 1997, BANDS = 5 };
  model m;
  float* audio = allocate(2 * SAMPLES, sizeof(float));
  float* one = allocate(2 * FRAMES * BANDS, sizeof(float));
  float* many = allocate(2 * FRAMES * BANDS, sizeof(float));
  make_model(&m, 32, 8, BANDS);
  for (int i = 0; i < 2 * SAMPLES; ++i) audio[i] = (float)uniform();
  duspar_log_mel* front_end = duspar_log_mel_create(&m.p, NULL);
  if (front_end == NULL) exit(1);
  duspar_log_mel_execute(front_end, 2, SAMPLES, audio, one, 1);
  for (size_t threads = 2; threads < 5; ++threads) {
    memset(many, 0, 2 * FRAMES * BANDS * sizeof(float));
    duspar_log_mel_execute(front_end, 2, SAMPLES, audio, many, threads);
    CHECK(memcmp(one, many, 2 * FRAMES * BANDS * sizeof(float)) == 0,
          "%zu threads", threads);
  }
  duspar_log_mel_destroy(front_end);
  free_model(&m);
  free(audio);
  free(one);
  free(many);
}

static void check_errors(void) {
  model m;
  make_model(&m, 64, 16, 7);
  duspar_log_mel_parameters broken[7];
  for (int i = 0; i < 7; ++i) broken[i] = m.p;
  broken[0].length = 48;
  broken[1].length = 16;
  broken[2].hop = 0;
  broken[3].bands = 0;
  broken[4].offset = 0;
  broken[5].offset = NAN;
  ++broken[6].filter_size;
  for (int i = 0; i < 7; ++i) {
    CHECK(duspar_log_mel_create(&broken[i], NULL) == NULL, "%d", i);
  }
  const int32_t wrong[3][2] = {{-1, 2}, {2, 1}, {0, 34}};
  for (int i = 0; i < 3; ++i) {
    memcpy(m.edges, wrong[i], sizeof wrong[i]);
    CHECK(duspar_log_mel_create(&m.p, NULL) == NULL, "edges %d", i);
  }
  CHECK(duspar_log_mel_create(&broken[0], "none") == NULL, "no such kernel");
  free_model(&m);
}

/* The operator, as an interpreter calls it. */
static void check_operator(void) {
  host h;
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  host_init_log_mel(&h, 2, 100, 32, 16, 9);
  for (int i = 0; i < 200; ++i) ((float*)h.tensors[0].data)[i] = (float)i;
  CHECK(host_apply(&h, delegate) == TFL_OK && h.taken == 1, "%s", h.error);
  CHECK(host_prepare(&h) == TFL_OK, "%s", h.error);
  CHECK(host_invoke(&h) == TFL_OK, "%s", h.error);
  const tfl_ints* dims = h.tensors[7].dims;
  CHECK(dims->size == 3 && dims->data[0] == 2 && dims->data[1] == 5 &&
            dims->data[2] == 9,
        "shape of the features");
  for (int n = 0; n < 10; ++n) { /* bin 0 is the sum of the samples */
    const double first = n / 5 * 100 + n % 5 * 16, sum = 32 * first + 496;
    const float got = ((float*)h.tensors[7].data)[9 * n];
    CHECK(fabs(got - log(sum * sum + 1)) < 1e-5, "frame %d: %g", n, got);
  }
  CHECK(duspar_delegate_operator_count(delegate) == 0, "it has no operands");
  /* A longer input, and one without any frame. */
  host_reshape(&h, 0, 2, (int[]){1, 200}, 1);
  CHECK(host_invoke(&h) != TFL_OK, "tensors were not allocated anew");
  CHECK(host_prepare(&h) == TFL_OK && host_invoke(&h) == TFL_OK, "%s", h.error);
  CHECK(h.tensors[7].dims->data[1] == 11, "frames");
  host_reshape(&h, 0, 2, (int[]){1, 31}, 1);
  CHECK(host_prepare(&h) == TFL_OK && host_invoke(&h) == TFL_OK, "%s", h.error);
  CHECK(h.tensors[7].dims->data[1] == 0, "no frames");
  host_free(&h);
  duspar_delegate_destroy(delegate);
}

/* One thing at a time is wrong, and an error tells of it. */
static void check_broken_operators(void) {
  static const char* const words[] = {
      "audio",  "window", "filters",  "edges",  "mean",     "deviation",
      "offset", "edges",  "constant", "inputs", "features", "options"};
  for (int fault = 0; fault < 12; ++fault) {
    host h;
    struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
    host_init_log_mel(&h, 1, 64, 32, 16, 9);
    if (fault == 0) host_reshape(&h, 0, 1, (int[]){64}, 1);
    if (fault == 1) host_reshape(&h, 1, 1, (int[]){33}, 1);
    if (fault == 2) host_reshape(&h, 2, 1, (int[]){8}, 1);
    if (fault == 3) h.tensors[3].type = TFL_FLOAT32;
    if (fault == 4) host_reshape(&h, 4, 1, (int[]){8}, 1);
    if (fault == 5) host_set_bytes(&h, 5, 35);
    if (fault == 6) ((float*)h.tensors[6].data)[0] = 0;
    if (fault == 7) ((int32_t*)h.tensors[3].data)[1] = 18;
    if (fault == 8) h.tensors[1].allocation_type = 2;
    if (fault == 9) h.node.inputs->size = 6;
    if (fault == 10) h.tensors[7].type = TFL_INT8;
    if (fault == 11) host_set_options(&h, "x", 1);
    CHECK(host_apply(&h, delegate) == TFL_OK, "fault %d", fault);
    CHECK(host_prepare(&h) != TFL_OK, "fault %d", fault);
    CHECK(strstr(h.error, words[fault]) != NULL, "fault %d: %s", fault,
          h.error);
    CHECK(host_invoke(&h) != TFL_OK, "fault %d", fault);
    host_free(&h);
    duspar_delegate_destroy(delegate);
  }
}

int main(void) {
  static const size_t lengths[] = {32, 64, 128, 512, 1024};
  static const size_t bands[] = {1, 5, 16, 31, 64, 130};
  for (size_t k = 0; k < duspar_kernel_count(); ++k) {
    const char* kernel = duspar_kernel_name(k);
    if (!duspar_kernel_usable(k)) continue;
    for (int l = 0; l < 5; ++l) {
      model m;
      make_model(&m, lengths[l], lengths[l] / (l % 2 ? 2 : 4),
                 bands[(l + (int)k) % 6]);
      check_features(kernel, &m, 2, lengths[l] + m.p.hop + 5);
      check_features(kernel, &m, 1, lengths[l] - 1); /* no frame */
      free_model(&m);
    }
    check_odd_audio(kernel);
  }
  check_threads();
  check_errors();
  check_operator();
  check_broken_operators();
  printf(failures ? "%d failures\n" : "passed\n", failures);
  return failures != 0;
}
