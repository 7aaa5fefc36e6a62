#!/usr/bin/env bash
# Name the images in Dockerfile, compose files and manifests by the digests their registry gives for their tags now.
# `pin_images.sh --check` changes nothing, and fails when a newer one exists. Needs docker with buildx.
set -euo pipefail
cd "$(dirname "$0")/.."

files=(Dockerfile docker-compose.yml docker-compose.scale.yml kubernetes/redis.yaml)
stale=0
docker buildx version >/dev/null 2>&1 || { echo "This needs docker with buildx." >&2; exit 1; }
for image in $(grep -hoE '[a-z]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}' "${files[@]}" | sort -u); do
  tag=${image%@*}
  digest=$(docker buildx imagetools inspect "$tag" --format '{{.Manifest.Digest}}') ||
    { echo "No registry answers for $tag: are you offline?" >&2; exit 1; }
  [ "$image" != "$tag@$digest" ] || continue
  stale=1
  echo "$tag is $digest now"
  [ "${1:-}" = --check ] || sed -i "s|$image|$tag@$digest|g" "${files[@]}"
done
[ "${1:-}" != --check ] || exit "$stale"
