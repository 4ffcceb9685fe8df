#!/usr/bin/env bash
set -euo pipefail
gcc -O2 -march=native -ffast-math -DTILE=8 -DORDER=ikj -DUNROLL=1 matmul.c -o matmul -lm && ./matmul
