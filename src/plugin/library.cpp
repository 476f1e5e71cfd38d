#include "plugin/library.hpp"

#include <dlfcn.h>

#include <exception>

#include "tessera/base/version.hpp"

namespace tessera::plugin {

namespace {

std::string check_component(const tessera_component* c) {
    if (c == nullptr || c->struct_size < sizeof(tessera_component) || c->name == nullptr ||
        c->name[0] == '\0' || c->summary == nullptr || c->citation == nullptr ||
        c->create == nullptr || c->destroy == nullptr || (c->n_knobs > 0 && c->knobs == nullptr)) {
        return "one of its components is incomplete; use the macro TESSERA_PLUGIN";
    }
    if (c->kind < TESSERA_COST_MODEL || c->kind > TESSERA_MAPPER) {
        return std::string("component '") + c->name +
               "' is of an unknown kind; use a newer tessera";
    }
    return "";
}

std::string check(const tessera_plugin* plugin) {
    if (plugin == nullptr) {
        return "its entry point returned nothing";
    }
    if (plugin->struct_size < sizeof(tessera_plugin) || plugin->abi_major != TESSERA_ABI_MAJOR) {
        return "its descriptor is of ABI " + std::to_string(plugin->abi_major) +
               ", this program has " + std::to_string(TESSERA_ABI_MAJOR) +
               "; rebuild it with the headers of this program";
    }
    if (plugin->name == nullptr || plugin->n_components == 0 || plugin->components == nullptr) {
        return "it holds no components";
    }
    for (std::uint32_t i = 0; i < plugin->n_components; ++i) {
        if (std::string problem = check_component(plugin->components[i]); !problem.empty()) {
            return problem;
        }
    }
    return "";
}

const tessera_plugin* call(tessera_plugin_entry entry, std::string& problem) {
    static const tessera_host host = {sizeof(tessera_host), TESSERA_ABI_MAJOR, TESSERA_ABI_MINOR,
                                      version};
    try {
        return entry(&host);
    } catch (const std::exception& failure) {
        problem = std::string("its entry point threw: ") + failure.what();
    } catch (...) {
        problem = "its entry point threw an exception of unknown type";
    }
    return nullptr;
}

}  // namespace

const tessera_plugin* open_library(const std::string& path, std::string& problem, bool* linked) {
    // Never closed: objects and code of a plugin may be in use until the process ends.
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = ::dlerror();
        problem = std::string("the system cannot load it: ") + (reason != nullptr ? reason : "?");
        if (linked != nullptr) {
            *linked = false;
        }
        return nullptr;
    }
    void* symbol = ::dlsym(library, TESSERA_PLUGIN_ENTRY);
    if (symbol == nullptr) {
        problem = std::string("it does not export ") + TESSERA_PLUGIN_ENTRY;
        return nullptr;
    }
    const tessera_plugin* plugin = call(reinterpret_cast<tessera_plugin_entry>(symbol), problem);
    if (problem.empty()) {
        problem = check(plugin);
    }
    return problem.empty() ? plugin : nullptr;
}

}  // namespace tessera::plugin
