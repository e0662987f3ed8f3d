// The parser of what program_text.cpp prints. Line by line; expressions are handed to parse_expr with display names replaced by
// the names of the fresh axes.
#include <charconv>
#include <cmath>
#include <map>

#include "litz/loop/program.h"
#include "litz/loop/symbol_names.h"

namespace litz {

namespace {

class Cursor {
 public:
  Cursor(std::string_view text, int line) : text_(text), line_(line) {}

  [[noreturn]] void fail(std::string_view expected) {
    user_error("loop ir, line {}, column {}: expected {}, found \"{}\"", line_, position_ + 1, expected,
               text_.substr(std::min(position_, text_.size()), 20));
  }
  void skip() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool at_end() {
    skip();
    return position_ >= text_.size();
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(position_, token.size()) != token) return false;
    auto is_word = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    size_t end = position_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    position_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(token);
  }
  bool peek(std::string_view token) {
    size_t saved = position_;
    bool found = accept(token);
    position_ = saved;
    return found;
  }
  /// A name: letters, digits, and . _ @ : after the first.
  std::string word() {
    skip();
    size_t end = position_;
    while (end < text_.size() &&
           (isalnum(static_cast<unsigned char>(text_[end])) || std::string_view("._@").find(text_[end]) != std::string_view::npos))
      ++end;
    if (end == position_) fail("a name");
    std::string result(text_.substr(position_, end - position_));
    position_ = end;
    return result;
  }
  /// Text up to a delimiter outside brackets.
  std::string_view until(std::string_view delimiters) {
    skip();
    int depth = 0;
    size_t end = position_;
    for (; end < text_.size(); ++end) {
      char c = text_[end];
      if (depth == 0 && delimiters.find(c) != std::string_view::npos) break;
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
    }
    std::string_view result = text_.substr(position_, end - position_);
    position_ = end;
    while (!result.empty() && result.back() == ' ') result.remove_suffix(1);
    return result;
  }
  /// Text up to a comma or an arrow outside brackets.
  std::string_view until_arrow() {
    Cursor probe = *this;
    size_t arrow = text_.find("->", position_);
    std::string_view result = probe.until(",");
    if (probe.position_ > arrow) {
      result = text_.substr(position_, arrow - position_);
      probe.position_ = arrow;
    }
    *this = probe;
    return result;
  }
  std::string quoted() {
    expect("\"");
    std::string out;
    for (; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) {
        ++position_;
        out += text_[position_] == 'n' ? '\n' : text_[position_];
      } else {
        out += text_[position_];
      }
    }
    expect("\"");
    return out;
  }
  int64_t integer() {
    std::string_view t = number_text();
    int64_t v = 0;
    if (std::from_chars(t.data(), t.data() + t.size(), v).ptr != t.data() + t.size()) fail("an integer");
    return v;
  }
  std::string_view number_text() {
    skip();
    size_t end = position_;
    while (end < text_.size() &&
           (isalnum(static_cast<unsigned char>(text_[end])) || std::string_view("+-.").find(text_[end]) != std::string_view::npos))
      ++end;
    std::string_view t = text_.substr(position_, end - position_);
    position_ = end;
    return t;
  }
  char next() {
    skip();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

 private:
  std::string_view text_;
  int line_;
  size_t position_ = 0;
};

Number number_of(Cursor& c, std::string_view t) {
  if (t == "nan") return Number::of(std::nan(""));
  if (t == "inf") return Number::of(INFINITY);
  if (t == "-inf") return Number::of(-INFINITY);
  bool is_integer = t.find_first_of(".e") == std::string_view::npos;
  Number n;
  const char* end = t.data() + t.size();
  if (is_integer ? std::from_chars(t.data(), end, n.integer).ptr != end : std::from_chars(t.data(), end, n.real).ptr != end)
    c.fail("a number");
  n.is_float = !is_integer;
  return n;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), program_(std::make_unique<LoopProgram>(std::make_shared<ExprContext>())) {}

  std::unique_ptr<LoopProgram> parse() {
    while (auto c = next_line()) parse_line(*c);
    return std::move(program_);
  }

 private:
  std::optional<Cursor> next_line() {
    while (offset_ < text_.size()) {
      size_t end = std::min(text_.find('\n', offset_), text_.size());
      std::string_view line = text_.substr(offset_, end - offset_);
      offset_ = end + 1;
      ++line_;
      if (line.find_first_not_of(' ') != std::string_view::npos) return Cursor(line, line_);
    }
    return std::nullopt;
  }

  ExprContext& context() { return *program_->context; }
  Expr expr(std::string_view text) { return parse_expr(context(), rename_symbols(text, names_)); }
  std::vector<Expr> expr_list(Cursor& c) {
    std::vector<Expr> result;
    c.expect("[");
    while (!c.accept("]")) {
      result.push_back(expr(c.until(",]")));
      if (!c.peek("]")) c.expect(",");
    }
    return result;
  }
  DType dtype(Cursor& c) {
    if (auto d = parse_dtype(c.word())) return *d;
    c.fail("an element type");
  }
  Buffer* buffer(Cursor& c) {
    auto it = buffers_.find(c.word());
    if (it == buffers_.end()) c.fail("a buffer declared above");
    return it->second;
  }
  int64_t bound(Cursor& c) {
    std::string_view t = c.number_text();
    if (t == "inf") return kIntInf;
    if (t == "-inf") return -kIntInf;
    return number_of(c, t).integer;
  }

  void parse_line(Cursor& c) {
    if (c.accept("program")) program_->name = c.word();
    else if (c.accept("symbol")) parse_symbol(c);
    else if (c.accept("schema")) parse_schema_line(c);
    else if (c.accept("buffer")) parse_buffer(c);
    else if (c.accept("parameters")) parse_parameters(c);
    else if (c.accept("op")) parse_operation(c);
    else if (c.accept("mutates")) {
      Buffer* input = buffer(c);
      program_->mutations.push_back({input, buffer(c)});
    } else if (c.accept("return")) parse_outputs(c);
    else c.fail("program, symbol, schema, buffer, parameters, op, mutates or return");
  }

  void parse_symbol(Cursor& c) {
    std::string name = c.word();
    SymbolKind kind = c.accept("unbacked") ? SymbolKind::kUnbacked : SymbolKind::kSize;
    c.accept("size");
    c.expect("in");
    c.expect("[");
    ValueRange range;
    range.lower = bound(c);
    c.expect(",");
    range.upper = bound(c);
    c.expect("]");
    std::optional<int64_t> hint;
    if (c.accept("hint")) hint = c.integer();
    context().symbol(name, kind, range, hint);
  }

  void parse_schema_line(Cursor& c) {
    bool is_random = c.accept("random"), has_effect = c.accept("effect");
    auto schema = parse_schema(c.quoted());
    schema->is_random = is_random;
    schema->has_effect = has_effect;
    const OpSchema* owned = program_->schema(*schema);
    schemas_[owned->name] = owned;
  }

  void parse_buffer(Cursor& c) {
    std::string name = c.word();
    c.expect(":");
    DType type = dtype(c);
    std::vector<Expr> sizes = expr_list(c);
    Device device;
    if (c.accept("on")) {
      device.type = c.word();
      device.index = static_cast<int>(c.integer());
    }
    Buffer* b = program_->new_buffer(name, type, std::move(sizes), device);
    if (b->name != name) c.fail("a buffer's name that is new");
    buffers_[name] = b;
    if (c.accept("input")) {
      b->kind = BufferKind::kInput;
      program_->inputs.push_back(b);
    }
    if (c.accept("constant")) b->kind = BufferKind::kConstant;
    if (c.accept("version_of")) b->version_of = buffer(c);
    Layout& l = b->layout;
    if (c.accept("alias")) {
      l.kind = LayoutKind::kAlias;
      l.base = buffer(c);
    }
    if (c.accept("strides")) {
      if (l.kind != LayoutKind::kAlias) l.kind = LayoutKind::kStrided;
      l.strides = expr_list(c);
    }
    c.accept("flexible");
    if (c.accept("offset")) {
      c.expect("(");
      l.offset = expr(c.until(")"));
      c.expect(")");
    }
    if (c.accept("wants")) {
      for (Expr e : expr_list(c)) l.wanted_order.push_back(static_cast<int>(e.integer()));
      l.order_is_binding = c.accept("binding");
    }
    b->is_promised = c.accept("promised");
    b->is_absent = c.accept("absent");
    b->escapes = c.accept("escapes");
    if (!c.at_end()) c.fail("the end of the line");
  }

  void parse_parameters(Cursor& c) {
    while (!c.at_end()) {
      if (c.accept("(")) {
        program_->parameters.emplace_back(expr(c.until(")")));
        c.expect(")");
      } else {
        c.expect("%");
        program_->parameters.emplace_back(buffer(c));
      }
      if (!c.at_end()) c.expect(",");
    }
  }

  void parse_axis(Cursor& c, Operation& op) {
    std::string name = c.word();
    c.expect("<");
    Expr axis = context().axis(name, expr(c.until(",;)")));
    names_[name] = std::string(axis.symbol_name());
    op.axes.push_back(axis);
  }

  void parse_space(Cursor& c, Operation& op) {
    c.expect("(");
    bool is_reduced = false;
    while (!c.accept(")")) {
      if (c.accept(";")) is_reduced = true;
      else if (!op.axes.empty()) c.expect(",");
      parse_axis(c, op);
      if (!is_reduced) op.rank = static_cast<int>(op.axes.size());
    }
  }

  ReductionKind reduction(Cursor& c) {
    if (auto k = parse_reduction(c.word())) return *k;
    c.fail("the name of a reduction");
  }

  void parse_operation(Cursor& c) {
    names_.clear();
    std::string name = c.word();
    OperationKind kind;
    if (c.accept("pointwise")) kind = OperationKind::kPointwise;
    else if (c.accept("reduction")) kind = OperationKind::kReduction;
    else if (c.accept("scan")) kind = OperationKind::kScan;
    else if (c.accept("scatter")) kind = OperationKind::kScatter;
    else if (c.accept("extern")) kind = OperationKind::kExtern;
    else c.fail("a kind of operation");
    Operation& op = *program_->new_operation(kind, name);
    if (kind == OperationKind::kReduction || kind == OperationKind::kScan) {
      op.reduction = reduction(c);
      op.accumulate = dtype(c);
    }
    if (kind == OperationKind::kScan) {
      c.expect("along");
      op.scan_axis = static_cast<int>(c.integer());
    }
    if (kind == OperationKind::kScatter) {
      static constexpr std::string_view kNames[] = {"store", "add", "mul", "min", "max"};
      std::string mode = c.word();
      bool found = false;
      for (int k = 0; k < 5; ++k)
        if (kNames[k] == mode) {
          op.scatter_mode = static_cast<ScatterMode>(k);
          found = true;
        }
      if (!found) c.fail("a scatter mode");
    }
    if (kind == OperationKind::kExtern) {
      auto it = schemas_.find(c.word());
      if (it == schemas_.end()) c.fail("an op with a schema line above");
      op.callee = it->second;
      op.writes_planned_output = c.accept("planned");
    } else {
      parse_space(c, op);
    }
    c.expect("->");
    std::vector<Buffer*> outputs;
    while (!c.at_end() && c.next() != '(' && c.next() != '{' && !c.peek("symbols") && !c.peek("over")) {
      outputs.push_back(buffer(c));
      if (!c.accept(",")) break;
    }
    program_->set_outputs(&op, std::move(outputs));
    if (c.accept("symbols")) do {
        op.symbol_outputs.push_back(expr(c.until(",(")));
      } while (c.accept(","));
    if (kind == OperationKind::kExtern) {
      c.expect("(");
      while (!c.accept(")")) {
        op.arguments.push_back(argument(c));
        if (!c.peek(")")) c.expect(",");
      }
      return;
    }
    std::optional<Cursor> scatter;
    if (c.accept("over")) {
      if (!c.accept("none")) op.scatter_base = buffer(c);
      c.expect("at");
      scatter = c;
      c.until("{");  // its indirect symbols are defined by the body
    }
    c.expect("{");
    parse_body(op.body);
    if (scatter) op.scatter_coordinates = expr_list(*scatter);
    names_.clear();
  }

  void parse_body(Body& body);
  Instr parse_instr(Cursor& c, const Body& body);
  ExternArgument argument(Cursor& c);
  ExternTensor tensor(Cursor& c);

  void parse_outputs(Cursor& c) {
    while (!c.at_end()) {
      ExternArgument a = argument(c);
      ProgramOutput o;
      if (std::holds_alternative<None>(a)) o.value = None{};
      else if (auto* t = std::get_if<ExternTensor>(&a)) o.value = *t;
      else if (auto* e = std::get_if<Expr>(&a)) o.value = *e;
      else if (auto* i = std::get_if<int64_t>(&a)) o.value = *i;
      else if (auto* d = std::get_if<double>(&a)) o.value = *d;
      else if (auto* b = std::get_if<bool>(&a)) o.value = *b;
      else c.fail("a tensor or a number");
      program_->outputs.push_back(std::move(o));
      if (!c.at_end()) c.expect(",");
    }
  }

  std::string_view text_;
  size_t offset_ = 0;
  int line_ = 0;
  std::unique_ptr<LoopProgram> program_;
  std::map<std::string, Buffer*> buffers_;
  std::map<std::string, const OpSchema*> schemas_;
  SymbolNames names_;  // of the operation being read
};

ValueId value_id(Cursor& c, const Body& body) {
  std::string w = c.word();
  int id = -1;
  if (w.size() < 2 || w[0] != 'v' || std::from_chars(w.data() + 1, w.data() + w.size(), id).ptr != w.data() + w.size()) c.fail("a value");
  if (id < 0 || id >= static_cast<int>(body.instrs.size())) c.fail("a value defined above");
  return id;
}

void Parser::parse_body(Body& body) {
  while (auto line = next_line()) {
    Cursor& c = *line;
    if (c.accept("}")) return;
    if (c.accept("yield")) {
      while (!c.at_end()) {
        body.yields.push_back(value_id(c, body));
        if (!c.at_end()) c.expect(",");
      }
      continue;
    }
    if (c.word() != fmt::format("v{}", body.instrs.size())) c.fail(fmt::format("v{}, the next value", body.instrs.size()));
    c.expect("=");
    Instr i = parse_instr(c, body);
    if (!c.at_end()) c.fail("the end of the line");
    body.instrs.push_back(std::move(i));
  }
  user_error("loop ir, line {}: the body has no end, expected }}", line_);
}

Instr Parser::parse_instr(Cursor& c, const Body& body) {
  Instr i;
  auto op = parse_op(c.word());
  if (!op) c.fail("an op of ops.def");
  i.op = *op;
  switch (i.op) {
    case Op::kConstant:
      i.number = number_of(c, c.number_text());
      c.expect(":");
      i.dtype = dtype(c);
      break;
    case Op::kIndexExpr:
      i.expr = expr(c.until(":"));
      c.expect(":");
      i.dtype = dtype(c);
      break;
    case Op::kLoad:
      i.buffer = buffer(c);
      i.dtype = i.buffer->dtype;
      i.coordinates = expr_list(c);
      if (c.accept("if")) i.operands[0] = value_id(c, body);
      break;
    case Op::kIndirect: {
      i.operands[0] = value_id(c, body);
      i.dtype = body.instrs[i.operands[0]].result_dtype();
      c.expect("as");
      std::string name = c.word();
      c.expect("<");
      i.expr = context().indirect(name, expr(c.until("{")));
      names_[name] = std::string(i.expr.symbol_name());
      break;
    }
    case Op::kCheckIndex: {
      i.operands[0] = value_id(c, body);
      i.dtype = body.instrs[i.operands[0]].result_dtype();
      c.expect("<");
      std::string_view rest = c.until("\"");
      size_t at = rest.rfind(" if ");
      i.expr = expr(rest.substr(0, at));
      if (at != std::string_view::npos) {
        Cursor predicate(rest.substr(at + 4), line_);
        i.operands[1] = value_id(predicate, body);
      }
      if (!c.at_end()) i.message = c.quoted();
      break;
    }
    case Op::kAssertTrue:
      i.operands[0] = value_id(c, body);
      i.dtype = DType::kBool;
      i.message = c.quoted();
      break;
    case Op::kRandomUint:
      i.dtype = DType::kUInt32;
      i.operands[0] = value_id(c, body);
      i.operands[1] = value_id(c, body);
      break;
    default: {
      for (int k = 0; k < op_operands(i.op); ++k) i.operands[k] = value_id(c, body);
      if (op_result(i.op) == OpResult::kExplicit) {
        c.expect(":");
        i.dtype = dtype(c);
      } else {
        i.dtype = body.instrs[i.operands[i.op == Op::kWhere ? 1 : 0]].result_dtype();
      }
    }
  }
  return i;
}

ExternTensor Parser::tensor(Cursor& c) {
  ExternTensor t;
  t.buffer = buffer(c);
  t.dtype = t.buffer->dtype;
  if (c.accept("{")) {
    SymbolNames saved = names_;
    while (!c.accept("->")) {
      std::string name = c.word();
      c.expect("<");
      Expr extent = expr(c.until_arrow());
      Expr axis = context().axis(name, extent);
      names_[name] = std::string(axis.symbol_name());
      t.axes.push_back(axis);
      t.sizes.push_back(extent);
      c.accept(",");
    }
    t.coordinates = expr_list(c);
    c.expect("}");
    names_ = std::move(saved);
  } else {
    t = whole(context(), t.buffer);
  }
  if (c.accept("as")) t.dtype = dtype(c);
  if (c.accept("needs")) t.required_strides = expr_list(c);
  return t;
}

ExternArgument Parser::argument(Cursor& c) {
  if (c.accept("none")) return None{};
  if (c.accept("true")) return true;
  if (c.accept("false")) return false;
  if (c.accept("%")) return tensor(c);
  if (c.accept("dtype")) return dtype(c);
  if (c.accept("device")) {
    Device d;
    d.type = c.word();
    d.index = static_cast<int>(c.integer());
    return d;
  }
  if (c.accept("format")) {
    std::string name = c.word();
    if (name == "contiguous") return MemoryFormat::kContiguous;
    if (name == "preserve") return MemoryFormat::kPreserve;
    if (name == "channels_last") return MemoryFormat::kChannelsLast;
    if (name == "channels_last_3d") return MemoryFormat::kChannelsLast3d;
    c.fail("a memory format");
  }
  if (c.accept("complex")) {
    c.expect("(");
    double re = number_of(c, c.number_text()).as_double();
    c.expect(",");
    double im = number_of(c, c.number_text()).as_double();
    c.expect(")");
    return std::complex<double>(re, im);
  }
  if (c.accept("(")) {
    Expr e = expr(c.until(")"));
    c.expect(")");
    return e;
  }
  if (c.next() == '"') return c.quoted();
  if (c.accept("[")) {
    ExternArgumentList list;
    while (!c.accept("]")) {
      list.push_back(argument(c));
      if (!c.peek("]")) c.expect(",");
    }
    return list;
  }
  Number n = number_of(c, c.number_text());
  if (n.is_float) return n.real;
  return n.integer;
}

}  // namespace

std::unique_ptr<LoopProgram> parse_loop_program(std::string_view text) {
  auto program = Parser(text).parse();
  verify(*program);
  return program;
}

}  // namespace litz
