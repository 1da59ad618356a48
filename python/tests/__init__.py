"""Tests of the package, on what the program itself measures on simulated devices.

    HALFPOWER_BIN=target/debug/halfpower PYTHONPATH=python/src python3 -m unittest discover -s python -t python

The program's own tests run them, too.
"""
