// SPDX-License-Identifier: Apache-2.0

// The main function of every unit test, compiled once.

#include <doctest/doctest.h>

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
