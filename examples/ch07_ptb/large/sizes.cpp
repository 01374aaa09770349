// SPDX-License-Identifier: Apache-2.0

#include "../model.hpp"

namespace ptb {

extern template void train<medium>(const tf::Corpus&, const examples::Options&);
extern template void train<large>(const tf::Corpus&, const examples::Options&);

std::vector<Size> sizes() { return {{"medium", train<medium>}, {"large", train<large>}}; }

}  // namespace ptb
