// The names of Apple's framework that the sample app uses, as its documentation has them: nothing
// here runs. What is deprecated in iOS 17 is left out.
@_exported import Foundation

public final class AVAudioFormat {
  public var sampleRate: Double { 0 }
}

public final class AVAudioTime {}

public final class AVAudioPCMBuffer {
  public var format: AVAudioFormat { fatalError() }
  public var frameLength: UInt32 { 0 }
  public var floatChannelData: UnsafePointer<UnsafeMutablePointer<Float>>? { nil }
}

public typealias AVAudioNodeTapBlock = (AVAudioPCMBuffer, AVAudioTime) -> Void

public final class AVAudioInputNode {
  public func outputFormat(forBus bus: Int) -> AVAudioFormat { fatalError() }
  public func installTap(
    onBus bus: Int, bufferSize: UInt32, format: AVAudioFormat?, block: @escaping AVAudioNodeTapBlock
  ) {}
  public func removeTap(onBus bus: Int) {}
}

public final class AVAudioEngine {
  public init() {}
  public var inputNode: AVAudioInputNode { fatalError() }
  public var isRunning: Bool { false }
  public func start() throws {}
  public func stop() {}
}

extension NSNotification.Name {
  public static let AVAudioEngineConfigurationChange = NSNotification.Name("change")
}

public let AVAudioSessionInterruptionTypeKey = "key"

public final class AVAudioSession {
  public enum InterruptionType: UInt, Sendable { case ended, began }
  public struct Category: Sendable { public static let record = Category() }
  public struct Mode: Sendable { public static let measurement = Mode() }
  public static let interruptionNotification = NSNotification.Name("interruption")
  public class func sharedInstance() -> AVAudioSession { fatalError() }
  public func setCategory(_ category: Category, mode: Mode) throws {}
  public func setActive(_ active: Bool) throws {}
}

public final class AVAudioApplication {
  public class func requestRecordPermission() async -> Bool { false }
}
