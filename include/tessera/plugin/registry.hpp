// The one registry of plugins. Built-ins register here at static initialisation by one macro a
// plugin.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::plugin {

/// One registered component.
template <class Role>
struct Entry {
    std::string name;
    std::string summary;   ///< one line
    std::string citation;  ///< paper or empty
    std::function<std::unique_ptr<Role>()> create;
};

/// All components of a role, sorted by name. Names are unique; registering one twice is a Bug.
template <class Role>
class Registry {
public:
    static Registry& instance();
    bool add(Entry<Role> entry);
    /// \throws UserError listing the known names and the nearest one.
    std::unique_ptr<Role> create(const std::string& name) const;
    const std::vector<Entry<Role>>& entries() const {
        return entries_;
    }

private:
    std::vector<Entry<Role>> entries_;
};

extern template class Registry<model::CostModel>;
extern template class Registry<mapper::Mapper>;

}  // namespace tessera::plugin

/// In a plugin's source: TESSERA_PLUGIN(tessera::mapper::Mapper, Ffm, "ffm", "summary",
/// "citation");
#define TESSERA_PLUGIN(Role, Class, name, summary, citation)                                  \
    static const bool registered_##Class = ::tessera::plugin::Registry<Role>::instance().add( \
        {name, summary, citation, [] { return std::make_unique<Class>(); }})
