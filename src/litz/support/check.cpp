#include "litz/support/check.h"

namespace litz {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: check failed: {}{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}

void throw_user_error(std::string message) { throw UserError(std::move(message)); }

}  // namespace litz
