// The evaluation of Mind Mappings (Hegde et al., ASPLOS 2021) on our mapspace: its eight problems,
// its methods beside ours, and FFM's optimum or bound.
//
//   bench/reproduce_mind_mappings [--folder runs/mind-mappings] [--seeds 20] [--steps 5000]
//       [--cpu-seconds 20] [--ffm-seconds 60] [--cnn SURROGATE] [--mttkrp SURROGATE]
//       [--strategies random,simanneal,deap,ddpg,gradient] [--quick]
//
// The methods are those of the paper: `simanneal` is annealing with the schedule of that library,
// `deap` genetic search as its appendix has it; `annealing`, `genetic` and others are ours.
// A search ends after so many steps or CPU seconds, whichever is first; FFM after CPU seconds.
// Without files of surrogates two are trained (--quick: small ones). Tables go to stdout; figures
// 3, 5 and 6 become .csv and .svg in the folder, 7a lies beside the surrogates (losses.svg).
// Figures 7b and 7c: mind_mappings_surrogates. Map:
//   problems       table 1
//   race           one strategy, one seed: the best value after each step, and CPU time
//   figures 3 to 7
//   speeds         steps a second: strategies, and the published network

#include <ctime>
#include <iomanip>
#include <iostream>

#include "bar_chart.hpp"
#include "io/plot_svg.hpp"
#include "options.hpp"
#include "tessera/learning/minimum.hpp"
#include "tessera/learning/network.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;
using Row = std::vector<std::string>;

struct Settings {
    std::string folder = "runs/mind-mappings", cnn, mttkrp;
    double seeds = 20, steps = 5000, cpu_seconds = 20, ffm_seconds = 60;
    bool quick = false;
};

struct Target {
    std::string name, workload;
    Problem::Defines defines;
    /// Digitised from figure 5: EDP over the minimum after 5000 steps; SA, GA, RL, MM.
    std::array<double, 4> paper;
};

std::vector<Target> targets() {
    const auto layer = [](const char* n, const char* c, const char* k, const char* r,
                          const char* p) {
        return Problem::Defines{{"N", n}, {"C", c}, {"K", k}, {"R", r}, {"P", p}};
    };
    // Inception's C is 192 in the paper and 64 in its program, whose minimum figure 5 has.
    return {
        {"VGG Conv_2", "cnn-layer", layer("16", "64", "128", "3", "112"), {6.8, 8.4, 6.2, 4.5}},
        {"Inception Conv_2",
         "cnn-layer",
         layer("32", "64", "192", "3", "56"),
         {7.1, 9.1, 7.0, 4.7}},
        {"AlexNet Conv_2", "cnn-layer", layer("8", "96", "256", "5", "27"), {8.2, 10.4, 7.9, 5.7}},
        {"AlexNet Conv_4", "cnn-layer", layer("8", "384", "384", "3", "13"), {7.6, 10.2, 6.3, 5.3}},
        {"ResNet Conv_3", "cnn-layer", layer("16", "128", "128", "3", "28"), {7.6, 9.4, 7.0, 4.6}},
        {"ResNet Conv_4", "cnn-layer", layer("16", "256", "256", "3", "14"), {7.3, 9.6, 6.0, 4.7}},
        {"MTTKRP_0", "mttkrp", {}, {7.4, 9.1, 7.1, 6.8}},
        {"MTTKRP_1",
         "mttkrp",
         {{"I", "2048"}, {"J", "4096"}, {"K", "1024"}, {"L", "128"}},
         {8.2, 9.4, 8.1, 8.0}},
    };
}

constexpr double early_s = 0.05;  // of figure 6 as a table

std::vector<std::string> strategies = {"random", "simanneal", "deap", "ddpg", "gradient"};

struct Method {
    std::string strategy;
    plugin::KnobSettings knobs;
};

Method method(const std::string& name, const std::string& surrogate) {
    if (name == "simanneal") {  // its probes are part of the steps
        return {"annealing", {{"schedule", "simanneal"}, {"probe", "200"}}};
    }
    if (name == "deap") {
        return {"genetic", {{"form", "deap"}}};
    }
    return {name, name == "gradient" ? plugin::KnobSettings{{"surrogate", surrogate}}
                                     : plugin::KnobSettings{}};
}

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string text(const char* format, double value) {
    return bench::number(format, value);
}

void print(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::cout << std::setw(i == 0 ? 18 : 11) << (i == 0 ? std::left : std::right) << row[i];
        }
        std::cout << "\n";
    }
    std::cout << std::endl;
}

void write(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) {
        sum += v;
    }
    return sum / static_cast<double>(values.size());
}

double geometric_mean(std::vector<double> values) {
    for (double& v : values) {
        v = std::log(v);
    }
    return std::exp(mean(values));
}

// --- races ---------------------------------------------------------------------------------------

struct Race {
    std::vector<double> best;  ///< EDP, J s, after each step
    std::vector<double> at_s;  ///< CPU seconds, training of its own included
    search::Point point;       ///< of the last of them
};

Race race(const search::OpenSpace& space, const std::string& name,
          const plugin::KnobSettings& knobs, std::uint64_t seed, std::size_t steps,
          double most_cpu_s) {
    const auto strategy = plugin::Registry<search::SearchStrategy>::instance().create(name, knobs);
    search::Worker worker(space);
    Race result;
    double best = std::numeric_limits<double>::infinity();
    const double start = cpu_s();
    strategy->start(space, seed);
    const std::size_t width = strategy->width() > 0 ? strategy->width() : 64;
    std::vector<search::Candidate> batch(width);
    while (result.best.size() < steps && cpu_s() - start < most_cpu_s) {
        const std::size_t room = std::min(width, steps - result.best.size());
        strategy->budget_used(static_cast<double>(result.best.size()) / static_cast<double>(steps));
        const std::size_t n = strategy->ask({batch.data(), room});
        if (n == 0) {
            break;
        }
        for (std::size_t i = 0; i < n; ++i) {
            search::Candidate& c = batch[i];
            worker.run(c);
            c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
            if (c.outcome.legal() && c.outcome.value < best) {
                best = c.outcome.value;
                result.point = c.point;
            }
            result.best.push_back(best);
            result.at_s.push_back(cpu_s() - start);
        }
        strategy->tell({batch.data(), n});
    }
    return result;
}

struct Field {
    std::vector<double> last;     ///< EDP over the minimum, by strategy: mean over seeds
    std::vector<double> step_us;  ///< CPU, by strategy
    std::size_t cut = 0;          ///< searches that ended at the limit of CPU time
    double optimum = 0, gap = 0;  ///< FFM's best over the minimum; how far the bound is below
    std::vector<std::vector<double>> curves, times;  ///< by strategy: means over seeds
    mapping::Mapping best;
};

/// A mapping counts as what the model says of it.
double checked_edp(const Problem& problem, const model::CostModel& model,
                   const mapping::Mapping& mapping, double expected) {
    const double edp = model.evaluate(problem.view(), mapping).edp_js();
    if (!(std::abs(edp - expected) <= 1e-9 * expected)) {
        throw std::runtime_error("the model disagrees with a search");
    }
    return edp;
}

Field run_field(const Target& target, const Settings& settings) {
    const Problem problem = Problem::load("mind-mappings", target.workload, target.defines);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem.view(), *model, {});
    const double minimum = learning::algorithmic_minimum(problem.view()).edp_js();
    const auto steps = static_cast<std::size_t>(settings.steps);
    const auto seeds = static_cast<std::uint64_t>(settings.seeds);
    const std::string& surrogate = target.workload == "mttkrp" ? settings.mttkrp : settings.cnn;
    Field field;
    double best = std::numeric_limits<double>::infinity();
    search::Worker worker(space);
    for (const std::string& name : strategies) {
        const Method own = method(name, surrogate);
        std::vector<double> curve(steps, 0), times(steps, 0);
        double spent_s = 0, made = 0;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            Race run = race(space, own.strategy, own.knobs, seed, steps, settings.cpu_seconds);
            field.cut += run.best.size() < steps ? 1 : 0;
            spent_s += run.at_s.back();
            made += static_cast<double>(run.best.size());
            run.best.resize(steps, run.best.back());
            run.at_s.resize(steps, run.at_s.back());
            for (std::size_t i = 0; i < steps; ++i) {
                curve[i] += run.best[i] / minimum / static_cast<double>(seeds);
                times[i] += run.at_s[i] / static_cast<double>(seeds);
            }
            if (run.best.back() < best) {
                field.best = worker.mapping(run.point);
                best = checked_edp(problem, *model, field.best, run.best.back());
            }
        }
        field.last.push_back(curve.back());
        field.step_us.push_back(1e6 * spent_s / made);
        field.curves.push_back(std::move(curve));
        field.times.push_back(std::move(times));
    }
    Options options;
    options.start = {field.best};
    options.limits.max_cpu_s = cpu_s() + settings.ffm_seconds;
    const Result result = map(problem, options);
    const double found = result.solutions.front().report.edp_js();
    field.optimum = found / minimum;
    field.gap = result.bound ? std::max(0.0, (found - *result.bound) / found) : 1;
    return field;
}

/// The mean best value after so many CPU seconds, over the minimum; "-": none yet.
std::string after(const Field& field, std::size_t strategy, double seconds) {
    const std::vector<double>& times = field.times[strategy];
    const auto end = std::upper_bound(times.begin(), times.end(), seconds);
    return end == times.begin()
               ? "-"
               : text("%.3f",
                      field.curves[strategy][static_cast<std::size_t>(end - times.begin() - 1)]);
}

// --- figures -------------------------------------------------------------------------------------

io::Plot curves_plot(const std::string& title, const Field& field, bool by_time) {
    io::Plot plot;
    plot.title = title;
    plot.x_label = by_time ? "CPU seconds" : "step";
    plot.y_label = "best EDP over the algorithmic minimum";
    plot.x_log = plot.y_log = true;
    for (std::size_t s = 0; s < strategies.size(); ++s) {
        io::PlotSeries series;
        series.name = strategies[s];
        series.markers = false;
        double next = 1;
        for (std::size_t i = 0; i < field.curves[s].size(); ++i) {
            if (static_cast<double>(i + 1) >= next) {
                next = static_cast<double>(i + 1) * 1.05;
                series.points.emplace_back(by_time ? field.times[s][i] : static_cast<double>(i + 1),
                                           field.curves[s][i]);
            }
        }
        plot.series.push_back(std::move(series));
    }
    return plot;
}

void write_curves(const std::string& folder, const Target& target, const Field& field) {
    std::string name = target.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    write(folder + "/figure5-" + name + ".svg",
          io::plot_svg(curves_plot(target.name + ": by step", field, false)));
    write(folder + "/figure6-" + name + ".svg",
          io::plot_svg(curves_plot(target.name + ": by time", field, true)));
    std::string csv = "strategy,step,cpu_s,edp_over_minimum\n";
    for (std::size_t s = 0; s < strategies.size(); ++s) {
        for (std::size_t i = 0; i < field.curves[s].size(); i += 1 + i / 20) {
            csv += strategies[s] + "," + std::to_string(i + 1) + text(",%.6g", field.times[s][i]) +
                   text(",%.6g\n", field.curves[s][i]);
        }
    }
    write(folder + "/figures5-6-" + name + ".csv", csv);
}

/// The cost of one template over two of its tile shapes, the others as in its best of a few draws.
void figure_3(const Settings& settings) {
    const Problem problem = Problem::load("mind-mappings", "cnn-layer");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem.view(), *model, {});
    const double minimum = learning::algorithmic_minimum(problem.view()).edp_js();
    search::Point point = race(space, "random", {}, 1, 500, settings.cpu_seconds).point;
    search::Worker worker(space);
    std::string csv = "tile_a,tile_b,edp_over_minimum\n";
    std::size_t peaks = 0, cells = 0;
    const auto value = [&](std::int64_t a, std::int64_t b, std::size_t i, std::size_t j) {
        search::Point at = point;
        at.tiles[i] = a;
        at.tiles[j] = b;
        const search::Outcome o = worker.evaluate(at);
        return o.legal() ? o.energy_j * o.latency_s / minimum : std::nan("");
    };
    // The two symbols for which most pairs of powers of two are legal.
    std::size_t best_i = 0, best_j = 1;
    const auto count = [&](std::size_t i, std::size_t j) {
        std::size_t n = 0;
        for (std::int64_t a = 1; a <= 256; a *= 2) {
            for (std::int64_t b = 1; b <= 256; b *= 2) {
                n += std::isfinite(value(a, b, i, j)) ? 1 : 0;
            }
        }
        return n;
    };
    for (std::size_t i = 0; i < point.tiles.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (const std::size_t n = count(j, i); n > cells) {
                cells = n;
                best_i = j;
                best_j = i;
            }
        }
    }
    for (std::int64_t a = 1; a <= 256; a *= 2) {
        for (std::int64_t b = 1; b <= 256; b *= 2) {
            const double own = value(a, b, best_i, best_j);
            if (!std::isfinite(own)) {
                continue;
            }
            csv += std::to_string(a) + "," + std::to_string(b) + text(",%.6g\n", own);
            bool least = true;
            for (const auto& [x, y] : {std::pair{2 * a, b}, {a / 2, b}, {a, 2 * b}, {a, b / 2}}) {
                least = least && !(x > 0 && y > 0 && value(x, y, best_i, best_j) < own);
            }
            peaks += least ? 1 : 0;
        }
    }
    write(settings.folder + "/figure3.csv", csv);
    std::cout << "Figure 3: EDP over two tile shapes of ResNet Conv_4: " << cells
              << " legal pairs of powers of two, " << peaks
              << " of them local minima (four neighbours)\n\n";
}

/// Energies of random mappings, as the paper calibrates them: CNN 44.2 and 231.4.
void calibration(const std::vector<Target>& all) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const char* workload : {"cnn-layer", "mttkrp"}) {
        std::vector<double> energies;
        for (const Target& target : all) {
            if (target.workload != workload) {
                continue;
            }
            const Problem problem = Problem::load("mind-mappings", workload, target.defines);
            const search::OpenSpace space(problem.view(), *model, {});
            const double least = learning::algorithmic_minimum(problem.view()).energy_j;
            search::Worker worker(space);
            search::Point point;
            for (std::uint64_t i = 0; i < 3000; ++i) {
                energies.push_back(worker.draw(i, point).energy_j / least);
            }
        }
        const double middle = mean(energies);
        for (double& e : energies) {
            e = (e - middle) * (e - middle);
        }
        std::cout << "Energy of random mappings over the minimum, " << workload << ": mean "
                  << text("%.1f", middle) << ", deviation "
                  << text("%.1f", std::sqrt(mean(energies))) << "\n";
    }
    std::cout << "  (paper: 44.2 and 231.4; 48.0 and 51.2)\n\n";
}

/// Forward and backward to the inputs, in batches of 128, one thread.
double network_steps_per_s(const std::vector<std::size_t>& widths) {
    const learning::Network<float> network(widths, learning::Activation::linear, 1);
    constexpr std::size_t batch = 128;
    std::vector<float> inputs(batch * widths.front(), 0.5F), by_inputs(inputs.size());
    const std::vector<float> ones(batch * widths.back(), 1.0F);
    learning::Trace<float> trace;
    std::size_t n = 0;
    const double start = cpu_s();
    while (cpu_s() < start + 1) {
        network.forward(inputs, trace);
        network.backward(trace, ones, {}, by_inputs);
        n += batch;
    }
    return static_cast<double>(n) / (cpu_s() - start);
}

// --- surrogates ----------------------------------------------------------------------------------

std::string train(const Settings& settings, const std::string& workload,
                  const std::vector<std::string>& family) {
    const std::string folder = settings.folder + "/" + workload;
    std::vector<std::string> command = {bench::tessera(),
                                        "train",
                                        "-a",
                                        "mind-mappings",
                                        "-w",
                                        workload,
                                        "-o",
                                        folder,
                                        "--resume",
                                        "--threads",
                                        "2",
                                        "--epochs",
                                        settings.quick ? "6" : "25",
                                        "--samples",
                                        settings.quick ? "20000" : "200000"};
    if (settings.quick) {
        command.insert(command.end(), {"--hidden", "64,64"});
    }
    const bench::Outcome done = bench::run(bench::joined(command, family));
    std::cout << done.output << "  CPU      " << text("%.1f s\n\n", done.cpu_s) << std::flush;
    if (!done.ok()) {
        throw std::runtime_error("training failed: " + done.errors);
    }
    return folder + "/surrogate.bin";
}

int run(Settings settings) {
    std::filesystem::create_directories(settings.folder);
    const bool trains = std::count(strategies.begin(), strategies.end(), "gradient") > 0;
    if (trains && settings.cnn.empty()) {
        settings.cnn = train(settings, "cnn-layer",
                             {"-D", "N=1,2,4,8,16,32", "-D", "C=32:480:32", "-D", "K=32:512:32",
                              "-D", "R=1,3,5", "-D", "P=7:112:7,13,27"});
    }
    if (trains && settings.mttkrp.empty()) {
        settings.mttkrp = train(settings, "mttkrp",
                                {"-D", "I=128:3968:128", "-D", "J=128:4096:128", "-D",
                                 "K=128:4096:128", "-D", "L=128:3968:128"});
    }
    const std::vector<Target> all = targets();
    calibration(all);
    figure_3(settings);
    std::vector<Row> over_minimum = {{"EDP / minimum"}}, over_optimum = {{"EDP / optimum"}},
                     paper = {{"paper", "SA", "GA", "RL", "MM"}}, times = {{"us of CPU a step"}},
                     at_once = {{"EDP / minimum"}};
    for (std::vector<Row>* table : {&over_minimum, &over_optimum, &times, &at_once}) {
        table->front().insert(table->front().end(), strategies.begin(), strategies.end());
    }
    over_minimum.front().push_back("ffm");
    over_optimum.front().push_back("ffm gap");
    std::vector<std::vector<double>> against(strategies.size());
    std::size_t cut = 0;
    for (const Target& target : all) {
        const Field field = run_field(target, settings);
        write_curves(settings.folder, target, field);
        cut += field.cut;
        Row minimum = {target.name}, optimum = minimum, digitised = minimum, time = minimum,
            early = minimum;
        for (std::size_t s = 0; s < strategies.size(); ++s) {
            minimum.push_back(text("%.3f", field.last[s]));
            optimum.push_back(text("%.4f", field.last[s] / field.optimum));
            time.push_back(text("%.1f", field.step_us[s]));
            early.push_back(after(field, s, early_s));
            against[s].push_back(field.last[s] / field.last.back());
        }
        minimum.push_back(text("%.3f", field.optimum));
        optimum.push_back(text("%.1f %%", 100 * field.gap));
        for (const double value : target.paper) {
            digitised.push_back(text("%.1f", value));
        }
        over_minimum.push_back(minimum);
        over_optimum.push_back(optimum);
        paper.push_back(digitised);
        times.push_back(time);
        at_once.push_back(early);
        std::cout << target.name << " done" << std::endl;
    }
    Row ratio = {"over " + strategies.back()};
    for (const std::vector<double>& own : against) {
        ratio.push_back(text("%.3f", geometric_mean(own)));
    }
    over_minimum.push_back(ratio);
    std::cout << "\nFigure 5: means over " << settings.seeds << " seeds after " << settings.steps
              << " steps or " << settings.cpu_seconds << " CPU seconds (" << cut
              << " searches)\n\n";
    print(over_minimum);
    print(paper);
    print(over_optimum);
    std::cout << "Figure 6: CPU time (charged to gradient: not the training of its file)\n\n";
    print(times);
    std::cout << "After " << early_s << " CPU seconds\n\n";
    print(at_once);
    std::cout << "Steps a second of one thread, forward and to the inputs, batches of 128:\n"
              << "  published widths, 8.96 million weights   "
              << text("%.0f\n",
                      network_steps_per_s({62, 64, 256, 1024, 2048, 2048, 1024, 256, 64, 12}))
              << "  126-256-256-256-15, 0.17 million weights "
              << text("%.0f\n", network_steps_per_s({126, 256, 256, 256, 15}));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    bench::Options options(
        "reproduce_mind_mappings",
        "[--folder DIR] [--seeds N] [--steps N] [--cpu-seconds S] [--ffm-seconds S] [--cnn FILE] "
        "[--mttkrp FILE] [--strategies NAMES] [--quick]");
    options.text("--folder", settings.folder);
    options.number("--seeds", settings.seeds);
    options.number("--steps", settings.steps);
    options.number("--cpu-seconds", settings.cpu_seconds);
    options.number("--ffm-seconds", settings.ffm_seconds);
    options.text("--cnn", settings.cnn);
    options.text("--mttkrp", settings.mttkrp);
    options.list("--strategies", strategies);
    options.flag("--quick", settings.quick);
    options.read(argc, argv);
    try {
        return run(settings);
    } catch (const std::exception& error) {
        std::cerr << "reproduce_mind_mappings: " << error.what() << "\n";
        return 1;
    }
}
