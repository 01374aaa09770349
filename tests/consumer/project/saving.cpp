// SPDX-License-Identifier: Apache-2.0

// Saved variables, the argument is the file: the JSON parser comes with the target.

#include <cstdio>
#include <vector>

#include <typeflow/saving.hpp>

namespace tf = typeflow;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tf::Variables saved;
  saved.set<float>("w", std::vector<float>{1, 2}, {1, {2}});
  save(saved, argv[1]);
  tf::Variables loaded;
  load(loaded, argv[1]);
  if (loaded.get<float>("w")[1] == 2) return 0;
  std::puts("the variable has not come back");
  return 1;
}
