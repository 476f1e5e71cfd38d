#include "support/fusecu_reference.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/paths.hpp"

namespace tessera::test {

std::vector<std::vector<std::string>> fusecu_rows(const std::string& file) {
    std::ifstream in(test_folder() + "/reference/fusecu/" + file);
    std::string line;
    if (!std::getline(in, line)) {
        throw std::runtime_error("cannot read " + file);
    }
    std::vector<std::vector<std::string>> rows;
    while (std::getline(in, line)) {
        rows.emplace_back();
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) {
            rows.back().push_back(cell);
        }
    }
    return rows;
}

}  // namespace tessera::test
