#!/bin/sh
# Joins this host to a Millrace marketplace.
#
# Run it as root on a host with Incus 6.0 or later that is no member of a cluster:
#
#   MILLRACE_JOIN_TOKEN=mrj_… ./join.sh --url https://api.example.com --address 203.0.113.7
#
# It gives Millrace one project of your Incus daemon, and nothing else: machines in it can use your GPUs, one network and
# a storage pool, and reach neither your files nor each other. They do reach whatever else is on that network: give them
# one of their own with --network if you have instances on it. You stay the owner of the host, see all that runs on it
# (`incus list --project millrace`), and can end it at any time:
#
#   incus config trust list                  # which has a certificate called millrace
#   incus config trust remove FINGERPRINT    # from here on Millrace reaches nothing
#   incus project delete --force millrace    # and all that is in it
#   incus config unset core.https_address    # if the daemon listened nowhere before
#
# deploy/supplier/README.md lists everything that is left on the host, and how to remove it.
#
# Every step looks before it acts, so running it again continues where it stopped.
set -eu

# Some commands of Incus read their standard input if it is no terminal, and would wait for it.
exec </dev/null

usage() {
  cat >&2 <<END
usage: MILLRACE_JOIN_TOKEN=mrj_… $0 --url URL --address HOST [options]

  --url URL            the marketplace, as its operator told you
  --address HOST       where the internet reaches this host: an address or a name
  --port PORT          where the internet reaches the daemon (default: where it listens already, or 8443)
  --name NAME          what you call this machine (default: its host name)
  --project NAME       the project that Millrace gets (default: millrace)
  --network NAME       the network of its machines (default: incusbr0)
  --pool NAME          the storage pool of their disks (default: default)
  --type TYPE          virtual-machine or container, which shares this host's kernel (default: virtual-machine)
  --user NAME          who logs into them (default: ubuntu)
  --image ALIAS=SOURCE an image that tenants can name, and where Incus gets it; may be given several times
                       (default: ubuntu-24.04=images:ubuntu/24.04/cloud); the first is what they get unasked

The host's firewall must let in the daemon's port and 20000 to 29999, at which the ports of machines are opened.
To see what it does, read it; to undo it, the lines at its beginning.
END
  exit 64
}

fail() {
  echo "join.sh: $*" >&2
  exit 1
}

say() {
  echo "==> $*"
}

# ---- What is asked for -----------------------------------------------------------------------------------------------

url='' address='' port='' name='' project=millrace network=incusbr0 pool=default
type=virtual-machine user=ubuntu images=''

while [ $# -gt 0 ]; do
  case $1 in --*) ;; *) usage ;; esac
  [ $# -ge 2 ] || usage
  case $1 in
    --url) url=${2%/} ;;
    --address) address=$2 ;;
    --port) port=$2 ;;
    --name) name=$2 ;;
    --project) project=$2 ;;
    --network) network=$2 ;;
    --pool) pool=$2 ;;
    --type) type=$2 ;;
    --user) user=$2 ;;
    --image) images="$images $2" ;;
    *) usage ;;
  esac
  shift 2
done

# The token is a secret: it comes by the environment, since everybody on a host can read the words of a command.
token=${MILLRACE_JOIN_TOKEN:-}
[ -n "$url" ] && [ -n "$address" ] || usage
case ${token#mrj_} in
  "$token" | '' | *[!0-9a-f]*)
    fail 'MILLRACE_JOIN_TOKEN holds no join token (mrj_…). POST /v2/supplier/join-tokens makes one.' ;;
esac
case $url in
  https://* | http://127.0.0.1:* | http://localhost:*) ;;
  *) fail '--url must begin with https://, since the token travels there.' ;;
esac

# These become part of a message to the marketplace, so they are plain words or nothing.
plain() {
  case $2 in '' | *[!A-Za-z0-9._:-]*) fail "--$1 must be letters, digits, dots, colons and hyphens." ;; esac
}
for program in incus curl sha256sum sed hostname; do
  command -v "$program" >/dev/null || fail "This needs $program, which is not installed."
done
: "${name:=$(hostname)}" "${images:=ubuntu-24.04=images:ubuntu/24.04/cloud}"
plain address "$address" && plain name "$name" && plain project "$project" && plain user "$user"
case $type in virtual-machine | container) ;; *) fail '--type must be virtual-machine or container.' ;; esac
case $port in *[!0-9]*) fail '--port must be a number.' ;; esac
[ "$project" != default ] || fail 'The project must be one of its own, not default.'
incus query /1.0 >/dev/null || fail 'The Incus daemon does not answer. Is it running, and are you root?'
incus query /1.0 | grep -q '"server_clustered": false' ||
  fail 'This daemon is a member of a cluster, whose other members would be trusted with it. Use a host of its own.'
incus network show "$network" | grep -q '^managed: true' ||
  fail "There is no network $network that Incus manages; name one with --network (incus network list)."
incus storage show "$pool" >/dev/null || fail "There is no storage pool $pool; name one with --pool (incus storage list)."

# ---- What keeps tenants apart on this host ----------------------------------------------------------------------------

# Incus filters the addresses of machines on bridges of its own and nowhere else.
incus network show "$network" | grep -q '^type: bridge' ||
  fail "The network $network is no bridge. Incus filters the addresses of machines on bridges only; name one with --network."
incus network get "$network" ipv4.address | awk -F / 'NF != 2 || $2 < 16 || $2 > 29 { bad = 1 } END { exit bad || !NR }' ||
  fail "The network $network has no IPv4 subnet of 16 to 29 bits, from which machines get their addresses (ipv4.address)."
command -v nft >/dev/null || fail 'This needs nft (the package nftables), by which Incus filters what machines send.'

ip6_filter=/proc/sys/net/bridge/bridge-nf-call-ip6tables
if [ ! -e $ip6_filter ]; then
  say 'loading the kernel module br_netfilter, by which Incus filters IPv6, now and at every boot'
  modprobe br_netfilter || fail 'The kernel has no module br_netfilter, without which Incus filters no IPv6 and starts no machine.'
  echo br_netfilter >/etc/modules-load.d/millrace.conf
fi
[ "$(cat $ip6_filter)" = 1 ] ||
  fail 'Incus needs net.bridge.bridge-nf-call-ip6tables = 1 to filter IPv6. Set it in /etc/sysctl.d and run this again.'

# A container has 65536 user ids that no other container has. Root's range must hold those of 64 of them.
if [ "$type" = container ]; then
  for file in /etc/subuid /etc/subgid; do
    ids=$(sed -n 's/^\(root\|0\):[0-9]*:\([0-9]*\)$/\2/p' "$file" 2>/dev/null | sort -n | sed -n '$p')
    if [ -z "$ids" ]; then
      say "giving root the ids 1000000 to 1000999999 for containers in $file"
      echo root:1000000:1000000000 >>"$file"
      restart=yes
    elif [ "$ids" -lt 4194304 ]; then
      fail "In $file root has $ids ids for containers, and Millrace needs 4194304. Widen root's line (root:1000000:1000000000), restart the daemon and run this again."
    fi
  done
  [ -z "${restart:-}" ] || fail 'The daemon reads these ids when it starts. Restart it (systemctl restart incus; machines run on), then run this again.'
fi

# ---- The daemon listens ----------------------------------------------------------------------------------------------

listens=$(incus config get core.https_address)
if [ -z "$listens" ]; then
  say "having the daemon listen on port ${port:-8443} of all addresses of this host"
  incus config set core.https_address ":${port:-8443}"
  listens=":${port:-8443}"
fi
# Somebody who names the port may have it led there.
case $port,$listens in
  ,127.* | ,localhost* | ',[::1]'*)
    fail "The daemon listens at $listens, where only this host reaches it. incus config set core.https_address :8443" ;;
esac
: "${port:=${listens##*:}}"
# An address without a port is one with Incus's own.
case $port in '' | *[!0-9]*) port=8443 ;; esac
case $address in
  *:*) endpoint="https://[$address]:$port" ;;
  *) endpoint="https://$address:$port" ;;
esac

# ---- One project, in which nothing dangerous is possible -------------------------------------------------------------

digest=$(printf %s "$token" | sha256sum | sed 's/ .*//')

if ! incus project show "$project" >/dev/null 2>&1; then
  say "making the project $project"
  incus project create "$project" -c user.millrace.join="$digest" \
    -c features.images=true -c features.networks=false -c features.profiles=true \
    -c features.storage.buckets=true -c features.storage.volumes=true
elif [ -z "$(incus project get "$project" user.millrace.join)" ]; then
  fail "There is a project $project which was not made for Millrace; name another with --project."
fi

say "restricting the project $project"
# Machines get GPUs, disks, cards on the one network, and ports; nothing that leads to the host itself. Ports need proxy
# devices. In a virtual machine these lead inwards only; in a container Millrace, though no tenant, could have one lead
# out, to what listens on this host. So where machines are virtual, there can be no container.
case $type in virtual-machine) containers=0 ;; *) containers='' ;; esac
incus project set "$project" \
  limits.containers="$containers" \
  restricted=true \
  restricted.backups=block \
  restricted.cluster.target=block \
  restricted.containers.interception=block \
  restricted.containers.lowlevel=block \
  restricted.containers.nesting=block \
  restricted.containers.privilege=unprivileged \
  restricted.devices.disk=managed \
  restricted.devices.gpu=allow \
  restricted.devices.infiniband=block \
  restricted.devices.nic=managed \
  restricted.devices.pci=block \
  restricted.devices.proxy=allow \
  restricted.devices.unix-block=block \
  restricted.devices.unix-char=block \
  restricted.devices.unix-hotplug=block \
  restricted.devices.usb=block \
  restricted.networks.access="$network" \
  restricted.snapshots=block \
  restricted.virtual-machines.lowlevel=block \
  user.millrace.join="$digest" \
  user.millrace.network="$network" \
  user.millrace.network-ipv4="$(incus network get "$network" ipv4.address)" \
  user.millrace.network-ipv6="$(incus network get "$network" ipv6.address)" \
  user.millrace.storage-pool="$pool" \
  user.millrace.instance-type="$type" \
  user.millrace.ssh-user="$user"

# ---- What machines are made from -------------------------------------------------------------------------------------

# Of one name there may be an image for containers and one for virtual machines. An earlier run may have brought the other one.
case $type in virtual-machine) vm=--vm kind=VIRTUAL-MACHINE ;; *) vm='' kind=CONTAINER ;; esac
for image in $images; do
  alias=${image%%=*} source=${image#*=}
  [ "$alias" != "$image" ] || fail "--image must be ALIAS=SOURCE, as in ubuntu-24.04=images:ubuntu/24.04/cloud."
  known=$(incus image alias list --project "$project" --format csv | grep "^$alias," || :)
  case $known in
    '') ;;
    *",$kind"*) continue ;;
    *)
      say "the image $alias is of another type than $type: replacing it"
      incus image alias delete "$alias" --project "$project" ;;
  esac
  say "bringing the image $alias"
  incus image copy "$source" local: $vm --target-project "$project" --alias "$alias" --quiet ||
    fail "Incus could not get the image $source. If it is of another kind than $type, name another with --image."
done
first=${images# } first=${first%% *}
incus project set "$project" user.millrace.default-image="${first%%=*}"

# ---- Trust, for this project alone -----------------------------------------------------------------------------------

# An unused token would stay valid.
revoke_trust() {
  incus config trust revoke-token millrace >/dev/null 2>&1 || :
}

say 'asking the daemon for a token that is good once, for this project alone'
revoke_trust
# Also if this script is interrupted before the marketplace has answered.
trap 'revoke_trust; exit 130' INT TERM HUP
trust=$(incus config trust add millrace --projects "$project" --restricted --quiet)

# As JSON already, with \n for its lines.
certificate=$(incus query /1.0 | sed -n 's/^.*"certificate": "\(.*\)",\{0,1\}$/\1/p')

# ---- Asking to join --------------------------------------------------------------------------------------------------

say "asking $url to take this machine as $name at $endpoint"
answer=$(
  curl --silent --show-error --max-time 60 --proto '=https,http' --write-out '\n%{http_code}' \
    --header 'content-type: application/json' --data-binary @- "$url/v2/supplier/enrolments" <<END
{"token":"$token","incusToken":"$trust","endpoint":"$endpoint","name":"$name","serverCertificate":"$certificate"}
END
) || {
  revoke_trust
  fail 'The marketplace does not answer; run this again later.'
}

status=$(printf '%s\n' "$answer" | sed -n '$p')
body=$(printf '%s\n' "$answer" | sed '$d')
case $status in
  202) ;;
  *)
    revoke_trust
    fail "The marketplace refused (status $status): $body" ;;
esac
trap - INT TERM HUP
echo "$body"
nft list tables bridge 2>/dev/null | grep -q ' millrace_' ||
  say "One step is left: install the bridge guard, which loads at every boot (deploy/supplier/README.md, 'The bridge guard'). Without it a machine can receive frames that are meant for another."
say 'It will now be inspected and tested, which takes some minutes. The marketplace tells you how it stands:'
say "  curl -H 'authorization: Bearer YOUR_KEY' $url/v2/supplier/enrolments"
