// SPDX-License-Identifier: Apache-2.0

// What reading data costs. bench/input runs it beside pandas and TensorFlow.
//
//   input csv FILE                    the rows of a table of 9 floats
//   input text FILE                   the rows of UCI's adult: 6 numbers, 9 texts
//   input records FILE                the records of a TFRecord file, with their checksums
//   input blocks FILE                 the bytes of a file, by read(2), as `dd bs=1M` reads them
//   input images FOLDER THREADS       CIFAR-10: read, shuffled, cropped, flipped, standardised
//   input write_records FILE SIZE N   makes a file of N records
//   input prefetch                    a step with a prefetched input, beside both alone
//
// It prints seconds, or for the last one a line.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/images.hpp>
#include <typeflow/records.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double read_table(const std::string& path) {
  double sum = 0;
  for (const auto& row :
       tf::csv_rows<float, float, float, float, float, float, float, float, float>(path)) {
    sum += static_cast<double>(std::get<8>(row));
  }
  return sum;
}

double read_adult(const std::string& path) {
  using S = std::string;
  double sum = 0;
  for (const auto& row : tf::csv_rows<std::int64_t, S, std::int64_t, S, std::int64_t, S, S, S, S, S,
                                      std::int64_t, std::int64_t, std::int64_t, S, S>(path)) {
    sum += static_cast<double>(std::get<0>(row)) + static_cast<double>(std::get<14>(row).size());
  }
  return sum;
}

double read_records(const std::string& path) {
  tf::TfRecordReader reader(path);
  double bytes = 0;
  while (const auto record = reader.next()) bytes += static_cast<double>(record->size());
  return bytes;
}

double read_blocks(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  std::vector<char> block(1 << 20);
  double bytes = 0;
  for (::ssize_t count = 1; count > 0; bytes += static_cast<double>(count)) {
    count = ::read(file, block.data(), block.size());
  }
  ::close(file);
  return bytes;
}

void write_records(const std::string& path, std::size_t size, std::size_t count) {
  tf::TfRecordWriter writer(path);
  std::string record(size, '\0');
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    for (char& c : record) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    writer.write(record);
  }
  writer.finish();
}

/// Photographs, planes first, as in the file: cropped to 24 by 24, flipped at random, lit, and
/// standardised.
constexpr void augment(tf::Graph& g) {
  auto records = placeholder<std::uint8_t, tf::batch, 3073>(g, "records");
  auto planes = reshape<tf::batch, 3, 32, 32>(tf::slice<tf::whole, tf::range(1, 3073)>(records));
  auto rows = transpose<0, 2, 3, 1>(planes);
  auto part = tf::random_flip_left_right(tf::random_crop<24, 24>(cast<float>(rows)));
  auto lit = tf::random_contrast(tf::random_brightness(part, 63), 0.2f, 1.8f);
  tf::per_image_standardization(lit).named("images");
}

double read_images(const std::string& folder, int threads) {
  tf::Variables variables;
  tf::Session<augment> session(variables, {.threads = threads});
  const auto records =
      tf::list_files(folder + "/data_batch_*.bin")
          .flat_map([](const std::string& path) { return tf::fixed_length_records(path, 3073); })
          .shuffle({.buffer = 5000, .seed = 1})
          .batch(128);
  tf::DatasetIterator batches(records);
  double sum = 0;
  while (const auto batch = batches.next()) {
    const auto images = session.run<"images">(tf::feed<"records">(*batch));
    sum += static_cast<double>(images.data()[0]);
  }
  return sum;
}

constexpr void perceptron(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 256>(g, "x");
  auto W1 = variable<float, 256, 512>(g, "W1", tf::glorot_uniform);
  auto W2 = variable<float, 512, 256>(g, "W2", tf::glorot_uniform);
  auto loss = mean(square(matmul(relu(matmul(x, W1)), W2) - x)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

/// A step takes the longer of input and computation, if a thread reads ahead.
void prefetch() {
  constexpr int steps = 300;
  const auto rows = tf::from_range(0, 64 * 1'000'000).map([](std::int64_t i) {
    std::vector<float> row(256);
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = std::sin(static_cast<float>(i) + static_cast<float>(k));
    }
    return row;
  });
  tf::Variables variables;
  tf::Session<perceptron> session(variables, {.threads = 1});
  const std::vector<float> fixed(64 * 256, 0.5f);
  const auto time = [&](const auto& step) {
    for (int i = 0; i < 20; ++i) step();
    const double start = seconds_now();
    for (int i = 0; i < steps; ++i) step();
    return (seconds_now() - start) / steps * 1e6;
  };
  const auto compute = [&] { session.run<"train">(tf::feed<"x">(fixed)); };
  std::array<double, 4> best{1e30, 1e30, 1e30, 1e30};
  for (int round = 0; round < 5; ++round) {
    tf::DatasetIterator alone(rows.batch(64));
    tf::DatasetIterator in_turns(rows.batch(64));
    tf::DatasetIterator ahead(rows.batch(64).prefetch(4));
    const auto from = [&](auto& batches) {
      return [&] { session.run<"train">(tf::feed<"x">(*batches.next())); };
    };
    best[0] = std::min(best[0], time([&] { alone.next(); }));
    best[1] = std::min(best[1], time(compute));
    best[2] = std::min(best[2], time(from(in_turns)));
    best[3] = std::min(best[3], time(from(ahead)));
  }
  const double longer = std::max(best[0], best[1]);
  std::printf(
      "input_us=%.0f compute_us=%.0f in_turns_us=%.0f prefetched_us=%.0f over_longer=%.3f\n",
      best[0], best[1], best[2], best[3], best[3] / longer);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::string path = argc > 2 ? argv[2] : "";
  if (what == "prefetch" && argc == 2) {
    prefetch();
    return 0;
  }
  const double start = seconds_now();
  double result = 0;
  if (what == "csv" && argc == 3) {
    result = read_table(path);
  } else if (what == "text" && argc == 3) {
    result = read_adult(path);
  } else if (what == "records" && argc == 3) {
    result = read_records(path);
  } else if (what == "blocks" && argc == 3) {
    result = read_blocks(path);
  } else if (what == "images" && argc == 4) {
    result = read_images(path, std::atoi(argv[3]));
  } else if (what == "write_records" && argc == 5) {
    write_records(path, std::strtoul(argv[3], nullptr, 10), std::strtoul(argv[4], nullptr, 10));
  } else {
    std::fprintf(stderr,
                 "usage: input csv|text|records|blocks FILE, input images FOLDER THREADS, "
                 "input write_records FILE SIZE N, input prefetch\n");
    return 2;
  }
  std::printf("%.6f\n", seconds_now() - start);
  return result == -1;
}
