#include "base/writing.h"

#if !defined(DUSPAR_MICRO)

#include <stdio.h>

size_t duspar_write_list(char* text, size_t room, const char* format,
                         va_list arguments) {
  const int length = vsnprintf(text, room, format, arguments);
  return length < 0 ? 0 : (size_t)length;
}

#else /* newlib's needs malloc, and 10 KB */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct writer {
  char* text;
  size_t room, length;
} writer;

static void put(writer* w, char letter) {
  if (w->length + 1 < w->room) w->text[w->length] = letter;
  ++w->length;
}

static void put_text(writer* w, const char* text) {
  while (*text != '\0') put(w, *text++);
}

static void put_unsigned(writer* w, uint64_t number, int digits) {
  char found[20];
  int count = 0;
  for (; number > 0 || count < digits; number /= 10) {
    found[count++] = (char)('0' + number % 10);
  }
  while (count > 0) put(w, found[--count]);
}

static void put_integer(writer* w, int64_t number) {
  if (number < 0) put(w, '-');
  put_unsigned(w, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

/* Six digits of a float, with an exponent where it is large or small. Between
 * two numbers of six digits it may take the other one than printf does. */
static void put_float(writer* w, double number) {
  int exponent = 0, behind = 5;
  if (signbit(number)) put(w, '-');
  if (isnan(number) || isinf(number)) {
    put_text(w, isnan(number) ? "nan" : "inf");
    return;
  }
  number = fabs(number);
  for (; number >= 10; ++exponent) number /= 10;
  for (; number > 0 && number < 1; --exponent) number *= 10;
  uint32_t digits = (uint32_t)(number * 1e5 + 0.5);
  if (digits == 1000000) {
    digits = 100000;
    ++exponent;
  }
  const bool plain = exponent >= -4 && exponent < 6;
  if (plain) behind -= exponent;
  while (behind > 0 && digits % 10 == 0) {
    digits /= 10;
    --behind;
  }
  uint32_t power = 1;
  for (int i = 0; i < behind; ++i) power *= 10;
  put_unsigned(w, digits / power, 1);
  if (behind > 0) {
    put(w, '.');
    put_unsigned(w, digits % power, behind);
  }
  if (plain) return;
  put_text(w, exponent < 0 ? "e-" : "e+");
  put_unsigned(w, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
}

size_t duspar_write_list(char* text, size_t room, const char* format,
                         va_list arguments) {
  writer w = {text, room, 0};
  for (; *format != '\0'; ++format) {
    if (*format != '%') {
      put(&w, *format);
      continue;
    }
    switch (*++format) {
      case 's':
        put_text(&w, va_arg(arguments, const char*));
        break;
      case 'c':
        put(&w, (char)va_arg(arguments, int));
        break;
      case 'd':
        put_integer(&w, va_arg(arguments, int));
        break;
      case 'z': /* zu */
        put_unsigned(&w, va_arg(arguments, size_t), 1);
        ++format;
        break;
      case 'l': /* lld */
        put_integer(&w, va_arg(arguments, long long));
        format += 2;
        break;
      case 'g':
        put_float(&w, va_arg(arguments, double));
        break;
      default: /* no message has another */
        put(&w, '?');
    }
  }
  if (room > 0) text[w.length < room ? w.length : room - 1] = '\0';
  return w.length;
}

#endif /* DUSPAR_MICRO */
