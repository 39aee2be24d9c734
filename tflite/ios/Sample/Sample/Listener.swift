import AVFoundation
import Combine
import DuSpaR

/// Reads the microphone and runs the keyword spotter on it.
@MainActor
final class Listener: ObservableObject {
  @Published private(set) var heard = "..."

  private let engine = AVAudioEngine()
  private var spotter: Spotter?
  private var wanted = false

  init() {
    // Headphones come and go, and calls come in: each stops the engine, and what is recorded
    // afterwards may have another rate.
    let center = NotificationCenter.default
    for name in [.AVAudioEngineConfigurationChange, AVAudioSession.interruptionNotification] {
      _ = center.addObserver(forName: name, object: nil, queue: .main) { [weak self] note in
        let kind = note.userInfo?[AVAudioSessionInterruptionTypeKey] as? UInt
        if kind == AVAudioSession.InterruptionType.began.rawValue { return }
        MainActor.assumeIsolated { self?.listen() }
      }
    }
  }

  func start() async {
    wanted = await AVAudioApplication.requestRecordPermission()
    if wanted { listen() } else { heard = "This app needs the microphone." }
  }

  func stop() {
    wanted = false
    engine.inputNode.removeTap(onBus: 0)
    engine.stop()
  }

  private func listen() {
    guard wanted, !engine.isRunning else { return }
    do {
      try AVAudioSession.sharedInstance().setCategory(.record, mode: .measurement)
      try AVAudioSession.sharedInstance().setActive(true)
      let format = engine.inputNode.outputFormat(forBus: 0)
      guard format.sampleRate > 0 else { throw Missing("There is no microphone.") }
      let spotter = try spotter ?? Spotter { text in Task { @MainActor in self.heard = text } }
      self.spotter = spotter
      engine.inputNode.removeTap(onBus: 0)
      engine.inputNode.installTap(
        onBus: 0, bufferSize: 1024, format: format, block: spotter.tap())
      try engine.start()
    } catch {
      heard = error.localizedDescription
    }
  }
}

private struct Missing: LocalizedError {
  let errorDescription: String?

  init(_ text: String) { errorDescription = text }
}

/// Runs the model on what is recorded, in a queue of its own: nothing else uses what it holds.
private final class Spotter: @unchecked Sendable {
  private let queue = DispatchQueue(label: "spotter")
  private let runner: StreamingRunner
  private let detector: Detector
  private let show: @Sendable (String) -> Void
  private var heard = "..."
  private var recorded = 0.0  // seconds since the last report
  private var seconds = 0.0

  init(show: @escaping @Sendable (String) -> Void) throws {
    guard let path = Bundle.main.path(forResource: "spotter", ofType: "tflite") else {
      throw Missing("Add spotter.tflite to the app.")
    }
    runner = try StreamingRunner.load(path: path)
    detector = try Detector(runner)
    self.show = show
  }

  /// What the audio thread calls.
  func tap() -> AVAudioNodeTapBlock {
    { buffer, _ in
      guard let channel = buffer.floatChannelData?[0] else { return }
      let samples = Array(UnsafeBufferPointer(start: channel, count: Int(buffer.frameLength)))
      let rate = Int(buffer.format.sampleRate)
      self.queue.async { self.take(samples, rate: rate) }
    }
  }

  private func take(_ samples: [Float], rate: Int) {
    do {
      let start = DispatchTime.now().uptimeNanoseconds
      let event = try detector.push(samples, rate: rate).last
      seconds += Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
      recorded += Double(samples.count) / Double(rate)
      if let event = event {
        heard = "\(event.word)  \(String(format: "%.0f %%", 100 * event.confidence))"
      }
      if event == nil && recorded < 1 { return }
      show(describe())
      runner.resetCounters()
      recorded = 0
      seconds = 0
    } catch {
      show(error.localizedDescription)
    }
  }

  private func describe() -> String {
    let shares = runner.occupancy().values.flatMap { $0.values }
    let occupancy = shares.reduce(0, +) / Double(max(shares.count, 1))
    return """
      \(heard)
      occupancy \(String(format: "%.1f %%", 100 * occupancy))
      \(String(format: "%.2f %%", 100 * seconds / recorded)) of the time
      """
  }
}
