#!/bin/sh
# Starts Redis, which is the command given, with a single user: "default", who needs a password, and may read and write all
# data but do nothing to the server itself (CONFIG, SHUTDOWN, FLUSHALL, MODULE, REPLICAOF, DEBUG …).
# The password is REDIS_PASSWORD, or else a random one; it lies in a file for the containers that share its folder.
# Any password will do, and none, in a trial: where PUBLISH_ON names loopback, and neither REDIS_PASSWORD nor ACCESS is set.
set -eu
folder=${REDIS_USERS_FOLDER:-/run/redis-users}
umask 0022
if [ -n "${REDIS_PASSWORD:-}" ]; then
  printf %s "$REDIS_PASSWORD" >"$folder/password"
elif [ ! -s "$folder/password" ]; then
  head -c 32 /dev/urandom | sha256sum | cut -c 1-64 | tr -d '\n' >"$folder/password"
fi
secret="#$(sha256sum <"$folder/password" | cut -c 1-64)"
if [ -z "${REDIS_PASSWORD:-}${ACCESS:-}" ] && [ "${PUBLISH_ON:-}" = 127.0.0.1 ]; then
  secret=nopass
  set -- "$@" --protected-mode no # it would let in this container alone; the port is published on loopback
fi
unset REDIS_PASSWORD
printf 'user default on %s ~* &* +@all -@admin -@dangerous +info\n' "$secret" >"$folder/users.acl"
exec "$@" --aclfile "$folder/users.acl"
