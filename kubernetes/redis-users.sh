#!/bin/sh
# Starts Redis, which is the command given, with a single user: "default", who needs a password, and may read and write all
# data but do nothing to the server itself (CONFIG, SHUTDOWN, FLUSHALL, MODULE, REPLICAOF, DEBUG …).
# The password is REDIS_PASSWORD, or else a random one; it lies in a file for the containers that share its folder.
set -eu
folder=${REDIS_USERS_FOLDER:-/run/redis-users}
umask 0022
if [ -n "${REDIS_PASSWORD:-}" ]; then
  printf %s "$REDIS_PASSWORD" >"$folder/password"
elif [ ! -s "$folder/password" ]; then
  head -c 32 /dev/urandom | sha256sum | cut -c 1-64 | tr -d '\n' >"$folder/password"
fi
unset REDIS_PASSWORD
hash=$(sha256sum <"$folder/password" | cut -c 1-64)
printf 'user default on #%s ~* &* +@all -@admin -@dangerous +info\n' "$hash" >"$folder/users.acl"
exec "$@" --aclfile "$folder/users.acl"
