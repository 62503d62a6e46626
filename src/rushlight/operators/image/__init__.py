"""Operations on images and windows of them: resizing, sampling, padding, folding."""
