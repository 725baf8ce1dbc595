#!/bin/sh
# Prints the folders of pyenv's interpreters, joined by colons, for tox to find them: the newest of each minor.
root="${PYENV_ROOT:-$HOME/.pyenv}/versions"
for minor in 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do
  newest=$(ls -d "$root/$minor".*/bin 2>/dev/null | sort -V | tail -n 1)
  [ -z "$newest" ] || folders="${folders:+$folders:}$newest"
done
echo "${folders:-}"
