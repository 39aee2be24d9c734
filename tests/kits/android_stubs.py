"""Just enough of Android's names to compile the sample app against.

Signatures only, as Android's documentation has them: nothing here runs.
"""

STUBS = {
    "android.Manifest": """public class Manifest {
  public static class permission {
    public static final String RECORD_AUDIO = "android.permission.RECORD_AUDIO";
  }
}""",
    "android.annotation.SuppressLint": """public @interface SuppressLint {
  String[] value();
}""",
    "android.app.Activity": """import android.content.Context;

public class Activity extends Context {
  protected void onCreate(android.os.Bundle state) {}
  protected void onResume() {}
  protected void onPause() {}
  public void setContentView(android.view.View view) {}
  public final void requestPermissions(String[] permissions, int code) {}
  public final void runOnUiThread(Runnable action) {}
}""",
    "android.content.Context": """public class Context {
  public int checkSelfPermission(String permission) { return 0; }
  public android.content.res.AssetManager getAssets() { return null; }
}""",
    "android.content.pm.PackageManager": """public class PackageManager {
  public static final int PERMISSION_GRANTED = 0;
}""",
    "android.media.AudioFormat": """public class AudioFormat {
  public static final int CHANNEL_IN_MONO = 16;
  public static final int ENCODING_PCM_16BIT = 2;
}""",
    "android.media.AudioRecord": """public class AudioRecord {
  public static final int STATE_INITIALIZED = 1;
  public AudioRecord(int source, int rate, int channels, int format, int size) {
  }
  public static int getMinBufferSize(int rate, int channels, int format) {
    return 0;
  }
  public int getState() { return 0; }
  public int getSampleRate() { return 0; }
  public void startRecording() {}
  public void release() {}
  public int read(short[] data, int offset, int size) { return 0; }
}""",
    "android.media.MediaRecorder": """public class MediaRecorder {
  public static final class AudioSource {
    public static final int VOICE_RECOGNITION = 6;
  }
}""",
    "android.os.Bundle": "public final class Bundle {}",
    "android.view.Gravity": """public class Gravity {
  public static final int CENTER = 17;
}""",
    "android.view.View": "public class View {}",
    "android.widget.TextView": """import android.view.View;

public class TextView extends View {
  public TextView(android.content.Context context) {}
  public void setText(CharSequence text) {}
  public CharSequence getText() { return null; }
  public void setGravity(int gravity) {}
  public int getGravity() { return 0; }
  public void setTextSize(float size) {}
  public float getTextSize() { return 0; }
}""",
}


def write_stubs(folder):
    """Writes the sources; returns their paths."""
    paths = []
    for name, source in STUBS.items():
        package, _, _ = name.rpartition(".")
        path = folder / f"{name.replace('.', '/')}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"package {package};\n\n{source}\n")
        paths.append(path)
    return paths
