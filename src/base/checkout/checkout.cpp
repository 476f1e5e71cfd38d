// Linked into programs that stay in the checkout, and into nothing that is installed for others.
#include "base/data_path.hpp"

namespace {

const bool known = [] {
    tessera::set_checkout(TESSERA_CHECKOUT);
    return true;
}();

}  // namespace
