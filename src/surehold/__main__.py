"""``python -m surehold`` is the command."""

from surehold.cli import main

if __name__ == "__main__":
    main()
