"""Threads that give way to what a person waits for."""

import os
import threading

_NICE = 10


def give_way() -> None:
    """Lower the priority of the present thread, where the system has one for each thread.

    Many replies may arrive at one moment; reading them can wait, a keystroke cannot.
    """
    if threading.current_thread() is threading.main_thread() or not hasattr(os, "setpriority"):
        return
    thread = threading.get_native_id()
    try:
        present = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, max(present, _NICE))
    except OSError:
        return  # a system that numbers threads apart from processes keeps them as they are
