// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products by NVIDIA's cuBLASLt, as a library of library_product.hpp.

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#else
#error \
    "typeflow: <typeflow/cuda/libraries.hpp> needs cuBLASLt (cublasLt.h), which is in CUDA's toolkit"
#endif

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "typeflow/cuda/library_product.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Throws an Error that names what was done, if it failed.
inline void check_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("cuBLASLt: ") + what, cublasLtGetStatusString(status));
}

/// cuBLASLt on one GPU: its handle, and the algorithms that it has chosen.
class CublasLtDevice {
 public:
  /// The one of a GPU. It lives until the process ends, because it can't be released any more when
  /// the driver has shut down.
  static CublasLtDevice& of(int device) {
    static std::mutex mutex;
    static std::map<int, CublasLtDevice*> all;
    const std::lock_guard lock(mutex);
    CublasLtDevice*& known = all[device];
    if (known == nullptr) known = new CublasLtDevice;
    return *known;
  }

  bool multiply(const LibraryProduct& p, void* workspace, std::int64_t bytes, cudaStream_t stream) {
    const Description description(p);
    const Choice choice = choice_of(p, description, bytes);
    if (!choice.is_possible) return false;
    const float one = 1;
    const float zero = 0;
    const double double_one = 1;
    const double double_zero = 0;
    const bool is_double = p.results == DType::float64;
    const void* const alpha = is_double ? static_cast<const void*>(&double_one) : &one;
    const void* const beta = is_double ? static_cast<const void*>(&double_zero) : &zero;
    check_cublas(
        cublasLtMatmul(handle_, description.operation(), alpha, p.a.data, description.a(), p.b.data,
                       description.b(), beta, p.d.data, description.d(), p.d.data, description.d(),
                       &choice.algorithm, workspace, static_cast<std::size_t>(bytes), stream),
        "multiplying matrices");
    return true;
  }

 private:
  CublasLtDevice() { check_cublas(cublasLtCreate(&handle_), "opening the library"); }

  static cudaDataType_t type_of(DType type) {
    switch (type) {
      case DType::float64:
        return CUDA_R_64F;
      case DType::float16:
        return CUDA_R_16F;
      case DType::bfloat16:
        return CUDA_R_16BF;
      default:
        return CUDA_R_32F;
    }
  }

  /// A product in cuBLASLt's words.
  class Description {
   public:
    explicit Description(const LibraryProduct& p) {
      const cublasComputeType_t compute = p.results == DType::float64 ? CUBLAS_COMPUTE_64F
                                          : p.as_tf32                 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                      : CUBLAS_COMPUTE_32F;
      check_cublas(cublasLtMatmulDescInit(&operation_, compute, type_of(p.results)), describing);
      set(CUBLASLT_MATMUL_DESC_TRANSA, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
      set(CUBLASLT_MATMUL_DESC_TRANSB, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
      if (p.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
      if (p.bias != nullptr || p.relu) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.bias == nullptr ? CUBLASLT_EPILOGUE_RELU
                                           : p.relu          ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                             : CUBLASLT_EPILOGUE_BIAS);
      }
      place(a_, p.a, p.operands, p.m, p.k, p.matrices);
      place(b_, p.b, p.operands, p.k, p.n, p.matrices);
      place(d_, p.d, p.stored, p.m, p.n, p.matrices);
    }

    // cuBLASLt takes no pointers to constants, and changes nothing.

    cublasLtMatmulDesc_t operation() const { return const_cast<cublasLtMatmulDesc_t>(&operation_); }
    cublasLtMatrixLayout_t a() const { return const_cast<cublasLtMatrixLayout_t>(&a_); }
    cublasLtMatrixLayout_t b() const { return const_cast<cublasLtMatrixLayout_t>(&b_); }
    cublasLtMatrixLayout_t d() const { return const_cast<cublasLtMatrixLayout_t>(&d_); }

   private:
    static constexpr const char* describing = "describing a product";

    template <class T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
      check_cublas(cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof value),
                   describing);
    }
    static void place(cublasLtMatrixLayoutOpaque_t& layout, const LibraryMatrix& matrix, DType type,
                      std::int64_t rows, std::int64_t columns, std::int64_t matrices) {
      if (matrix.transposed) std::swap(rows, columns);
      check_cublas(
          cublasLtMatrixLayoutInit(&layout, type_of(type), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), matrix.leading),
          describing);
      const auto batch = static_cast<std::int32_t>(matrices);
      check_cublas(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                    &batch, sizeof batch),
                   describing);
      check_cublas(
          cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &matrix.apart, sizeof matrix.apart),
          describing);
    }

    cublasLtMatmulDescOpaque_t operation_;
    cublasLtMatrixLayoutOpaque_t a_, b_, d_;
  };

  struct Choice {
    bool is_possible;
    cublasLtMatmulAlgo_t algorithm;
  };
  /// All on which the choice of an algorithm depends.
  using Key = std::array<std::int64_t, 20>;
  /// The largest power of two that divides an address, up to the 16 bytes that algorithms ask for.
  static std::uint32_t alignment_of(const void* data) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return static_cast<std::uint32_t>(std::min<std::uintptr_t>(16, address & (0 - address)));
  }

  /// cuBLASLt's first proposal. It is asked once for each size, so that a product has the same bits
  /// whenever it runs.
  Choice choice_of(const LibraryProduct& p, const Description& description, std::int64_t bytes) {
    const std::uint32_t aligned[] = {alignment_of(p.a.data), alignment_of(p.b.data),
                                     alignment_of(p.d.data)};
    const Key key{p.m,
                  p.n,
                  p.k,
                  p.matrices,
                  static_cast<std::int64_t>(p.operands),
                  static_cast<std::int64_t>(p.stored),
                  p.as_tf32,
                  p.a.transposed,
                  p.b.transposed,
                  p.a.leading,
                  p.b.leading,
                  p.d.leading,
                  p.a.apart,
                  p.b.apart,
                  p.d.apart,
                  p.bias != nullptr,
                  p.relu,
                  aligned[0],
                  aligned[1],
                  aligned[2]};
    const std::lock_guard lock(mutex_);
    if (const auto known = choices_.find(key); known != choices_.end()) return known->second;
    cublasLtMatmulPreferenceOpaque_t preference;
    constexpr const char* choosing = "choosing an algorithm";
    check_cublas(cublasLtMatmulPreferenceInit(&preference), choosing);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(
          cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
          choosing);
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(bytes));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned[0]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned[1]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned[2]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned[2]);
    // Parts of a long depth are added up as floats, also if the result has 16 bits.
    if (p.stored != p.results) {
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
          static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    }
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, description.operation(), description.a(), description.b(), description.d(),
        description.d(), &preference, 1, &found, &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, choosing);
    const bool is_possible =
        status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
    return choices_.emplace(key, Choice{is_possible, found.algo}).first->second;
  }

  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::map<Key, Choice> choices_;
};

}  // namespace detail

/// NVIDIA's cuBLASLt as a library of library_product.hpp. Errors are tf::Errors with its text:
/// `cuBLASLt: multiplying matrices: ...`.
struct CublasLt {
  /// What NVIDIA recommends for its fastest algorithms.
  static constexpr std::int64_t workspace = std::int64_t{32} << 20;

  static bool multiply(CudaStream& stream, const LibraryProduct& product, void* memory) {
    return detail::CublasLtDevice::of(stream.device())
        .multiply(product, memory, workspace, stream.get());
  }
};

/// The same, which also adds biases of 16 bits, and computes relu.
struct CublasLtEpilogues : CublasLt {
  static constexpr bool has_epilogues = true;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
