#include "support/paths.hpp"

namespace tessera::test {

std::string test_folder() {
    return TESSERA_TEST_DIR;
}

}  // namespace tessera::test
