import { createHash } from 'node:crypto';

/** Pins the host key that the readiness check saw, so that the user need not trust a key on first use. */

export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
}

/** As `ssh-keygen -l` and the API write it. */
export function fingerprintOf(base64Key: string): string {
  const digest = createHash('sha256').update(Buffer.from(base64Key, 'base64')).digest('base64');
  return `SHA256:${digest.replace(/(?<!=)=+$/, '')}`;
}

/** The name of a host in known_hosts. */
export function knownHostName({ host, port }: Pick<SshTarget, 'host' | 'port'>): string {
  return port === 22 ? host : `[${host}]:${port}`;
}

/** The scanned key with this fingerprint, as a line of known_hosts. Null: another machine, or a man in the middle. */
export function knownHostsLine(
  scanned: string,
  target: Pick<SshTarget, 'host' | 'port'>,
  fingerprint: string,
): string | null {
  for (const line of scanned.split('\n')) {
    const [, type, key] = /^[^\s#]\S* (\S+) ([A-Za-z0-9+/]+={0,2})\s*$/.exec(line) ?? [];
    if (type === undefined || key === undefined || fingerprintOf(key) !== fingerprint) continue;
    return `${knownHostName(target)} ${type} ${key}`;
  }
  return null;
}

export interface SshLogin {
  readonly target: SshTarget;
  /** The file with the expected host key; null leaves the decision to the user's ssh. */
  readonly knownHostsFile: string | null;
  readonly identityFile: string | undefined;
  /** Flags of ssh, such as `-L 8888:localhost:8888`. */
  readonly forwards: readonly string[];
  /** The remote command; empty for a shell. */
  readonly command: readonly string[];
}

export function sshArguments(login: SshLogin): readonly string[] {
  const { target, knownHostsFile, identityFile, forwards, command } = login;
  return [
    ...['-p', String(target.port)],
    ...(knownHostsFile === null
      ? []
      : [
          ...['-o', `UserKnownHostsFile="${knownHostsFile}"`],
          // Ignore the system-wide list and keys that the user has accepted before.
          ...['-o', 'GlobalKnownHostsFile=/dev/null'],
          ...['-o', 'StrictHostKeyChecking=yes'],
          ...['-o', 'UpdateHostKeys=no'],
          ...['-o', 'CheckHostIP=no'],
        ]),
    ...(identityFile === undefined ? [] : ['-i', identityFile, '-o', 'IdentitiesOnly=yes']),
    ...forwards.flatMap((forward) => ['-L', forward]),
    '--',
    `${target.user}@${target.host}`,
    ...command,
  ];
}
