// Mapper `one_by_one`: runs other mappers one after the other and returns the best mapping of all.
// A proof of one holds for all: they search one mapspace.
//   c++ one_by_one.cpp $(pkg-config --cflags --libs tessera-plugin) -o tessera-one_by_one.so
#include <tessera/plugin/mapper.hpp>
#include <tessera/plugin/registry.hpp>

#include <limits>
#include <sstream>

using namespace tessera;

namespace {

class OneByOne : public mapper::Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice("mappers", "search,ffm", {}, "names, separated by commas")};
    }

    explicit OneByOne(const plugin::KnobValues& knobs) {
        std::istringstream list(knobs.text("mappers"));
        for (std::string name; std::getline(list, name, ',');) {
            names_.push_back(name);
        }
    }

    std::string name() const override {
        return "one_by_one";
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        if (options.metrics.size() != 1) {
            throw UserError("mapper one_by_one compares one metric, not several");
        }
        mapper::Options part = options;
        part.budget.max_time_s /= static_cast<double>(names_.size());
        if (part.budget.max_evals == 0) {
            part.budget.max_evals = 100'000;
        }
        mapper::Result best;
        for (const std::string& name : names_) {
            const auto made = plugin::Registry<mapper::Mapper>::instance().create(name);
            mapper::Result next = made->map(problem, model, part);
            next.statistics.evaluated += best.statistics.evaluated;
            if (value(next, options) <= value(best, options)) {
                best = std::move(next);
            } else {
                best.statistics.evaluated = next.statistics.evaluated;
            }
            if (best.status == mapper::Status::optimal) {
                break;
            }
        }
        return best;
    }

private:
    static double value(const mapper::Result& result, const mapper::Options& options) {
        return result.solutions.empty()
                   ? std::numeric_limits<double>::infinity()
                   : mapper::metric_value(options.metrics.front(), result.solutions.front().report);
    }

    std::vector<std::string> names_;
};

TESSERA_PLUGIN(mapper::Mapper, OneByOne, "one_by_one", "the best of several mappers", "");
TESSERA_PLUGIN_LIBRARY("one_by_one", "0.1", "", "", "example of a mapper");

}  // namespace
