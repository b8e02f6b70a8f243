"""Tests. Pictures are drawn without a browser, which takes seconds to start, but where a test asks for one."""

import os
import signal

os.environ.setdefault("POISE_BROWSER", "none")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell's background jobs do: their children would, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
