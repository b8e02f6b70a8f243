"""Tests. Pictures are drawn without a browser, which takes seconds to start, but where a test asks for one."""

import os

os.environ.setdefault("POISE_BROWSER", "none")
