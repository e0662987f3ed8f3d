#pragma once
// The edge of the C API: no exception leaves, the last message of a thread is kept.
#include <cstring>
#include <exception>
#include <string>

#include "litz/driver/c_api.h"
#include "litz/support/check.h"

namespace litz {

/// The text behind litz_error_message(), of this thread.
std::string& api_error();

/// Runs body, which gives a litz_status; exceptions become statuses.
template <typename F>
int guarded(F&& body) {
  try {
    return body();
  } catch (const UserError& error) {
    api_error() = error.what();
    return LITZ_USER_ERROR;
  } catch (const std::exception& error) {
    api_error() = error.what();
    return LITZ_INTERNAL_ERROR;
  }
}

/// A copy for the caller, to be freed with litz_free_text.
inline int give_text(const std::string& text, char** out) {
  *out = strdup(text.c_str());
  return LITZ_OK;
}

}  // namespace litz
