// Drives the kit for `test_ios.py`.
import DuSpaR
import Foundation

/// Prints `name: message` of what a block throws.
func refuses(_ name: String, _ block: () throws -> Void) {
  do {
    try block()
    print("\(name): nothing")
  } catch {
    print("\(name): \(type(of: error)) \(error.localizedDescription)")
  }
}

func text<T>(_ value: T?) -> String { value.map { "\($0)" } ?? "null" }

func describe(_ runner: StreamingRunner) {
  print("task \(text(runner.task))")
  print("labels \(text(runner.labels.map { "[\($0.joined(separator: ", "))]" }))")
  print("rates \(text(runner.sampleRate)) \(text(runner.hop)) \(runner.samples) \(runner.delay)")
  print("kinds \(text(runner.ops)) \(text(runner.weights))")
}

func stream(_ name: String, _ runner: StreamingRunner, _ audio: [Float]) throws {
  for start in stride(from: 0, through: audio.count - runner.samples, by: runner.samples) {
    let new = try runner.step(Array(audio[start..<start + runner.samples]))
    print("\(name) \(new.map { "\($0)" }.joined(separator: " "))")
  }
}

func report(_ name: String, _ events: [Event]) {
  for e in events { print("\(name) \(e.start) \(e.end) \(e.confidence) \(e.word)") }
}

/// Sound at another rate, in pieces, as floats and in 16 bits; then scores of which the events are
/// known.
func listen(_ path: String, _ audio: [Float], _ rate: Int, _ lines: [String]) throws {
  let runner = try StreamingRunner.load(path: path)
  let detector = try Detector(runner)
  var events: [Event] = []
  for start in stride(from: 0, to: audio.count, by: 777) {
    events += try detector.push(Array(audio[start..<min(start + 777, audio.count)]), rate: rate)
  }
  report("floats", events)
  try detector.reset()
  report("shorts", try detector.push(audio.map { Int16(($0 * 32768).rounded()) }, rate: rate))
  try detector.reset()
  report("spoiled", try detector.push([Float](repeating: .nan, count: rate), rate: rate))
  let loud = try runner.push([Float](repeating: .infinity, count: 16000))
  print("finite \(loud.allSatisfy { $0.allSatisfy { $0.isFinite } })")
  refuses("rate") { _ = try detector.push(audio, rate: 7000) }
  refuses("scores") { _ = try detector.step([0]) }
  let rows = lines.map { $0.split(separator: " ").map(String.init) }
  let numbers = rows[1].map { Double($0)! }
  let shared = try Detector(
    labels: rows[0], thresholds: rows[2].map { Double($0) }, seconds: numbers[0],
    window: numbers[1], smoothing: numbers[2], refractory: numbers[3])
  report("shared", try rows[3...].compactMap { try shared.step($0.map { Float($0)! }) })
  refuses("source") { _ = try shared.push(audio) }
  refuses("thresholds") {
    _ = try Detector(
      labels: ["a"], thresholds: [0], seconds: 1, window: 1, smoothing: 1, refractory: 1)
  }
}

let path = CommandLine.arguments[1]
let bytes = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[2]))
let audio = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
if CommandLine.arguments.count > 3 {
  let text = try String(contentsOfFile: CommandLine.arguments[4], encoding: .utf8)
  try listen(path, audio, Int(CommandLine.arguments[3])!, text.components(separatedBy: "\n"))
  exit(0)
}
print("version \(DuSpaRDelegate.version)")
print("features \(DuSpaRDelegate.cpuFeatures.joined(separator: " "))")

let runner = try StreamingRunner.load(path: path)
describe(runner)
try stream("first", runner, audio)
for (layer, operands) in runner.occupancy() {
  for (operand, share) in operands { print("occupancy \(layer) \(operand) \(share)") }
}
try runner.reset()
runner.resetCounters()
print("counted {\(runner.occupancy().keys.joined())}")
try stream("again", runner, audio)
refuses("chunk") { _ = try runner.step([0, 0, 0]) }
refuses("threads") { _ = try StreamingRunner.load(path: path, threadCount: 0) }
refuses("damaged") { _ = try StreamingRunner.load(path: CommandLine.arguments[2]) }
refuses("kernel") { _ = try DuSpaRDelegate(kernel: "grün") }
let delegate = try DuSpaRDelegate(kernel: "reference")
let handle: UnsafeMutableRawPointer = .init(delegate.cDelegate)
print("handle \(handle == delegate.pointer) \(delegate.operators())")
