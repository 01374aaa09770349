// SPDX-License-Identifier: Apache-2.0

#include "model.hpp"

namespace ptb {

extern template void train<small>(const tf::Corpus&, const examples::Options&);
extern template void train<test>(const tf::Corpus&, const examples::Options&);

std::vector<Size> sizes() { return {{"small", train<small>}, {"test", train<test>}}; }

}  // namespace ptb
