"""Inference that counts both the chance choice of people and the noise: tables, tests, intervals, survival."""
