import { requireUserDataKind, userDataLog, userDataDigestName } from './user-data.ts';

/** Starts user data inside a running machine, for engines and for SSH sessions. */

export const exitUnsupported = 69;
/** How long a boot in progress may take before cloud-init runs the text. */
const bootSeconds = 300;

/**
 * The cloud-init modules that run on a booted machine, in cloud-init's order. Modules of a first boot are left out, above all
 * `ssh`: it would regenerate the host keys and restore the login keys of the first boot.
 */
const modules = [
  ...['bootcmd', 'write_files', 'ca_certs', 'users_groups', 'set_passwords', 'locale', 'timezone'],
  ...['ntp', 'apt_configure', 'yum_add_repo', 'snap', 'package_update_upgrade_install'],
  ...['write_files_deferred', 'runcmd', 'scripts_user'],
];

/**
 * Runs inside as root with the text on stdin and $1 its digest, $2 its bytes, $3 its kind. The byte count detects a broken
 * connection. The call that creates the `.started` folder starts the text; all others find it, also after a reboot. A separate
 * process creates the folder and starts the text, so it continues if this one is killed; the script waits until that process has
 * redirected its output.
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

/** The command reads the text on stdin and exits with 0 once the text runs or ran before. */
export function userDataStartCommand(userData: string): readonly string[] {
  const bytes = String(Buffer.byteLength(userData));
  return ['sh', '-c', script, 'sh', userDataDigestName(userData), bytes, requireUserDataKind(userData)];
}
