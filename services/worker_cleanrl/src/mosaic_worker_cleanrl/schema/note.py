"""What a person should know of an argument beyond the script's own help: what it means here."""

NOTES = {
    "tensorboard": "The script's own TensorBoard files, kept with the run's: 3 to 7 MiB and 5 to 10 s of CPU a million "
    "steps of CartPole-v1 (PPO, DQN), less where episodes are longer. Curves are recorded without them too; only "
    "TensorBoard reads them",
    "capture_video": ". Films of the first environment episodes 0, 1, 8, 27, 64, ... and each 1000th; needs the bundle "
    "`video`. Each frame of these is drawn: a millisecond or less in most environments, 0.1 to 0.2 s in MuJoCo "
    "without a GPU, and kept in memory until its episode ends (0.1 MB an Atari frame)",
}
