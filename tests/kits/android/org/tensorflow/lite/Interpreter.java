package org.tensorflow.lite;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The methods of LiteRT's class that the kit uses, over TFLite's C library. Their signatures are
 * those of TensorFlow's tensorflow/lite/java/src/main/java/org/tensorflow/lite/Interpreter.java,
 * commit 6b1457f1.
 *
 * <p>That library knows no signatures: the file `duspar.signature` tells, line by line, `key NAME`,
 * `in NAME TENSOR` and `out NAME TENSOR`. As in LiteRT, buffers must fit, and outputs that are not
 * asked for are not copied.
 */
public final class Interpreter implements AutoCloseable {
  static {
    System.loadLibrary("interpreter_jni");
  }

  public static class Options {
    private int threads = 1;
    private final List<Delegate> delegates = new ArrayList<>();

    public Options setNumThreads(int count) {
      threads = count;
      return this;
    }

    public Options addDelegate(Delegate delegate) {
      delegates.add(delegate);
      return this;
    }
  }

  /** How many are not closed. */
  public static int living = 0;

  private final ByteBuffer model; // keeps the memory
  private long handle;
  private String key;
  private final Map<String, Integer> inputs = new LinkedHashMap<>();
  private final Map<String, Integer> outputs = new LinkedHashMap<>();

  public Interpreter(ByteBuffer model, Options options) {
    this.model = model;
    long[] delegates = options.delegates.stream().mapToLong(Delegate::getNativeHandle).toArray();
    handle = create(model, delegates, options.threads);
    ++living;
    try {
      for (String line : Files.readAllLines(Paths.get(System.getProperty("duspar.signature")))) {
        String[] words = line.split(" ");
        switch (words[0]) {
          case "key" -> key = words[1];
          case "in" -> inputs.put(words[1], place(false, Integer.parseInt(words[2])));
          case "out" -> outputs.put(words[1], place(true, Integer.parseInt(words[2])));
          default -> throw new IllegalStateException(line);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private int place(boolean output, int tensor) {
    int[] all = tensors(handle, output);
    for (int i = 0; i < all.length; ++i) {
      if (all[i] == tensor) return i;
    }
    throw new IllegalStateException("no tensor " + tensor);
  }

  public String[] getSignatureKeys() {
    return new String[] {key};
  }

  public String[] getSignatureInputs(String signature) {
    return inputs.keySet().toArray(new String[0]);
  }

  public Tensor getInputTensorFromSignature(String name, String signature) {
    return tensor(false, inputs.get(name));
  }

  public Tensor getOutputTensorFromSignature(String name, String signature) {
    return tensor(true, outputs.get(name));
  }

  public void runSignature(
      Map<String, Object> given, Map<String, Object> wanted, String signature) {
    if (given.size() != inputs.size()) throw new IllegalArgumentException("inputs are missing");
    for (Map.Entry<String, Object> entry : given.entrySet()) {
      ByteBuffer source = (ByteBuffer) entry.getValue();
      int place = inputs.get(entry.getKey());
      if (source.capacity() != size(handle, false, place)) {
        throw new IllegalArgumentException("Cannot copy to " + entry.getKey());
      }
      data(handle, false, place).put(source);
    }
    invoke(handle);
    for (Map.Entry<String, Object> entry : wanted.entrySet()) {
      ((ByteBuffer) entry.getValue()).put(data(handle, true, outputs.get(entry.getKey())));
    }
  }

  private Tensor tensor(boolean output, int place) {
    return new Tensor() {
      @Override
      public int numBytes() {
        return size(handle, output, place);
      }

      @Override
      public ByteBuffer asReadOnlyBuffer() {
        return data(handle, output, place).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
      }
    };
  }

  @Override
  public void close() {
    destroy(handle);
    handle = 0;
    --living;
  }

  private static native long create(ByteBuffer model, long[] delegates, int threads);

  private static native void destroy(long handle);

  private static native int[] tensors(long handle, boolean output);

  private static native int size(long handle, boolean output, int place);

  private static native ByteBuffer data(long handle, boolean output, int place);

  private static native void invoke(long handle);
}
