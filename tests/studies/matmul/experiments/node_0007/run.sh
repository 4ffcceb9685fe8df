#!/usr/bin/env bash
set -euo pipefail
gcc -O3  -DTILE=32 -DORDER=ikj -DUNROLL=1 matmul.c -o matmul -lm && ./matmul
