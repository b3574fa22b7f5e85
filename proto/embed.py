#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a file as a C array: embed.py NAME INPUT OUTPUT."""
import sys

name, source, target = sys.argv[1:]
with open(source, "rb") as f:
    data = f.read()
with open(target, "w", encoding="ascii") as out:
    out.write(f"extern const unsigned char {name}[];\n")
    out.write(f"extern const unsigned long {name}_size;\n")
    out.write(f"const unsigned long {name}_size = {len(data)};\n")
    out.write(f"const unsigned char {name}[] = {{\n")
    for at in range(0, len(data), 16):
        out.write("    " + ", ".join(f"0x{b:02x}" for b in data[at:at + 16]) + ",\n")
    out.write("};\n")
