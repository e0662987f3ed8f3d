// Conversions and copies. A cast that stood in the imported graph is kept for good.
#include "litz/lower/lowering.h"

namespace litz {

namespace {

LoweringResult lower_convert(Lowering& lowering, const Node& node) {
  View source = lowering.view(node.arguments[0].as<Value>());
  const TensorMeta& meta = node.outputs[0];
  if (!(source.buffer->device == meta.device)) return unsupported("copies from {} to {}", source.buffer->device.type, meta.device.type);
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId v = lowering.load(b, source, index);
    return b.cast(v, meta.dtype, node.is_imported && source.dtype != meta.dtype);
  })};
}

constexpr LoweringEntry kTable[] = {
    {"prims.convert_element_type", lower_convert},
    {"aten._to_copy", lower_convert},
    {"aten.clone", lower_convert},
};

}  // namespace

std::span<const LoweringEntry> cast_lowerings() { return kTable; }

}  // namespace litz
