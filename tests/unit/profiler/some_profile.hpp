// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeflow/profiler/profile.hpp>

/// A profile made by hand: seven calls of four kernels, of which a loop has one, on two devices.
inline typeflow::Profile some_profile() {
  typeflow::Profile profile;
  profile.devices = {{"/cpu:0", 1e9, 2e9, 4096, 1024}, {"/gpu:0", 0, 0, 512, 512}};
  profile.variables = {{"net/fc1/W", "float [3, 4]", 12, 48, true},
                       {"net/fc1/b", "float [4]", 4, 16, true},
                       {"steps", "int []", 1, 4, false}};
  profile.steps.resize(5);
  profile.steps[0] = {"net/fc1/Relu",
                      "MatMul",
                      {"MatMul", "Add", "Relu"},
                      "net.cpp",
                      5,
                      0,
                      2,
                      8e-3,
                      3e-3,
                      5e-3,
                      4'000'000,
                      2'000'000,
                      640,
                      {}};
  profile.steps[1] = {"net/While/Tanh", "Tanh", {"Tanh"}, "net.cpp", 9,  0, 3, 3e-3,
                      0.5e-3,           1.5e-3, 0,        6'000'000, 64, {}};
  profile.steps[2] = {"net/While", "While", {}, "net.cpp", 8, 0, 0, 0, 0, 0, 0, 0, 0, {0, 1}};
  profile.steps[3] = {"loss", "Mean", {"Square", "Sum"}, "net.cpp", 9, 1,     1, 1e-3,
                      1e-3,   1e-3,   500'000,           100'000,   4, {2, 0}};
  profile.steps[4] = {"a<b>&\"c\"", "Add", {"Add"}, "dir \\ \"x\".cpp", 1,         0,  1,
                      4e-3,         4e-3,  4e-3,    1'000'000,          2'000'000, 32, {}};
  profile.calls = {{0, 0, 3e-3},        {4, 3e-3, 7e-3},   {0, 7e-3, 12e-3},
                   {1, 12e-3, 12.5e-3}, {1, 13e-3, 14e-3}, {3, 14.5e-3, 15.5e-3},
                   {1, 16e-3, 17.5e-3}};
  profile.wall_seconds = 17.5e-3;
  return profile;
}
