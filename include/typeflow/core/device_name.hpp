// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names of devices, as TensorFlow spells them:
//
//   /cpu:0                                      a device of this process
//   /job:localhost/device:cpu:0                 the same
//   /job:localhost/replica:0/task:0/gpu:0       the same in full, as logs print it
//   /job:worker/task:17/device:gpu:3            a device of another process
//
// Every part may be missing, or `*`: then the name says nothing about it. So a name is a demand:
// /gpu:* wants any GPU. Names of nested scopes merge from the inside out.

#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/core/device.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The name of a job: a letter, then letters, digits and underscores; at most 31 of them. Empty for
/// any job.
struct JobName {
  static constexpr int capacity = 31;
  char text[capacity + 1] = {};
  int length = 0;

  constexpr JobName() = default;
  constexpr JobName(std::string_view name) {  // NOLINT: {.job = "worker"}
    for (const char c : name.substr(0, capacity)) text[length++] = c;
  }
  constexpr JobName(const char* name) : JobName(std::string_view(name)) {}  // NOLINT
  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }
  constexpr bool empty() const { return length == 0; }
  constexpr bool operator==(const JobName&) const = default;
};

/// A device's name, in parts. Parts that it leaves open are empty, any_number or DeviceKind::any.
struct DeviceName {
  static constexpr int any_number = -1;

  JobName job{};
  int replica = any_number;
  int task = any_number;
  DeviceKind kind = DeviceKind::any;
  int index = any_number;

  constexpr bool operator==(const DeviceName&) const = default;
};

/// How a name's last part is spelled.
enum class DeviceSpelling : std::uint8_t {
  brief,      ///< /gpu:1
  lower,      ///< /device:gpu:1
  tensorflow  ///< /device:GPU:1
};

/// A name that has been read, or why the text is no name.
struct ParsedDeviceName {
  DeviceName name{};
  const char* wrong = nullptr;  ///< what was expected; null if the text is a name
  int position = 0;             ///< of the mistake: characters in front of it

  constexpr bool ok() const { return wrong == nullptr; }
};

namespace detail {

class DeviceNameReader {
 public:
  constexpr explicit DeviceNameReader(std::string_view text) : text_(text) {}

  constexpr ParsedDeviceName run() {
    while (out_.ok() && !rest().empty()) part();
    return out_;
  }

 private:
  enum Part : unsigned { job = 1, replica = 2, task = 4, device = 8 };

  constexpr std::string_view rest() const { return text_.substr(at_); }
  constexpr void fail(const char* expected) {
    if (!out_.ok()) return;
    out_.wrong = expected;
    out_.position = static_cast<int>(at_);
  }
  constexpr bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  static constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

  constexpr void part() {
    const std::size_t start = at_;
    if (take("/job:")) {
      once(job, start, "no second job");
      read_job();
    } else if (take("/replica:")) {
      once(replica, start, "no second replica");
      out_.name.replica = number("the replica's number, or *");
    } else if (take("/task:")) {
      once(task, start, "no second task");
      out_.name.task = number("the task's number, or *");
    } else if (take("/device:")) {
      once(device, start, "no second device");
      if (!take("*") && !read_kind()) fail("cpu, gpu or *");
      if (take(":")) out_.name.index = number("the device's number, or *");
    } else if (take("/") && read_kind()) {
      const std::size_t end = at_;
      at_ = start;
      once(device, start, "no second device");
      at_ = end;
      if (!take(":")) fail("':' and the device's number");
      out_.name.index = number("the device's number, or *");
    } else {
      at_ = start;
      fail("/job:NAME, /replica:N, /task:N, /device:KIND:N, /cpu:N or /gpu:N");
    }
    if (out_.ok() && !rest().empty() && rest().front() != '/') fail("'/' or the end");
  }
  /// Refuses a second part of one sort, at its beginning.
  constexpr void once(Part part, std::size_t start, const char* expected) {
    if ((seen_ & part) != 0) {
      at_ = start;
      fail(expected);
    }
    seen_ |= part;
  }
  constexpr void read_job() {
    if (take("*")) return;
    std::size_t size = 0;
    while (size < rest().size() &&
           (is_letter(rest()[size]) ||
            (size > 0 && (is_digit(rest()[size]) || rest()[size] == '_')))) {
      ++size;
    }
    if (size == 0) return fail("a job's name, which begins with a letter, or *");
    if (size > JobName::capacity) return fail("a job's name of at most 31 characters");
    out_.name.job = JobName(rest().substr(0, size));
    at_ += size;
  }
  constexpr bool read_kind() {
    const auto is = [&](std::string_view word) {
      if (rest().size() < word.size()) return false;
      for (std::size_t i = 0; i < word.size(); ++i) {
        if (lower(rest()[i]) != word[i]) return false;
      }
      return rest().size() == word.size() ||
             !(is_letter(rest()[word.size()]) || is_digit(rest()[word.size()]));
    };
    if (!is("cpu") && !is("gpu")) return false;
    out_.name.kind = is("cpu") ? DeviceKind::cpu : DeviceKind::gpu;
    at_ += 3;
    return true;
  }
  constexpr int number(const char* expected) {
    if (!out_.ok() || take("*")) return DeviceName::any_number;
    if (rest().empty() || !is_digit(rest().front())) {
      fail(expected);
      return DeviceName::any_number;
    }
    const std::size_t start = at_;
    std::int64_t value = 0;
    while (!rest().empty() && is_digit(rest().front())) {
      value = 10 * value + (rest().front() - '0');
      ++at_;
      if (value > 999'999'999) {
        at_ = start;
        fail("a number below 1000000000");
        return DeviceName::any_number;
      }
    }
    return static_cast<int>(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned seen_ = 0;
  ParsedDeviceName out_;
};

}  // namespace detail

/// Reads a name. The kind may have letters of any case; the parts may have any order. An empty text
/// is a name that leaves everything open.
constexpr ParsedDeviceName parse_device_name(std::string_view text) {
  return detail::DeviceNameReader(text).run();
}

/// device name "/device:tpu:0": expected cpu, gpu or * at position 8
constexpr Message& print_mistake(Message& out, std::string_view text,
                                 const ParsedDeviceName& parsed) {
  return out << "device name \"" << text << "\": expected " << parsed.wrong << " at position "
             << parsed.position;
}

/// The same as parse_device_name, for texts that are known to be names. A mistake is an Error; in a
/// constant it does not compile.
constexpr DeviceName device_name(std::string_view text) {
  const ParsedDeviceName parsed = parse_device_name(text);
  if (!parsed.ok()) {
    Message message{};
    throw Error(std::string(print_mistake(message, text, parsed).view()));
  }
  return parsed.name;
}

/// The name inside, with the parts that it leaves open from the name outside:
/// /task:1 and /cpu:0 inside of /job:worker/gpu:3 are /job:worker/task:1/gpu:3 and
/// /job:worker/cpu:0.
constexpr DeviceName merge(const DeviceName& inner, const DeviceName& outer) {
  DeviceName out = inner;
  if (out.job.empty()) out.job = outer.job;
  if (out.replica == DeviceName::any_number) out.replica = outer.replica;
  if (out.task == DeviceName::any_number) out.task = outer.task;
  if (out.kind == DeviceKind::any) out.kind = outer.kind;
  if (out.index == DeviceName::any_number) out.index = outer.index;
  return out;
}

/// Whether a device with this full name is one that `wanted` names.
constexpr bool fits(const DeviceName& wanted, const DeviceName& device) {
  return merge(wanted, device) == device;
}

/// The full name of a device of this process: /job:localhost/replica:0/task:0/gpu:1.
constexpr DeviceName local_name(Device device) {
  return {"localhost", 0, 0, device.kind,
          device.kind == DeviceKind::any ? DeviceName::any_number : device.index};
}

/// Prints the parts that a name has. parse_device_name reads them back.
constexpr Message& print(Message& out, const DeviceName& name,
                         DeviceSpelling spelling = DeviceSpelling::brief) {
  if (!name.job.empty()) out << "/job:" << name.job.view();
  if (name.replica != DeviceName::any_number) out << "/replica:" << name.replica;
  if (name.task != DeviceName::any_number) out << "/task:" << name.task;
  if (name.kind == DeviceKind::any && name.index == DeviceName::any_number) return out;
  const bool upper = spelling == DeviceSpelling::tensorflow;
  if (name.kind == DeviceKind::any) {
    out << "/device:*";
  } else {
    out << (spelling == DeviceSpelling::brief ? "/" : "/device:")
        << (name.kind == DeviceKind::cpu ? (upper ? "CPU" : "cpu") : (upper ? "GPU" : "gpu"));
  }
  if (name.index == DeviceName::any_number) return out << ":*";
  return out << ':' << name.index;
}
constexpr Message& operator<<(Message& out, const DeviceName& name) { return print(out, name); }

/// The name as text; see print().
inline std::string to_string(const DeviceName& name,
                             DeviceSpelling spelling = DeviceSpelling::brief) {
  Message out{};
  return std::string(print(out, name, spelling).view());
}

}  // namespace typeflow::inline TYPEFLOW_ISA
