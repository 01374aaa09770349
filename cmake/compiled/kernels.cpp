// SPDX-License-Identifier: Apache-2.0

// The loops of matrix products and convolutions.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/cpu/ops/conv.hpp"
#include "typeflow/cpu/ops/conv_filter_gradient.hpp"
#include "typeflow/cpu/product_choice.hpp"

namespace typeflow::cpu_kernels {

template class DeepProduct<float, DefaultArch>;
template class DeepProduct<double, DefaultArch>;
template class VectorProduct<float, DefaultArch>;
template class VectorProduct<double, DefaultArch>;
template class SmallProducts<float, DefaultArch>;
template class SmallProducts<double, DefaultArch>;
#ifdef __AVX512F__
template class PointProducts<float, DefaultArch>;
template class PointProducts<double, DefaultArch>;
#endif
template class ProductLoops<float, DefaultArch>;
template class ProductLoops<double, DefaultArch>;
template class WindowProduct<float, DefaultArch, false>;
template class WindowProduct<float, DefaultArch, true>;
template class WindowProduct<double, DefaultArch, false>;
template class WindowProduct<double, DefaultArch, true>;
template class FilterProduct<float, DefaultArch>;
template class FilterProduct<double, DefaultArch>;
template class WinogradProduct<float, DefaultArch, false>;
template class WinogradProduct<float, DefaultArch, true>;
template class WinogradProduct<double, DefaultArch, false>;
template class WinogradProduct<double, DefaultArch, true>;
template class WinogradFilterGradient<float, DefaultArch>;
template class WinogradFilterGradient<double, DefaultArch>;

}  // namespace typeflow::cpu_kernels
