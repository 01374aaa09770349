// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions by NVIDIA's cuDNN, as a library of library_convolution.hpp, beside cuBLASLt. Include
// it after <typeflow/cuda.hpp>, and link typeflow::cudnn, or -lcublasLt -lcudnn:
//
//   using Target = tf::BasicCudaTarget<tf::Precision::tf32, tf::CudnnLibraries>;

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#else
#error "typeflow: <typeflow/cuda/cudnn.hpp> needs NVIDIA's cuDNN 9 (cudnn.h)"
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "typeflow/cuda/cublaslt.hpp"
#include "typeflow/cuda/library_convolution.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Throws an Error that names what was done, if it failed.
inline void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error(std::string("cuDNN: ") + what, cudnnGetErrorString(status));
}
/// Whether cuDNN says that it has no algorithm, as opposed to an error.
inline bool is_unsupported(cudnnStatus_t status) {
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
}

/// cuDNN on one GPU: its handle, and the algorithms that it has chosen.
class CudnnDevice {
 public:
  /// The one of a GPU. It lives until the process ends, because it can't be released any more when
  /// the driver has shut down.
  static CudnnDevice& of(int device) {
    static std::mutex mutex;
    static std::map<int, CudnnDevice*> all;
    const std::lock_guard lock(mutex);
    CudnnDevice*& known = all[device];
    if (known == nullptr) known = new CudnnDevice;
    return *known;
  }

  bool convolve(const LibraryConvolution& c, void* workspace, std::int64_t bytes,
                cudaStream_t stream) {
    const std::lock_guard lock(mutex_);  // a handle has one stream at a time
    Plan& plan = plan_of(c, static_cast<std::size_t>(bytes));
    if (plan.count == 0) return false;
    check_cudnn(cudnnSetStream(handle_, stream), "choosing the stream");
    // cuDNN may find only now that an algorithm does not suit.
    while (plan.chosen < plan.count) {
      const Algorithm& algorithm = plan.algorithms[static_cast<std::size_t>(plan.chosen)];
      check_cudnn(cudnnSetConvolutionMathType(plan.convolution, algorithm.math), describing);
      const cudnnStatus_t status =
          run(c, plan, algorithm, workspace, static_cast<std::size_t>(bytes));
      if (status == CUDNN_STATUS_SUCCESS) return true;
      if (!is_unsupported(status)) check_cudnn(status, "a convolution");
      ++plan.chosen;
    }
    return false;
  }

 private:
  CudnnDevice() { check_cudnn(cudnnCreate(&handle_), "opening the library"); }

  static constexpr const char* describing = "describing a convolution";
  static constexpr int most_algorithms = 8;

  struct Algorithm {
    int number;
    cudnnMathType_t math;
  };
  struct Plan {
    cudnnTensorDescriptor_t x;
    cudnnTensorDescriptor_t y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t convolution;
    std::array<Algorithm, most_algorithms> algorithms;
    int count = 0;
    int chosen = 0;
  };
  /// All on which the choice of an algorithm depends.
  using Key = std::array<std::int64_t, 17>;

  Plan& plan_of(const LibraryConvolution& c, std::size_t bytes) {
    const Key key{static_cast<std::int64_t>(c.result),
                  c.samples,
                  c.channels,
                  c.filters,
                  c.groups,
                  c.image[0],
                  c.image[1],
                  c.places[0],
                  c.places[1],
                  c.window[0],
                  c.window[1],
                  c.stride[0],
                  c.stride[1],
                  c.dilation[0],
                  c.dilation[1],
                  c.pad[0],
                  c.pad[1]};
    if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
    Plan plan{};
    describe(c, plan);
    choose(c, plan, bytes);
    return plans_.emplace(key, plan).first->second;
  }

  static void describe(const LibraryConvolution& c, Plan& plan) {
    const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
    check_cudnn(cudnnCreateTensorDescriptor(&plan.x), describing);
    check_cudnn(cudnnCreateTensorDescriptor(&plan.y), describing);
    check_cudnn(cudnnCreateFilterDescriptor(&plan.w), describing);
    check_cudnn(cudnnCreateConvolutionDescriptor(&plan.convolution), describing);
    check_cudnn(
        cudnnSetTensor4dDescriptor(plan.x, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, narrow(c.samples),
                                   narrow(c.channels), narrow(c.image[0]), narrow(c.image[1])),
        describing);
    check_cudnn(
        cudnnSetTensor4dDescriptor(plan.y, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, narrow(c.samples),
                                   narrow(c.filters), narrow(c.places[0]), narrow(c.places[1])),
        describing);
    check_cudnn(cudnnSetFilter4dDescriptor(plan.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC,
                                           narrow(c.filters), narrow(c.channels / c.groups),
                                           narrow(c.window[0]), narrow(c.window[1])),
                describing);
    check_cudnn(cudnnSetConvolution2dDescriptor(
                    plan.convolution, narrow(c.pad[0]), narrow(c.pad[1]), narrow(c.stride[0]),
                    narrow(c.stride[1]), narrow(c.dilation[0]), narrow(c.dilation[1]),
                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                describing);
    check_cudnn(cudnnSetConvolutionGroupCount(plan.convolution, narrow(c.groups)), describing);
    // cuDNN's name for TF32.
    check_cudnn(cudnnSetConvolutionMathType(plan.convolution, CUDNN_DEFAULT_MATH), describing);
  }

  /// cuDNN's proposals, best first: those with the same bits each time that add up products as they
  /// are. (Winograd's and Fourier transforms have greater errors.)
  void choose(const LibraryConvolution& c, Plan& plan, std::size_t bytes) {
    const auto take = [&](const auto& found, int count, const auto& is_sum) {
      for (int i = 0; i < count; ++i) {
        const auto& one = found[static_cast<std::size_t>(i)];
        if (one.status != CUDNN_STATUS_SUCCESS || one.memory > bytes || !is_sum(one.algo) ||
            one.determinism != CUDNN_DETERMINISTIC) {
          continue;
        }
        plan.algorithms[static_cast<std::size_t>(plan.count++)] = {static_cast<int>(one.algo),
                                                                   one.mathType};
      }
    };
    int count = 0;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    switch (c.result) {
      case LibraryConvolution::Result::y: {
        std::array<cudnnConvolutionFwdAlgoPerf_t, most_algorithms> found;
        status =
            cudnnGetConvolutionForwardAlgorithm_v7(handle_, plan.x, plan.w, plan.convolution,
                                                   plan.y, most_algorithms, &count, found.data());
        if (status == CUDNN_STATUS_SUCCESS) {
          take(found, count, [](cudnnConvolutionFwdAlgo_t algorithm) {
            return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
                   algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
                   algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
          });
        }
        break;
      }
      case LibraryConvolution::Result::x: {
        std::array<cudnnConvolutionBwdDataAlgoPerf_t, most_algorithms> found;
        status = cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, plan.w, plan.y,
                                                             plan.convolution, plan.x,
                                                             most_algorithms, &count, found.data());
        if (status == CUDNN_STATUS_SUCCESS) {
          take(found, count, [](cudnnConvolutionBwdDataAlgo_t algorithm) {
            return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ||
                   algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
          });
        }
        break;
      }
      case LibraryConvolution::Result::w: {
        std::array<cudnnConvolutionBwdFilterAlgoPerf_t, most_algorithms> found;
        status = cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            handle_, plan.x, plan.y, plan.convolution, plan.w, most_algorithms, &count,
            found.data());
        if (status == CUDNN_STATUS_SUCCESS) {
          take(found, count, [](cudnnConvolutionBwdFilterAlgo_t algorithm) {
            return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
                   algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
                   algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
          });
        }
        break;
      }
    }
    if (!is_unsupported(status)) check_cudnn(status, "choosing an algorithm");
  }

  cudnnStatus_t run(const LibraryConvolution& c, const Plan& plan, const Algorithm& algorithm,
                    void* workspace, std::size_t bytes) {
    const float one = 1;
    const float zero = 0;
    switch (c.result) {
      case LibraryConvolution::Result::y:
        return cudnnConvolutionForward(handle_, &one, plan.x, c.x, plan.w, c.w, plan.convolution,
                                       static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.number),
                                       workspace, bytes, &zero, plan.y, c.y);
      case LibraryConvolution::Result::x:
        return cudnnConvolutionBackwardData(
            handle_, &one, plan.w, c.w, plan.y, c.y, plan.convolution,
            static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.number), workspace, bytes, &zero,
            plan.x, c.x);
      case LibraryConvolution::Result::w:
        break;
    }
    return cudnnConvolutionBackwardFilter(
        handle_, &one, plan.x, c.x, plan.y, c.y, plan.convolution,
        static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm.number), workspace, bytes, &zero,
        plan.w, c.w);
  }

  std::mutex mutex_;  // guards what follows
  cudnnHandle_t handle_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace detail

/// NVIDIA's cuDNN for convolutions, and cuBLASLt for products, as a library of
/// library_convolution.hpp. Errors are tf::Errors with their text: `cuDNN: a convolution: ...`.
struct Cudnn : CublasLt {
  /// Algorithms that need more are left out.
  static constexpr std::int64_t convolution_workspace = std::int64_t{64} << 20;

  static bool convolve(CudaStream& stream, const LibraryConvolution& convolution, void* memory) {
    return detail::CudnnDevice::of(stream.device())
        .convolve(convolution, memory, convolution_workspace, stream.get());
  }
};

/// The kernels of typeflow, except that cuBLASLt multiplies matrices and cuDNN computes
/// convolutions as TF32: the second argument of BasicCudaTarget.
using CudnnLibraries = LibraryCudaKernels<Cudnn>;

}  // namespace typeflow::inline TYPEFLOW_ISA
