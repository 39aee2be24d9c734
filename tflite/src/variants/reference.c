/* The plain variant: what every other one must agree with.
 *
 * Packed weights are the gate's bias, then (for int8) the scales of gate and
 * candidate, then the inverse of the operand's scale, if it has one, then a
 * row for each input: its weights to the gate followed by those to the
 * candidate. So an input that is zero skips one contiguous row.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory.h"
#include "variants/variants.h"

/* Where the parts of the packed weights begin. */
typedef struct parts {
  size_t bias;
  size_t scales;
  size_t inverse;
  size_t rows;
  size_t bytes;
} parts;

static bool find_parts(const duspar_shape* shape, parts* p) {
  const bool scaled = shape->weight_type == DUSPAR_INT8;
  const size_t weight = duspar_weight_bytes(shape->weight_type);
  size_t width, weights;
  size_t end = 0;
  if (!duspar_multiply(shape->outputs, 2, &width) ||
      !duspar_multiply(shape->inputs, width, &weights)) {
    return false;
  }
  p->bias = end;
  if (!duspar_add_lines(shape->outputs, sizeof(float), &end)) return false;
  p->scales = end;
  if (!duspar_add_lines(scaled ? width : 0, sizeof(float), &end)) return false;
  p->inverse = end;
  if (!duspar_add_lines(shape->operand_bits != 0, sizeof(float), &end)) {
    return false;
  }
  p->rows = end;
  if (!duspar_add_lines(weights, weight, &end)) return false;
  p->bytes = end;
  return true;
}

static bool usable(void) { return true; }

static bool packed_bytes(const duspar_shape* shape, size_t* bytes) {
  parts p;
  if (!find_parts(shape, &p)) return false;
  *bytes = p.bytes;
  return true;
}

static bool scratch_bytes(const duspar_shape* shape, size_t* bytes) {
  *bytes = 0;
  const bool integers = shape->operand_bits != 0; /* and floats of them */
  return duspar_add_lines(shape->inputs, sizeof(float), bytes) &&
         duspar_add_lines(shape->outputs, 2 * sizeof(float), bytes) &&
         duspar_add_lines(integers ? shape->outputs : 0, 2 * sizeof(int32_t),
                          bytes);
}

static void pack(const duspar_shape* shape, const duspar_cell* cell,
                 void* packed) {
  parts p = {0};
  find_parts(shape, &p); /* packed_bytes has succeeded */
  const size_t vector = shape->outputs * sizeof(float);
  const size_t row = shape->outputs * duspar_weight_bytes(shape->weight_type);
  char* to = packed;
  memcpy(to + p.bias, cell->gate_bias, vector);
  if (shape->weight_type == DUSPAR_INT8) {
    memcpy(to + p.scales, cell->gate_scale, vector);
    memcpy(to + p.scales + vector, cell->candidate_scale, vector);
  }
  if (shape->operand_bits != 0) {
    float* scales = (void*)(to + p.scales);
    for (size_t j = 0; j < 2 * shape->outputs; ++j) {
      scales[j] = cell->operand_scale * scales[j];
    }
    *(float*)(void*)(to + p.inverse) = 1.0f / cell->operand_scale;
  }
  for (size_t i = 0; i < shape->inputs; ++i) {
    char* pair = to + p.rows + 2 * i * row;
    memcpy(pair, (const char*)cell->gate_kernel + i * row, row);
    memcpy(pair + row, (const char*)cell->candidate_kernel + i * row, row);
  }
}

static float sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }

static float from_bfloat16(uint16_t upper) {
  const uint32_t bits = (uint32_t)upper << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Moves the state by the sums of gate and candidate. */
static void blend(size_t outputs, const float* sums, const float* bias,
                  const float* before, float* state) {
  for (size_t j = 0; j < outputs; ++j) {
    const float z = sigmoid(sums[j] + bias[j]);
    const float c = tanhf(sums[outputs + j]);
    const float next = (1.0f - z) * before[j] + z * c;
    state[j] = fabsf(next) <= 0x1p-100f ? 0.0f : next;
  }
}

/* Computes the operand into the front of the scratch memory, and sets `rest`
 * to what is left of that. */
static const float* find_operand(const duspar_shape* shape,
                                 const duspar_step_operand* operand,
                                 void* scratch, void** rest) {
  const size_t bytes = shape->inputs * sizeof(float);
  float* a = scratch;
  for (size_t i = 0; i < shape->inputs; ++i) {
    const float moved =
        operand->state ? operand->state[i] + operand->bias[i] : 0.0f;
    a[i] = operand->x == NULL       ? moved
           : operand->state == NULL ? operand->x[i]
                                    : operand->x[i] - moved;
  }
  if (operand->out != NULL) memcpy(operand->out, a, bytes);
  size_t lines = 0;
  duspar_add_lines(bytes, 1, &lines); /* scratch_bytes has succeeded */
  *rest = (char*)scratch + lines;
  return a;
}

/* Makes a float of weight `j` of a row. */
static float weight_at(duspar_weight_type type, const void* row, size_t j) {
  if (type == DUSPAR_INT8) return ((const int8_t*)row)[j];
  if (type == DUSPAR_BFLOAT16) return from_bfloat16(((const uint16_t*)row)[j]);
  return ((const float*)row)[j];
}

/* An entry of `a` counts unless it is zero or below, so that NaN is not lost.
 */
static size_t step_float(const duspar_shape* shape, const void* packed,
                         const duspar_step_operand* operand,
                         const float* before, float* state, void* scratch) {
  parts p = {0};
  find_parts(shape, &p);
  const duspar_weight_type type = shape->weight_type;
  const size_t width = 2 * shape->outputs;
  const char* row = (const char*)packed + p.rows;
  const float* scales = (const void*)((const char*)packed + p.scales);
  void* rest;
  const float* a = find_operand(shape, operand, scratch, &rest);
  float* sums = rest;
  size_t nonzeros = 0;
  memset(sums, 0, width * sizeof(float));
  for (size_t i = 0; i < shape->inputs; ++i) {
    if (!(a[i] <= 0.0f)) {
      ++nonzeros;
      for (size_t j = 0; j < width; ++j) {
        sums[j] += a[i] * weight_at(type, row, j);
      }
    }
    row += width * duspar_weight_bytes(type);
  }
  if (type == DUSPAR_INT8) {
    for (size_t j = 0; j < width; ++j) sums[j] *= scales[j];
  }
  blend(shape->outputs, sums, packed, before, state);
  return nonzeros;
}

/* The step with operands that are integers. NaN cannot be one: it is put in
 * the place of every sum. */
static size_t step_integer(const duspar_shape* shape, const void* packed,
                           const duspar_step_operand* operand,
                           const float* before, float* state, void* scratch) {
  parts p = {0};
  find_parts(shape, &p);
  const size_t width = 2 * shape->outputs;
  const int8_t* rows = (const void*)((const char*)packed + p.rows);
  const float* scales = (const void*)((const char*)packed + p.scales);
  const float inverse =
      *(const float*)(const void*)((const char*)packed + p.inverse);
  const float most = (float)((1 << shape->operand_bits) - 1);
  void* rest;
  const float* a = find_operand(shape, operand, scratch, &rest);
  float* scaled = rest;
  int32_t* sums = (void*)(scaled + width);
  size_t nonzeros = 0;
  bool lost = false;
  memset(sums, 0, width * sizeof(int32_t));
  for (size_t i = 0; i < shape->inputs; ++i) {
    if (a[i] <= 0.0f) continue;
    const float rounded = fminf(rintf(a[i] * inverse), most);
    const int32_t q = isnan(a[i]) ? 0 : (int32_t)rounded;
    const int8_t* row = rows + i * width;
    lost = lost || isnan(a[i]);
    nonzeros += q != 0 || isnan(a[i]);
    for (size_t j = 0; j < width; ++j) sums[j] += q * row[j];
  }
  for (size_t j = 0; j < width; ++j) {
    const float sum = lost ? NAN : (float)sums[j];
    scaled[j] = sum * scales[j];
  }
  blend(shape->outputs, scaled, packed, before, state);
  return nonzeros;
}

/* A copy of the parameters, which are followed by all that they point to. */
static bool log_mel_bytes(const duspar_log_mel_parameters* p, size_t* packed,
                          size_t* scratch) {
  *packed = 0;
  *scratch = 0;
  return duspar_add_lines(1, sizeof *p, packed) &&
         duspar_add_lines(p->length, sizeof(float), packed) &&
         duspar_add_lines(p->filter_size, sizeof(float), packed) &&
         duspar_add_lines(p->bands, 2 * sizeof(int32_t), packed) &&
         duspar_add_lines(p->bands, 2 * sizeof(float), packed) &&
         duspar_add_lines(p->length / 2 + 1, sizeof(float), scratch);
}

static const void* log_mel_copy(const void* from, size_t count, size_t size,
                                char* packed, size_t* end) {
  char* to = packed + *end;
  if (count > 0) memcpy(to, from, count * size);
  duspar_add_lines(count, size, end); /* log_mel_bytes has succeeded */
  return to;
}

static void log_mel_pack(const duspar_log_mel_parameters* p, void* packed) {
  duspar_log_mel_parameters* q = packed;
  size_t end = 0;
  *q = *p;
  duspar_add_lines(1, sizeof *p, &end);
  q->window = log_mel_copy(p->window, p->length, sizeof(float), packed, &end);
  q->filters =
      log_mel_copy(p->filters, p->filter_size, sizeof(float), packed, &end);
  q->edges = log_mel_copy(p->edges, p->bands, 8, packed, &end);
  q->mean = (const float*)packed + end / sizeof(float);
  memcpy((char*)packed + end, p->mean, p->bands * sizeof(float));
  q->deviation = q->mean + p->bands;
  memcpy((char*)packed + end + p->bands * sizeof(float), p->deviation,
         p->bands * sizeof(float));
}

/* The sum over the samples itself, for every bin. */
static float bin_power(const duspar_log_mel_parameters* p, const float* frame,
                       size_t bin) {
  double real = 0, imag = 0;
  for (size_t i = 0; i < p->length; ++i) {
    const double turns = (double)(bin * i % p->length) / (double)p->length;
    const double x = (double)frame[i] * p->window[i];
    real += x * cos(6.283185307179586477 * turns);
    imag -= x * sin(6.283185307179586477 * turns);
  }
  return (float)(real * real + imag * imag);
}

static void log_mel_run(const void* packed, const float* frame, float* features,
                        void* scratch) {
  const duspar_log_mel_parameters* p = packed;
  const float* filter = p->filters;
  float* power = scratch;
  for (size_t bin = 0; bin <= p->length / 2; ++bin) {
    power[bin] = bin_power(p, frame, bin);
  }
  for (size_t b = 0; b < p->bands; ++b) {
    float sum = 0;
    for (int32_t bin = p->edges[2 * b]; bin < p->edges[2 * b + 1]; ++bin) {
      sum += power[bin] * *filter++;
    }
    features[b] = (logf(sum + p->offset) - p->mean[b]) / p->deviation[b];
  }
}

/* The sizes, the bias, then the kernel as it is given. */
typedef struct dense_packed {
  size_t inputs, outputs;
} dense_packed;

static bool dense_bytes(const duspar_dense_parameters* p, size_t* bytes) {
  size_t count;
  *bytes = 0;
  return duspar_multiply(p->inputs, p->outputs, &count) &&
         duspar_add_lines(1, sizeof(dense_packed), bytes) &&
         duspar_add_lines(p->outputs, sizeof(float), bytes) &&
         duspar_add_lines(count, sizeof(float), bytes);
}

static void dense_pack(const duspar_dense_parameters* p, void* packed) {
  const dense_packed sizes = {p->inputs, p->outputs};
  const size_t row = p->outputs * sizeof(float);
  size_t end = 0;
  memcpy(packed, &sizes, sizeof sizes);
  duspar_add_lines(1, sizeof sizes, &end);
  memset((char*)packed + end, 0, row);
  if (p->bias != NULL) memcpy((char*)packed + end, p->bias, row);
  duspar_add_lines(p->outputs, sizeof(float), &end);
  memcpy((char*)packed + end, p->kernel, p->inputs * row);
}

static void dense_run(const void* packed, const float* x, const float* factor,
                      duspar_activation activation, float* out) {
  const dense_packed* p = packed;
  size_t end = 0;
  duspar_add_lines(1, sizeof *p, &end);
  const float* bias = (const float*)packed + end / sizeof(float);
  duspar_add_lines(p->outputs, sizeof(float), &end);
  const float* kernel = (const float*)packed + end / sizeof(float);
  for (size_t j = 0; j < p->outputs; ++j) {
    float sum = bias[j];
    for (size_t k = 0; k < p->inputs; ++k) sum += *kernel++ * x[k];
    if (activation == DUSPAR_RELU && sum < 0) sum = 0;
    if (activation == DUSPAR_SIGMOID) sum = 1 / (1 + expf(-sum));
    out[j] = factor != NULL ? sum * factor[j] : sum;
  }
}

static void dense_normalize(const duspar_norm* norm, const float* x,
                            float* out) {
  float mean = 0, variance = 0;
  for (size_t i = 0; i < norm->size; ++i) mean += x[i] / (float)norm->size;
  for (size_t i = 0; i < norm->size; ++i) {
    variance += (x[i] - mean) * (x[i] - mean) / (float)norm->size;
  }
  for (size_t i = 0; i < norm->size; ++i) {
    out[i] = (x[i] - mean) / sqrtf(variance + norm->epsilon) * norm->gamma[i] +
             norm->beta[i];
  }
}

static void dense_add_rows(size_t rows, size_t width, const float* x,
                           float* out) {
  for (size_t i = 0; i < width; ++i) {
    double sum = 0;
    for (size_t row = 0; row < rows; ++row) sum += x[row * width + i];
    out[i] = (float)sum;
  }
}

const duspar_variant duspar_variant_reference = {
    .name = "reference",
    .usable = usable,
    .packed_bytes = packed_bytes,
    .scratch_bytes = scratch_bytes,
    .pack = pack,
    .step =
        {
            [DUSPAR_FORMAT_FLOAT32] = step_float,
            [DUSPAR_FORMAT_BFLOAT16] = step_float,
            [DUSPAR_FORMAT_INT8] = step_float,
            [DUSPAR_FORMAT_INTEGER] = step_integer,
        },
    .log_mel = {log_mel_bytes, log_mel_pack, log_mel_run},
    .dense = {dense_bytes, dense_pack, dense_run, dense_normalize,
              dense_add_rows},
};
