#!/bin/sh
# Prints the path of a Python 3.7, from $PYTHON37, the search path or pyenv; exit code 1 if there is none.
for candidate in "$PYTHON37" python3.7 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.7.*/bin/python; do
  # pyenv puts a python3.7 on the path that only says that it is not switched on: it must run.
  if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 7))' \
      >/dev/null 2>&1; then
    command -v "$candidate"
    exit 0
  fi
done
echo "no Python 3.7 found; name one in PYTHON37" >&2
exit 1
