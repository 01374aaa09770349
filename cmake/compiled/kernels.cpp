// SPDX-License-Identifier: Apache-2.0

// The loops of matrix products and copies.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/cpu/pattern_copy.ipp"
#include "typeflow/cpu/product_choice.hpp"
#include "typeflow/cpu/strided_copy.ipp"

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

template void StridedCopy::copy<1, false>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<1, true>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<2, false>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<2, true>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<4, false>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<4, true>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<8, false>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<8, true>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<16, false>(const KernelCall&, const void*, void*) const;
template void StridedCopy::copy<16, true>(const KernelCall&, const void*, void*) const;

}  // namespace typeflow::cpu_kernels
