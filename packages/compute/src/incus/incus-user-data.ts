import type { MachineRef } from '../driver.ts';
import { userDataKindOf, userDataLog, userDataName } from '../user-data.ts';
import type { IncusClient } from './incus-client.ts';
import { IncusError } from './incus-errors.ts';
import { execInside } from './incus-exec.ts';

const startMs = 30_000;
const outputBytes = 4_096;
const exitUnsupported = 69;
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

/** Starts a text in a container, once. */
export async function startUserData(
  client: IncusClient,
  machine: MachineRef,
  userData: string,
  signal: AbortSignal,
): Promise<void> {
  const kind = userDataKindOf(userData);
  const input = Buffer.from(userData);
  const argv = ['sh', '-c', script, 'sh', userDataName(userData), String(input.length), kind];
  const command = { argv, timeoutMs: startMs, maxBytes: outputBytes };
  const { exitCode } = await execInside(client, machine, command, signal, input);
  if (exitCode === 0) return;
  if (exitCode === exitUnsupported) {
    throw new IncusError('unsupported', 'The image has no cloud-init, for which this user data is.');
  }
  throw new IncusError('failed', `The machine did not take the user data: its shell ended with ${exitCode}.`);
}
