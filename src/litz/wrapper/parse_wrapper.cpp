// The parser of what print_wrapper.cpp writes.
#include <algorithm>
#include <charconv>
#include <map>

#include "litz/loop/argument_text.h"
#include "litz/wrapper/wrapper.h"

namespace litz {
namespace {

constexpr int kMaxDepth = 64;  // of lists: recursion stays on the stack

class WrapperParser {
 public:
  explicit WrapperParser(std::string_view text) : lines_("wrapper ir", text), out_(std::make_unique<WrapperProgram>()) {
    out_->context = std::make_shared<ExprContext>();
  }

  std::unique_ptr<WrapperProgram> parse() {
    auto line = lines_.next();
    if (!line) user_error("wrapper ir: expected a line \"wrapper name\", found no line");
    line->expect("wrapper");
    out_->name = line->word();
    line->expect_end();
    bool is_done = false;
    while (auto c = lines_.next()) {
      if (is_done) c->fail("nothing behind return");
      is_done = parse_line(*c);
      c->expect_end();
    }
    if (!is_done) user_error("wrapper ir, line {}: expected a line \"return ...\" at the end", lines_.line());
    collect_tensors();
    verify(*out_);
    return std::move(out_);
  }

 private:
  enum class State : uint8_t { kLive, kFreed };
  struct Known {
    WrapperTensor tensor;
    State state = State::kLive;
  };

  ExprContext& context() { return *out_->context; }
  Expr expr(TextCursor& c) { return parse_expr(context(), c); }
  std::vector<Expr> list(TextCursor& c) { return parse_expr_list(context(), c); }

  /// Whether it was the last line.
  bool parse_line(TextCursor& c) {
    if (c.accept("return")) return parse_outputs(c), true;
    if (c.accept("symbol")) parse_symbol_declaration(context(), c);
    else if (c.accept("schema")) parse_schema(c);
    else if (c.accept("kernel")) parse_kernel(c);
    else if (c.accept("input")) parse_input(c);
    else if (c.accept("constant")) parse_constant(c);
    else out_->lines.push_back(parse_step(c));
    return false;
  }

  WrapperLine parse_step(TextCursor& c);
  template <typename Line>
  WrapperLine read(TextCursor& c);

  // ---- names ----

  /// "%x_3": a name and the tensor's number.
  std::pair<std::string, TensorId> tensor_name(TextCursor& c) {
    const size_t at = c.position();
    if (c.accept("%")) {
      const std::string word = c.word();
      const size_t mark = word.rfind('_');
      TensorId id = -1;
      if (mark != std::string::npos) {
        auto [end, error] = std::from_chars(word.data() + mark + 1, word.data() + word.size(), id);
        if (error == std::errc() && end == word.data() + word.size() && id >= 0) return {word.substr(0, mark), id};
      }
    }
    c.move_to(at);
    c.fail("a tensor: %name_number");
  }

  TensorId use(TextCursor& c) {
    const size_t at = c.position();
    const auto [name, id] = tensor_name(c);
    auto known = tensors_.find(id);
    if (known == tensors_.end() || known->second.tensor.name != name) {
      c.move_to(at);
      c.fail("a tensor that a line above makes");
    }
    if (known->second.state == State::kFreed) {
      c.move_to(at);
      c.refuse(fmt::format("%{}_{} is freed above", name, id));
    }
    return id;
  }

  Device device(TextCursor& c) {
    Device d;
    d.type = c.word();
    c.expect(":");
    d.index = static_cast<int>(c.integer());
    return d;
  }

  TensorId declare(TextCursor& c) {
    auto [name, id] = tensor_name(c);
    WrapperTensor t;
    t.name = name;
    c.expect(":");
    const size_t at = c.position();
    if (auto dtype = parse_dtype(c.word())) t.dtype = *dtype;
    else c.move_to(at), c.fail("an element type");
    t.sizes = list(c);
    c.expect("strides");
    t.strides = list(c);
    if (t.strides.size() != t.sizes.size()) c.refuse(fmt::format("{} strides for {} sizes", t.strides.size(), t.sizes.size()));
    if (c.accept("offset")) t.offset = expr(c);
    t.device = device(c);
    if (!tensors_.emplace(id, Known{std::move(t)}).second) c.refuse(fmt::format("tensor number {} is made twice", id));
    return id;
  }

  void collect_tensors() {
    for (auto& [id, known] : tensors_) {
      const auto count = static_cast<TensorId>(out_->tensors.size());
      if (id != count) user_error("wrapper ir: no line makes the tensor number {}, and there is a number {}", count, id);
      out_->tensors.push_back(std::move(known.tensor));
    }
  }

  // ---- what the call has ----

  void parse_schema(TextCursor& c) {
    auto schema = parse_schema_text(c);
    if (!schemas_.emplace(schema->name, schema.get()).second) c.refuse(fmt::format("the schema of {} stands twice", schema->name));
    out_->schemas.push_back(std::move(schema));
  }

  void parse_kernel(TextCursor& c) {
    WrapperKernel k;
    k.name = c.word();
    if (!kernels_.emplace(k.name, static_cast<int32_t>(out_->kernels.size())).second)
      c.refuse(fmt::format("kernel {} stands twice", k.name));
    k.reports_errors = c.accept("reports_errors");
    while (!c.at_end()) k.messages.push_back(c.quoted());
    out_->kernels.push_back(std::move(k));
  }

  void parse_input(TextCursor& c) {
    WrapperInput in;
    if (c.accept("number")) in.number = expr(c);
    else in.tensor = declare(c);
    out_->inputs.push_back(in);
  }

  void parse_constant(TextCursor& c) {
    const TensorId t = declare(c);
    out_->constants.push_back(tensors_.at(t).tensor.name);
    out_->constant_tensors.push_back(t);
  }

  // ---- lines ----

  Expr symbol(TextCursor& c) {
    const size_t at = c.position();
    if (Expr s = context().find_symbol(c.word())) return s;
    c.move_to(at);
    c.fail("a symbol with a line above");
  }

  /// Results are tensors (with what they are), _ for what nobody reads, and numbers.
  void parse_result(TextCursor& c, ExternCallLine& l) {
    if (c.peek("%")) l.results.push_back(declare(c));
    else if (c.accept("_")) l.results.push_back(-1);
    else l.number_results.push_back(symbol(c));
  }

  bool begins_with_callee(TextCursor c) { return !c.peek("%") && (c.word(), c.next() == '('); }

  WrapperArgument argument(TextCursor& c, int depth) {
    if (c.peek("%")) return TensorRef{use(c)};
    if (c.accept("[")) {
      if (depth >= kMaxDepth) c.refuse(fmt::format("more than {} lists inside one another", kMaxDepth));
      WrapperArgumentList list;
      while (!c.accept("]")) {
        list.push_back(argument(c, depth + 1));
        if (!c.peek("]")) c.expect(",");
      }
      return list;
    }
    return std::visit([](auto v) -> WrapperArgument { return v; }, parse_scalar(context(), c));
  }

  void parse_outputs(TextCursor& c) {
    while (!c.at_end()) {
      if (!out_->outputs.empty()) c.expect(",");
      out_->outputs.push_back(output(c));
    }
  }

  WrapperOutput output(TextCursor& c) {
    if (c.peek("%")) return {TensorRef{use(c)}};
    if (c.accept("input")) {
      const int64_t position = c.integer();
      if (position < 0 || position >= static_cast<int64_t>(out_->inputs.size()))
        c.refuse(fmt::format("input {} of {}", position, out_->inputs.size()));
      return {WrapperOutput::Input{static_cast<int>(position)}};
    }
    return std::visit(
        [&]<typename T>(const T& v) -> WrapperOutput {
          if constexpr (std::is_constructible_v<decltype(WrapperOutput::value), std::in_place_type_t<T>, T>) return {v};
          else c.fail("a tensor, an input or a number before here");
        },
        parse_scalar(context(), c));
  }

  TextLines lines_;
  std::unique_ptr<WrapperProgram> out_;
  std::map<TensorId, Known> tensors_;
  std::map<std::string, const OpSchema*> schemas_;
  std::map<std::string, int32_t> kernels_;
  int32_t arenas_ = 0;
};

template <>
WrapperLine WrapperParser::read<AllocateLine>(TextCursor& c) {
  const TensorId t = declare(c);
  return AllocateLine{t, c.accept("escapes")};
}

template <>
WrapperLine WrapperParser::read<FreeLine>(TextCursor& c) {
  const TensorId t = use(c);
  tensors_.at(t).state = State::kFreed;
  return FreeLine{t};
}

template <>
WrapperLine WrapperParser::read<AssertLine>(TextCursor& c) {
  const Expr condition = expr(c);
  return AssertLine{condition, c.quoted()};
}

template <>
WrapperLine WrapperParser::read<CopyLine>(TextCursor& c) {
  const TensorId destination = use(c);
  c.expect("<-");
  return CopyLine{destination, use(c)};
}

template <>
WrapperLine WrapperParser::read<CommentLine>(TextCursor& c) {
  CommentLine l{std::string(c.rest())};
  c.move_to(c.position() + l.text.size());
  return l;
}

template <>
WrapperLine WrapperParser::read<DataLine>(TextCursor& c) {
  const TensorId t = declare(c);
  c.expect("=");
  const std::string digits = c.quoted();
  const WrapperTensor& tensor = tensors_.at(t).tensor;
  std::vector<int64_t> sizes;
  for (Expr size : tensor.sizes) {
    if (!size.is_integer() || size.integer() < 0 || size.integer() > static_cast<int64_t>(digits.size()))
      c.refuse("data of a size that is no number of its digits");
    sizes.push_back(size.integer());
  }
  int64_t bytes = dtype_bytes(tensor.dtype);
  for (int64_t size : sizes)
    if ((bytes *= size) > static_cast<int64_t>(digits.size())) break;
  if (2 * bytes != static_cast<int64_t>(digits.size()))
    c.refuse(fmt::format("{} digits, expected {} for the tensor's bytes", digits.size(), 2 * bytes));
  HostTensor data = HostTensor::zeros(tensor.dtype, std::move(sizes));
  for (size_t k = 0; k < digits.size(); k += 2) {
    unsigned value = 0;
    for (char digit : {digits[k], digits[k + 1]}) {
      if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')))
        c.refuse(fmt::format("'{}' is no digit of 0 to 9 and a to f", digit));
      value = value * 16 + static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    data.data[k / 2] = std::byte{static_cast<unsigned char>(value)};
  }
  out_->data.push_back(std::move(data));
  return DataLine{t, static_cast<int32_t>(out_->data.size()) - 1};
}

template <>
WrapperLine WrapperParser::read<ArenaLine>(TextCursor& c) {
  const int64_t number = c.integer();
  if (number != arenas_) c.refuse(fmt::format("arena {}, expected arena {}, the next", number, arenas_));
  c.expect("bytes");
  const Expr bytes = expr(c);
  return ArenaLine{arenas_++, bytes, device(c)};
}

template <>
WrapperLine WrapperParser::read<PlaceLine>(TextCursor& c) {
  const TensorId t = declare(c);
  c.expect("in");
  c.expect("arena");
  const int64_t arena = c.integer();
  if (arena < 0 || arena >= arenas_) c.refuse(fmt::format("no line above makes arena {}", arena));
  c.expect("at");
  return PlaceLine{t, static_cast<int32_t>(arena), expr(c)};
}

template <>
WrapperLine WrapperParser::read<ReinterpretLine>(TextCursor& c) {
  const TensorId t = declare(c);
  c.expect("of");
  const TensorId base = use(c);
  if (base == t) c.refuse("a view of itself");
  return ReinterpretLine{t, base};
}

template <>
WrapperLine WrapperParser::read<KernelCallLine>(TextCursor& c) {
  KernelCallLine l;
  const size_t at = c.position();
  auto kernel = kernels_.find(c.word());
  if (kernel == kernels_.end()) {
    c.move_to(at);
    c.fail("a kernel with a line above");
  }
  l.kernel = kernel->second;
  c.expect("(");
  while (!c.accept(";")) {
    l.tensors.push_back(use(c));
    if (!c.peek(";")) c.expect(",");
  }
  l.numbers = list(c);
  c.expect(")");
  c.expect("range");
  l.range = expr(c);
  c.expect("grain");
  l.grain = expr(c);
  if (c.accept("scratch")) l.scratch_bytes = expr(c);
  return l;
}

template <>
WrapperLine WrapperParser::read<ExternCallLine>(TextCursor& c) {
  ExternCallLine l;
  if (!begins_with_callee(c)) {
    do parse_result(c, l);
    while (c.accept(","));
    c.expect("=");
  }
  const size_t at = c.position();
  auto callee = schemas_.find(c.word());
  if (callee == schemas_.end()) {
    c.move_to(at);
    c.fail("an op with a schema line above");
  }
  l.callee = callee->second;
  c.expect("(");
  while (!c.accept(")")) {
    l.arguments.push_back(argument(c, 0));
    if (!c.peek(")")) c.expect(",");
  }
  if (l.arguments.size() != l.callee->arguments.size())
    c.refuse(fmt::format("{} takes {} arguments, given {}", l.callee->name, l.callee->arguments.size(), l.arguments.size()));
  if (c.accept("in")) {
    c.expect("f32");
    l.in_float32 = true;
  }
  return l;
}

template <>
WrapperLine WrapperParser::read<ReadNumberLine>(TextCursor& c) {
  ReadNumberLine l;
  l.symbol = symbol(c);
  c.expect("=");
  if (c.accept("size")) l.kind = ReadNumberLine::kSize;
  else if (c.accept("stride")) l.kind = ReadNumberLine::kStride;
  else if (c.accept("storage_offset")) l.kind = ReadNumberLine::kStorageOffset;
  else c.fail("size, stride or storage_offset");
  c.expect("(");
  l.tensor = use(c);
  c.expect(",");
  const int64_t dimension = c.integer();
  const auto rank = static_cast<int64_t>(tensors_.at(l.tensor).tensor.sizes.size());
  if (dimension < 0 || dimension >= std::max<int64_t>(rank, 1))
    c.refuse(fmt::format("dimension {} of a tensor of rank {}", dimension, rank));
  l.dimension = static_cast<int>(dimension);
  c.expect(")");
  return l;
}

WrapperLine WrapperParser::parse_step(TextCursor& c) {
  if (c.accept("#")) return read<CommentLine>(c);
  std::string known = "symbol, schema, kernel, input, constant, return";
#define LITZ_LINE(name, Enumerator, meaning)             \
  if (c.accept(#name)) return read<Enumerator##Line>(c); \
  known += ", " #name;
#include "litz/wrapper/ops.def"
#undef LITZ_LINE
  c.fail(known);
}

}  // namespace

std::unique_ptr<WrapperProgram> parse_wrapper(std::string_view text) { return WrapperParser(text).parse(); }

}  // namespace litz
