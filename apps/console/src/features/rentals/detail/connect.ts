import { rentalHandle } from '@millrace/sdk/text';
import type { Rental } from '../rental.ts';

/** SSH commands and host keys of a rental. */

export interface SshConnection {
  readonly title: string | null;
  readonly command: string;
  readonly fingerprint: string | null;
  /** Command that prints the current fingerprints, to compare. */
  readonly check: string;
}

/** One per node that the tenant can log in to. */
export function sshConnections(rental: Pick<Rental, 'ssh'>): readonly SshConnection[] {
  return rental.ssh.map(({ host, port, command, hostKeyFingerprint }, index) => ({
    title: rental.ssh.length > 1 ? `Node ${String(index + 1)}` : null,
    command,
    fingerprint: hostKeyFingerprint,
    check: `ssh-keyscan -p ${String(port)} ${host} 2>/dev/null | ssh-keygen -lf -`,
  }));
}

/** CLI commands, which check the host key. */
export function sshCommands(rental: Pick<Rental, 'id' | 'name' | 'ssh'>): string {
  const handle = rentalHandle(rental);
  if (rental.ssh.length <= 1) return `millrace ssh ${handle}`;
  return rental.ssh.map((_, index) => `millrace ssh ${handle} --node ${String(index + 1)}`).join('\n');
}

/** Why there is no SSH command and what to do; null if there is one. */
export function sshUnavailableReason(rental: Pick<Rental, 'ssh' | 'status' | 'power'>): string | null {
  const { status, power } = rental;
  if (status === 'Running' && power === 'off') return 'The machine is off. Start the rental to log in.';
  if (rental.ssh.length > 0 && (status === 'Running' || status === 'Unknown')) return null;
  switch (status) {
    case 'Pending':
      return 'The machine is starting. The SSH command appears here when it is ready.';
    case 'Running':
    case 'Unknown':
      return 'The address is unknown. Check the console log, or reboot the machine.';
    case 'Failed':
      return 'The rental has failed, so you cannot log in.';
    case 'Terminating':
    case 'Terminated':
      return 'The rental has ended, so you cannot log in.';
  }
}

export function portLines(rental: Pick<Rental, 'ports'>): readonly string[] {
  return rental.ports.map(
    ({ host, externalPort, internalPort }) =>
      `port ${String(internalPort)} is reachable at ${host}:${String(externalPort)}`,
  );
}
