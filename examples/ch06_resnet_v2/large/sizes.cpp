// SPDX-License-Identifier: Apache-2.0

#include "../time_net.hpp"

namespace resnet {

extern template void time_net<ResNet101>(const examples::Options&);
extern template void time_net<ResNet152>(const examples::Options&);
extern template void time_net<ResNet200>(const examples::Options&);

std::vector<Size> sizes() {
  return {{"152", time_net<ResNet152>}, {"101", time_net<ResNet101>}, {"200", time_net<ResNet200>}};
}

}  // namespace resnet
