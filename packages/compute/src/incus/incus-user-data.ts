import type { MachineRef } from '../driver.ts';
import { exitUnsupported, userDataStartCommand } from '../user-data-start.ts';
import type { IncusClient } from './api/incus-client.ts';
import { IncusError } from './api/incus-errors.ts';
import { execInInstance } from './incus-exec.ts';

const startMs = 30_000;
const outputBytes = 4_096;

export async function startUserData(
  client: IncusClient,
  machine: MachineRef,
  userData: string,
  signal: AbortSignal,
): Promise<void> {
  const command = { argv: userDataStartCommand(userData), timeoutMs: startMs, maxBytes: outputBytes };
  const { exitCode } = await execInInstance(client, machine, command, signal, Buffer.from(userData));
  if (exitCode === 0) return;
  if (exitCode === exitUnsupported) {
    throw new IncusError('unsupported', 'This user data requires cloud-init, which the image does not have.');
  }
  throw new IncusError(
    'failed',
    `The machine did not start the user data: its shell exited with ${exitCode}.`,
  );
}
