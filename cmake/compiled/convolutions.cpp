// SPDX-License-Identifier: Apache-2.0

// The loops of convolutions.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/cpu/ops/conv.hpp"
#include "typeflow/cpu/ops/conv_filter_gradient.hpp"

namespace typeflow::cpu_kernels {

template class WindowProduct<float, DefaultArch, false>;
template class WindowProduct<float, DefaultArch, true>;
template class WindowProduct<double, DefaultArch, false>;
template class WindowProduct<double, DefaultArch, true>;
template class FilterProduct<float, DefaultArch>;
template class FilterProduct<double, DefaultArch>;
template class WinogradProduct<float, DefaultArch>;
template class WinogradProduct<double, DefaultArch>;
template class WinogradFilterGradient<float, DefaultArch>;
template class WinogradFilterGradient<double, DefaultArch>;

}  // namespace typeflow::cpu_kernels
