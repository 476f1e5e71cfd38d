// One object with all built-ins (SConstruct): who names this function links them, and they have
// announced themselves before main(). A program that loads them from files links this file alone.
#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

void register_builtins() {
    Registry<model::CostModel>::instance();
    Registry<search::SearchStrategy>::instance();
    Registry<mapper::Mapper>::instance();
}

}  // namespace tessera::plugin
