"""Code that runs next to the device, in any interpreter with torch and triton.

Nothing here imports the rest of Tilewright: the folder is packed into one zip
(``tilewright.devices.package``) and started as ``PYTHON worker.zip``. Standard library, numpy,
torch and triton alone; Python 3.10 and newer. ``protocol`` is the truth about messages and jobs.
"""
