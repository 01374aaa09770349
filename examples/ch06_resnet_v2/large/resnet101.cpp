// SPDX-License-Identifier: Apache-2.0

#include "../time_net.hpp"

static_assert(resnet::tf::parameters<resnet::ResNet101::forward>() == 44'577'896);
template void resnet::time_net<resnet::ResNet101>(const examples::Options&);
