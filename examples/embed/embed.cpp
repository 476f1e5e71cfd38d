// Maps a GPT-3 6.7B layer onto a TPU v4i, as `make demo` does.
//   c++ -std=c++20 embed.cpp $(pkg-config --cflags --libs tessera) -o embed
#include <tessera/tessera.hpp>

#include <cstdio>

int main() try {
    const auto problem =
        tessera::Problem::load("tpu-v4i", "gpt3-6.7b", {{"BATCH", "1"}, {"TOKENS", "2048"}});
    tessera::Options options;
    options.limits.max_time_s = 60;
    options.progress = [](const tessera::Progress& now) {
        std::fprintf(stderr, "%.1f s: EDP %g J s\n", now.elapsed_s, now.best.value_or(0));
    };
    const tessera::Result result = tessera::map(problem, options);
    const bool optimal = result.status == tessera::mapper::Status::optimal;
    std::printf("%.17g %s\n", result.best().report.edp_js(), optimal ? "optimal" : "feasible");
} catch (const tessera::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return error.exit_code();
}
