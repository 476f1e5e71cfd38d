#include "support/reference_cases.hpp"

#include <zlib.h>

#include <stdexcept>
#include "support/paths.hpp"

namespace tessera::testing {

std::string accelforge_folder() {
    return tessera::test::test_folder() + "/reference/accelforge/";
}

void for_each_case(const std::string& file, const std::function<void(const YAML::Node&)>& use) {
    const gzFile in = gzopen(file.c_str(), "rb");
    if (in == nullptr) {
        throw std::runtime_error("cannot open " + file);
    }
    std::string text;
    char buffer[1 << 16];
    for (int n; (n = gzread(in, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, n);
    }
    gzclose(in);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) {
            use(YAML::Load(text.substr(begin, end - begin)));
        }
        begin = end + 1;
    }
}

}  // namespace tessera::testing
