// SPDX-License-Identifier: Apache-2.0

#include "time_net.hpp"

namespace resnet {

extern template void time_net<ResNet50>(const examples::Options&);

std::vector<Size> sizes() { return {{"50", time_net<ResNet50>}}; }

}  // namespace resnet
