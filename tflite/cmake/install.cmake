# For apps in C and C++: the library, its header, and how pkg-config and CMake
# find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(duspar PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${interface})
install(TARGETS duspar EXPORT duspar)
install(DIRECTORY include/ TYPE INCLUDE)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/duspar")
install(EXPORT duspar FILE duspar-config.cmake NAMESPACE duspar::
        DESTINATION "${package}")
write_basic_package_version_file(duspar-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/duspar-config-version.cmake"
        DESTINATION "${package}")

# The installed folder may be moved as a whole.
file(RELATIVE_PATH prefix_from_pc
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/duspar.pc.in duspar.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/duspar.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
