package io.github.kerasduspar

import org.tensorflow.lite.Delegate

/** A vector whose zeros an operator skips, and what was counted of it. */
data class Operand(
    val name: String,
    /** Entries of the vector in one step. */
    val size: Long,
    /** Products that one entry costs if it is not zero. */
    val fan: Long,
    val nonzeros: Long,
    /** Entries in all: size times steps. */
    val entries: Long,
)

/** One DuSpaR or SpaR layer of a model, and what it has counted. */
data class Operator(
    val layer: String,
    val op: String,
    /** What runs it; empty before tensors are allocated. */
    val kernel: String,
    val features: Long,
    val units: Long,
    val invocations: Long,
    val steps: Long,
    val operands: List<Operand>,
)

/**
 * The delegate that runs the sparse operators of a converted model.
 *
 * ```
 * val delegate = DuSpaRDelegate()
 * val interpreter = Interpreter(model, Interpreter.Options().addDelegate(delegate))
 * ```
 *
 * Close it after the interpreters that use it. It may be used from any thread.
 *
 * @param kernel name of the kernel to use; without it the fastest is taken
 */
class DuSpaRDelegate @JvmOverloads constructor(kernel: String? = null) : Delegate {
    private var handle: Long = Native.loaded().create(kernel?.toByteArray())

    /** What LiteRT's interpreter asks for. */
    @Synchronized
    override fun getNativeHandle(): Long = open()

    @Synchronized
    override fun close() {
        if (handle != 0L) Native.destroy(handle)
        handle = 0L
    }

    /** The operators that the delegate has taken over, in the model's order. */
    @Synchronized
    fun operators(): List<Operator> =
        List(Native.count(open())) { index ->
            val texts = String(Native.texts(handle, index)).split('\u0000')
            val numbers = Native.numbers(handle, index)
            Operator(
                layer = texts[0],
                op = texts[1],
                kernel = texts[2],
                features = numbers[0],
                units = numbers[1],
                invocations = numbers[2],
                steps = numbers[3],
                operands =
                    texts.drop(3).mapIndexed { i, name ->
                        val at = 4 + 4 * i
                        Operand(name, numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3])
                    },
            )
        }

    /** Sets all counters to zero. */
    @Synchronized
    fun resetCounters() {
        for (index in 0 until Native.count(open())) Native.reset(handle, index)
    }

    private fun open(): Long {
        check(handle != 0L) { "The DuSpaRDelegate is closed." }
        return handle
    }

    companion object {
        /** Version of the native library, such as "0.2.0". */
        @JvmStatic
        val version: String get() = String(Native.loaded().version())

        /** Features of the processor that kernels ask for. */
        @JvmStatic
        val cpuFeatures: List<String>
            get() = String(Native.loaded().features()).split(' ').filter { it.isNotEmpty() }
    }
}
