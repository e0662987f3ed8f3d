#pragma once
// Everything a generated kernel may call; see README.md for the names.
#include "accumulate.h"
#include "arithmetic.h"
#include "convert.h"
#include "division.h"
#include "exponential.h"
#include "memory.h"
#include "random.h"
#include "special.h"
#include "transpose.h"
#include "trigonometry.h"
#include "types.h"
