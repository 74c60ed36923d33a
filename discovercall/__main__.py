"""The program, also as `python -m discovercall`. An interrupt while it loads ends it quietly, too."""


def main() -> None:
    """Load the command line and run it."""
    try:
        from discovercall.cli.main import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
