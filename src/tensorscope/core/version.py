"""The version of TensorScope; apart, so that asking for it imports nothing."""

VERSION = "0.1.0"
