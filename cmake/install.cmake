# SPDX-License-Identifier: Apache-2.0

# Headers, targets and the package files behind find_package(typeflow).

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/typeflow")
install(TARGETS typeflow typeflow_serial typeflow_cuda typeflow_cuda_libraries typeflow_cudnn typeflow_cusolver typeflow_data typeflow_estimators typeflow_image typeflow_jpeg typeflow_linalg typeflow_npz typeflow_profiler typeflow_records
        typeflow_saving typeflow_native typeflow_testing typeflow_precompiled typeflow_compiled
        EXPORT typeflowTargets FILE_SET HEADERS)
install(EXPORT typeflowTargets NAMESPACE typeflow:: DESTINATION "${package_dir}")

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/typeflowConfig.cmake.in" "${PROJECT_BINARY_DIR}/typeflowConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/typeflowConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  "${PROJECT_BINARY_DIR}/typeflowConfig.cmake"
  "${PROJECT_BINARY_DIR}/typeflowConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/compiled.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findcudnn.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findlibzip.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findprotozero.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/Findstb.cmake"
  DESTINATION "${package_dir}")
install(DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/compiled" DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
