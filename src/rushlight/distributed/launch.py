"""`torch.distributed.launch`: torchrun's older name."""

from .run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
