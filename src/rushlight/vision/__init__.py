"""Images: datasets, transforms, models, and picture files, under torchvision's names."""
