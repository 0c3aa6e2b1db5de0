#!/bin/sh
# Joins this host to a Millrace marketplace.
#
# Run it as root on a host with a standalone Incus 6.0 or later (not part of a cluster):
#
#   MILLRACE_JOIN_TOKEN=mrj_… ./join.sh --url https://api.example.com --address 203.0.113.7
#
# It gives Millrace access to one project of your Incus daemon only. Machines in it can use your GPUs, one network and a
# storage pool, and cannot reach your files or each other. They can reach other instances on that network: if you have any,
# create a separate network and pass it with --network. You stay the owner of the host, see everything that runs on it
# (`incus list --project millrace`), and can end the access at any time:
#
#   incus config trust list                  # shows the certificate called millrace
#   incus config trust remove FINGERPRINT    # ends the access of Millrace
#   incus project delete --force millrace    # deletes the project with its machines and images
#   incus config unset core.https_address    # if the daemon did not listen before
#
# deploy/supplier/README.md lists everything that the script leaves on the host, and how to remove it.
#
# Every step checks the state first, so you can run the script again to continue.
set -eu

# Some Incus commands read stdin if it is not a terminal, and would block.
exec </dev/null

usage() {
  cat >&2 <<END
usage: MILLRACE_JOIN_TOKEN=mrj_… $0 --url URL --address HOST [options]

  --url URL            address of the marketplace, from its operator
  --address HOST       public address or name of this host
  --port PORT          public port of the daemon (default: the port on which it listens, or 8443)
  --name NAME          name of this machine (default: its host name)
  --project NAME       project for Millrace (default: millrace)
  --network NAME       network of the machines (default: incusbr0)
  --pool NAME          storage pool of their disks (default: default)
  --type TYPE          virtual-machine or container, which shares this host's kernel (default: virtual-machine)
  --user NAME          login user of the machines (default: ubuntu)
  --image ALIAS=SOURCE image that tenants can choose, and its source; can be repeated
                       (default: ubuntu-24.04=images:ubuntu/24.04/cloud); the first one is the default image

The host's firewall must allow the daemon's port and the ports 20000 to 29999, on which machines are reached.
To see what the script does, read it. To undo it, follow the lines at its beginning.
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

# ---- Arguments -------------------------------------------------------------------------------------------------------

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

# The token is a secret, and every user of a host can read command lines, so it is passed in the environment.
token=${MILLRACE_JOIN_TOKEN:-}
[ -n "$url" ] && [ -n "$address" ] || usage
case ${token#mrj_} in
  "$token" | '' | *[!0-9a-f]*)
    fail 'MILLRACE_JOIN_TOKEN is not a join token (mrj_…). Create one with POST /v2/supplier/join-tokens.' ;;
esac
case $url in
  https://* | http://127.0.0.1:* | http://localhost:*) ;;
  *) fail '--url must begin with https://, because it receives the token.' ;;
esac

# These become part of a JSON body, so special characters are refused.
plain() {
  case $2 in '' | *[!A-Za-z0-9._:-]*) fail "--$1 must consist of letters, digits, dots, colons and hyphens." ;; esac
}
for program in incus curl sha256sum sed hostname; do
  command -v "$program" >/dev/null || fail "$program is not installed. Install it and run this again."
done
: "${name:=$(hostname)}" "${images:=ubuntu-24.04=images:ubuntu/24.04/cloud}"
plain address "$address" && plain name "$name" && plain project "$project" && plain user "$user"
case $type in virtual-machine | container) ;; *) fail '--type must be virtual-machine or container.' ;; esac
case $port in *[!0-9]*) fail '--port must be a number.' ;; esac
[ "$project" != default ] || fail '--project must not be default. Choose another name.'
incus query /1.0 >/dev/null || fail 'The Incus daemon does not respond. Is it running, and are you root?'
incus query /1.0 | grep -q '"server_clustered": false' ||
  fail 'This daemon is part of a cluster, and Millrace would get access to its other members. Use a standalone host.'
incus network show "$network" | grep -q '^managed: true' ||
  fail "Incus has no managed network $network. Choose one with --network (incus network list)."
incus storage show "$pool" >/dev/null || fail "Incus has no storage pool $pool. Choose one with --pool (incus storage list)."

# ---- Isolation of tenants on this host --------------------------------------------------------------------------------

# Incus filters the addresses of machines only on its own bridges.
incus network show "$network" | grep -q '^type: bridge' ||
  fail "The network $network is not a bridge, and Incus filters addresses only on bridges. Choose one with --network."
incus network get "$network" ipv4.address | awk -F / 'NF != 2 || $2 < 16 || $2 > 29 { bad = 1 } END { exit bad || !NR }' ||
  fail "The network $network has no IPv4 subnet of 16 to 29 bits for the addresses of machines. Set its ipv4.address."
command -v nft >/dev/null || fail 'nft is not installed. Install the package nftables, which Incus needs for its filters.'

ip6_filter=/proc/sys/net/bridge/bridge-nf-call-ip6tables
if [ ! -e $ip6_filter ]; then
  say 'loading the kernel module br_netfilter, which Incus needs to filter IPv6, now and at every boot'
  modprobe br_netfilter || fail 'The kernel has no module br_netfilter. Incus needs it to filter IPv6 and starts no machine without it.'
  echo br_netfilter >/etc/modules-load.d/millrace.conf
fi
[ "$(cat $ip6_filter)" = 1 ] ||
  fail 'Incus needs net.bridge.bridge-nf-call-ip6tables = 1 to filter IPv6. Set it in /etc/sysctl.d and run this again.'

# Each container needs 65536 user ids of its own. Root's range must suffice for 64 containers.
if [ "$type" = container ]; then
  for file in /etc/subuid /etc/subgid; do
    ids=$(sed -n 's/^\(root\|0\):[0-9]*:\([0-9]*\)$/\2/p' "$file" 2>/dev/null | sort -n | sed -n '$p')
    if [ -z "$ids" ]; then
      say "adding the ids 1000000 to 1000999999 for containers to $file"
      echo root:1000000:1000000000 >>"$file"
      restart=yes
    elif [ "$ids" -lt 4194304 ]; then
      fail "Root has only $ids ids for containers in $file; Millrace needs 4194304. Enlarge the range of root (root:1000000:1000000000), restart the daemon and run this again."
    fi
  done
  [ -z "${restart:-}" ] || fail 'The daemon reads these ids when it starts. Restart it (systemctl restart incus; machines keep running), then run this again.'
fi

# ---- Address of the daemon -------------------------------------------------------------------------------------------

listens=$(incus config get core.https_address)
if [ -z "$listens" ]; then
  say "making the daemon listen on port ${port:-8443} of all addresses of this host"
  incus config set core.https_address ":${port:-8443}"
  listens=":${port:-8443}"
fi
# With --port, a forwarded port may lead to a loopback address.
case $port,$listens in
  ,127.* | ,localhost* | ',[::1]'*)
    fail "The daemon listens only on $listens, which is not reachable from outside. Run: incus config set core.https_address :8443" ;;
esac
: "${port:=${listens##*:}}"
# An address without a port uses Incus's default.
case $port in '' | *[!0-9]*) port=8443 ;; esac
case $address in
  *:*) endpoint="https://[$address]:$port" ;;
  *) endpoint="https://$address:$port" ;;
esac

# ---- Restricted project ----------------------------------------------------------------------------------------------

digest=$(printf %s "$token" | sha256sum | sed 's/ .*//')

if ! incus project show "$project" >/dev/null 2>&1; then
  say "creating the project $project"
  incus project create "$project" -c user.millrace.join="$digest" \
    -c features.images=true -c features.networks=false -c features.profiles=true \
    -c features.storage.buckets=true -c features.storage.volumes=true
elif [ -z "$(incus project get "$project" user.millrace.join)" ]; then
  fail "The project $project exists and was not created for Millrace. Choose another name with --project."
fi

say "restricting the project $project"
# Machines get GPUs, disks, nics on the one network, and ports, but no access to the host. Ports need proxy devices. For a
# virtual machine these only lead into it; for a container Millrace (but no tenant) could create one that leads to servers
# on this host. Therefore a project for virtual machines allows no containers.
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

# ---- Images ----------------------------------------------------------------------------------------------------------

# A name can have an image for containers and one for virtual machines. An earlier run may have copied the other one.
case $type in virtual-machine) vm=--vm kind=VIRTUAL-MACHINE ;; *) vm='' kind=CONTAINER ;; esac
for image in $images; do
  alias=${image%%=*} source=${image#*=}
  [ "$alias" != "$image" ] || fail "--image must be ALIAS=SOURCE, as in ubuntu-24.04=images:ubuntu/24.04/cloud."
  known=$(incus image alias list --project "$project" --format csv | grep "^$alias," || :)
  case $known in
    '') ;;
    *",$kind"*) continue ;;
    *)
      say "the image $alias has another type than $type: replacing it"
      incus image alias delete "$alias" --project "$project" ;;
  esac
  say "copying the image $alias"
  incus image copy "$source" local: $vm --target-project "$project" --alias "$alias" --quiet ||
    fail "Incus could not copy the image $source. If it has another type than $type, choose another with --image."
done
first=${images# } first=${first%% *}
incus project set "$project" user.millrace.default-image="${first%%=*}"

# ---- Trust for this project only -------------------------------------------------------------------------------------

# An unused token would stay valid.
revoke_trust() {
  incus config trust revoke-token millrace >/dev/null 2>&1 || :
}

say 'creating a trust token that works once, for this project only'
revoke_trust
# Also revoke it if the script is interrupted before the marketplace has responded.
trap 'revoke_trust; exit 130' INT TERM HUP
trust=$(incus config trust add millrace --projects "$project" --restricted --quiet)

# Already JSON-encoded, with \n for line breaks.
certificate=$(incus query /1.0 | sed -n 's/^.*"certificate": "\(.*\)",\{0,1\}$/\1/p')

# ---- Asking to join --------------------------------------------------------------------------------------------------

say "registering this machine at $url as $name with the endpoint $endpoint"
answer=$(
  curl --silent --show-error --max-time 60 --proto '=https,http' --write-out '\n%{http_code}' \
    --header 'content-type: application/json' --data-binary @- "$url/v2/supplier/enrolments" <<END
{"token":"$token","incusToken":"$trust","endpoint":"$endpoint","name":"$name","serverCertificate":"$certificate"}
END
) || {
  revoke_trust
  fail 'The marketplace does not respond. Run this again later.'
}

status=$(printf '%s\n' "$answer" | sed -n '$p')
body=$(printf '%s\n' "$answer" | sed '$d')
case $status in
  202) ;;
  *)
    revoke_trust
    fail "The marketplace refused the machine (status $status): $body" ;;
esac
trap - INT TERM HUP
echo "$body"
nft list tables bridge 2>/dev/null | grep -q ' millrace_' ||
  say "One step remains: install the bridge guard (deploy/supplier/README.md, 'The bridge guard'). Without it a machine can receive frames that are meant for another."
say 'The marketplace now inspects and tests the machine, which takes some minutes. See the progress with:'
say "  curl -H 'authorization: Bearer YOUR_KEY' $url/v2/supplier/enrolments"
