"""Runs of other programs, read from their own files: TensorBoard, W&B offline, mlflow."""
