package org.tensorflow.lite;

import java.io.Closeable;

/** The names of LiteRT's interface. */
public interface Delegate extends Closeable {
  long getNativeHandle();

  @Override
  default void close() {}
}
