"""An extra probe that tells where the processes of a job are: by py-spy where it is there and allowed, else by the
words of the kernel. Run only when somebody asks why a job hangs; a process is read, never stopped."""
