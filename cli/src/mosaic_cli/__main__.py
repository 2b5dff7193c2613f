"""`python -m mosaic_cli VERB ...`, as `./mosaic` runs it."""

from mosaic_cli.main import main

if __name__ == "__main__":
    main()
