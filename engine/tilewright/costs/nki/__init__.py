"""What an NKI kernel costs on a NeuronCore, estimated from its instructions; nothing is run.

The instructions come from the kernel's text or from the simulator, as the same records
(``worker/messages/nki.py``).
"""
