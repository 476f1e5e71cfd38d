#include "tessera/plugin/registry.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/base/nearest.hpp"

namespace tessera::plugin {

namespace {

template <class Role>
const char* role_name();
template <>
const char* role_name<model::CostModel>() {
    return "cost model";
}
template <>
const char* role_name<mapper::Mapper>() {
    return "mapper";
}

}  // namespace

template <class Role>
Registry<Role>& Registry<Role>::instance() {
    // Made on first use: registrations run before main in an order nobody knows.
    static Registry registry;
    return registry;
}

template <class Role>
bool Registry<Role>::add(Entry<Role> entry) {
    const auto place = std::lower_bound(
        entries_.begin(), entries_.end(), entry.name,
        [](const Entry<Role>& known, const std::string& name) { return known.name < name; });
    if (place != entries_.end() && place->name == entry.name) {
        throw Bug(std::string("two ") + role_name<Role>() + "s are called '" + entry.name + "'");
    }
    entries_.insert(place, std::move(entry));
    return true;
}

template <class Role>
std::unique_ptr<Role> Registry<Role>::create(const std::string& name) const {
    std::vector<std::string> names;
    for (const Entry<Role>& entry : entries_) {
        if (entry.name == name) {
            return entry.create();
        }
        names.push_back(entry.name);
    }
    std::string message = std::string("unknown ") + role_name<Role>() + " '" + name + "'";
    const std::string near = nearest(name, names);
    message += near.empty() ? "" : "; did you mean '" + near + "'?";
    message += "; there are:";
    for (const std::string& known : names) {
        message += " " + known;
    }
    throw UserError(message);
}

template class Registry<model::CostModel>;
template class Registry<mapper::Mapper>;

}  // namespace tessera::plugin
