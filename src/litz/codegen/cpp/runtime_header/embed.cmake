# cmake -DOUTPUT=x.cpp -DFILES="a.h;b.h" -P embed.cmake: writes the definition of runtime_headers().
set(text "#include \"litz/codegen/cpp/runtime_header/embedded.h\"\n\nnamespace litz {\n\nconst std::vector<std::pair<std::string_view, std::string_view>>& runtime_headers() {\n  static const std::vector<std::pair<std::string_view, std::string_view>> headers = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "{\"litz/${name}\", R\"LITZ(${content})LITZ\"},\n")
endforeach()
string(APPEND text "  };\n  return headers;\n}\n\n}  // namespace litz\n")
file(WRITE ${OUTPUT} "${text}")
