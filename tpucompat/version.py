"""The version of tpucompat, in a module of its own so that building needs no import of the rest."""

VERSION = "0.1.0"
