#pragma once
// A device, as the driver sees it: what the compiler may ask of it (target) and what turns kernels into code (codegen). In-tree
// devices register themselves in `devices()`; the core finds them by the name that PyTorch gives the device and by nothing else.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "litz/codegen/backend.h"
#include "litz/graph_opt/fold_constants.h"
#include "litz/kernel/product_tile.h"
#include "litz/target/attention.h"
#include "litz/target/target.h"

namespace litz {

class DeviceInterface {
 public:
  virtual ~DeviceInterface() = default;
  virtual std::string_view type() const = 0;  // as in torch.device(type)
  virtual const Target& target() const = 0;
  virtual CodegenBackend& codegen() = 0;
  /// Lays constant weights out as the device's libraries want them (options.freezing).
  virtual void pack_weights(Graph& graph, ConstantEvaluator& evaluator) {}
  /// The call for an attention that was written as products and a softmax, where it is as accurate and faster; else the reason.
  virtual Result<AttentionCall> attention_call(const AttentionShape&) const { return unsupported("the device has no fused attention"); }
  /// Tiles for the product of two matrices whose result is rows x columns, the most promising first; those that are worth measuring.
  /// `computes_factors`: a factor is computed in the kernel, not loaded.
  virtual std::vector<ProductTile> product_tiles(int64_t /*rows*/, int64_t /*columns*/, bool /*computes_factors*/) const { return {}; }
  /// Source of a kernel that build_product_kernel made.
  virtual Result<KernelSource> generate_product(const Kernel& kernel, const ProductTile&) {
    return unsupported("kernel {}: no tiled products on this device", kernel.name);
  }
  /// What this value of the option `mode` changes when compiling for the device, in a few words; empty: nothing.
  virtual std::string mode_effect(std::string_view mode) const { return {}; }
  /// The command that starts a compiler process of the host language, for devices whose generator needs one.
  virtual void set_worker_command(const std::vector<std::string>& command) {}
};

/// Null if no device of that type is known. `instruction_set` restricts a device that has several, "" takes its widest; one that
/// this machine lacks is a user error.
DeviceInterface* find_device(std::string_view type, std::string_view instruction_set = "");

}  // namespace litz
