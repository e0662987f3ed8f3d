#pragma once
// The three kinds of error. `check` is for our own bugs: on in release builds, it throws InternalError with file, line,
// condition and message. `user_error` is for bad input: one exception, translated once at the API edge. `Unsupported` is a
// value: what Litz does not take is returned to the caller, who falls back and counts it.
// Messages are lower-case without a full stop: what, found, expected, next step.
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace litz {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& message);
[[noreturn]] void throw_user_error(std::string message);

#define LITZ_CHECK(condition, ...)                                                       \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::litz::fail_check(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

template <typename... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw_user_error(fmt::format(format, std::forward<Args>(args)...));
}

/// Why something is not taken. Compares and prints as text; numbers belong in the text.
struct Unsupported {
  std::string reason;
};

template <typename... Args>
Unsupported unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Unsupported{fmt::format(format, std::forward<Args>(args)...)};
}

/// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Unsupported reason) : state_(std::in_place_index<1>, std::move(reason)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T& value() & {
    LITZ_CHECK(state_.index() == 0, "{}", reason());
    return std::get<0>(state_);
  }
  const T& value() const& { return const_cast<Result*>(this)->value(); }
  T&& value() && { return std::move(value()); }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }
  const std::string& reason() const { return std::get<1>(state_).reason; }

 private:
  std::variant<T, Unsupported> state_;
};

}  // namespace litz
