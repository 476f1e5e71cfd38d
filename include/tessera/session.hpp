// A search from its set-up to its judged result. map() and every command that searches enter here.
//
//     tessera::Session session(problem, options);
//     session.begin_with(tessera::parse_mapping(text), "known.yaml");
//     const tessera::Result result = session.search();
//
// What it settles once for all of them: which model and mapper are made and with which knobs, which
// mapspace is searched, which mappings a search may begin with, and that a result is as good and as
// legal as its mapper says. Errors: base/error.hpp. Thread rule: one thread for each session; its
// model may be used from several.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/library.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera {

/// Who evaluates and who searches, by name.
struct Components {
    std::string model = "looptree";
    std::string mapper = "ffm";  ///< empty: nothing is searched
    std::string strategy;        ///< of mapper `search`; empty: the one that its knob names
    std::map<std::string, plugin::KnobSettings> knobs;  ///< by component

    /// \throws UserError for a name that is unknown, and for a knob that is unknown or out of range
    plugin::Owned<model::CostModel> make_model() const;
    plugin::Owned<mapper::Mapper> make_mapper() const;
    /// What the mapper searches where `given` asks for no partial tiles (Mapper::preferred()); else
    /// `given`. Makes model and mapper once, so that wrong knobs are told before anything runs.
    mapspace::MapSpaceOptions searched(const mapspace::MapSpaceOptions& given) const;
    /// Mapper::overlaps().
    bool overlaps() const;
    /// The components that take part; knobs of others would be lost without a word.
    std::vector<std::string> used() const;
    bool uses(const std::string& name) const;

private:
    plugin::KnobSettings knobs_of(const std::string& component) const;
};

class Session {
public:
    /// Whose word on partial tiles counts where the options ask for none.
    enum class Space : std::uint8_t {
        preferred,  ///< the mapper's: mapper::Mapper::preferred()
        given,      ///< the options': those that are compared search one mapspace
    };

    /// \throws UserError for unknown names, wrong knobs, no metric, and a mapping to begin with
    /// that is no member of the mapspace
    Session(const Problem& problem, const Options& options);
    /// The same of parts. What `problem` points to lives as long as the session.
    Session(const model::Problem& problem, Components components, mapper::Options settings,
            Space space = Space::preferred);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const model::Problem& problem() const {
        return problem_;
    }
    const Components& components() const {
        return components_;
    }
    const model::CostModel& model() const {
        return *model_;
    }
    /// Of every search of this session. `mapspace` is the one that is searched; of it a result is
    /// proven optimal.
    const mapper::Options& settings() const {
        return settings_;
    }

    /// The mapping as the hardware runs it, with its costs. `name` begins the message: a file.
    /// \throws UserError if it is no member of the mapspace that is searched
    mapper::Solution member(const mapping::Mapping& mapping, const std::string& name) const;
    /// What is found is as good as this member or better. \throws UserError as member()
    void begin_with(const mapping::Mapping& mapping, const std::string& name);

    /// The result is the Pareto set over these usages and the metrics; of `alone`, the mapping of
    /// least usage. \throws UserError for what is no memory of limited size, and if the settings
    /// have a target or gap
    void minimise_usage(UsageGoals goals);
    const UsageGoals& usage() const {
        return usage_;
    }

    /// Costs of a mapping that the hardware can run and the architecture allows; it may lie outside
    /// the mapspace. \throws IllegalMapping
    model::Report judge(const mapping::Mapping& mapping) const;

    /// What may differ between two searches of one session.
    struct Turn {
        std::uint64_t seed = 0;
        base::Budget limits;
        telemetry::Recorder* recorder = nullptr;  ///< null: nobody listens
        const std::atomic<bool>* stop = nullptr;
        std::string resume;  ///< mapper::Options::resume
    };
    /// With seed and limits of settings().
    Turn turn() const;
    /// That no mapping is legal, or that a limit came first, is a result. The model evaluates what
    /// was found and the independent checker judges it, before anybody hears of it.
    /// \throws UserError for what the mapper does not support; PluginError for a mapper that says
    /// less than its mapping costs, or whose mapping is no member of the mapspace
    Result search(const Turn& turn) const;
    /// With the limits, the stop token and the progress of the options.
    Result search() const;

private:
    void judge(mapper::Result& result) const;

    std::optional<Problem> kept_;
    const model::Problem problem_;
    const Components components_;
    const plugin::Owned<model::CostModel> model_;
    mapper::Options settings_;
    UsageGoals usage_;
    std::stop_token stop_;
    std::function<void(const Progress&)> progress_;
};

}  // namespace tessera
