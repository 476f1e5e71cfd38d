// A training run in its folder: samples shard by shard, the network epoch by epoch. What is there
// already is not made again.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/plugins/components.hpp"
#include "cli/sweep/sweep_space.hpp"
#include "io/report_json.hpp"
#include "learning/samples.hpp"
#include "train_watch.hpp"

namespace tessera::cli {

struct TrainPlan {
    std::string folder;
    bool resume = false, json = false;
    TrainWatch::Settings views;
    std::string workload, architecture;
    std::vector<SweepAxis> axes;  ///< each problem takes one value of each, at random
    std::size_t samples = 0, per_problem = 0, epochs = 0;
    std::vector<std::size_t> hidden;
    learning::SampleOptions sampling;
    learning::TrainOptions training;
    io::Json description;  ///< all of the above that makes a difference; of the folder's run.json
};

/// \returns the exit code \throws UserError
int train(const TrainPlan& plan, const api::ProblemFamily& family, const Components& components,
          std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
