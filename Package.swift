// swift-tools-version: 5.9
// The Swift package of tflite/ios; it is here because packages are fetched by
// the address of a whole repository.
import PackageDescription

let package = Package(
  name: "DuSpaR",
  platforms: [.iOS(.v13), .macOS(.v11)],
  products: [
    .library(name: "DuSpaR", targets: ["DuSpaR"])
  ],
  targets: [
    .target(
      name: "CDuSpaR",
      path: "tflite",
      exclude: [
        "CMakeLists.txt", "README.md", "android", "benchmark.py", "benchmarks", "cmake", "convert.py", "examples",
        "fuzz", "ios", "src/training", "tests",
      ],
      sources: ["src"],
      publicHeadersPath: "include",
      cSettings: [.headerSearchPath("src"), .define("DUSPAR_NO_TRAINING")]
    ),
    .target(name: "DuSpaR", dependencies: ["CDuSpaR"], path: "tflite/ios/Sources/DuSpaR"),
  ],
  cLanguageStandard: .c11
)
