"""Detectors of NKI's language rules, one file a family of issues: names, flow, masks, loops."""
