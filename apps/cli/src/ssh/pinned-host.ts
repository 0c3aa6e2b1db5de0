import { createHash } from 'node:crypto';

/**
 * Whom we log into. The platform has logged into the machine before it was handed over and tells the fingerprint of the
 * host key that it met there. So nobody is asked to trust on first use: the key that answers now must be that one.
 */

export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
}

/** As `ssh-keygen -l` writes it, and as the API tells it. */
export function fingerprintOf(base64Key: string): string {
  const digest = createHash('sha256').update(Buffer.from(base64Key, 'base64')).digest('base64');
  return `SHA256:${digest.replace(/(?<!=)=+$/, '')}`;
}

/** How OpenSSH names a host in its list of known ones. */
export function knownHostName({ host, port }: Pick<SshTarget, 'host' | 'port'>): string {
  return port === 22 ? host : `[${host}]:${port}`;
}

/**
 * The line for `known_hosts`, out of what `ssh-keyscan` was shown: only a key with this very fingerprint, whatever else the
 * machine offers. Null when it has none: then it is another machine, or somebody stands in between.
 */
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
  /** The file with the one host that is meant; null leaves the decision to the person's own ssh. */
  readonly knownHostsFile: string | null;
  readonly identityFile: string | undefined;
  /** Flags for ssh itself, as `-L 8888:localhost:8888`. */
  readonly forwards: readonly string[];
  /** What to run there; nothing for a prompt. */
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
          // Nobody else's word counts: not the machine-wide list, nor what a person once said yes to.
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
