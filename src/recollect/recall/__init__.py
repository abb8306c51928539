"""What happens before and after a search: lenses, injection into a task, the recall log."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.recall import brief, hook_log, inject, ledger, lens, log, prompts

__all__ = ["brief", "hook_log", "inject", "ledger", "lens", "log", "prompts"]
__getattr__ = lazily(__name__)
