import { requireUserDataKind, userDataLog, userDataDigestName } from './user-data.ts';

/** How a text is started inside a machine that runs, by whatever way somebody got in. */

export const exitUnsupported = 69;
/** What a boot that is under way has to end, before its cloud-init is asked for more. */
const bootSeconds = 300;

/**
 * What cloud-init does with a text on a machine that has booted, in its own order. Left out is what belongs to a first
 * boot, and `ssh` above all: it would make the host keys anew and put the first boot's login keys back.
 */
const modules = [
  ...['bootcmd', 'write_files', 'ca_certs', 'users_groups', 'set_passwords', 'locale', 'timezone'],
  ...['ntp', 'apt_configure', 'yum_add_repo', 'snap', 'package_update_upgrade_install'],
  ...['write_files_deferred', 'runcmd', 'scripts_user'],
];

/**
 * Runs inside, as root, with the text as its input and $1 the text's name, $2 its bytes, $3 its kind. A connection that
 * breaks is an end of input, so bytes are counted. Of any number of calls the one that makes the folder starts the text:
 * the others find it made, now and after every reboot. Making it and starting are done by a process of their own, which
 * lives on when this one is killed; we wait until it has let go of its output, and it has nothing else of this call.
 */
const script = `
set -eu
umask 077
if [ "$3" = cloud-config ]; then command -v cloud-init >/dev/null 2>&1 || exit ${exitUnsupported}; fi
text=/etc/millrace/user-data-$1
[ ! -d "$text.started" ] || exit 0
mkdir -p /etc/millrace /var/log
fresh=$text.$$
trap 'rm -f "$fresh"' EXIT
cat >"$fresh"
[ "$(wc -c <"$fresh")" -eq "$2" ]
chmod 0700 "$fresh"
trap - EXIT
: "$( (
  trap '' HUP
  if ! mkdir "$text.started" 2>/dev/null; then
    rm -f "$fresh"
    exit 0
  fi
  mv "$fresh" "$text"
  exec </dev/null >>${userDataLog} 2>&1
  set +e
  umask 022
  cd /
  [ "$3" = cloud-config ] || exec "$text"
  timeout ${bootSeconds} cloud-init status --wait >/dev/null 2>&1
  for module in ${modules.join(' ')}; do
    cloud-init --file "$text" single --name "$module" --frequency always
  done
) & )"
[ -d "$text.started" ]
`;

/** Starts the text, which is to be its input. Ends with 0 once the text runs or ran before. */
export function userDataStartCommand(userData: string): readonly string[] {
  const bytes = String(Buffer.byteLength(userData));
  return ['sh', '-c', script, 'sh', userDataDigestName(userData), bytes, requireUserDataKind(userData)];
}
