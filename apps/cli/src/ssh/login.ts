import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Context } from '../framework/context.ts';
import { CliError, SilentExit } from '../framework/errors.ts';
import { profilesPath } from '../framework/profiles.ts';
import { safeText } from '../framework/text.ts';
import { knownHostsLine, sshArguments, type SshLogin, type SshTarget } from './pinned-host.ts';

export interface SshEndpoint extends SshTarget {
  /** The host key that the readiness check saw; null if unknown. */
  readonly fingerprint: string | null;
}

type Session = Pick<SshLogin, 'identityFile' | 'forwards' | 'command'>;

const scanSeconds = 10;

/** Logs in with the user's ssh on their terminal. Its exit code becomes that of the CLI. */
export async function openSshSession(
  context: Context,
  endpoint: SshEndpoint,
  session: Session,
): Promise<void> {
  const knownHostsFile =
    endpoint.fingerprint === null ? null : await writeKnownHosts(context, endpoint, endpoint.fingerprint);
  if (knownHostsFile === null) {
    context.note('The host key of this machine is unknown, so ssh asks you to trust it.');
  }
  let code: number;
  // During the session, Ctrl-C belongs to the remote program.
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

/** Writes a known_hosts file with only the expected host key. */
async function writeKnownHosts(
  context: Context,
  endpoint: SshEndpoint,
  fingerprint: string,
): Promise<string> {
  const line = knownHostsLine(await scanHostKeys(context, endpoint), endpoint, fingerprint);
  if (line === null) {
    throw new CliError('This is not the machine that you rented.', {
      why: `The server at ${safeText(endpoint.host)} port ${endpoint.port} has another host key than ${safeText(fingerprint)}, which the platform saw there.`,
      fix: 'Do not log in. Try from another network. If the error persists, contact the operator.',
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
  throw new CliError('The machine does not respond.', {
    why: `No SSH server responded at ${safeText(host)} port ${port} within ${scanSeconds} s.`,
    fix: 'See its console: millrace logs NAME',
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function missingProgramError(program: string, cause: unknown): CliError {
  return new CliError(`${program} is not installed here.`, {
    why: 'Logging in uses the OpenSSH client of your machine.',
    fix: 'Install OpenSSH, or use the address from: millrace rental get NAME',
    cause,
  });
}
