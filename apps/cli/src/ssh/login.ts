import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Context } from '../framework/context.ts';
import { CliError, SilentExit } from '../framework/errors.ts';
import { profilesPath } from '../framework/profiles.ts';
import { safeText } from '../framework/text.ts';
import { knownHostsLine, sshArguments, type SshLogin, type SshTarget } from './pinned-host.ts';

export interface SshEndpoint extends SshTarget {
  /** What the platform met when it logged in; null where nobody has told. */
  readonly fingerprint: string | null;
}

type Session = Pick<SshLogin, 'identityFile' | 'forwards' | 'command'>;

const scanSeconds = 10;

/** Logs in with the person's own ssh, on their own terminal. Its exit code becomes ours. */
export async function openSshSession(
  context: Context,
  endpoint: SshEndpoint,
  session: Session,
): Promise<void> {
  const knownHostsFile =
    endpoint.fingerprint === null ? null : await writeKnownHosts(context, endpoint, endpoint.fingerprint);
  if (knownHostsFile === null) {
    context.note('Nobody has told the host key of this machine, so your ssh asks you about it.');
  }
  let code: number;
  // While it runs Ctrl-C is meant for what runs there.
  const giveBack = context.onInterrupt(() => undefined);
  try {
    code = await context.spawn('ssh', sshArguments({ target: endpoint, knownHostsFile, ...session }));
  } catch (error) {
    throw isMissing(error) ? missingProgramError('ssh', error) : error;
  } finally {
    giveBack();
    if (knownHostsFile !== null) await context.files.remove(knownHostsFile);
  }
  if (code !== 0) throw new SilentExit(code);
}

/** Writes the one host key down that may answer, in a file of its own that nobody else can write. */
async function writeKnownHosts(
  context: Context,
  endpoint: SshEndpoint,
  fingerprint: string,
): Promise<string> {
  const line = knownHostsLine(await scanHostKeys(context, endpoint), endpoint, fingerprint);
  if (line === null) {
    throw new CliError('This is not the machine that was rented.', {
      why: `What answers at ${safeText(endpoint.host)} port ${endpoint.port} has another host key than ${safeText(fingerprint)}, which the platform met there.`,
      fix: 'Do not log in. Try from another network, and tell the operator if it stays.',
    });
  }
  const file = join(dirname(profilesPath(context)), 'known-hosts', randomUUID());
  await context.files.write(file, `${line}\n`, { mode: 0o600 });
  return file;
}

async function scanHostKeys(context: Context, { host, port }: SshEndpoint): Promise<string> {
  const args = ['-T', String(scanSeconds), '-p', String(port), '--', host];
  const scanned = await context.capture('ssh-keyscan', args, context.signal).catch((error: unknown) => {
    throw isMissing(error) ? missingProgramError('ssh-keyscan', error) : error;
  });
  if (scanned.stdout.trim() !== '') return scanned.stdout;
  throw new CliError('The machine does not answer.', {
    why: `Nothing speaks SSH at ${safeText(host)} port ${port} within ${scanSeconds} s.`,
    fix: 'Look at what it says: millrace logs NAME',
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function missingProgramError(program: string, cause: unknown): CliError {
  return new CliError(`${program} is not installed here.`, {
    why: 'Logging in uses the OpenSSH client of your machine.',
    fix: 'Install OpenSSH, or take the address from: millrace rental get NAME',
    cause,
  });
}
