package io.github.kerasduspar.sample

import android.Manifest
import android.app.Activity
import android.content.pm.PackageManager
import android.os.Bundle
import android.view.Gravity
import android.widget.TextView

/** Listens while it is on screen; shows the word, the occupancy and the share of the time it takes. */
class MainActivity : Activity() {
    private lateinit var text: TextView
    private var listener: Listener? = null

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        text = TextView(this)
        text.gravity = Gravity.CENTER
        text.textSize = 28f
        setContentView(text)
        if (checkSelfPermission(Manifest.permission.RECORD_AUDIO) != PackageManager.PERMISSION_GRANTED) {
            requestPermissions(arrayOf(Manifest.permission.RECORD_AUDIO), 1)
        }
    }

    override fun onResume() {
        super.onResume()
        if (checkSelfPermission(Manifest.permission.RECORD_AUDIO) != PackageManager.PERMISSION_GRANTED) {
            text.text = "This app needs the microphone."
            return
        }
        listener = Listener(assets) { heard -> runOnUiThread { text.text = heard } }
        listener?.start()
    }

    override fun onPause() {
        listener?.finish()
        listener = null
        super.onPause()
    }
}
