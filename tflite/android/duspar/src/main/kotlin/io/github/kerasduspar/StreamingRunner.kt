package io.github.kerasduspar

import java.io.Closeable
import java.io.File
import java.io.FileInputStream
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.FileChannel
import org.tensorflow.lite.Interpreter

/**
 * Runs a streaming `.tflite` file, chunk by chunk, as `keras_duspar.tflite.load` does in Python.
 *
 * ```
 * val runner = StreamingRunner.load(file)
 * for (new in runner.push(samples, 48000)) play(new) // any number of samples, at any rate
 * val scores = runner.step(chunk) // or runner.samples new samples, from -1 to 1
 * runner.reset() // the next recording
 * ```
 *
 * [Detector] tells the words that a keyword spotter hears.
 *
 * The states stay in the runner. One thread at a time may use it. Files with `ops="sparse"` run with a
 * [DuSpaRDelegate] of the runner's own, files with `ops="builtin"` without.
 */
class StreamingRunner private constructor(
    model: ByteBuffer,
    numThreads: Int,
    kernel: String?,
) : Closeable {
    private val about = Description.read(model)
    private val delegate: DuSpaRDelegate?
    private val interpreter: Interpreter
    private val signature: String

    /** What the model does, or null. */
    val task: String? get() = about.task

    /** The classes, or null. */
    val labels: List<String>? get() = about.labels

    /** Samples a second, or null. */
    val sampleRate: Int? get() = about.sampleRate

    /** Samples from one frame to the next, or null. */
    val hop: Int? get() = about.hop

    /** Samples by which audio comes out late. */
    val delay: Int get() = about.delay

    /** "sparse" or "builtin". */
    val ops: String? get() = about.ops

    /** How sparse operators store their kernels. */
    val weights: String? get() = about.weights

    internal val detector: DetectorSettings? get() = about.detector

    /** Names of the outputs. */
    val outputs: List<String> get() = about.outputs

    /** Names of the states. */
    val states: List<String> get() = about.states

    /** Samples in a chunk, or time steps times features. */
    val samples: Int

    private val chunk: ByteBuffer

    // Two buffers a state: what a call writes, the next one reads.
    private val inputs: List<Map<String, ByteBuffer>>
    private val results: List<Map<String, ByteBuffer>>
    private var turn = 0
    private val totals = LongArray(about.counters.size)
    private var incoming = 0L // for `incomingRate`
    private var incomingRate = 0

    init {
        require(numThreads > 0) { "`numThreads` must be positive, not $numThreads." }
        require(about.streaming) {
            "`model` must be a streaming file: convert with `streaming=True`. This one takes whole inputs: " +
                "give it to an Interpreter with a DuSpaRDelegate."
        }
        delegate = if (about.ops == "sparse") DuSpaRDelegate(kernel) else null
        val options = Interpreter.Options().setNumThreads(numThreads)
        delegate?.let { options.addDelegate(it) }
        interpreter =
            try {
                Interpreter(model, options)
            } catch (e: Throwable) {
                delegate?.close()
                throw e
            }
        try {
            signature = requireNotNull(interpreter.signatureKeys.firstOrNull()) { "`model` must be a file with a signature." }
            val name = interpreter.getSignatureInputs(signature).firstOrNull { it !in about.states }
            requireNotNull(name) { "`model` must be a file with an input beside its states." }
            chunk = allocate(inputBytes(name))
            samples = chunk.capacity() / Float.SIZE_BYTES
            val sides = List(2) { about.states.associateWith { allocate(inputBytes(it)) } }
            inputs = sides.map { it + (name to chunk) }
            results = sides.reversed()
        } catch (e: Throwable) {
            close()
            throw e
        }
    }

    private fun inputBytes(name: String) = interpreter.getInputTensorFromSignature(name, signature).numBytes()

    /**
     * Runs the next chunk of a stream.
     *
     * @param chunk [samples] new samples
     * @return what is new of the first output; empty if nothing is
     */
    fun step(chunk: FloatArray): FloatArray {
        run(chunk)
        return read(about.outputs.first())
    }

    /** Runs the next chunk of a stream and returns what is new of all outputs, by name. */
    fun stepAll(chunk: FloatArray): Map<String, FloatArray> {
        run(chunk)
        return about.outputs.associateWith { read(it) }
    }

    /**
     * Takes what was recorded, as it comes: any number of samples, at any rate.
     *
     * NaN is silence, and what is beyond full scale is cut off there. Samples that fill no chunk wait for the next call.
     *
     * @param samples from -1 to 1
     * @param rate samples per second, from 8000 to 48000; by default the model's
     * @return what [step] returns, for each chunk that is full
     */
    @JvmOverloads
    fun push(samples: FloatArray, rate: Int = ownRate()): List<FloatArray> =
        pushAll(samples.size, rate) { input, start -> Native.inputPush(input, samples, start) }

    /** Takes what was recorded, in 16 bits. */
    @JvmOverloads
    fun push(samples: ShortArray, rate: Int = ownRate()): List<FloatArray> =
        pushAll(samples.size, rate) { input, start -> Native.inputPushShorts(input, samples, start) }

    private fun ownRate() = requireNotNull(about.sampleRate) { "`push` needs a file that takes audio." }

    private fun pushAll(count: Int, rate: Int, push: (Long, Int) -> Int): List<FloatArray> {
        if (rate != incomingRate) {
            val made = Native.inputCreate(rate, ownRate(), samples)
            Native.inputDestroy(incoming)
            incoming = made
            incomingRate = rate
        }
        val found = mutableListOf<FloatArray>()
        val new = FloatArray(samples)
        var start = 0
        while (start < count) {
            start += push(incoming, start)
            while (Native.inputPull(incoming, new)) {
                val output = step(new)
                val spoiled = output.any { !it.isFinite() }
                if (spoiled) zeroStates()
                found += if (spoiled) FloatArray(output.size) else output
            }
        }
        return found
    }

    private fun run(new: FloatArray) {
        require(new.size == samples) { "`chunk` must have $samples samples, not ${new.size}." }
        chunk.clear()
        chunk.asFloatBuffer().put(new)
        for (buffer in inputs[turn].values + results[turn].values) buffer.clear()
        // Only states are copied; the size of an output may change, so it is
        // read afterwards.
        interpreter.runSignature(inputs[turn], results[turn], signature)
        turn = 1 - turn
        if (totals.isNotEmpty()) {
            val counts = tensor(COUNTS).asReadOnlyBuffer().order(ByteOrder.nativeOrder()).asIntBuffer()
            for (i in totals.indices) totals[i] += counts.get(i).toLong()
        }
    }

    private fun tensor(name: String) = interpreter.getOutputTensorFromSignature(name, signature)

    private fun read(name: String): FloatArray {
        val size = tensor(name).numBytes() / Float.SIZE_BYTES
        val values = FloatArray(size)
        if (size > 0) tensor(name).asReadOnlyBuffer().order(ByteOrder.nativeOrder()).asFloatBuffer().get(values)
        return values
    }

    /** Begins a new stream: sets all states to zero. */
    fun reset() {
        if (incoming != 0L) Native.inputReset(incoming)
        zeroStates()
    }

    private fun zeroStates() {
        for (state in about.states) {
            val buffer = inputs[turn].getValue(state)
            for (i in 0 until buffer.capacity()) buffer.put(i, 0)
        }
    }

    /**
     * Share of the entries that were not zero, since the counters were last reset, by layer and operand.
     *
     * Empty for a file with `ops="builtin"` that was converted without `count=True`.
     */
    fun occupancy(): Map<String, Map<String, Double>> {
        val counted = counters()
        return about.layers
            .filter { (counted[it.name]?.get(STEPS) ?: 0L) > 0L }
            .associate { layer ->
                val counts = counted.getValue(layer.name)
                layer.name to
                    layer.operands.associate {
                        val entries = counts.getValue(STEPS).toDouble() * it.size
                        it.name to if (it.sparse) (counts[it.name] ?: 0L) / entries else 1.0
                    }
            }
    }

    /** Sets all counters to zero. */
    fun resetCounters() {
        totals.fill(0)
        delegate?.resetCounters()
    }

    private fun counters(): Map<String, Map<String, Long>> {
        val found = mutableMapOf<String, MutableMap<String, Long>>()

        fun add(layer: String, counter: String, number: Long) {
            found.getOrPut(layer) { mutableMapOf() }.merge(counter, number, Long::plus)
        }
        about.counters.forEachIndexed { i, (layer, counter) -> add(layer, counter, totals[i]) }
        // A layer that is called twice has two operators.
        for (operator in delegate?.operators().orEmpty()) {
            add(operator.layer, STEPS, operator.steps)
            for (operand in operator.operands) add(operator.layer, operand.name, operand.nonzeros)
        }
        return found
    }

    override fun close() {
        Native.inputDestroy(incoming)
        incoming = 0
        incomingRate = 0
        interpreter.close()
        delegate?.close()
    }

    companion object {
        private const val COUNTS = "counts"
        private const val STEPS = "steps"

        /**
         * Loads a streaming file.
         *
         * @param model the bytes of the file, mapped or in a direct buffer of native order
         * @param numThreads threads for built-in operators
         * @param kernel name of the delegate's kernel; without it the fastest is taken
         */
        @JvmStatic
        @JvmOverloads
        fun load(model: ByteBuffer, numThreads: Int = 1, kernel: String? = null) =
            StreamingRunner(model, numThreads, kernel)

        /** Loads a streaming file from storage. */
        @JvmStatic
        @JvmOverloads
        fun load(file: File, numThreads: Int = 1, kernel: String? = null): StreamingRunner =
            FileInputStream(file).channel.use {
                load(it.map(FileChannel.MapMode.READ_ONLY, 0, it.size()), numThreads, kernel)
            }

        private fun allocate(bytes: Int) = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())
    }
}
