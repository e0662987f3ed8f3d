#pragma once
// Everything a generated kernel may call; see README.md for the names.
#include "arithmetic.h"
#include "convert.h"
#include "exponential.h"
#include "memory.h"
#include "types.h"
