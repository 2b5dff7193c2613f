"""`play`: a checkpoint of a script acts again, in the script's own wrappers, and learns nothing."""
