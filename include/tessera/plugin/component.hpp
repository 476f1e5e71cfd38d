// How a C++ class becomes a component of a plugin. One statement per class, in any source file,
// after including the header of its role (search_strategy.hpp, cost_model.hpp, mapper.hpp):
//
//     TESSERA_PLUGIN(tessera::search::SearchStrategy, MyStrategy, "my_strategy", "what it does",
//                    "paper or empty");
//
// The class implements the contract and has either a default constructor, or the static function
// knobs() and a constructor from const KnobValues& (knobs.hpp).
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "tessera/plugin/abi.h"
#include "tessera/plugin/knobs.hpp"
#include "tessera/plugin/record.hpp"

namespace tessera::plugin {

/// Kind and interface version of a contract; its specialisations stand in search_strategy.hpp,
/// cost_model.hpp and mapper.hpp. Major: sources must change; minor: something was added or is
/// understood differently (docs/plugin-abi.md says what).
template <std::uint32_t Kind, std::uint32_t Major, std::uint32_t Minor>
struct ContractOf {
    static constexpr std::uint32_t kind = Kind, major = Major, minor = Minor;
};
template <class Role>
struct Contract;

/// Components of this shared object (or of the program). Hidden: every library has its own list.
__attribute__((visibility("hidden"))) inline std::vector<const tessera_component*>&
own_components() {
    static std::vector<const tessera_component*> list;
    return list;
}

namespace detail {

inline void set_error(tessera_error* error, const char* text) {
    std::strncpy(error->text, text, sizeof error->text - 1);
    error->text[sizeof error->text - 1] = '\0';
}

/// Knobs as C structures; the strings live as long as this.
class CKnobs {
public:
    explicit CKnobs(std::vector<Knob> knobs) : knobs_(std::move(knobs)) {
        for (const Knob& k : knobs_) {
            std::string joined;
            for (const std::string& choice : k.choices) {
                joined += (joined.empty() ? "" : "|") + choice;
            }
            choices_.push_back(std::move(joined));
            list_.push_back({sizeof(tessera_knob), static_cast<std::uint32_t>(k.type),
                             k.name.c_str(), k.standard.c_str(), k.unit.c_str(), k.text.c_str(),
                             k.lowest, k.highest, choices_.back().c_str()});
        }
    }
    CKnobs(const CKnobs&) = delete;
    CKnobs& operator=(const CKnobs&) = delete;

    const tessera_knob* data() const {
        return list_.data();
    }
    std::uint32_t size() const {
        return static_cast<std::uint32_t>(list_.size());
    }

private:
    std::vector<Knob> knobs_;
    std::deque<std::string> choices_;
    std::vector<tessera_knob> list_;
};

template <class Class>
std::vector<Knob> knobs_of() {
    if constexpr (requires { Class::knobs(); }) {
        return Class::knobs();
    } else {
        return {};
    }
}

template <class Role, class Class>
int create(const tessera_value* values, std::uint32_t n, void** object, tessera_error* error) {
    try {
        Role* made;
        if constexpr (requires(const KnobValues& v) { Class(v); }) {
            made = new Class(KnobValues(values, n));
        } else {
            made = new Class();
        }
        *object = made;
        return TESSERA_OK;
    } catch (const std::bad_alloc& failure) {
        set_error(error, failure.what());
        return TESSERA_NO_MEMORY;
    } catch (const std::exception& failure) {
        set_error(error, failure.what());
    } catch (...) {
        set_error(error, "an exception of unknown type");
    }
    return TESSERA_PLUGIN_BUG;
}

template <class Role>
void destroy(void* object) {
    try {
        delete static_cast<Role*>(object);
    } catch (...) {
        // A destructor that throws has nobody left to tell.
    }
}

}  // namespace detail

/// Adds a component to this library's list.
template <class Role, class Class>
class Registration {
public:
    Registration(const char* name, const char* summary, const char* citation)
        : knobs_(detail::knobs_of<Class>()) {
        using Of = Contract<Role>;
        component_ = {sizeof(tessera_component),
                      Of::kind,
                      name,
                      summary,
                      citation,
                      Of::major,
                      Of::minor,
                      knobs_.data(),
                      knobs_.size(),
                      &detail::create<Role, Class>,
                      &detail::destroy<Role>};
        own_components().push_back(&component_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

private:
    detail::CKnobs knobs_;
    tessera_component component_;
};

}  // namespace tessera::plugin

/// The record lies in the file for the host to read before it loads anything.
#define TESSERA_PLUGIN(Role, Class, name, summary, citation)                                      \
    [[gnu::section(".tessera.plugin"), gnu::used]] static constexpr auto tessera_record_##Class = \
        ::tessera::plugin::make_record<::tessera::plugin::Contract<Role>>(name);                  \
    static const ::tessera::plugin::Registration<Role, Class> registered_##Class(name, summary,   \
                                                                                 citation)

/// Once in every shared object: its entry point.
#define TESSERA_PLUGIN_LIBRARY(name, version, vendor, licence, summary)              \
    extern "C" __attribute__((visibility("default"))) const tessera_plugin*          \
    tessera_plugin_entry_v1(const tessera_host*) {                                   \
        static const tessera_plugin plugin = {                                       \
            sizeof(tessera_plugin),                                                  \
            TESSERA_ABI_MAJOR,                                                       \
            TESSERA_ABI_MINOR,                                                       \
            name,                                                                    \
            version,                                                                 \
            vendor,                                                                  \
            licence,                                                                 \
            summary,                                                                 \
            ::tessera::plugin::own_components().data(),                              \
            static_cast<std::uint32_t>(::tessera::plugin::own_components().size())}; \
        return &plugin;                                                              \
    }                                                                                \
    static_assert(true)
