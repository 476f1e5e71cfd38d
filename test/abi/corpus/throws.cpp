// Components that work until they reach the call that their knob names; there they throw.
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "tessera/plugin/registry.hpp"

namespace {

using namespace tessera;

/// What all of them have in common.
class Thrower {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice("in", "", {}, "the call that throws"),
                plugin::Knob::choice("what", "error", {"error", "number", "memory", "bug"},
                                     "what is thrown")};
    }
    explicit Thrower(const plugin::KnobValues& knobs)
        : in_(knobs.text("in")), what_(knobs.text("what")) {
        here("create");
    }

    void here(const std::string& call) const {
        if (call == in_) {
            raise();
        }
    }
    [[noreturn]] void raise() const {
        if (what_ == "number") {
            throw 42;
        }
        if (what_ == "memory") {
            throw std::bad_alloc();
        }
        if (what_ == "bug") {
            throw Bug("of the plugin");
        }
        throw std::runtime_error("out of ideas");
    }

private:
    const std::string in_, what_;
};

class ThrowingModel : public model::CostModel, Thrower {
public:
    using Thrower::knobs;
    explicit ThrowingModel(const plugin::KnobValues& knobs)
        : Thrower(knobs),
          real_(plugin::Registry<model::CostModel>::instance().create("looptree")) {}
    ~ThrowingModel() override {
        here("destructor");
    }
    std::string name() const override {
        here("name");
        return "throwing_model";
    }
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        here("evaluate");
        return real_->evaluate(problem, mapping);
    }
    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        here("evaluate");
        return real_->evaluate(problem, path, nodes);
    }
    bool has_formulas() const override {
        here("has_formulas");
        return true;
    }
    model::TemplateFormulas formulate(const model::Problem& problem, const arch::Path& path,
                                      const mapspace::Template& tmpl) const override {
        here("formulate");
        return real_->formulate(problem, path, tmpl);
    }

private:
    plugin::Owned<model::CostModel> real_;
};

class ThrowingStrategy : public search::SearchStrategy, Thrower {
public:
    using Thrower::knobs;
    using Thrower::Thrower;
    ~ThrowingStrategy() override {
        here("destructor");
    }
    std::string name() const override {
        return "throwing_strategy";
    }
    void start(const search::Space&, std::uint64_t seed) override {
        here("start");
        seed_ = seed;
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        here("ask");
        std::size_t n = 0;
        for (; n < batch.size() && drawn_ < 500; ++n) {
            batch[n].how = search::Candidate::How::draw;
            batch[n].seed = search::stream_seed(seed_, ++drawn_);
        }
        return n;
    }
    void tell(std::span<const search::Candidate>) override {
        here("tell");
    }
    bool exhausted() const override {
        here("exhausted");
        return false;
    }
    bool ends() const override {
        here("ends");
        return true;
    }

private:
    std::uint64_t seed_ = 0, drawn_ = 0;
};

class ThrowingMapper : public mapper::Mapper, Thrower {
public:
    using Thrower::knobs;
    using Thrower::Thrower;
    ~ThrowingMapper() override {
        here("destructor");
    }
    std::string name() const override {
        return "throwing_mapper";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        here("map");
        std::thread([this] { here("thread"); }).join();
        const auto real = plugin::Registry<mapper::Mapper>::instance().create("ffm");
        return real->map(problem, model, options);
    }
};

TESSERA_PLUGIN(model::CostModel, ThrowingModel, "throwing_model", "throws", "");
TESSERA_PLUGIN(search::SearchStrategy, ThrowingStrategy, "throwing_strategy", "throws", "");
TESSERA_PLUGIN(mapper::Mapper, ThrowingMapper, "throwing_mapper", "throws", "");

}  // namespace

TESSERA_PLUGIN_LIBRARY("throws", "1.0", "corpus", "", "throws where it is told to");
