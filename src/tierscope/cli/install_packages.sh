# Installs packages of Debian: sh install_packages.sh PACKAGE... as root. No service starts, now or
# with a package's set-up: who needs one starts it on data of its own.
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d clusters=/etc/postgresql-common/createcluster.d
made=$clusters/tierscope.conf
if [ -e $policy ]; then policy=; else
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
mkdir -p $clusters
echo 'create_main_cluster = false' >$made
trap 'rm -f $made $policy; rmdir -p --ignore-fail-on-non-empty $clusters' EXIT
apt-get update -qq
apt-get install -y -qq --no-install-recommends "$@"
