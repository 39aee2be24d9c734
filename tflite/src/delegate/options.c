#include "delegate/options.h"

#include <string.h>

#include "base/error.h"
#include "delegate/flexbuffer.h"

static duspar_status read_integer(file_bytes buffer, flex_value map,
                                  const char* key, int64_t* number) {
  flex_value value;
  const flex_lookup lookup = flex_find(buffer, map, key, &value);
  if (lookup == FLEX_ABSENT) {
    return duspar_fail(DUSPAR_INVALID, "the option `%s` is missing", key);
  }
  if (lookup == FLEX_BROKEN || !flex_integer(buffer, value, number)) {
    return duspar_fail(DUSPAR_INVALID, "the option `%s` is no integer", key);
  }
  return DUSPAR_OK;
}

/* Finds which of three names the option is; -1 if it is none of them. */
static int read_choice(file_bytes buffer, flex_value map, const char* key,
                       const char* const names[3]) {
  flex_value value;
  const char* text;
  size_t length;
  if (flex_find(buffer, map, key, &value) == FLEX_FOUND &&
      flex_text(buffer, value, &text, &length)) {
    for (int i = 0; i < 3; ++i) {
      if (length == strlen(names[i]) && memcmp(text, names[i], length) == 0) {
        return i;
      }
    }
  }
  return -1;
}

static duspar_status fail_choice(const char* key, const char* const names[3]) {
  return duspar_fail(DUSPAR_INVALID,
                     "the option `%s` must be one of '%s', '%s', '%s'", key,
                     names[0], names[1], names[2]);
}

static duspar_status read_weight_type(file_bytes buffer, flex_value map,
                                      duspar_weight_type* type) {
  static const char* const names[] = {"float32", "bfloat16", "int8"};
  const int choice = read_choice(buffer, map, "weights", names);
  if (choice < 0) return fail_choice("weights", names);
  *type = (duspar_weight_type)choice;
  return DUSPAR_OK;
}

/* Models made before operands could be integers do not have this option. */
static duspar_status read_operand_bits(file_bytes buffer, flex_value map,
                                       duspar_weight_type type, int32_t* bits) {
  static const char* const names[] = {"float32", "uint7", "uint8"};
  static const int32_t found[] = {0, 7, 8};
  flex_value value;
  *bits = 0;
  if (flex_find(buffer, map, "operands", &value) == FLEX_ABSENT) {
    return DUSPAR_OK;
  }
  const int choice = read_choice(buffer, map, "operands", names);
  if (choice < 0) return fail_choice("operands", names);
  if (choice > 0 && type != DUSPAR_INT8) {
    return duspar_fail(DUSPAR_INVALID,
                       "the option `operands` can be '%s' only if `weights` is "
                       "'int8'",
                       names[choice]);
  }
  *bits = found[choice];
  return DUSPAR_OK;
}

static duspar_status read_layer(file_bytes buffer, flex_value map, char* layer,
                                size_t room) {
  flex_value value;
  const char* text;
  size_t length;
  const flex_lookup lookup = flex_find(buffer, map, "layer", &value);
  layer[0] = '\0';
  if (lookup == FLEX_ABSENT) return DUSPAR_OK;
  if (lookup == FLEX_BROKEN || !flex_text(buffer, value, &text, &length) ||
      length >= room || memchr(text, '\0', length) != NULL) {
    return duspar_fail(DUSPAR_INVALID,
                       "the option `layer` must be a text of at most %zu "
                       "bytes",
                       room - 1);
  }
  memcpy(layer, text, length);
  layer[length] = '\0';
  return DUSPAR_OK;
}

/* Opens the map of options, if they are of a version that is known. */
static duspar_status open_map(const void* bytes, size_t size,
                              file_bytes* buffer, flex_value* map) {
  int64_t version;
  *buffer = (file_bytes){bytes, bytes == NULL ? 0 : size};
  if (!flex_root(*buffer, map)) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator's options are no FlexBuffers map");
  }
  const duspar_status status = read_integer(*buffer, *map, "version", &version);
  if (status == DUSPAR_OK && version != 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator has version %lld, this library knows "
                       "version 1: convert the model anew, or update the "
                       "library",
                       (long long)version);
  }
  return status;
}

static duspar_status read_count(file_bytes buffer, flex_value map,
                                const char* key, int64_t* number) {
  const duspar_status status = read_integer(buffer, map, key, number);
  if (status == DUSPAR_OK && (*number < 1 || *number > INT32_MAX)) {
    return duspar_fail(DUSPAR_INVALID,
                       "the option `%s` must be in 1 to 2147483647, not %lld",
                       key, (long long)*number);
  }
  return status;
}

duspar_status duspar_log_mel_options_parse(const void* bytes, size_t size,
                                           duspar_log_mel_options* options) {
  file_bytes buffer;
  flex_value map;
  *options = (duspar_log_mel_options){0};
  duspar_status status = open_map(bytes, size, &buffer, &map);
  if (status == DUSPAR_OK) {
    status = read_count(buffer, map, "hop", &options->hop);
  }
  if (status != DUSPAR_OK) return status;
  return read_layer(buffer, map, options->layer, sizeof options->layer);
}

duspar_status duspar_options_parse(const void* bytes, size_t size,
                                   duspar_options* o) {
  file_bytes buffer;
  flex_value map;
  *o = (duspar_options){0};
  duspar_status status = open_map(bytes, size, &buffer, &map);
  if (status != DUSPAR_OK) return status;
  status = read_layer(buffer, map, o->layer, sizeof o->layer);
  if (status == DUSPAR_OK) status = read_count(buffer, map, "units", &o->units);
  if (status == DUSPAR_OK) {
    status = read_weight_type(buffer, map, &o->weight_type);
  }
  if (status != DUSPAR_OK) return status;
  return read_operand_bits(buffer, map, o->weight_type, &o->operand_bits);
}
