// Relocatable objects to running code: JITLink under an ORC session, one dynamic library of ORC's per object, so equal
// names in two objects do not meet. No platform, no debugger or profiler registration, no worker threads of ORC's own.
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "litz/codegen/cpp/jit/clang_library.h"
#include "litz/codegen/cpp/jit/llvm_setup.h"

namespace orc = llvm::orc;

struct jit_clang_code {
  orc::JITDylib* library = nullptr;
  std::unordered_map<std::string, void*> symbols;
};

namespace {

/// What ORC reports beside the error that a lookup returns (the names of missing symbols, for one), of this thread.
thread_local std::string* reported_errors = nullptr;

struct Session {
  std::unique_ptr<orc::ExecutionSession> execution;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  std::string error;

  Session() {
    litz::jit::set_up_llvm();
    auto control = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
    if (!control) {
      error = llvm::toString(control.takeError());
      return;
    }
    execution = std::make_unique<orc::ExecutionSession>(std::move(*control));
    execution->setErrorReporter([](llvm::Error e) {
      const std::string text = llvm::toString(std::move(e));
      if (reported_errors) *reported_errors += text + "\n";
    });
    layer = std::make_unique<orc::ObjectLinkingLayer>(*execution);
  }
};

/// Never destroyed: code may run until the process ends.
Session& session() {
  static Session* instance = new Session;
  return *instance;
}

llvm::Error link(Session& s, orc::JITDylib& library, std::unique_ptr<llvm::MemoryBuffer> object, llvm::ArrayRef<jit_clang_symbol> given,
                 jit_clang_code& code) {
  orc::SymbolMap absolute;
  for (const jit_clang_symbol& symbol : given) {
    absolute[s.execution->intern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported};
  }
  if (auto error = library.define(orc::absoluteSymbols(std::move(absolute)))) return error;
  auto interface = orc::getObjectFileInterface(*s.execution, object->getMemBufferRef());
  if (!interface) return interface.takeError();
  orc::SymbolLookupSet wanted;
  for (const auto& entry : interface->SymbolFlags) wanted.add(entry.first);
  if (auto error = s.layer->add(library, std::move(object), std::move(*interface))) return error;
  auto found = s.execution->lookup(orc::makeJITDylibSearchOrder(&library), std::move(wanted));
  if (!found) return found.takeError();
  for (const auto& entry : *found) { code.symbols.emplace((*entry.first).str(), entry.second.getAddress().toPtr<void*>()); }
  return llvm::Error::success();
}

}  // namespace

extern "C" jit_clang_code* jit_clang_load(const char* object, size_t size, const jit_clang_symbol* symbols, size_t symbol_count,
                                          jit_clang_sink error, void* context) {
  Session& s = session();
  if (!s.layer) {
    error(context, s.error.data(), s.error.size());
    return nullptr;
  }
  std::string reports;
  reported_errors = &reports;
  static std::atomic<unsigned long> serial{0};
  auto code = std::make_unique<jit_clang_code>();
  code->library = &s.execution->createBareJITDylib("litz_" + std::to_string(serial++));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object, size), code->library->getName());
  llvm::Error failure = link(s, *code->library, std::move(buffer), {symbols, symbol_count}, *code);
  reported_errors = nullptr;
  if (!failure) return code.release();
  const std::string text = reports + llvm::toString(std::move(failure));
  error(context, text.data(), text.size());
  jit_clang_unload(code.release());
  return nullptr;
}

extern "C" void* jit_clang_find(const jit_clang_code* code, const char* symbol) {
  const auto found = code->symbols.find(symbol);
  return found == code->symbols.end() ? nullptr : found->second;
}

extern "C" void jit_clang_unload(jit_clang_code* code) {
  if (!code) return;
  // The library is of ours alone, so removal can fail only by a bug of ORC's; memory would leak, nothing would break.
  llvm::consumeError(session().execution->removeJITDylib(*code->library));
  delete code;
}
