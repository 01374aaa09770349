// SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear algebra of large matrices by NVIDIA's cuSOLVER, as a library of library_solver.hpp, beside
// cuBLASLt. Include it after <typeflow/cuda.hpp>, and link typeflow::cusolver, or -lcublasLt
// -lcusolver:
//
//   using Target = tf::BasicCudaTarget<tf::Precision::exact, tf::CusolverLibraries>;

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#else
#error \
    "typeflow: <typeflow/cuda/cusolver.hpp> needs cuSOLVER (cusolverDn.h), which is in CUDA's toolkit"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "typeflow/cuda/cublaslt.hpp"
#include "typeflow/cuda/library_solver.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Throws an Error that names what was done, if it failed.
inline void check_cusolver(cusolverStatus_t status, const char* what) {
  const char* text = "an error of the library";
  switch (status) {
    case CUSOLVER_STATUS_SUCCESS:
      return;
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      text = "the library is not initialized";
      break;
    case CUSOLVER_STATUS_ALLOC_FAILED:
      text = "memory is missing";
      break;
    case CUSOLVER_STATUS_INVALID_VALUE:
      text = "a wrong argument";
      break;
    case CUSOLVER_STATUS_ARCH_MISMATCH:
      text = "the GPU is not supported";
      break;
    case CUSOLVER_STATUS_EXECUTION_FAILED:
      text = "the execution failed";
      break;
    case CUSOLVER_STATUS_NOT_SUPPORTED:
      text = "not supported";
      break;
    default:
      break;
  }
  throw Error(std::string("cuSOLVER: ") + what,
              std::string(text) + " (status " + std::to_string(static_cast<int>(status)) + ")");
}

/// cuSOLVER on one GPU: its handle, and the host's memory for its routines.
class CusolverDevice {
 public:
  /// The one of a GPU, which is this thread's. It lives until the process ends, because it can't be
  /// released any more when the driver has shut down.
  static CusolverDevice& of(int device) {
    static std::mutex mutex;
    static std::map<int, CusolverDevice*> all;
    const std::lock_guard lock(mutex);
    CusolverDevice*& known = all[device];
    if (known == nullptr) known = new CusolverDevice;
    return *known;
  }

  /// Bytes of the GPU's memory for a call.
  std::int64_t workspace(const SolverCall& call) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(room_of(call).device);
  }
  bool solve(const SolverCall& call, void* workspace, std::int64_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);  // a handle has one stream at a time
    check_cusolver(cusolverDnSetStream(handle_, stream), "choosing the stream");
    const Room room = room_of(call);
    if (room.device > static_cast<std::size_t>(bytes)) return false;
    // A routine is done with the host's memory when it returns.
    if (room.host > host_.size()) host_.resize(room.host);
    run(call, workspace, room);
    return true;
  }

 private:
  struct Room {
    std::size_t device = 0;
    std::size_t host = 0;
  };

  CusolverDevice() {
    constexpr const char* opening = "opening the library";
    check_cusolver(cusolverDnCreate(&handle_), opening);
    check_cusolver(cusolverDnCreateParams(&settings_), opening);
    // The same bits in each run.
    check_cusolver(cusolverDnSetDeterministicMode(handle_, CUSOLVER_DETERMINISTIC_RESULTS),
                   opening);
  }

  static cudaDataType type_of(const SolverCall& call) {
    return call.type == DType::float64 ? CUDA_R_64F : CUDA_R_32F;
  }
  static constexpr cublasFillMode_t upper = CUBLAS_FILL_MODE_UPPER;
  static constexpr signed char reduced = 'S';  // min(rows, columns) vectors

  Room room_of(const SolverCall& call) {
    constexpr const char* asking = "asking for the size of a workspace";
    const cudaDataType type = type_of(call);
    const std::int64_t m = call.rows;
    const std::int64_t n = call.columns;
    Room room;
    switch (call.routine) {
      case SolverRoutine::getrf:
        check_cusolver(cusolverDnXgetrf_bufferSize(handle_, settings_, m, n, type, call.a, m, type,
                                                   &room.device, &room.host),
                       asking);
        break;
      case SolverRoutine::getrs:
        break;
      case SolverRoutine::potrf:
        check_cusolver(cusolverDnXpotrf_bufferSize(handle_, settings_, upper, n, type, call.a, m,
                                                   type, &room.device, &room.host),
                       asking);
        break;
      case SolverRoutine::geqrf:
        check_cusolver(cusolverDnXgeqrf_bufferSize(handle_, settings_, m, n, type, call.a, m, type,
                                                   call.values, type, &room.device, &room.host),
                       asking);
        break;
      case SolverRoutine::orgqr:
        room.device = elements_of_orgqr(call) * static_cast<std::size_t>(size_of(call.type));
        break;
      case SolverRoutine::syevd:
        check_cusolver(cusolverDnXsyevd_bufferSize(handle_, settings_, CUSOLVER_EIG_MODE_VECTOR,
                                                   upper, n, type, call.a, m, type, call.values,
                                                   type, &room.device, &room.host),
                       asking);
        break;
      case SolverRoutine::gesvd:
        check_cusolver(cusolverDnXgesvd_bufferSize(handle_, settings_, reduced, reduced, m, n, type,
                                                   call.a, m, type, call.values, type, call.b, m,
                                                   type, call.c, n, type, &room.device, &room.host),
                       asking);
        break;
    }
    return room;
  }
  std::size_t elements_of_orgqr(const SolverCall& call) {
    const auto m = static_cast<int>(call.rows);
    const auto p = static_cast<int>(std::min(call.rows, call.columns));
    int elements = 0;
    constexpr const char* asking = "asking for the size of a workspace";
    if (call.type == DType::float64) {
      check_cusolver(cusolverDnDorgqr_bufferSize(handle_, m, p, p, static_cast<double*>(call.a), m,
                                                 static_cast<double*>(call.values), &elements),
                     asking);
    } else {
      check_cusolver(cusolverDnSorgqr_bufferSize(handle_, m, p, p, static_cast<float*>(call.a), m,
                                                 static_cast<float*>(call.values), &elements),
                     asking);
    }
    return static_cast<std::size_t>(elements);
  }

  void run(const SolverCall& call, void* workspace, const Room& room) {
    const cudaDataType type = type_of(call);
    const std::int64_t m = call.rows;
    const std::int64_t n = call.columns;
    void* const host = host_.data();
    switch (call.routine) {
      case SolverRoutine::getrf:
        return check_cusolver(
            cusolverDnXgetrf(handle_, settings_, m, n, type, call.a, m, call.pivots, type,
                             workspace, room.device, host, room.host, call.info),
            "an LU decomposition");
      case SolverRoutine::getrs:
        return check_cusolver(
            cusolverDnXgetrs(handle_, settings_, call.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                             call.right, type, call.a, m, call.pivots, type, call.b, m, call.info),
            "solving a system");
      case SolverRoutine::potrf:
        return check_cusolver(cusolverDnXpotrf(handle_, settings_, upper, n, type, call.a, m, type,
                                               workspace, room.device, host, room.host, call.info),
                              "a Cholesky decomposition");
      case SolverRoutine::geqrf:
        return check_cusolver(
            cusolverDnXgeqrf(handle_, settings_, m, n, type, call.a, m, type, call.values, type,
                             workspace, room.device, host, room.host, call.info),
            "a QR decomposition");
      case SolverRoutine::orgqr:
        return check_cusolver(run_orgqr(call, workspace, room), "the Q of a QR decomposition");
      case SolverRoutine::syevd:
        return check_cusolver(cusolverDnXsyevd(handle_, settings_, CUSOLVER_EIG_MODE_VECTOR, upper,
                                               n, type, call.a, m, type, call.values, type,
                                               workspace, room.device, host, room.host, call.info),
                              "eigenvalues");
      case SolverRoutine::gesvd:
        return check_cusolver(
            cusolverDnXgesvd(handle_, settings_, reduced, reduced, m, n, type, call.a, m, type,
                             call.values, type, call.b, m, type, call.c, n, type, workspace,
                             room.device, host, room.host, call.info),
            "singular values");
    }
  }
  cusolverStatus_t run_orgqr(const SolverCall& call, void* workspace, const Room& room) {
    const auto m = static_cast<int>(call.rows);
    const auto p = static_cast<int>(std::min(call.rows, call.columns));
    const auto elements =
        static_cast<int>(room.device / static_cast<std::size_t>(size_of(call.type)));
    if (call.type == DType::float64) {
      return cusolverDnDorgqr(handle_, m, p, p, static_cast<double*>(call.a), m,
                              static_cast<double*>(call.values), static_cast<double*>(workspace),
                              elements, call.info);
    }
    return cusolverDnSorgqr(handle_, m, p, p, static_cast<float*>(call.a), m,
                            static_cast<float*>(call.values), static_cast<float*>(workspace),
                            elements, call.info);
  }

  std::mutex mutex_;  // guards what follows
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t settings_ = nullptr;
  std::vector<std::byte> host_;
};

}  // namespace detail

/// NVIDIA's cuSOLVER for large matrices, beside another library: CublasLt, or Cudnn. Errors are
/// tf::Errors with its text: `cuSOLVER: an LU decomposition: ...`.
template <class Base = CublasLt>
struct WithCusolver : Base {
  /// Our kernels have a multiprocessor for each matrix, cuSOLVER the whole GPU for one after the
  /// other.
  static constexpr bool is_large(std::int64_t side, std::int64_t count) {
    return side >= 256 && count <= side / 64;
  }
  static std::int64_t solver_workspace(const SolverCall& call) {
    int device = 0;
    if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
      throw Error("cuSOLVER: finding the device", cudaGetErrorString(error));
    }
    return detail::CusolverDevice::of(device).workspace(call);
  }
  static bool solve(CudaStream& stream, const SolverCall& call, void* workspace,
                    std::int64_t bytes) {
    return detail::CusolverDevice::of(stream.device()).solve(call, workspace, bytes, stream.get());
  }
};

/// The kernels of typeflow, except that cuSOLVER has large matrices of <typeflow/linalg.hpp>, and
/// cuBLASLt matrix products: the second argument of BasicCudaTarget. With cuDNN, too:
/// LibraryCudaKernels<WithCusolver<Cudnn>>.
using CusolverLibraries = LibraryCudaKernels<WithCusolver<>>;

}  // namespace typeflow::inline TYPEFLOW_ISA
