#pragma once
// What stands behind the handles of the C API.
#include <memory>

#include "litz/driver/c_api.h"
#include "litz/driver/pipeline.h"
#include "litz/import/graph_import.h"
#include "litz/runtime/executor.h"
#include "litz/runtime/torch_framework.h"

struct litz_graph {
  litz::GraphImport builder;
  litz::ConstantData constants;
};

struct litz_program {
  std::unique_ptr<litz::CompiledGraph> compiled;
  std::unique_ptr<litz::runtime::Executor> executor;
};

struct litz_framework {
  litz_host host;
  std::unique_ptr<litz::runtime::TorchFramework> torch;
};

struct litz_frame {
  litz::runtime::CallFrame& frame;
};
