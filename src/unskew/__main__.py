"""``python -m unskew``, where the command is not on the path."""

from unskew.cli import main

main()
