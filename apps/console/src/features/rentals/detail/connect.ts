import { rentalHandle } from '@millrace/sdk/text';
import type { Rental } from '../rental.ts';

/** How to get into a machine, and how to know that it is the right one. */

export interface SshConnection {
  readonly title: string | null;
  readonly command: string;
  readonly fingerprint: string | null;
  /** Prints the fingerprints of the keys that answer now, to compare. */
  readonly check: string;
}

/** One for each node that lets its tenant in. */
export function sshConnections(rental: Pick<Rental, 'ssh'>): readonly SshConnection[] {
  return rental.ssh.map(({ host, port, command, hostKeyFingerprint }, index) => ({
    title: rental.ssh.length > 1 ? `Node ${String(index + 1)}` : null,
    command,
    fingerprint: hostKeyFingerprint,
    check: `ssh-keyscan -p ${String(port)} ${host} 2>/dev/null | ssh-keygen -lf -`,
  }));
}

/** The same with the host key compared by the command itself. */
export function sshCommands(rental: Pick<Rental, 'id' | 'name' | 'ssh'>): string {
  const handle = rentalHandle(rental);
  if (rental.ssh.length <= 1) return `millrace ssh ${handle}`;
  return rental.ssh.map((_, index) => `millrace ssh ${handle} --node ${String(index + 1)}`).join('\n');
}

/** Why there is no way in, and what to do about it; null when there is one. */
export function sshUnavailableReason(rental: Pick<Rental, 'ssh' | 'status' | 'power'>): string | null {
  const { status, power } = rental;
  if (status === 'Running' && power === 'off') return 'It is switched off. Start it to log in.';
  if (rental.ssh.length > 0 && (status === 'Running' || status === 'Unknown')) return null;
  switch (status) {
    case 'Pending':
      return 'The machine is still being made. The command appears here as soon as your keys are in place.';
    case 'Running':
    case 'Unknown':
      return 'Its address is not known at the moment. Look at the console log, or reboot it.';
    case 'Failed':
      return 'It has failed, so there is nothing to log in to.';
    case 'Terminating':
    case 'Terminated':
      return 'It has ended, and access was cut.';
  }
}

/** What the machine serves beside SSH, and where that is reached. */
export function portLines(rental: Pick<Rental, 'ports'>): readonly string[] {
  return rental.ports.map(
    ({ host, externalPort, internalPort }) =>
      `${String(internalPort)} inside is ${host}:${String(externalPort)} outside`,
  );
}
