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

let path = CommandLine.arguments[1]
let bytes = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[2]))
let audio = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
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
print("handle \(delegate.cDelegate != nil) \(delegate.operators())")
