#pragma once
// Every float64 function that vec.h only declares; a kernel includes the parts that it calls.
#include "float64_error_function.h"
#include "float64_exponential.h"
#include "float64_logarithm.h"
#include "float64_trigonometry.h"
