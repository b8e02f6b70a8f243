"""One function over many items, in processes: what every command does with a folder.

    for item, result in each(work, items):
        ...

`work` is a function of a module (processes find it by name). A process that dies takes only its own item with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import TypeVar

from poise.core.errors import InvalidValue, PoiseError
from poise.core.process import one_thread

Item = TypeVar("Item")
Result = TypeVar("Result")


class ProcessDied(PoiseError, RuntimeError):
    """The process that worked on an item ended without an answer, out of memory for example."""


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shard(items: Sequence[Item], part: str) -> list[Item]:
    """The items of one of several machines: "2/8" is the second of eight. Together the parts are all items, once.

    Raises:
        InvalidValue: if it is not I/N with 1 ≤ I ≤ N.
    """
    words = part.split("/")
    if len(words) != 2 or not all(w.isascii() and w.isdigit() and len(w) < 7 for w in words):
        raise InvalidValue(f"--shard is {part!r}; give I/N, such as 2/8 for the second of eight parts.")
    index, count = int(words[0]), int(words[1])
    if not 1 <= index <= count:
        raise InvalidValue(f"--shard is {part!r}; the part must be from 1 to {count}.")
    return list(items[index - 1 :: count])


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Iterator[tuple[Item, Result | Exception]]:
    """Work on every item; pairs of item and result as they are ready, with the exception where one was raised.

    Args:
        work: Called with one item, in another process.
        items: What to work on.
        workers: Processes; default one a core. 1 works in this process.
        executor: Used instead of processes of our own, for example a cluster's
            (`distributed.Client().get_executor()`); it is left open.
    """
    count = min(workers if workers is not None else cores(), len(items))
    if count < 1 and items:
        raise InvalidValue(f"jobs is {workers}; give 1 or more.")
    if executor is not None:
        for index, result in _through(executor, work, items, range(len(items)), max(4 * cores(), 16)):
            yield items[index], result
        return
    if count <= 1:
        for item in items:
            try:
                yield item, work(item)
            except Exception as error:
                yield item, error
        return
    waiting, is_alone = list(range(len(items))), False
    while waiting:
        left: list[int] = []
        with _Pool(1 if is_alone else count) as pool:
            for k, (index, result) in enumerate(_through(pool, work, items, waiting, 1 if is_alone else count)):
                if not isinstance(result, BrokenProcessPool):
                    yield items[index], result
                elif is_alone and k == 0:
                    yield items[index], ProcessDied("Its process died. It may need more memory than there is.")
                else:
                    left.append(index)
                if is_alone:
                    left = waiting[1:]
                    break
        # which of those under way was deadly is found by trying them one by one
        waiting, is_alone = sorted(left), bool(left)


def _through(
    executor: Executor, work: Callable[[Item], Result], items: Sequence[Item], which: Sequence[int], ahead: int
) -> Iterator[tuple[int, Result | Exception]]:
    """Results of an executor that is given a few items at a time, so that an interrupt leaves little behind."""
    todo, running = iter(which), dict[Future[Result], int]()
    try:
        while True:
            while len(running) < ahead and (index := next(todo, None)) is not None:
                try:
                    running[executor.submit(work, items[index])] = index
                except BrokenProcessPool as error:
                    yield index, error
            if not running:
                return
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                index = running.pop(future)
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield index, error if error is not None else future.result()
    finally:
        for future in running:
            future.cancel()


class _Pool(ProcessPoolExecutor):
    """Processes that leave an interrupt to their parent, and end with it."""

    def __init__(self, count: int) -> None:
        self._threads = ExitStack()
        self._threads.enter_context(one_thread())
        super().__init__(count, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool | None:
        self._threads.close()
        if kind is not None:  # interrupted: what is under way is not waited for
            for process in list((self._processes or {}).values()):
                process.terminate()
        self.shutdown(wait=True, cancel_futures=True)
        return None


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
