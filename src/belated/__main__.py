"""``python -m belated``: the command line."""

from belated.cli import main

if __name__ == "__main__":
    main()
