# SPDX-License-Identifier: Apache-2.0

# typeflow::typeflow     the library
# typeflow::serial       the same without oneTBB: sessions run on one thread
# typeflow::data         the same and zlib, for typeflow/data.hpp, typeflow/iterators.hpp, typeflow/data/
#                        and typeflow/iterators/
# typeflow::estimators   typeflow::data, typeflow::records and typeflow::saving, for typeflow/estimators.hpp and
#                        typeflow/estimators/
# typeflow::image        the same, stb and zlib, for typeflow/image.hpp and typeflow/image/
# typeflow::jpeg         typeflow::image and libjpeg-turbo, for typeflow/jpeg.hpp and typeflow/jpeg/
# typeflow::linalg       the same and LAPACK, for typeflow/linalg.hpp and typeflow/linalg/
# typeflow::npz          typeflow::data and libzip, for typeflow/npz.hpp and typeflow/npz/
# typeflow::profiler     typeflow::saving and protozero, for typeflow/profiler.hpp and typeflow/profiler/
# typeflow::records      typeflow::data and protozero, for typeflow/records.hpp, typeflow/summaries.hpp
#                        and typeflow/records/
# typeflow::saving       the same, nlohmann_json and zlib, for typeflow/saving.hpp and typeflow/saving/
# typeflow::cuda         the same, for typeflow/cuda.hpp in files that nvcc compiles
# typeflow::cuda_libraries  typeflow::cuda and cuBLASLt, for typeflow/cuda/libraries.hpp
# typeflow::cudnn        typeflow::cuda_libraries and cuDNN, for typeflow/cuda/cudnn.hpp
# typeflow::cusolver     typeflow::cuda_libraries, typeflow::linalg and cuSOLVER, for
#                        typeflow/cuda/cusolver.hpp
# typeflow::native       the same, optimised for the machine that compiles
# typeflow::testing      the same, for typeflow/testing.hpp and typeflow/interpret/
# typeflow::precompiled  the same, its headers precompiled once for each target that links it
# typeflow::compiled     besides one of these: what is no template is compiled once for each target

# The headers under include/ that match, but for those of the wings named after EXCEPT.
function(typeflow_headers result pattern)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/typeflow/*.hpp"
       "${PROJECT_SOURCE_DIR}/include/typeflow/*.ipp")
  list(FILTER headers INCLUDE REGEX "/include/typeflow/${pattern}")
  foreach(wing IN LISTS ARGN)
    list(FILTER headers EXCLUDE REGEX "/include/typeflow/${wing}[./]")
  endforeach()
  set(${result} "${headers}" PARENT_SCOPE)
endfunction()

# Makes typeflow::<name> of the headers that follow.
function(typeflow_library target name)
  add_library(${target} INTERFACE)
  add_library(typeflow::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} INTERFACE
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${ARGN})
endfunction()

# Has a target that links <target> compile these files of cmake/compiled, if <condition> holds and no
# library brings the part already (compiled.cmake).
function(typeflow_compiled_sources target part condition)
  set(is_there "$<BOOL:$<TARGET_PROPERTY:TYPEFLOW_HAS_${part}>>")
  set(build "${PROJECT_SOURCE_DIR}/cmake/compiled")
  set(install "$<INSTALL_PREFIX>/${CMAKE_INSTALL_DATADIR}/cmake/typeflow/compiled")
  foreach(source IN LISTS ARGN)
    target_sources(${target} INTERFACE
      "$<BUILD_INTERFACE:$<$<AND:${condition},$<NOT:${is_there}>>:${build}/${source}>>"
      "$<INSTALL_INTERFACE:$<$<AND:${condition},$<NOT:${is_there}>>:${install}/${source}>>")
  endforeach()
endfunction()
# The same for a wing, if typeflow::compiled is linked, too: then its headers declare alone.
function(typeflow_compiled_wing target part)
  set(is_compiled "$<BOOL:$<TARGET_PROPERTY:TYPEFLOW_COMPILED>>")
  typeflow_compiled_sources(${target} ${part} "${is_compiled}" ${ARGN})
  target_compile_definitions(${target} INTERFACE "$<${is_compiled}:TYPEFLOW_COMPILED_${part}>")
endfunction()

# CUDA's wing needs a CUDA compiler, so it is no part of the file sets that a C++ compiler checks.
typeflow_headers(headers ".*" data estimators iterators image jpeg linalg npz profiler records summaries saving cuda)
typeflow_library(typeflow typeflow ${headers} "${PROJECT_SOURCE_DIR}/include/typeflow/runner.h")

target_compile_features(typeflow INTERFACE cxx_std_20)
# What the library's promises rest on, and no optimisation:
# - models are traced and compiled in constant evaluation, far beyond the compilers' default limits;
# - equal bits whether operations are fused or not need a*b+c never to be contracted silently.
set(gnu "$<COMPILE_LANG_AND_ID:CXX,GNU>")
set(clang "$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>")
set(nvcc "$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>")
set(cuda_clang "$<COMPILE_LANG_AND_ID:CUDA,Clang>")
set(gnu_limits -fconstexpr-ops-limit=4000000000 -fconstexpr-loop-limit=100000000)
set(clang_limits -fconstexpr-steps=2000000000)
list(JOIN gnu_limits "," nvcc_gnu_limits)
target_compile_options(typeflow INTERFACE
  "$<${gnu}:${gnu_limits};-ffp-contract=off>"
  "$<$<OR:${clang},${cuda_clang}>:${clang_limits};-ffp-contract=off>"
  "$<${nvcc}:-std=c++20;--fmad=false;-Xcompiler=-ffp-contract=off>"
  "$<${nvcc}:SHELL:-Xcudafe --max_cost_constexpr_call=2000000000>"
  "$<$<AND:${nvcc},$<CXX_COMPILER_ID:GNU>>:-Xcompiler=${nvcc_gnu_limits}>"
  "$<$<AND:${nvcc},$<CXX_COMPILER_ID:Clang>>:-Xcompiler=${clang_limits}>")
target_link_libraries(typeflow INTERFACE xsimd xtensor TBB::tbb)

add_library(typeflow_serial INTERFACE)
add_library(typeflow::serial ALIAS typeflow_serial)
set_target_properties(typeflow_serial PROPERTIES EXPORT_NAME serial)
target_compile_features(typeflow_serial INTERFACE cxx_std_20)
target_compile_definitions(typeflow_serial INTERFACE TYPEFLOW_SERIAL)
target_compile_options(typeflow_serial INTERFACE
  "$<TARGET_PROPERTY:typeflow,INTERFACE_COMPILE_OPTIONS>")
target_include_directories(typeflow_serial INTERFACE
  "$<TARGET_PROPERTY:typeflow,INTERFACE_INCLUDE_DIRECTORIES>")
target_link_libraries(typeflow_serial INTERFACE xsimd xtensor)

typeflow_headers(headers "(data|iterators)[./]")
typeflow_library(typeflow_data data ${headers})
target_link_libraries(typeflow_data INTERFACE typeflow ZLIB::ZLIB)

typeflow_headers(headers "image[./]")
typeflow_library(typeflow_image image ${headers})
target_link_libraries(typeflow_image INTERFACE typeflow stb::stb ZLIB::ZLIB)

# libjpeg-turbo is optional, as libzip is below.
typeflow_headers(headers "jpeg[./]")
typeflow_library(typeflow_jpeg jpeg ${headers})
target_link_libraries(typeflow_jpeg INTERFACE typeflow_image $<TARGET_NAME_IF_EXISTS:JPEG::JPEG>)

typeflow_headers(headers "linalg[./]")
typeflow_library(typeflow_linalg linalg ${headers})
target_link_libraries(typeflow_linalg INTERFACE typeflow LAPACK::LAPACK)

# libzip is optional: without it the target is there, and the header says what is missing.
typeflow_headers(headers "npz[./]")
typeflow_library(typeflow_npz npz ${headers})
target_link_libraries(typeflow_npz INTERFACE typeflow_data $<TARGET_NAME_IF_EXISTS:libzip::zip>)

typeflow_headers(headers "(records|summaries)[./]")
typeflow_library(typeflow_records records ${headers})
target_link_libraries(typeflow_records INTERFACE typeflow_data protozero::protozero)

typeflow_headers(headers "saving[./]")
typeflow_library(typeflow_saving saving ${headers})
target_link_libraries(typeflow_saving INTERFACE typeflow nlohmann_json::nlohmann_json ZLIB::ZLIB)

typeflow_headers(headers "estimators[./]")
typeflow_library(typeflow_estimators estimators ${headers})
target_link_libraries(typeflow_estimators INTERFACE typeflow_data typeflow_records typeflow_saving)

typeflow_headers(headers "profiler[./]")
typeflow_library(typeflow_profiler profiler ${headers})
target_link_libraries(typeflow_profiler INTERFACE typeflow_saving protozero::protozero)

# Kernels call constexpr functions, which nvcc must be told.
typeflow_headers(headers "cuda[./]")
typeflow_library(typeflow_cuda cuda ${headers})
target_compile_options(typeflow_cuda INTERFACE "$<${nvcc}:--expt-relaxed-constexpr>")
target_link_libraries(typeflow_cuda INTERFACE typeflow)

# NVIDIA's libraries are optional: without them the target is there, and the header says what is missing.
add_library(typeflow_cuda_libraries INTERFACE)
add_library(typeflow::cuda_libraries ALIAS typeflow_cuda_libraries)
set_target_properties(typeflow_cuda_libraries PROPERTIES EXPORT_NAME cuda_libraries)
target_link_libraries(typeflow_cuda_libraries INTERFACE
  typeflow_cuda $<TARGET_NAME_IF_EXISTS:CUDA::cublasLt>)
add_library(typeflow_cudnn INTERFACE)
add_library(typeflow::cudnn ALIAS typeflow_cudnn)
set_target_properties(typeflow_cudnn PROPERTIES EXPORT_NAME cudnn)
target_link_libraries(typeflow_cudnn INTERFACE
  typeflow_cuda_libraries $<TARGET_NAME_IF_EXISTS:cudnn::cudnn>)
add_library(typeflow_cusolver INTERFACE)
add_library(typeflow::cusolver ALIAS typeflow_cusolver)
set_target_properties(typeflow_cusolver PROPERTIES EXPORT_NAME cusolver)
target_link_libraries(typeflow_cusolver INTERFACE
  typeflow_cuda_libraries typeflow_linalg $<TARGET_NAME_IF_EXISTS:CUDA::cusolver>)

# The headers with kernels for GPUs that a program needs which was written for processors: cuda.hpp,
# and the wings that its SOURCES, or headers beside them, include.
function(typeflow_cuda_headers result)
  set(headers typeflow/cuda.hpp)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    file(GLOB files "${folder}/*.hpp")
    foreach(file IN ITEMS "${source}" LISTS files)
      file(STRINGS "${file}" includes REGEX "^#include <typeflow/[a-z_]+\\.hpp>")
      foreach(include IN LISTS includes)
        string(REGEX REPLACE ".*<typeflow/([a-z_]+\\.hpp)>.*" "\\1" header "${include}")
        if(EXISTS "${PROJECT_SOURCE_DIR}/include/typeflow/cuda/${header}")
          list(APPEND headers "typeflow/cuda/${header}")
        endif()
      endforeach()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES headers)
  set(${result} "${headers}" PARENT_SCOPE)
endfunction()

add_library(typeflow_native INTERFACE)
add_library(typeflow::native ALIAS typeflow_native)
set_target_properties(typeflow_native PROPERTIES EXPORT_NAME native)
target_link_libraries(typeflow_native INTERFACE typeflow)
target_compile_options(typeflow_native INTERFACE
  "$<$<OR:${gnu},${clang},${cuda_clang}>:-O3;-march=native>"
  "$<${nvcc}:-O3;-Xcompiler=-march=native>")

add_library(typeflow_precompiled INTERFACE)
add_library(typeflow::precompiled ALIAS typeflow_precompiled)
set_target_properties(typeflow_precompiled PROPERTIES EXPORT_NAME precompiled)
target_link_libraries(typeflow_precompiled INTERFACE typeflow)
target_precompile_headers(typeflow_precompiled INTERFACE <typeflow/typeflow.hpp>)

add_library(typeflow_testing INTERFACE)
add_library(typeflow::testing ALIAS typeflow_testing)
set_target_properties(typeflow_testing PROPERTIES EXPORT_NAME testing)
target_link_libraries(typeflow_testing INTERFACE typeflow)

add_library(typeflow_compiled INTERFACE)
add_library(typeflow::compiled ALIAS typeflow_compiled)
set_target_properties(typeflow_compiled PROPERTIES EXPORT_NAME compiled
  INTERFACE_TYPEFLOW_COMPILED ON COMPATIBLE_INTERFACE_BOOL TYPEFLOW_COMPILED)
target_compile_definitions(typeflow_compiled INTERFACE TYPEFLOW_COMPILED)
typeflow_compiled_sources(typeflow_compiled COMPILED 1 convolutions.cpp runtime.cpp kernels.cpp)
typeflow_compiled_wing(typeflow_testing TESTING testing.cpp)
typeflow_compiled_wing(typeflow_saving SAVING saving.cpp)
typeflow_compiled_wing(typeflow_data DATA data.cpp)
typeflow_compiled_wing(typeflow_image IMAGE image.cpp)
typeflow_compiled_wing(typeflow_jpeg JPEG jpeg.cpp)
typeflow_compiled_wing(typeflow_npz NPZ npz.cpp)
typeflow_compiled_wing(typeflow_records RECORDS records.cpp)
typeflow_compiled_wing(typeflow_profiler PROFILER profiler.cpp)
