#pragma once

#include <string>

namespace tessera::test {

/// The folder `test` of the checkout, without a slash at its end.
std::string test_folder();

}  // namespace tessera::test
