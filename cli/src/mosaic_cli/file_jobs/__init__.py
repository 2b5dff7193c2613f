"""Jobs for the window: archives, imports, backups and reports, by the code of the verbs."""
