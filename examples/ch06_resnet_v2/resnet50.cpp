// SPDX-License-Identifier: Apache-2.0

#include "time_net.hpp"

static_assert(resnet::tf::parameters<resnet::ResNet50::forward>() == 25'568'360);
template void resnet::time_net<resnet::ResNet50>(const examples::Options&);
