#pragma once
// The C API of liblitz.so: about the library, building graphs, compiling them, running what was compiled. Thread-safe, but one graph
// under construction belongs to one thread; no exception leaves.
//
// Functions that can fail give 0, or a litz_status after which litz_error_message() says why, for the calling thread. Text given as
// `char**` is freed with litz_free_text; other text lives as long as its owner or the process.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LITZ_API __attribute__((visibility("default")))

/// As in "0.1.0".
LITZ_API const char* litz_version(void);
/// The C++ compiler inside, as in "clang 19.1.7".
LITZ_API const char* litz_compiler_version(void);
/// Compiles a small kernel for this machine in process, runs it and checks the result: 0 when it is right; otherwise
/// 1, with the reason in `message` (`size` bytes with the terminating zero, cut when longer).
LITZ_API int litz_selftest_jit(char* message, size_t size);

/// Starts, in the background, what a first compile for this type of device would wait for; cheap when it is done.
LITZ_API void litz_prepare(const char* device_type);

/// How the device starts compiler processes of the host language, word by word; before its first compile.
LITZ_API void litz_set_worker_command(const char* device_type, const char* const* words, size_t count);

typedef enum {
  LITZ_OK = 0,
  LITZ_UNSUPPORTED = 1,    // Litz does not take this graph: fall back
  LITZ_USER_ERROR = 2,     // the input is wrong
  LITZ_INTERNAL_ERROR = 3  // a bug of Litz
} litz_status;
LITZ_API const char* litz_error_message(void);
LITZ_API void litz_free_text(char* text);

// ---- building a graph -----------------------------------------------------------------------------------------------

typedef struct litz_graph litz_graph;

/// A size: a number, or (expr >= 0) an expression of the graph.
typedef struct {
  int64_t value;
  int32_t expr;
} litz_size;

typedef struct {
  int32_t dtype;  // PyTorch's number of the element type
  int32_t rank;
  const litz_size* sizes;
  const litz_size* strides;  // elements
  litz_size storage_offset;  // elements
  const char* device_type;
  int32_t device_index;
} litz_tensor_meta;

typedef enum {
  LITZ_ARG_NONE,
  LITZ_ARG_BOOL,           // integer
  LITZ_ARG_INT,            // integer
  LITZ_ARG_FLOAT,          // real
  LITZ_ARG_COMPLEX,        // real, imaginary
  LITZ_ARG_STRING,         // text
  LITZ_ARG_DTYPE,          // integer: PyTorch's number
  LITZ_ARG_DEVICE,         // text: type; integer: index
  LITZ_ARG_MEMORY_FORMAT,  // integer: PyTorch's number
  LITZ_ARG_EXPR,           // integer: expression (a graph's argument), table entry (a call's)
  LITZ_ARG_VALUE,          // integer: value (a graph's argument), slot (a call's)
  LITZ_ARG_FLOAT_EXPR,     // integer: table entry (a call's) that holds the bits of a double
  LITZ_ARG_LIST            // integer: number of elements, which follow
} litz_argument_kind;

typedef struct {
  litz_argument_kind kind;
  int64_t integer;
  double real, imaginary;
  const char* text;
} litz_argument;

LITZ_API int litz_graph_create(const char* name, litz_graph** graph);
LITZ_API void litz_graph_destroy(litz_graph* graph);
/// A graph from its .ir text.
LITZ_API int litz_graph_parse(const char* text, size_t length, litz_graph** graph);
LITZ_API int litz_graph_text(const litz_graph* graph, char** text);
LITZ_API int litz_graph_verify(const litz_graph* graph);

// Expressions are numbers that count from 0.
LITZ_API int litz_graph_integer(litz_graph* graph, int64_t value, int32_t* expr);
/// A size of the inputs, or (unbacked) a number that only the run knows. Bounds: INT64_MAX and -INT64_MAX for none.
LITZ_API int litz_graph_symbol(litz_graph* graph, const char* name, int is_unbacked, int64_t lower, int64_t upper, const int64_t* hint,
                               int32_t* expr);
/// A float that only the run knows (`is_unbacked`) or that is passed.
LITZ_API int litz_graph_float_symbol(litz_graph* graph, const char* name, int is_unbacked, int32_t* expr);
/// A number that follows from earlier symbols by functions of floats: "trunc(float_mul(to_float(s0), 1.5))", with the functions of
/// support/number_functions.def. Bounds as above; they must lie around every value.
LITZ_API int litz_graph_computed(litz_graph* graph, const char* name, const char* definition, int64_t lower, int64_t upper, int32_t* expr);
/// op: "+", "*", "//", "%", "min", "max", "==", "!=", "<", "<=", "and", "or", "not", "select".
LITZ_API int litz_graph_expr(litz_graph* graph, const char* op, const int32_t* operands, size_t count, int32_t* expr);

// Values are numbers that count from 0.
LITZ_API int litz_graph_input(litz_graph* graph, const char* name, const litz_tensor_meta* meta, int32_t* value);
LITZ_API int litz_graph_size_input(litz_graph* graph, const char* name, int32_t expr);
/// A tensor stored with the graph: passed behind the inputs when the program is called, in the order of these calls (those that
/// litz_program_constant names). data: its first element in host memory that stays as it is until the graph is compiled, so that what
/// depends on it alone can be computed then; null where that is not so.
LITZ_API int litz_graph_constant(litz_graph* graph, const char* name, const litz_tensor_meta* meta, const void* data, int32_t* value);
/// The number of an op's schema, as PyTorch writes it.
LITZ_API int litz_graph_schema(litz_graph* graph, const char* text, int32_t* schema);
/// Every argument of the schema in its order (lists as LITZ_ARG_LIST, then their elements). The results' values count from *first_value,
/// a list result has a value per element; a result without a tensor has dtype -1. `symbols`: integer results.
LITZ_API int litz_graph_call(litz_graph* graph, const char* name, int32_t schema, const litz_argument* arguments, size_t argument_count,
                             const litz_tensor_meta* results, size_t result_count, const int32_t* symbols, size_t symbol_count,
                             const char* file, int line, const char* source, int32_t* first_value);
/// The graph's next output: a value, an expression, a number, a bool or none.
LITZ_API int litz_graph_output(litz_graph* graph, const litz_argument* output, int strides_are_promised);
LITZ_API int litz_graph_set_inference(litz_graph* graph, int is_inference);

// ---- compiling ------------------------------------------------------------------------------------------------------

typedef struct litz_program litz_program;
typedef struct litz_framework litz_framework;

/// A result of an op on constants: what the graph expects of it, and (set by the host) the number under which the host keeps it.
typedef struct {
  int32_t dtype;  // PyTorch's number
  int32_t rank;
  const int64_t* sizes;
  const int64_t* strides;  // elements; the host lays a strided result out so
  int64_t constant;
} litz_constant_result;
/// How constants of the graph are computed while it compiles. LITZ_ARG_VALUE holds a constant's number; results count on from the last
/// constant. Not 0 where the op cannot be computed: then it stays in the graph.
typedef struct {
  void* context;
  int (*evaluate)(void* context, const char* op, const char* schema, const litz_argument* arguments, size_t argument_count,
                  litz_constant_result* results, size_t result_count);
} litz_constant_host;

/// Options are "key=value" texts. Takes the graph over, whatever happens. constants: needed by freezing, may be null.
LITZ_API int litz_compile(litz_graph* graph, const char* const* options, size_t option_count, const litz_constant_host* constants,
                          litz_framework* framework, litz_program** program);
LITZ_API void litz_program_destroy(litz_program* program);
/// JSON: kernels, library calls, extern calls by op, bytes, time per stage, paths of generated sources.
LITZ_API int litz_program_report(const litz_program* program, char** json);
/// The wrapper program, a line of text per line.
LITZ_API int litz_program_text(const litz_program* program, char** text);
/// JSON: every option with its type, default and meaning.
/// `litz opt`: reads the text of a level ("graph", "loop", "kernel", "wrapper"), runs the stages up to and including `last` (a stage or a level) and gives the
/// text of what that left. No kernel is compiled unless `last` is at or behind compile_kernels.
LITZ_API int litz_run_on_text(const char* text, const char* from, const char* last, const char* const* options, size_t option_count,
                              char** result);
/// One line per stage: name, level, what it does.
LITZ_API int litz_list_stages(char** text);
LITZ_API int litz_list_options(char** json);
/// LITZ_USER_ERROR with the known names if an option is not known or its value does not parse.
LITZ_API int litz_check_options(const char* const* options, size_t option_count);

// ---- running --------------------------------------------------------------------------------------------------------

/// What the caller passes: a tensor (its memory), or a number.
typedef struct {
  void* object;  // what litz_host::argument_tensor takes
  void* data;    // first element
  const int64_t* sizes;
  const int64_t* strides;  // elements
  int32_t rank;
  int64_t number;
} litz_call_argument;

typedef enum {
  LITZ_OUT_NONE,
  LITZ_OUT_TENSOR,
  LITZ_OUT_ARGUMENT,
  LITZ_OUT_SAME_AS,
  LITZ_OUT_INT,
  LITZ_OUT_FLOAT,
  LITZ_OUT_BOOL
} litz_output_kind;
typedef struct {
  uint8_t kind;   // litz_output_kind
  void* tensor;   // LITZ_OUT_TENSOR: a handle, owned by the caller
  int32_t index;  // LITZ_OUT_ARGUMENT, LITZ_OUT_SAME_AS: position of the argument, of the earlier output
  int64_t integer;
  double number;
} litz_call_output;

typedef enum { LITZ_RUN_OK, LITZ_RUN_FRAMEWORK_ERROR, LITZ_RUN_INDEX_ERROR, LITZ_RUN_ZERO_DIVISION, LITZ_RUN_ERROR } litz_run_status;

typedef struct {
  int32_t argument_count;  // of the caller
  int32_t constant_count;  // tensors stored with the graph that are passed behind them
  int32_t output_count;
} litz_program_shape;
LITZ_API litz_program_shape litz_program_get_shape(const litz_program* program);
/// Which constant (counted by litz_graph_constant, then by litz_constant_host) the program takes at this place.
LITZ_API int32_t litz_program_constant(const litz_program* program, int32_t place);
typedef enum {
  LITZ_NEEDS_NUMBER,  // a size
  LITZ_NEEDS_OBJECT,  // a tensor that only calls of the framework and outputs use: `object` alone is read
  LITZ_NEEDS_MEMORY   // a tensor whose memory or sizes are read
} litz_argument_need;
/// Constants count on behind the arguments.
LITZ_API litz_argument_need litz_program_argument_need(const litz_program* program, int32_t argument);
/// After a failure the outputs are empty and litz_error_message() has the text, unless the host has an exception pending.
/// owns_arguments: tensors are given up (litz_host::drop_argument, and `object` set to null) as soon as no later line reads them; what
/// is left is the caller's.
LITZ_API litz_run_status litz_program_run(litz_program* program, litz_call_argument* arguments, litz_call_output* outputs,
                                          int owns_arguments);

// ---- the framework --------------------------------------------------------------------------------------------------

/// One running extern call, as the host sees it.
typedef struct litz_frame litz_frame;
/// The tensor in a slot: a handle that the program keeps; null after a failure.
LITZ_API void* litz_frame_tensor(litz_frame* frame, int64_t slot);
LITZ_API int64_t litz_frame_number(litz_frame* frame, int64_t entry);
/// Gives result i; the handle then belongs to the program. 0 on success.
LITZ_API int litz_frame_set_result(litz_frame* frame, size_t i, void* tensor);
LITZ_API void litz_frame_set_number_result(litz_frame* frame, size_t i, int64_t value);

/// What the host language adds to torch's C interface. Any function may be null.
typedef struct {
  /// A new handle for the object of a litz_call_argument.
  int (*argument_tensor)(void* object, void** tensor);
  void (*drop_argument)(void* object);
  /// Makes a call of `op` ("aten.add.Tensor") ready; null with the reason.
  void* (*prepare)(const char* op, const char* schema, const litz_argument* arguments, size_t count, char* reason, size_t reason_size);
  int (*call)(void* prepared, litz_frame* frame);
  void (*destroy)(void* prepared);
  int64_t (*suspend_autocast)(void);
  void (*restore_autocast)(int64_t token);
  void* (*suspend)(void);
  void (*resume)(void* token);
} litz_host;

/// `libtorch_cpu`: path of the library, which the process has loaded. The framework lives as long as the process.
LITZ_API int litz_framework_create(const char* libtorch_cpu, const litz_host* host, litz_framework** framework);
/// Which ways of calling an op may be used; all by default.
LITZ_API void litz_framework_set_tiers(litz_framework* framework, int typed, int dispatcher, int host);

#ifdef __cplusplus
}
#endif
