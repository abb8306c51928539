"""Run recollect as a module: `python -m recollect`."""

from recollect.surfaces.front import main

main()
