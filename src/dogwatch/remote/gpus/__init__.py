"""The extra probe that reads the GPUs of the machine it is run on: NVML, else nvidia-smi, else amd-smi, else rocm-smi.

It travels as one text, like the probe, and only with the requests that ask for it. A driver may hang or take its
caller down with it, so it calls NVML from a further child of its own.
"""
