package io.github.kerasduspar

import java.nio.ByteBuffer
import org.json.JSONArray
import org.json.JSONException
import org.json.JSONObject

/** An operand of a layer, as a file tells it. */
internal class OperandCost(val name: String, val size: Long, val sparse: Boolean)

/** A layer, as a file tells it. */
internal class LayerCost(val name: String, val operands: List<OperandCost>)

/** What a file keeps for [Detector]. */
internal class DetectorSettings(
    val window: Double,
    val smoothing: Double,
    val refractory: Double,
    val thresholds: List<Double?>,
)

/** What a `.tflite` file of keras_duspar says of itself. */
internal class Description(text: String) {
    val task: String?
    val labels: List<String>?
    val sampleRate: Int?
    val hop: Int?
    val delay: Int
    val streaming: Boolean
    val ops: String?
    val weights: String?
    val outputs: List<String>
    val states: List<String>

    /** Pairs of layer and counter: the entries of the output `counts`. */
    val counters: List<Pair<String, String>>
    val layers: List<LayerCost>
    val detector: DetectorSettings?

    init {
        try {
            val json = JSONObject(text)
            val format = json.getInt("format")
            require(format <= FORMAT) {
                "`model` must have metadata of format $FORMAT or older, not $format: use a newer keras_duspar."
            }
            task = json.text("task")
            labels = json.list("labels")?.map { it.toString() }
            sampleRate = if (json.isNull("sample_rate")) null else json.getInt("sample_rate")
            hop = if (json.isNull("hop")) null else json.getInt("hop")
            delay = json.optInt("delay", 0)
            streaming = json.optBoolean("streaming", false)
            ops = json.text("ops")
            weights = json.text("weights")
            outputs = json.list("outputs").orEmpty().map { (it as JSONObject).getString("name") }
            states = json.list("states").orEmpty().map { it.toString() }
            counters = json.list("counters").orEmpty().map { (it as JSONArray).getString(0) to it.getString(1) }
            layers = json.list("layers").orEmpty().map { layer(it as JSONObject) }
            detector = if (json.isNull("detector")) null else settings(json.getJSONObject("detector"))
        } catch (e: JSONException) {
            throw IllegalArgumentException("`model` must have metadata that can be read: ${e.message}", e)
        } catch (e: ClassCastException) {
            throw IllegalArgumentException("`model` must have metadata that can be read: ${e.message}", e)
        }
    }

    private fun settings(json: JSONObject): DetectorSettings {
        val thresholds = json.getJSONArray("thresholds")
        return DetectorSettings(
            json.getDouble("window"),
            json.getDouble("smoothing"),
            json.getDouble("refractory"),
            List(thresholds.length()) { if (thresholds.isNull(it)) null else thresholds.getDouble(it) },
        )
    }

    private fun layer(json: JSONObject) =
        LayerCost(
            json.getString("name"),
            json.list("operands").orEmpty().map {
                it as JSONObject
                OperandCost(it.getString("name"), it.getLong("size"), it.getBoolean("sparse"))
            },
        )

    companion object {
        private const val FORMAT = 1

        /** Reads the description in the bytes of a file. */
        fun read(model: ByteBuffer): Description {
            require(model.isDirect) { "`model` must be a direct or a mapped ByteBuffer." }
            val found = Native.loaded().metadata(model, "keras_duspar".toByteArray())
            requireNotNull(found) { "`model` must be a file that keras_duspar has written: this one has no metadata of it." }
            return Description(String(found))
        }

        private fun JSONObject.text(key: String): String? = if (isNull(key)) null else getString(key)

        private fun JSONObject.list(key: String): List<Any>? {
            if (isNull(key)) return null
            val array = getJSONArray(key)
            return List(array.length()) { array.get(it) }
        }
    }
}
