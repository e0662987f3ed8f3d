// Part of every shared library of Litz's that compiles on threads: what static objects register to be destroyed at exit is forgotten.
// Compiles may run while the process exits, and clang's and LLVM's statics are made on first use, so that no handler of ours could be
// registered late enough to come before all their destructors. They hold memory alone; the process's end frees it.
//
// What must hold: code of the library that has something to do at exit asks for it with `on_exit`, which does not come by here.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
