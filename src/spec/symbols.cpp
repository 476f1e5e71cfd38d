#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "tessera/spec/expression.hpp"

namespace tessera::spec {

namespace {

struct Entry {
    std::optional<Value> value;
    Expression expression;     ///< lazy: evaluated into value
    bool running = false;      ///< being evaluated: asked again means a cycle
    std::exception_ptr error;  ///< it does not evaluate with the names of its scope
};

}  // namespace

struct Symbols::Scope {
    std::shared_ptr<Scope> parent;
    std::map<std::string, Entry, std::less<>> entries;
    std::shared_ptr<const SetUniverse> universe;
    std::shared_ptr<const NameSource> source;
    bool failed = false;  ///< some entry has an error

    /// With another name in the scope, what failed may evaluate.
    void forget_errors() {
        if (std::exchange(failed, false)) {
            for (auto& [name, entry] : entries) {
                entry.error = nullptr;
            }
        }
    }
};

Symbols::Symbols() : scope_(std::make_shared<Scope>()) {}

Symbols::Symbols(std::shared_ptr<Scope> scope) : scope_(std::move(scope)) {}

Symbols Symbols::child() const {
    auto scope = std::make_shared<Scope>();
    scope->parent = scope_;
    return Symbols(std::move(scope));
}

/// Copy on write: another Symbols or a child scope may hold the same scope.
Symbols::Scope& Symbols::own() {
    if (scope_.use_count() > 1) {
        scope_ = std::make_shared<Scope>(*scope_);
    }
    scope_->forget_errors();
    return *scope_;
}

void Symbols::set(const std::string& name, Value value) {
    own().entries[name] = Entry{std::move(value), {}, false, nullptr};
}

void Symbols::set_lazy(const std::string& name, Expression expression) {
    own().entries[name] = Entry{std::nullopt, std::move(expression), false, nullptr};
}

void Symbols::set_universe(std::shared_ptr<const SetUniverse> universe) {
    own().universe = std::move(universe);
}

void Symbols::set_source(std::shared_ptr<const NameSource> source) {
    own().source = std::move(source);
}

std::optional<Value> Symbols::find(std::string_view name) const {
    for (std::shared_ptr<Scope> scope = scope_; scope; scope = scope->parent) {
        const auto found = scope->entries.find(name);
        if (found != scope->entries.end()) {
            return found->second.value ? *found->second.value : resolve(scope, found->first);
        }
        if (scope->source) {
            if (std::optional<Value> value = scope->source->find(name)) {
                return value;
            }
        }
    }
    return std::nullopt;
}

Value Symbols::resolve(const std::shared_ptr<Scope>& scope, const std::string& name) {
    Entry& entry = scope->entries.at(name);
    if (entry.error) {
        std::rethrow_exception(entry.error);
    }
    if (entry.running) {
        entry.expression.fail(
            "'" + name + "' is defined by itself", "",
            "it uses its own name, directly or through other names; break the cycle");
    }
    struct Running {
        bool& flag;
        explicit Running(bool& f) : flag(f) {
            flag = true;
        }
        ~Running() {
            flag = false;
        }
    } running(entry.running);
    // The copy that evaluates holds the scope too, so set() cannot change it underneath.
    try {
        entry.value = entry.expression.evaluate(Symbols(scope));
    } catch (const UserError&) {  // of a chain of names each fails once
        entry.error = std::current_exception();
        scope->failed = true;
        throw;
    }
    return *entry.value;
}

bool Symbols::contains(std::string_view name) const {
    for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
        if (scope->entries.find(name) != scope->entries.end() ||
            (scope->source && scope->source->find(name))) {
            return true;
        }
    }
    return false;
}

std::vector<std::string> Symbols::names() const {
    std::set<std::string> result;
    for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
        for (const auto& [name, entry] : scope->entries) {
            result.insert(name);
        }
        if (scope->source) {
            const std::vector<std::string> more = scope->source->names();
            result.insert(more.begin(), more.end());
        }
    }
    return {result.begin(), result.end()};
}

const SetUniverse* Symbols::universe() const {
    for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
        if (scope->universe) {
            return scope->universe.get();
        }
    }
    return nullptr;
}

void Symbols::resolve_all() const {
    for (std::shared_ptr<Scope> scope = scope_; scope; scope = scope->parent) {
        for (auto& [name, entry] : scope->entries) {
            if (entry.value || entry.error) {
                continue;
            }
            try {
                resolve(scope, name);
            } catch (const UserError&) {  // NOLINT(bugprone-empty-catch): find() throws it
            }
        }
    }
}

}  // namespace tessera::spec
