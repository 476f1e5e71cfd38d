// How surrogates depend on their loss (figure 7b of Mind Mappings), on the number of samples (7c),
// and on what they predict: trained on the family of convolutions, tested on problems that were not
// trained on, and by what `gradient` finds with them on ResNet Conv_4.
//
//   bench/mind_mappings_surrogates [--folder runs/mind-mappings] [--samples 50000] [--epochs 20]
//       [--seeds 5] [--steps 1000]

#include <iostream>

#include "bar_chart.hpp"
#include "options.hpp"

namespace {

struct Settings {
    std::string folder = "runs/mind-mappings";
    double samples = 50000, epochs = 20, seeds = 5, steps = 1000;
};

using Words = std::vector<std::string>;

std::string whole(double value) {
    return bench::number("%.0f", value);
}

/// `tessera train` in a folder of its own; what it says.
bench::Json trained(const Settings& settings, const std::string& folder, const Words& more) {
    const Words command = {bench::tessera(), "train",
                           "-a",             "mind-mappings",
                           "-w",             "cnn-layer",
                           "-D",             "N=1,2,4,8,16,32",
                           "-D",             "C=32:480:32",
                           "-D",             "K=32:512:32",
                           "-D",             "R=1,3,5",
                           "-D",             "P=7:112:7",
                           "--hidden",       "128,128",
                           "--epochs",       whole(settings.epochs),
                           "-o",             folder,
                           "--threads",      "2",
                           "--resume",       "--json"};
    const bench::Outcome done = bench::run(bench::joined(command, more));
    if (!done.ok()) {
        throw std::runtime_error("training failed: " + done.errors);
    }
    return bench::document(done);
}

/// Geometric mean over seeds of the best EDP, J s.
double found(const Settings& settings, const std::string& folder) {
    double sum = 0;
    for (int seed = 0; seed < static_cast<int>(settings.seeds); ++seed) {
        const bench::Json result = bench::document(bench::run(
            {bench::tessera(), "map", "-a", "mind-mappings", "-w", "cnn-layer", "--mapper",
             "gradient", "--knob", "gradient.surrogate=" + folder + "/surrogate.bin",
             "--max-evals", whole(settings.steps), "--seed", std::to_string(seed), "--threads",
             "1", "--json", "-q"}));
        sum += std::log(bench::best(result, "edp_js"));
    }
    return std::exp(sum / settings.seeds);
}

void show(const Settings& settings, const std::string& name, const Words& more) {
    const std::string folder = settings.folder + "/surrogate-" + name;
    const bench::Json result = trained(settings, folder, more);
    const auto figure = [&](const char* key) {
        return bench::number("%12.4f", bench::number(result, {key}));
    };
    std::cout << name << std::string(name.size() < 18 ? 18 - name.size() : 1, ' ')
              << figure("unseen_loss") << figure("unseen_rank_correlation")
              << figure("unseen_median_rank_correlation")
              << figure("unseen_squared_error_log2_edp")
              << bench::number("%14.4g", found(settings, folder)) << std::endl;
}

void run(const Settings& settings) {
    std::cout << "On unseen problems: loss, rank correlation of the EDP over all mappings, and "
              << "(median) over those\nof one problem, mean squared error of log2 EDP; best EDP (J "
              << "s) of gradient after " << settings.steps
              << " steps (nan: the problem's bounds are not among those trained for)\n\n"
              << std::string(26, ' ') << "loss   rank, all   rank, one       error      best EDP\n";
    const std::string n = whole(settings.samples);
    for (const char* loss : {"huber", "squared", "absolute"}) {
        show(settings, loss, {"--samples", n, "--loss", loss});
    }
    for (const double part : {0.1, 0.3, 3.0}) {
        const std::string samples = whole(settings.samples * part);
        show(settings, "samples-" + samples, {"--samples", samples});
    }
    for (const char* scale : {"log", "linear"}) {
        for (const char* what : {"statistics", "edp"}) {
            show(settings, std::string(what) + "-" + scale,
                 {"--samples", n, "--predict", what, "--scale", scale});
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    bench::Options options("mind_mappings_surrogates",
                           "[--folder DIR] [--samples N] [--epochs N] [--seeds N] [--steps N]");
    options.text("--folder", settings.folder);
    options.number("--samples", settings.samples);
    options.number("--epochs", settings.epochs);
    options.number("--seeds", settings.seeds);
    options.number("--steps", settings.steps);
    options.read(argc, argv);
    try {
        run(settings);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "mind_mappings_surrogates: " << error.what() << "\n";
        return 1;
    }
}
