"""`python -m discovercall`: the command line without its script."""

from discovercall.cli.main import main

main()
