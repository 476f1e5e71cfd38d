// Map:
//   Problems   which problems are drawn: the last tenth is never trained on
//   Shards     samples, some problems a file: samples-000.bin, ...
//   Training   epochs, each kept in training.bin
//   report     surrogate.bin, losses.csv, losses.svg, result.json
#include "train_run.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>

#include "base/directory.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "io/json_text.hpp"
#include "io/plot_svg.hpp"
#include "learning/container.hpp"
#include "learning/quality.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/rng.hpp"

namespace tessera::cli {

namespace {

using learning::Samples;
using Clock = std::chrono::steady_clock;

constexpr std::size_t samples_of_shard = 10000;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string digits(double value, int n) {
    std::ostringstream out;
    out << std::setprecision(n) << value;
    return out.str();
}

/// The problems, none twice.
std::vector<api::Choice> problems_of(const TrainPlan& plan) {
    std::size_t combinations = 1;
    for (const SweepAxis& axis : plan.axes) {
        combinations = std::min<std::size_t>(combinations * axis.values.size(), 1U << 30U);
    }
    const std::size_t wanted = (plan.samples + plan.per_problem - 1) / plan.per_problem;
    const std::size_t n = std::min(wanted, combinations);
    search::Rng rng(search::stream_seed(plan.training.seed, 1));
    std::set<std::vector<std::size_t>> known;
    std::vector<api::Choice> all;
    while (all.size() < n) {
        std::vector<std::size_t> drawn;
        for (const SweepAxis& axis : plan.axes) {
            drawn.push_back(rng.below(axis.values.size()));
        }
        if (!known.insert(drawn).second) {
            continue;
        }
        api::Choice choice;
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            const SweepAxis& axis = plan.axes[i];
            if (axis.setting) {
                choice.settings.push_back({axis.name, axis.values[drawn[i]]});
            } else {
                choice.defines[axis.name] = axis.values[drawn[i]];
            }
        }
        all.push_back(std::move(choice));
    }
    return all;
}

Samples without_rows(const Samples& samples) {
    Samples result;
    result.family = samples.family;
    result.outputs = samples.outputs;
    result.raw.n_inputs = samples.raw.n_inputs;
    result.raw.n_outputs = samples.raw.n_outputs;
    return result;
}

class Run {
public:
    Run(const TrainPlan& plan, const api::ProblemFamily& family, const Components& components)
        : plan_(plan),
          family_(family),
          model_(components.make_model()),
          problems_(problems_of(plan)),
          folder_(open()) {
        per_problem_ = (plan.samples + problems_.size() - 1) / problems_.size();
        n_unseen_ = problems_.size() < 2 ? 0 : std::max<std::size_t>(1, problems_.size() / 10);
    }

    int run(std::ostream& out, TrainWatch& watch) {
        watch_ = &watch;
        const auto start = Clock::now();
        Samples seen, unseen;
        draw_all(seen, unseen);
        drawing_s_ = since(start);
        if (seen.raw.size() == 0) {
            throw NoLegalMapping("no problem of this family has a legal mapping");
        }
        Samples tested;  // both have the layout of all
        if (unseen.raw.size() > 0) {
            seen.append(without_rows(unseen));
            tested = without_rows(seen);
            tested.append(unseen);
        }
        learning::Surrogate surrogate(seen.family, seen.outputs, plan_.hidden, plan_.training.seed);
        surrogate.fit_scales(seen.raw);
        surrogate.set_samples(seen.raw.size());
        train(surrogate, seen, tested);
        return report(surrogate, seen, tested, out);
    }

private:
    base::Directory open() const {
        const bool there = std::filesystem::exists(plan_.folder);
        if (!there) {
            base::make_folders(plan_.folder);
        }
        base::Directory folder(plan_.folder);
        if (!folder.lock(true)) {
            throw UserError(plan_.folder + ": another process writes to this folder");
        }
        const std::string own = io::dumped(plan_.description);
        const std::optional<std::string> known = folder.read("run.json");
        if (!known && !folder.names().empty()) {
            throw UserError(plan_.folder +
                            ": the folder is not empty, and holds no training run; "
                            "name another one");
        }
        if (known && !plan_.resume) {
            throw UserError(plan_.folder + ": a training run is there; --resume goes on with it");
        }
        if (known && *known != own) {
            throw UserError(plan_.folder +
                            ": the training run there has other options or files "
                            "than this one (its run.json says which); name another folder");
        }
        folder.write("run.json", own);
        return folder;
    }

    static std::string shard_name(std::size_t shard) {
        const std::string number = std::to_string(shard);
        return "samples-" + std::string(number.size() < 3 ? 3 - number.size() : 0, '0') + number +
               ".bin";
    }

    void draw_all(Samples& seen, Samples& unseen) {
        const std::size_t each = std::max<std::size_t>(1, samples_of_shard / per_problem_);
        const std::size_t n_shards = (problems_.size() + each - 1) / each;
        const std::size_t first_unseen = problems_.size() - n_unseen_;
        const auto start = Clock::now();
        watch_->begin("samples", 0, per_problem_ * problems_.size());
        for (std::size_t shard = 0; shard < n_shards; ++shard) {
            const std::string name = shard_name(shard);
            const std::size_t from = shard * each, to = std::min(from + each, problems_.size());
            std::vector<Samples> parts(to - from);
            const std::optional<std::string> kept = folder_.read(name);
            if (kept) {
                split(Samples::read(*kept, (folder_.path() / name).string()), parts);
            } else {
                draw(from, parts);
                Samples whole;
                for (const Samples& part : parts) {
                    whole.append(part);
                }
                folder_.write(name, whole.bytes());
            }
            for (std::size_t i = 0; i < parts.size(); ++i) {
                (from + i < first_unseen ? seen : unseen).append(parts[i]);
            }
            watch_->advance(per_problem_ * (to - from));
            watch_->say("samples " + std::to_string(seen.raw.size() + unseen.raw.size()) + " of " +
                        std::to_string(per_problem_ * problems_.size()) + ", problem " +
                        std::to_string(to) + " of " + std::to_string(problems_.size()) + ", " +
                        base::quantity(since(start), "s"));
        }
    }

    void draw(std::size_t from, std::vector<Samples>& parts) {
        base::parallel_for(parts.size(), plan_.training.threads, [&](std::size_t i, int) {
            const api::Inputs inputs = family_.with(problems_[from + i]);
            const model::Problem problem{&*inputs.workload, &*inputs.architecture,
                                         arch::Compat::none};
            parts[i] = learning::draw_samples(
                problem, *model_, plan_.sampling, per_problem_,
                search::stream_seed(plan_.training.seed ^ 0x5a5aU, from + i));
        });
    }

    /// A shard as the problems it was made of.
    static void split(const Samples& shard, std::vector<Samples>& parts) {
        if (shard.per_problem.size() != parts.size()) {
            throw UserError("a file of samples holds " + std::to_string(shard.per_problem.size()) +
                            " problems, expected " + std::to_string(parts.size()) +
                            "; remove it, and it is made again");
        }
        std::size_t at = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            Samples& part = parts[i];
            const std::size_t n = shard.per_problem[i];
            const auto cut = [&](const std::vector<float>& all, std::size_t width) {
                const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at * width);
                return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(n * width));
            };
            part.family = shard.family;
            part.outputs = shard.outputs;
            part.raw = {shard.raw.n_inputs, shard.raw.n_outputs,
                        cut(shard.raw.inputs, shard.raw.n_inputs),
                        cut(shard.raw.outputs, shard.raw.n_outputs)};
            part.per_problem = {n};
            at += n;
        }
    }

    void train(learning::Surrogate& surrogate, const Samples& seen, const Samples& unseen) {
        const learning::TrainingSet set = surrogate.standardised(seen.raw);
        const learning::TrainingSet test = surrogate.standardised(unseen.raw);
        learning::Trainer trainer(surrogate.network(), set, plan_.training);
        restore(trainer);
        const auto start = Clock::now();
        watch_->begin("epochs", trainer.epochs(), plan_.epochs);
        while (trainer.epochs() < plan_.epochs) {
            losses_.push_back(static_cast<float>(trainer.epoch()));
            test_losses_.push_back(test.size() > 0
                                       ? static_cast<float>(learning::mean_loss(
                                             surrogate.network(), test, plan_.training.loss))
                                       : 0.0F);
            keep(trainer);
            watch_->losses(
                trainer.epochs(), losses_.back(),
                test.size() > 0 ? std::optional<double>(test_losses_.back()) : std::nullopt);
            watch_->say(
                "epoch " + std::to_string(trainer.epochs()) + " of " +
                std::to_string(plan_.epochs) + ": loss " + digits(losses_.back(), 4) +
                (test.size() > 0 ? ", on unseen problems " + digits(test_losses_.back(), 4) : "") +
                ", " + base::quantity(since(start), "s"));
        }
        training_s_ = since(start);
    }

    void keep(const learning::Trainer& trainer) {
        base::Json header;
        header["losses"] = losses_;
        header["test_losses"] = test_losses_;
        folder_.write("training.bin",
                      learning::container_bytes("training", header, trainer.save()));
    }

    void restore(learning::Trainer& trainer) {
        const std::optional<std::string> kept = folder_.read("training.bin");
        if (!kept) {
            return;
        }
        const std::string name = (folder_.path() / "training.bin").string();
        const learning::Container file = learning::read_container(*kept, "training", name);
        losses_ = learning::numbers_of(file, "losses", name);
        test_losses_ = learning::numbers_of(file, "test_losses", name);
        if (losses_.size() != test_losses_.size() || losses_.size() > plan_.epochs ||
            !trainer.restore(losses_.size(), file.numbers)) {
            throw UserError(name + ": it is of another training run; remove it, and training " +
                            "begins anew");
        }
    }

    void draw_losses() const {
        std::string csv = "epoch,loss,unseen_loss\n";
        io::PlotSeries own, test;
        own.name = "training";
        test.name = "unseen problems";
        own.markers = test.markers = false;
        for (std::size_t i = 0; i < losses_.size(); ++i) {
            const auto epoch = static_cast<double>(i + 1);
            own.points.emplace_back(epoch, losses_[i]);
            csv += std::to_string(i + 1) + "," + digits(losses_[i], 7) + ",";
            if (n_unseen_ > 0) {
                test.points.emplace_back(epoch, test_losses_[i]);
                csv += digits(test_losses_[i], 7);
            }
            csv += "\n";
        }
        io::Plot plot;
        plot.title = "Loss of the surrogate";
        plot.x_label = "epoch";
        plot.y_label = "mean loss per output";
        plot.y_log = true;
        plot.series = {own, test};
        folder_.write("losses.csv", csv);
        folder_.write("losses.svg", io::plot_svg(plot));
    }

    int report(const learning::Surrogate& surrogate, const Samples& seen, const Samples& unseen,
               std::ostream& out) {
        folder_.write("surrogate.bin", surrogate.bytes());
        draw_losses();
        io::Json result;
        result["schema_version"] = io::schema_version;
        const std::string path = (folder_.path() / "surrogate.bin").string();
        result["surrogate"] = io::exact(path);
        result["samples"] = seen.raw.size();
        result["problems"] = seen.per_problem.size();
        result["inputs"] = seen.raw.n_inputs;
        result["outputs"] = seen.raw.n_outputs;
        result["weights"] = surrogate.network().weights().size();
        io::put(result, "loss", losses_.empty() ? 0 : losses_.back());
        std::ostringstream text;
        text << "Surrogate of " << plan_.workload << " on " << plan_.architecture << ": " << path
             << "\n  samples  " << seen.raw.size() << " of " << seen.per_problem.size()
             << " problems; " << unseen.raw.size() << " of " << unseen.per_problem.size()
             << " unseen ones\n  network  " << seen.raw.n_inputs << " inputs, "
             << seen.raw.n_outputs << " outputs, " << surrogate.network().weights().size()
             << " weights\n  loss     " << digits(losses_.empty() ? 0 : losses_.back(), 4);
        if (unseen.raw.size() > 0 && !test_losses_.empty()) {
            const learning::Quality q = learning::quality(surrogate, unseen);
            io::put(result, "unseen_loss", test_losses_.back());
            io::put(result, "unseen_rank_correlation", q.rank_correlation);
            io::put(result, "unseen_median_rank_correlation", q.median_rank_correlation);
            io::put(result, "unseen_squared_error_log2_edp", q.squared_error);
            text << ", on unseen problems " << digits(test_losses_.back(), 4)
                 << "\n  unseen   EDP: rank correlation " << digits(q.rank_correlation, 4)
                 << ", of one problem's mappings " << digits(q.median_rank_correlation, 4)
                 << " (median); mean squared error of log2 " << digits(q.squared_error, 4);
        }
        text << "\n  time     samples " << base::quantity(drawing_s_, "s") << ", training "
             << base::quantity(training_s_, "s") << "\n";
        folder_.write("result.json", io::dumped(result));
        io::put(result, "drawing_s", drawing_s_);
        io::put(result, "training_s", training_s_);
        out << (plan_.json ? io::dumped(result) : text.str());
        return ExitCode::ok;
    }

    const TrainPlan& plan_;
    const api::ProblemFamily& family_;
    const plugin::Owned<model::CostModel> model_;
    TrainWatch* watch_ = nullptr;
    const std::vector<api::Choice> problems_;
    const base::Directory folder_;
    std::size_t per_problem_ = 0, n_unseen_ = 0;
    std::vector<float> losses_, test_losses_;
    double drawing_s_ = 0, training_s_ = 0;
};

}  // namespace

int train(const TrainPlan& plan, const api::ProblemFamily& family, const Components& components,
          std::ostream& out, std::ostream& err) {
    Run run(plan, family, components);
    const auto watch = std::make_unique<TrainWatch>(plan.views, err);
    const base::StopScope scope({watch->interrupt().stop()});
    std::ostringstream report;
    try {
        const int code = run.run(report, *watch);
        watch->finish(telemetry::RunState::finished);
        out << report.str();
        return code;
    } catch (const base::Stopped&) {
        watch->finish(telemetry::RunState::interrupted);
        err << watch->interrupt().cause() << ": what is done is kept in " << plan.folder
            << "; --resume goes on\n";
        return ExitCode::interrupted;
    }
}

}  // namespace tessera::cli
