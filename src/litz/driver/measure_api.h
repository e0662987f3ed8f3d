#pragma once
// The part of the C API by which the host times ways to compute the same.
#include "litz/driver/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Gives microseconds for each of `count` candidates of a request (see choose_products.h), negative for one that does not work; not 0 if
/// nothing can be measured.
typedef int (*litz_measure)(void* context, const char* request, double* microseconds, size_t count);
/// One for the process; null for none.
LITZ_API void litz_set_measurer(litz_measure measure, void* context);

#ifdef __cplusplus
}
#endif
