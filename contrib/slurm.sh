#!/bin/bash
# Workers of a fleet on whole nodes of a cluster with Slurm: doc/places.md.
#   SEER_FLEET=rediss://broker?ca=... SEER_FLEET_PASSWORD_FILE=~/.fleet sbatch --nodes=8 --time=4:00:00 contrib/slurm.sh
#
# One worker a node, all of its processors, and 30 s before the time is up, or when the job has to give way, SIGTERM: the round
# in hand is finished or given back (--grace, 20 s).
#SBATCH --job-name=familyseer-worker
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --signal=TERM@30
#SBATCH --requeue
#SBATCH --output=familyseer-worker-%j.log

# The step's only task is bound to all cores: the worker binds its threads itself. One node that fails is not the end of the others.
exec srun --ntasks-per-node=1 --cpus-per-task="$SLURM_CPUS_ON_NODE" --cpu-bind=cores --kill-on-bad-exit=0 --label \
  familyseer worker --device-lock "/tmp/familyseer-$SLURM_JOB_ID.lock"
