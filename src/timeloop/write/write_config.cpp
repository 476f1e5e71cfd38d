#include "timeloop/write.hpp"

#include <cstdio>
#include <cstdlib>
#include <libconfig.h++>
#include <sstream>

#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::timeloop {

std::string config_with_mapping(const Input& input, const Mapping* mapping) {
    std::ostringstream text;
    for (const std::string& file : input.document.files) {
        text << spec::read_bytes(file) << "\n";
    }
    libconfig::Config config;
    config.readString(text.str());
    libconfig::Setting& root = config.getRoot();
    for (const char* key : {"mapper", "mapspace", "mapping"}) {
        if (root.exists(key)) {
            root.remove(key);
        }
    }
    char* buffer = nullptr;
    std::size_t size = 0;
    std::FILE* stream = ::open_memstream(&buffer, &size);
    if (stream == nullptr) {
        throw Bug("no memory stream");
    }
    config.write(stream);
    std::fclose(stream);
    std::string result(buffer, size);
    std::free(buffer);
    if (mapping != nullptr) {
        std::ostringstream directive;
        write_map_cfg(directive, input.problem, input.architecture, *mapping);
        result += directive.str();
    }
    return result;
}

}  // namespace tessera::timeloop
