import SwiftUI

/// Listens while it is on screen; shows the word, the occupancy and the share of the time it takes.
@main
struct SampleApp: App {
  @StateObject private var listener = Listener()
  @Environment(\.scenePhase) private var phase

  var body: some Scene {
    WindowGroup {
      Text(listener.heard)
        .font(.title)
        .multilineTextAlignment(.center)
        .padding()
    }
    .onChange(of: phase) { _, phase in
      if phase == .active { Task { await listener.start() } } else { listener.stop() }
    }
  }
}
