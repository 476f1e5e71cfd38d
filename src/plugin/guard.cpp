#include "plugin/guard.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/memory_reserve.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::plugin {
namespace {

/// An error that names its component already.
class Blamed : public PluginError {
public:
    using PluginError::PluginError;
};

thread_local const char* of_this_thread = nullptr;
std::atomic<const char*> of_any_thread{nullptr};

/// A component; knows how its calls are named. Never freed: a call may outlive everything.
class Who {
public:
    Who(const char* role, const std::string& name, const std::string& file, bool may_throw)
        : text_(std::string(role) + " '" + name + "'" + (file.empty() ? "" : " of " + file)),
          own_(file.empty()),
          may_throw_(may_throw) {}

    const char* call(const char* function) const {
        const std::lock_guard lock(mutex_);
        std::string& text = calls_[function];
        if (text.empty()) {
            text = text_ + " failed in " + function;
        }
        return text.c_str();
    }
    /// Part of the program.
    bool own() const {
        return own_;
    }
    /// Errors on purpose are part of its contract.
    bool may_throw() const {
        return may_throw_;
    }

private:
    const std::string text_;
    const bool own_, may_throw_;
    mutable std::mutex mutex_;
    mutable std::map<std::string, std::string> calls_;
};

const Who& who(const char* role, const std::string& name, const std::string& file, bool may_throw) {
    static std::mutex mutex;
    static auto* known = new std::deque<Who>();
    const std::lock_guard lock(mutex);
    return known->emplace_back(role, name, file, may_throw);
}

/// A call into a plugin while it runs.
class CallScope {
public:
    CallScope(const Who& who, const char* call) : outer_(of_this_thread), other_(of_any_thread) {
        if (!who.own()) {
            of_this_thread = call;
            of_any_thread = call;
        }
    }
    ~CallScope() {
        of_this_thread = outer_;
        of_any_thread = other_;
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

private:
    const char* const outer_;
    const char* const other_;
};

/// \throws what the contract allows, else PluginError
[[noreturn]] void rethrow(const Who& who, const char* call) {
    const auto blame = [&](const char* what) { return Blamed(std::string(call) + ": " + what); };
    try {
        throw;
    } catch (const base::Stopped&) {
        throw;  // the host's own, on its way through
    } catch (const Blamed&) {
        throw;
    } catch (const std::bad_alloc& none) {
        // One that the system has no part in is the plugin's.
        if (who.own() || base::memory_ran_out()) {
            throw;
        }
        throw blame(none.what());
    } catch (const Bug& bug) {
        if (who.own()) {
            throw;
        }
        const std::string text = bug.what();  // after the first line: to whom to report it
        throw blame(text.substr(0, text.find('\n')).c_str());
    } catch (const PluginError& error) {
        if (who.own()) {
            throw;
        }
        throw blame(error.what());
    } catch (const Error& error) {
        if (who.may_throw()) {
            throw;
        }
        throw blame(error.what());
    } catch (const std::exception& failure) {
        if (who.own() && who.may_throw()) {
            throw;
        }
        throw blame(failure.what());
    } catch (...) {
        if (who.own() && who.may_throw()) {
            throw;
        }
        throw blame("an exception of unknown type");
    }
}

template <class Function>
auto guard(const Who& who, const char* function, const Function& run) {
    const char* const call = who.call(function);
    const CallScope scope(who, call);
    try {
        return run();
    } catch (...) {
        rethrow(who, call);
    }
}

/// A destructor that throws ends the process; its name is known then.
template <class Role>
class Held {
public:
    Held(Owned<Role> made, const Who& who) : made_(std::move(made)), who_(who) {}
    ~Held() {
        try {
            const CallScope scope(who_, who_.call("its destructor"));
            made_.reset();
        } catch (...) {  // no memory for the name
        }
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

protected:
    template <class Function>
    auto call(const char* function, const Function& run) const {
        return guard(who_, function, run);
    }
    Owned<Role> made_;

private:
    const Who& who_;
};

class GuardedModel : public model::CostModel, Held<model::CostModel> {
public:
    using Held::Held;
    std::string name() const override {
        return call("name()", [&] { return made_->name(); });
    }
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        return call("evaluate()", [&] { return made_->evaluate(problem, mapping); });
    }
    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        return call("evaluate()", [&] { return made_->evaluate(problem, path, nodes); });
    }
    bool has_formulas() const override {
        return call("has_formulas()", [&] { return made_->has_formulas(); });
    }
    model::TemplateFormulas formulate(const model::Problem& problem, const arch::Path& path,
                                      const mapspace::Template& tmpl) const override {
        return call("formulate()", [&] { return made_->formulate(problem, path, tmpl); });
    }
};

class GuardedStrategy : public search::SearchStrategy, Held<search::SearchStrategy> {
public:
    using Held::Held;
    std::string name() const override {
        return call("name()", [&] { return made_->name(); });
    }
    void start(const search::Space& space, std::uint64_t seed) override {
        call("start()", [&] { made_->start(space, seed); });
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        return call("ask()", [&] { return made_->ask(batch); });
    }
    void tell(std::span<const search::Candidate> batch) override {
        call("tell()", [&] { made_->tell(batch); });
    }
    std::size_t width() const override {
        return call("width()", [&] { return made_->width(); });
    }
    void budget_used(double fraction) override {
        call("budget_used()", [&] { made_->budget_used(fraction); });
    }
    void immigrate(const search::Candidate& best) override {
        call("immigrate()", [&] { made_->immigrate(best); });
    }
    search::Preparation preparation() const override {
        return call("preparation()", [&] { return made_->preparation(); });
    }
    bool exhausted() const override {
        return call("exhausted()", [&] { return made_->exhausted(); });
    }
    bool ends() const override {
        return call("ends()", [&] { return made_->ends(); });
    }
    std::string save() const override {
        return call("save()", [&] { return made_->save(); });
    }
    bool restore(const std::string& state) override {
        return call("restore()", [&] { return made_->restore(state); });
    }
};

class GuardedMapper : public mapper::Mapper, Held<mapper::Mapper> {
public:
    using Held::Held;
    std::string name() const override {
        return call("name()", [&] { return made_->name(); });
    }
    mapspace::MapSpaceOptions preferred(mapspace::MapSpaceOptions given) const override {
        return call("preferred()", [&] { return made_->preferred(given); });
    }
    bool overlaps() const override {
        return call("overlaps()", [&] { return made_->overlaps(); });
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        try {
            return call("map()", [&] { return made_->map(problem, model, options); });
        } catch (const base::Stopped&) {
            throw LimitReached("stopped before a complete mapping was found; give more time");
        }
    }
};

template <class Role, class Guarded>
Owned<Role> wrapped(Owned<Role> made, const std::string& name, const std::string& file,
                    bool may_throw) {
    const Who& component = who(Contract<Role>::name, name, file, may_throw);
    auto layer = std::make_unique<Guarded>(std::move(made), component);
    return {layer.release(), [](Role* object) { delete object; }};
}

}  // namespace

Owned<model::CostModel> guarded(Owned<model::CostModel> made, const std::string& name,
                                const std::string& file) {
    return wrapped<model::CostModel, GuardedModel>(std::move(made), name, file, true);
}

Owned<search::SearchStrategy> guarded(Owned<search::SearchStrategy> made, const std::string& name,
                                      const std::string& file) {
    return wrapped<search::SearchStrategy, GuardedStrategy>(std::move(made), name, file, false);
}

Owned<mapper::Mapper> guarded(Owned<mapper::Mapper> made, const std::string& name,
                              const std::string& file) {
    return wrapped<mapper::Mapper, GuardedMapper>(std::move(made), name, file, true);
}

const char* blamed_call() noexcept {
    return of_this_thread != nullptr ? of_this_thread : of_any_thread.load();
}

}  // namespace tessera::plugin
