"""The Tilewright language server: protocol, positions and jobs; it decides nothing about kernels.

It reads source through ``tilewright.source`` and ``tilewright.analysis`` and starts the engine
as a child process for everything slower. It never imports torch, triton or a user's module.
"""
