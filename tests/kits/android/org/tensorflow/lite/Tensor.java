package org.tensorflow.lite;

import java.nio.ByteBuffer;

/** The names of LiteRT's interface that the kit uses. */
public interface Tensor {
  int numBytes();

  ByteBuffer asReadOnlyBuffer();
}
