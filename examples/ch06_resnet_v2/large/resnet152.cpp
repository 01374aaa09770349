// SPDX-License-Identifier: Apache-2.0

#include "../time_net.hpp"

static_assert(resnet::tf::parameters<resnet::ResNet152::forward>() == 60'236'904);
template void resnet::time_net<resnet::ResNet152>(const examples::Options&);
