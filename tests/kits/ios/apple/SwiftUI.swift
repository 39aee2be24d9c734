// The names of Apple's framework that the sample app uses, as its documentation has them: nothing
// here runs.
import Combine

@MainActor @preconcurrency public protocol View {}
@MainActor @preconcurrency public protocol Scene {}

@MainActor @preconcurrency public protocol App {
  associatedtype Body: Scene
  var body: Body { get }
  init()
}

extension App {
  public static func main() {}
}

extension Never: Scene, View {}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

public struct EnvironmentValues {
  public var scenePhase: ScenePhase { .active }
}

@propertyWrapper
public struct Environment<Value> {
  public init(_ path: KeyPath<EnvironmentValues, Value>) {}
  public var wrappedValue: Value { fatalError() }
}

@propertyWrapper
@MainActor @preconcurrency public struct StateObject<Value: ObservableObject> {
  public init(wrappedValue: @autoclosure @escaping () -> Value) {}
  public var wrappedValue: Value { fatalError() }
}

public struct Font: Sendable { public static let title = Font() }
public enum TextAlignment: Sendable { case center }

public struct Text: View {
  public init(_ content: String) {}
  public func font(_ font: Font?) -> Text { self }
}

extension View {
  public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { self }
  public func padding() -> some View { self }
}

public struct WindowGroup<Content: View>: Scene {
  public init(content: () -> Content) {}
}

extension Scene {
  public func onChange<Value: Equatable>(
    of value: Value, initial: Bool = false, _ action: @escaping (Value, Value) -> Void
  ) -> some Scene { self }
}
