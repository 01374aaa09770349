// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random graphs whose processes talk by queues, on one to four devices, half of them with tensors
// that arrive later (test::LateTransport), compared with a simulation that knows nothing of graphs.
//
// A process is a chain of operations on queues, with loops and branches. A channel is a FIFO queue
// from one process to another. Processes and channels are a Kahn network: all orders in which
// processes run give the same results, and either all complete or none does. A shared queue is of
// any kind. Any process puts into it, and sinks, which take from one queue only, take everything.
// Some FIFO queues hold texts of numbers.

#include <cstdint>
#include <string>

namespace fuzz {

/// Runs the network of a seed: two runs, if no process closes a channel. What differs from the
/// simulation; empty if nothing does.
std::string check_queues(std::uint64_t seed);

/// The same with an error, a lack of memory or a stop at a random kernel, `runs` times: whether the
/// error is right, no element is lost or there twice, and the next run is right. `checked` grows by
/// the number of runs that met with something.
std::string check_queue_failures(std::uint64_t seed, int runs, int& checked);

/// A network in which processes wait for ever, until the run is stopped or the queues are closed:
/// whether all that can be done was done before. `blocked` grows by one if processes wait.
std::string check_queue_deadlock(std::uint64_t seed, int& blocked);

/// The processes of the network of a seed. check_queues has networks that close channels for odd
/// seeds, and check_queue_deadlock those that block.
std::string queues_text(std::uint64_t seed, bool closes, bool blocks);

}  // namespace fuzz
