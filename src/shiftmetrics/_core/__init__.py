"""The ground floor: arrays, blocks, statistics, one-dimensional solvers and results. It knows no measure."""
