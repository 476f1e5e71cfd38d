// The figures of the FuseCU paper, see test/reference/fusecu/README.md.
#pragma once

#include <string>
#include <vector>

namespace tessera::test {

/// The cells of a file there, without its header.
std::vector<std::vector<std::string>> fusecu_rows(const std::string& file);

}  // namespace tessera::test
